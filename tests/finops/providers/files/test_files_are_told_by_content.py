"""Every format and packing gives the same rows; what is no price data is refused with the reason."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from finops.frames.spot import Rejection
from finops.providers.files import ArchiveLimits, FileEnd, FileSource, UnreadableError, json_rows
from finops.providers.spot_rows import SpotContext
from tests.support.spot import answer, row

A = row("0.0416", "2021-05-30T20:43:22+00:00")
B = row("0.05", "2021-05-31T01:02:03Z", zone="us-east-1b", product="Red Hat Enterprise Linux")
EXPECTED = [
    ("us-east-1a", "m5.large", "Linux/UNIX", "2021-05-30T20:43:22+00:00", Decimal("0.0416")),
    ("us-east-1b", "m5.large", "Red Hat Enterprise Linux", "2021-05-31T01:02:03+00:00", Decimal("0.05")),
]
CSV = (
    "Timestamp,AvailabilityZone,InstanceType,ProductDescription,SpotPrice\n"
    "2021-05-30T20:43:22.000Z,us-east-1a,m5.large,Linux/UNIX,0.041600\n"
    "2021-05-31T01:02:03.000Z,us-east-1b,m5.large,Red Hat Enterprise Linux,0.050000\n"
)


def read(path: Path | str, **given: Any) -> tuple[list[Any], list[Rejection], list[FileEnd]]:
    """Rows, rejections and ends of everything behind a path."""
    options = {k: given.pop(k) for k in ("form", "limits") if k in given}
    rows, rejections, ends = [], [], []
    for event in FileSource(str(path), SpotContext(**{"provider": "aws", **given}), **options).events():
        if isinstance(event, FileEnd):
            ends.append(event)
            continue
        rejections += event.rejections
        rows += [
            (r["zone"], r["instance_type"], r["product"], r["at"].isoformat(), r["price"])
            for r in event.rows.to_pylist()
        ]
    return rows, rejections, ends


def parquet(columns: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


FORMS: dict[str, bytes] = {
    "one answer, pretty-printed": answer(A, B).encode(),
    "one answer in one line": answer(A, B, indent=None).encode(),
    "answers one after another": f"{answer(A)}\n{answer(B)}\n".encode(),
    "a list of answers": f"[{answer(A)},{answer(B)}]".encode(),
    "a plain list of rows": json.dumps([A, B]).encode(),
    "JSON lines of rows": f"{json.dumps(A)}\n\n{json.dumps(B)}\n".encode(),
    "JSON lines of answers": f"{answer(A, indent=None)}\n{answer(B, indent=None)}\n".encode(),
    "with a byte order mark": b"\xef\xbb\xbf" + answer(A, B).encode(),
    "UTF-16 with a mark": answer(A, B).encode("utf-16"),
    "UTF-16 without a mark": answer(A, B).encode("utf-16-be"),
    "CLI text": (
        b"SPOTPRICEHISTORY\tus-east-1a\tm5.large\tLinux/UNIX\t0.041600\t2021-05-30T20:43:22+00:00\n"
        b"SPOTPRICEHISTORY\tus-east-1b\tm5.large\tRed Hat Enterprise Linux\t0.05\t2021-05-31T01:02:03Z\n"
    ),
    "CLI text with zone ids": (  # the newer answers have them
        b"SPOTPRICEHISTORY\tus-east-1a\tuse1-az1\tm5.large\tLinux/UNIX\t0.0416\t2021-05-30T20:43:22+00:00\n"
        b"SPOTPRICEHISTORY\tus-east-1b\tuse1-az2\tm5.large\tRed Hat Enterprise Linux\t.05\t"
        b"2021-05-31T01:02:03Z\n"
    ),
    "ec2-api-tools text": (
        b"SPOTINSTANCEPRICE\t0.041600\t2021-05-30T13:43:22-0700\tm5.large\tLinux/UNIX\tus-east-1a\n"
        b"SPOTINSTANCEPRICE\t0.05\t2021-05-31T01:02:03Z\tm5.large\tRed Hat Enterprise Linux\tus-east-1b\n"
    ),
    "bare tab-separated columns": (
        b"us-east-1a\tm5.large\tLinux/UNIX\t0.041600\t2021-05-30T20:43:22+00:00\n"
        b"us-east-1b\tm5.large\tRed Hat Enterprise Linux\t0.050000\t2021-05-31T01:02:03+00:00\n"
    ),
    "CSV": CSV.encode(),
    "CSV with CRLF, quotes and blank lines": CSV.replace("Linux/UNIX", '"Linux/UNIX"')
    .replace("\n", "\r\n\r\n")
    .encode(),
    "CSV with semicolons and other names": CSV.replace(",", ";")
    .replace("SpotPrice", "spot_price")
    .replace("InstanceType", "instance type")
    .encode(),
    "CSV in another column order with more columns": (
        b"note,SpotPrice,Timestamp,ProductDescription,InstanceType,AvailabilityZone\n"
        b"x,0.0416,2021-05-30T20:43:22Z,Linux/UNIX,m5.large,us-east-1a\n"
        b"y,0.05,2021-05-31T01:02:03Z,Red Hat Enterprise Linux,m5.large,us-east-1b\n"
    ),
    "Parquet of text": parquet({key: [A[key], B[key]] for key in A}),
    "Parquet of types": parquet(
        {
            **{key: [A[key], B[key]] for key in ("AvailabilityZone", "InstanceType", "ProductDescription")},
            "SpotPrice": pa.array([Decimal("0.0416"), Decimal("0.05")], pa.decimal128(12, 6)),
            "Timestamp": pa.array([1622407402000, 1622422923000], pa.timestamp("ms", tz="America/New_York")),
        }
    ),
    "gz": gzip.compress(answer(A, B).encode()),
    "xz": lzma.compress(answer(A, B).encode()),
    "zst": zstandard.compress(answer(A, B).encode()),
    "bz2": bz2.compress(CSV.encode()),
    "zip": zipped(
        {
            "a.json": answer(A).encode(),
            "b.csv": CSV.splitlines()[0].encode() + b"\n" + CSV.splitlines()[2].encode(),
        }
    ),
    "tar": tarred({"a.json": answer(A).encode(), "dir/b.json": answer(B).encode()}),
    "tar.gz": tarred({"a.json": answer(A).encode(), "b.json": answer(B).encode()}, "w:gz"),
    "tar.xz": tarred({"a.json": answer(A).encode(), "b.json": answer(B).encode()}, "w:xz"),
    "tar.zst": zstandard.compress(tarred({"a.json": answer(A).encode(), "b.json": answer(B).encode()})),
    "packed files in a tar": tarred(
        {"a.gz": gzip.compress(answer(A).encode()), "b.xz": lzma.compress(answer(B).encode())}
    ),
}


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file; its name says nothing."""

    def write(content: bytes, name: str = "data") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_rows(put: Callable[..., Path], form: str) -> None:
    rows, rejections, ends = read(put(FORMS[form]))
    assert rows == EXPECTED
    assert rejections == []
    assert [end.refused for end in ends] == [None] * len(ends)


@pytest.mark.parametrize(
    "form", ["one answer, pretty-printed", "JSON lines of rows", "answers one after another"]
)
@pytest.mark.parametrize("size", [40, 200, 333, 1000])
def test_a_file_too_large_to_parse_at_once_gives_the_same_rows(
    put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, form: str, size: int
) -> None:
    # as in practice, the first piece holds at least the first line
    monkeypatch.setattr(json_rows, "WHOLE", 200)
    monkeypatch.setattr(json_rows, "PIECE", size)
    rows, _, ends = read(put(FORMS[form]))
    assert (rows, ends[0].refused) == (EXPECTED, None)


def test_a_large_file_that_is_cut_short_is_refused(
    put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_rows, "WHOLE", 64)
    monkeypatch.setattr(json_rows, "PIECE", 100)
    *_, ends = read(put(answer(A, B).encode()[:-40]))
    assert ends[0].refused is not None
    assert "JSON cut short (after byte" in ends[0].refused


EMPTY = {
    "an empty answer": b'{"SpotPriceHistory": []}',
    "an empty list": b"[]",
    "a header alone": CSV.splitlines()[0].encode(),
}


@pytest.mark.parametrize("form", EMPTY)
def test_an_answer_without_rows_is_fine(put: Callable[..., Path], form: str) -> None:
    assert read(put(EMPTY[form])) == ([], [], [FileEnd("data", None)])


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "no price data: the file is empty"),
    "a script": (
        b"#!/bin/bash\necho 1\n",
        "no price data: the first line '#!/bin/bash' names no known column",
    ),
    "other JSON": (b'{"Images": []}', "no price data: a JSON document without SpotPriceHistory"),
    "a number": (b"[1, 2]", "no price data: the JSON holds no price rows"),
    "binary": (bytes(range(256)), "no price data: binary content"),
    "cut JSON": (
        answer(A, B).encode()[:-30],
        "JSON cut short: unexpected end of data: line 15 column 36 (char 497)",
    ),
    "cut second document": (f"{answer(A)}\n{answer(B)[:-9]}".encode(), "not valid JSON: Expecting"),
    "broken line": (f"{json.dumps(A)}\nx\n".encode(), "not valid JSON in line 2"),
    "cut xz": (lzma.compress(answer(A, B).encode())[:-40], "xz data cut short after"),
    "cut gzip": (gzip.compress(answer(A, B).encode())[:-20], "gzip data cut short after"),
    "cut zstd": (zstandard.compress(answer(A, B).encode())[:-20], "zstd data cut short after"),
    "cut Parquet": (FORMS["Parquet of text"][:-50], "Parquet broken or cut short"),
    "Latin-1": (CSV.replace("Linux", "Linüx").encode("latin-1"), "not UTF-8: byte 0xfc at position 117"),
    "Latin-1 JSON": (b'{"SpotPriceHistory": ["\xfc"]}', "not UTF-8: byte 0xfc at position 23"),
    "missing column": (
        CSV.replace("SpotPrice", "SpotPriec").encode(),
        "'SpotPriec' is near but not a known name",
    ),
    "two of one": (CSV.replace("InstanceType", "Price").encode(), "two columns for the price"),
    "no zone key": (
        json.dumps([{k: v for k, v in A.items() if "Zone" not in k}]).encode(),
        "no column for zone",
    ),
}


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_no_price_data_is_refused_and_says_why(put: Callable[..., Path], form: str) -> None:
    content, reason = REFUSED[form]
    rows, rejections, ends = read(put(content))
    assert (rows, rejections, len(ends)) == ([], [], 1)
    assert ends[0].refused is not None
    assert reason in ends[0].refused


BAD_PRICES = {
    "0.000000": "invalid price: 0.000000 is not above zero",
    "": "invalid price: empty",
    "NaN": "invalid price: 'NaN' is not a finite number",
    "Infinity": "invalid price: 'Infinity' is not a finite number",
    "-0.1": "invalid price: -0.1 is negative",
    "0,031": "invalid price: '0,031' has a decimal comma",
    "abc": "invalid price: 'abc' is not a decimal number",
    "0x10": "invalid price: '0x10' is not a decimal number",
    "1_000": "invalid price: '1_000' is not a decimal number",
    "٠.٥": "invalid price: '٠.٥' is not a decimal number",
    "1e-11": "invalid price: 1e-11 has more than 10 decimals",
    "100000000": "invalid price: 100000000 is too large",
}


@pytest.mark.parametrize("price", BAD_PRICES)
def test_a_price_that_is_none_is_rejected_with_row_and_reason(put: Callable[..., Path], price: str) -> None:
    rows, rejections, _ = read(put(answer(A, {**A, "SpotPrice": price}, B).encode(), "p.json"))
    assert rows == EXPECTED
    assert rejections == [Rejection("p.json", 2, "SpotPrice", BAD_PRICES[price])]


@pytest.mark.parametrize(
    ("price", "value"),
    [
        ("1e-3", "0.001"),
        (".5", "0.5"),
        ("+2.", "2"),
        ("0.10000000000000", "0.1"),
        ("0.018000000000000002", "0.018"),
    ],
)
def test_a_price_in_another_notation_is_the_same_number(
    put: Callable[..., Path], price: str, value: str
) -> None:
    rows, rejections, _ = read(put(answer({**A, "SpotPrice": price}).encode()))
    assert (rows[0][-1], rejections) == (Decimal(value), [])


BAD_FIELDS = {
    ("Timestamp", ""): "missing time",
    ("Timestamp", "2021-05-30 20:43:22"): "time without an offset",
    ("Timestamp", "yesterday"): "not an ISO 8601 time: 'yesterday'",
    ("Timestamp", "2021-02-30T00:00:00Z"): "no such time",
    ("Timestamp", "1622407402"): "not an ISO 8601 time",
    ("Timestamp", "2021-05-30T20:43:22.1234567Z"): "finer than a microsecond",
    ("AvailabilityZone", ""): "missing zone",
    ("AvailabilityZone", "somewhere"): "the region of zone 'somewhere' is not known",
    ("InstanceType", " "): "missing instance type",
    ("InstanceType", "m5"): "not an instance type: 'm5'",
    ("ProductDescription", ""): "missing product",
}


@pytest.mark.parametrize(("key", "value"), BAD_FIELDS)
def test_a_field_that_is_missing_or_wrong_is_rejected(put: Callable[..., Path], key: str, value: str) -> None:
    rows, rejections, _ = read(put(answer(A, B, {**A, key: value}).encode(), "f.json"))
    assert rows == EXPECTED
    (rejection,) = rejections
    assert (rejection.file, rejection.row) == ("f.json", 3)
    assert BAD_FIELDS[key, value] in rejection.reason
    assert rejection.field in {key, "at", "product"}


def test_a_key_that_one_row_lacks_rejects_that_row(put: Callable[..., Path]) -> None:
    lacking = {key: value for key, value in A.items() if key != "SpotPrice"}
    rows, rejections, _ = read(put(json.dumps([A, lacking, B, "text"]).encode()))
    assert rows == EXPECTED
    assert [(r.row, r.field) for r in rejections] == [(4, ""), (2, "SpotPrice")]


def test_numbers_in_json_are_taken_by_their_shortest_text(put: Callable[..., Path]) -> None:
    rows, *_ = read(put(json.dumps([{**A, "SpotPrice": 0.1}, {**A, "SpotPrice": 2}]).encode()))
    assert [price for *_, price in rows] == [Decimal("0.1"), Decimal(2)]


def test_a_line_with_too_few_or_many_fields_is_rejected_by_its_record_number(
    put: Callable[..., Path],
) -> None:
    lines = CSV.splitlines()
    text = "\n".join([lines[0], lines[1], "", "a,b", lines[2], "1,2,3,4,5,6"])
    rows, rejections, _ = read(put(text.encode()))
    assert rows == EXPECTED
    assert [(r.row, r.reason) for r in rejections] == [
        (2, "2 fields instead of 5"),
        (4, "6 fields instead of 5"),
    ]


def test_a_line_of_another_kind_among_tool_lines_is_rejected(put: Callable[..., Path]) -> None:
    text = FORMS["ec2-api-tools text"] + b"NEXTTOKEN\t1\t2\t3\t4\t5\n"
    rows, rejections, _ = read(put(text))
    assert rows == EXPECTED
    assert [(r.row, r.reason) for r in rejections] == [(3, "does not begin with SPOTINSTANCEPRICE")]


def test_a_region_that_was_asked_for_rejects_rows_of_another(put: Callable[..., Path]) -> None:
    path = put(answer(A, {**B, "AvailabilityZone": "eu-west-1a"}).encode())
    rows, rejections, _ = read(path, region="us-east-1")
    assert rows == EXPECTED[:1]
    assert [(r.row, r.reason) for r in rejections] == [
        (2, "zone eu-west-1a is in eu-west-1, not in us-east-1")
    ]


def test_a_local_time_is_read_in_the_zone_that_is_named_and_refused_where_it_is_ambiguous(
    put: Callable[..., Path],
) -> None:
    times = ["2021-07-01 12:00:00", "2021-10-31 02:30:00", "2021-03-28 02:30:00"]
    path = put(json.dumps([{**A, "Timestamp": at} for at in times]).encode())
    rows, rejections, _ = read(path, naive_zone=ZoneInfo("Europe/Berlin"))
    assert [at for *_, at, _ in rows] == ["2021-07-01T10:00:00+00:00"]
    assert [r.row for r in rejections] == [2, 3]


def test_other_providers_price_regions_and_need_a_product_and_a_currency(put: Callable[..., Path]) -> None:
    azure = put(
        b"InstanceTier,InstanceType,Region,OndemandPrice,SpotPrice,Date\n"
        b"Standard,D8_v3,AP East,0.528,0.0528,2022-08-04 09:10:00\n"
    )
    rows, rejections, _ = read(
        azure, provider="azure", product="Linux/UNIX", currency="USD", naive_zone=ZoneInfo("UTC")
    )
    assert (rows, rejections) == (
        [("AP East", "Standard_D8_v3", "Linux/UNIX", "2022-08-04T09:10:00+00:00", Decimal("0.0528"))],
        [],
    )
    *_, ends = read(azure, provider="azure")
    assert "no column for product" in str(ends[0].refused)
    assert str(ends[0].refused).endswith("operating_system; or say it of the whole file)")
    *_, rejections, _ = read(azure, provider="azure", product="Linux/UNIX", naive_zone=ZoneInfo("UTC"))
    assert [r.reason for r in rejections] == ["missing currency"]


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("Virtual Machines Dv3 Series", "Linux/UNIX"),
        ("Virtual Machines Dv3 Series Windows", "Windows"),
        ("Dv3 Series Cloud Services", "Dv3 Series Cloud Services"),
    ],
)
def test_the_product_name_of_azure_tells_the_product(
    put: Callable[..., Path], name: str, product: str
) -> None:
    path = put(
        b"armSkuName,armRegionName,productName,SpotPrice,currencyCode,Date\n"
        b"Standard_D8_v3,westeurope,%b,0.0528,EUR,2022-08-04T09:10:00Z\n" % name.encode()
    )
    [row], rejections, _ = read(path, provider="azure")
    assert (row[:3], rejections) == (("westeurope", "Standard_D8_v3", product), [])
    *_, ends = read(path, provider="gcp")
    assert "no column for product" in str(ends[0].refused)


def test_a_header_can_say_the_currency(put: Callable[..., Path]) -> None:
    gcp = put(
        b"committed_at,machine_type,region,usd_hour,usd_hour_spot\n2024-01-26T10:03:41Z,a2,asia-east1,4,1.5\n"
    )
    source = FileSource(str(gcp), SpotContext("gcp", product="Linux/UNIX"))
    batch = next(event for event in source.events() if not isinstance(event, FileEnd))
    assert batch.rows.to_pylist()[0]["currency"] == "USD"


def test_a_member_that_leads_out_of_its_archive_or_links_is_refused(put: Callable[..., Path]) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        for name in ("../up.json", "/abs.json", "good.json"):
            info = tarfile.TarInfo(name)
            info.size = len(answer(A, B))
            archive.addfile(info, io.BytesIO(answer(A, B).encode()))
    rows, _, ends = read(put(out.getvalue()))
    assert rows == EXPECTED
    assert [(end.file, end.refused) for end in ends] == [
        ("link", "a link or device in an archive"),
        ("../up.json", "a name that leads out of the archive"),
        ("/abs.json", "a name that leads out of the archive"),
        ("good.json", None),
    ]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (ArchiveLimits(total_bytes=1000), "expands to more than 1000 bytes"),
        (ArchiveLimits(ratio=10, ratio_from=1000), "expands more than 10 times"),
    ],
)
def test_a_bomb_ends_early(put: Callable[..., Path], limits: ArchiveLimits, reason: str) -> None:
    *_, ends = read(put(lzma.compress(b" " * 5_000_000 + answer(A).encode())), limits=limits)
    assert ends == [FileEnd("data", reason)]


def test_an_archive_of_too_many_files_or_layers_is_refused(put: Callable[..., Path]) -> None:
    many = put(tarred({f"{i}.json": answer(A).encode() for i in range(3)}), "many")
    rows, _, ends = read(many, limits=ArchiveLimits(members=2))
    assert len(rows) == 2
    assert "holds more than 2 files" in str(ends[-1].refused)
    deep = answer(A).encode()
    for _ in range(6):
        deep = gzip.compress(deep)
    *_, ends = read(put(deep, "deep"))
    assert ends == [FileEnd("deep", "packed more than 4 times over")]


def test_a_cut_tar_keeps_its_whole_files_and_says_where_it_broke(put: Callable[..., Path]) -> None:
    whole = tarred({"a.json": answer(A).encode(), "b.json": answer(B).encode()})
    rows, _, ends = read(put(whole[:1700]))
    assert rows == EXPECTED[:1]
    assert [(end.file, end.refused is None) for end in ends] == [
        ("a.json", True),
        ("b.json", False),
        ("data", False),
    ]


@pytest.mark.parametrize("pack", ["", "w:gz"])
def test_a_tar_cut_between_two_files_is_noticed(put: Callable[..., Path], pack: str) -> None:
    whole = tarred({"a.json": answer(A).encode(), "b.json": answer(B).encode()})
    blocks = 1 + -(-len(answer(A)) // 512)
    cut = whole[: blocks * 512]
    sentence = f"archive broken at a.json: cut short after {len(cut)} bytes"
    rows, _, ends = read(put(gzip.compress(cut) if pack else cut))
    assert rows == EXPECTED[:1]
    assert [(end.file, end.refused) for end in ends] == [("a.json", None), ("data", sentence)]
    # The zeros at the end are padding once there is one block of them.
    ended = whole[: whole.rindex(b"}") // 512 * 512 + 1024]
    assert [end.refused for end in read(put(ended, "ended"))[2]] == [None, None]


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.json").write_text(answer(A, B))
    (folder / "b.json").symlink_to("/etc/passwd")
    rows, _, ends = read(folder)
    assert rows == EXPECTED
    assert "a link" in str(ends[1].refused)


def test_a_glob_takes_what_matches_and_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name, content in (("x1.json", A), ("x2.json", B), ("y.json", A)):
        (tmp_path / name).write_text(answer(content))
    assert read(tmp_path / "x*.json")[0] == EXPECTED
    with pytest.raises(UnreadableError, match="no such file"):
        read(tmp_path / "z*.json")
