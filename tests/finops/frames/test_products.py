"""What product texts mean: the VPC name where both exist, never a part of a text."""

from finops.frames.products import operating_system, product, texts_of_same_meaning


def test_the_question_for_linux_takes_the_vpc_name_first() -> None:
    # field case t2-04: the VPC name at 0.300 beside the plain one at 2.000 and Windows at 0.900
    rows = {"Linux/UNIX": "2.000", "Linux/UNIX (Amazon VPC)": "0.300", "Windows (Amazon VPC)": "0.900"}
    assert next(rows[text] for text in texts_of_same_meaning("Linux/UNIX") if text in rows) == "0.300"
    second = {"Linux/UNIX": "0.310"}
    assert [second[text] for text in texts_of_same_meaning("Linux/UNIX") if text in second] == ["0.310"]


def test_both_names_have_one_meaning_and_windows_another() -> None:
    plain, vpc, windows = (product(t) for t in ("Linux/UNIX", " linux/unix (amazon vpc) ", "Windows"))
    assert plain is not None
    assert vpc is not None
    assert windows is not None
    assert (plain.operating_system, plain.licence, plain.network) == ("linux", "none", "any")
    assert (vpc.operating_system, vpc.licence, vpc.network) == ("linux", "none", "vpc")
    assert (windows.operating_system, windows.licence) == ("windows", "included")
    assert texts_of_same_meaning("Windows") == ("Windows (Amazon VPC)", "Windows")


def test_a_part_of_a_text_is_no_product() -> None:
    assert product("Linux") is None
    assert texts_of_same_meaning("Linux") == ("Linux",)
    assert operating_system("Windows with SQL Server Web") == ""
    assert [operating_system(name) for name in ("SLES", "mswin", "Linux/UNIX (Amazon VPC)", "NA")] == [
        "suse",
        "windows",
        "linux",
        "",
    ]
