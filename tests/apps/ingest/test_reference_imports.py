"""Imports of list prices, instance types and interruption bands: counts, places of rejections, repeats, exit
codes.
"""

from __future__ import annotations

import io
import json
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import redirect_stderr
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from apps.catalog.models import InstanceType
from apps.ingest.models import IngestRun, RejectedRow
from apps.ingest.selectors import current_snapshots
from apps.prices.models import InterruptionBand, ListPrice
from tests.support.ec2_server import RecordedAws, recorded_aws

pytestmark = pytest.mark.django_db

TABLE = """committed,region,instance_type,usd_per_hour
2022-06-23,us-east-1,p3.2xlarge,3.06
2022-06-23,us-east-1,p2.xlarge,0.90
2022-06-23,us-east-1,free.large,0.00
2023-04-06,us-east-1,p3.2xlarge,3.07
2023-04-06,cn-north-1,p3.2xlarge,36.078
2023-04-06,us-east-1,p3.2xlarge,3.0700
"""


def run(verb: str, *arguments: str) -> tuple[dict[str, Any], int]:
    out, code = io.StringIO(), 0
    with redirect_stderr(io.StringIO()):
        try:
            call_command(verb, *arguments, "--json", stdout=out, stderr=io.StringIO())
        except SystemExit as end:
            code = int(end.code or 0)
    return json.loads(out.getvalue()), code


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "prices.csv"
    file.write_text(TABLE)
    return file


@pytest.mark.parametrize(
    "verb",
    [
        "import_prices",
        "import_list_prices",
        "import_instance_types",
        "import_interruption",
        "import_offers",
        "import_commitments",
    ],
)
@pytest.mark.django_db(transaction=True)
def test_an_empty_folder_is_refused_in_a_sentence(verb: str, tmp_path: Path, lake_folder: Path) -> None:
    path = tmp_path / "nothing"
    path.mkdir()
    (path / ".hidden").write_text(TABLE)
    document, code = run(verb, str(path))
    assert code == 3
    for told in document["runs"]:
        assert (told["state"], told["rows_read"], told["rejected"]) == ("refused", 1, 1)
        assert [(r["row"], r["reason"]) for r in told["rejections"]] == [(None, "nothing to read")]
        assert told["error"] in {"nothing to read", "no file could be read"}


def test_rows_read_are_stored_duplicates_or_rejected_and_each_rejection_has_its_place(table: Path) -> None:
    document, code = run("import_list_prices", str(table))
    (told,) = document["runs"]
    assert code == 0
    assert (told["rows_read"], told["stored"], told["duplicates"], told["rejected"]) == (6, 3, 1, 2)
    assert told["rejections"] == [
        {
            "file": "prices.csv",
            "row": 3,
            "field": "usd_per_hour",
            "reason": "price is not above zero",
        },
        {
            "file": "prices.csv",
            "row": 5,
            "field": "usd_per_hour",
            "reason": "AWS prices cn-north-1 in CNY, the file says USD",
        },
    ]
    assert (told["series"], told["known_from"], told["known_to"]) == (
        2,
        "2022-06-23T00:00:00Z",
        "2023-04-06T00:00:00Z",
    )
    assert set(document["evidence"]) == {"snapshots", "engine", "at", "later_prices"}
    assert RejectedRow.objects.count() == 2
    assert ListPrice.objects.get(instance_type="p2.xlarge").price == Decimal("0.9")


def test_importing_again_changes_nothing(table: Path) -> None:
    run("import_list_prices", str(table))
    before = list(ListPrice.objects.values_list())
    (told,) = run("import_list_prices", str(table))[0]["runs"]
    assert (told["rows_read"], told["stored"], told["duplicates"], told["rejected"]) == (6, 0, 4, 2)
    assert list(ListPrice.objects.values_list()) == before


def test_another_price_for_a_stored_key_is_rejected_and_names_both(table: Path) -> None:
    run("import_list_prices", str(table))
    table.write_text("committed,region,instance_type,usd_per_hour\n2022-06-23,us-east-1,p2.xlarge,0.91\n")
    document, code = run("import_list_prices", str(table))
    assert code == 3
    assert document["runs"][0]["rejections"][0]["reason"] == (
        "0.91 USD here, 0.9000000000 already stored for the same key"
    )
    assert ListPrice.objects.get(instance_type="p2.xlarge").price == Decimal("0.9")


def test_two_prices_for_one_key_in_one_file_are_both_left_out(table: Path) -> None:
    table.write_text(TABLE + "2022-06-23,us-east-1,p2.xlarge,0.95\n")
    (told,) = run("import_list_prices", str(table))[0]["runs"]
    assert [r["row"] for r in told["rejections"]] == [3, 5, 2, 7]
    assert told["rejections"][3]["reason"] == (
        "several prices for the same key in one delivery: 0.90 USD and 0.95 USD"
    )
    assert not ListPrice.objects.filter(instance_type="p2.xlarge").exists()


@pytest.mark.parametrize("content", ["", "# a readme\n", '{"a": 1}'])
def test_a_file_that_is_no_price_list_is_refused_with_code_3(tmp_path: Path, content: str) -> None:
    file = tmp_path / "README.md"
    file.write_text(content)
    document, code = run("import_list_prices", str(file))
    assert code == 3
    (told,) = document["runs"]
    assert (told["state"], told["rows_read"], told["stored"], told["rejected"]) == ("refused", 1, 0, 1)
    assert told["rejections"][0]["row"] is None
    assert ListPrice.objects.count() == 0


def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    document, code = run("import_list_prices", str(tmp_path / "none.csv"))
    assert (code, document["runs"][0]["rejections"][0]["reason"]) == (3, "no such file, folder or pattern")


def test_reference_runs_leave_the_lake_as_it_was(table: Path) -> None:
    run("import_list_prices", str(table))
    assert IngestRun.objects.get().snapshots == {}
    assert current_snapshots() == {}


def types_archive(folder: Path) -> Path:
    entry = {
        "InstanceType": "p3.2xlarge",
        "VCpuInfo": {"DefaultVCpus": 8},
        "MemoryInfo": {"SizeInMiB": 62464},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "GpuInfo": {"Gpus": [{"Name": "V100", "Manufacturer": "NVIDIA", "Count": 1}]},
    }
    files = {
        "types/a.json": json.dumps({"InstanceTypes": [entry]}),
        "types/b.json": json.dumps(
            {"InstanceTypes": [entry | {"InstanceType": "p9.huge"}, {"InstanceType": "x"}]}
        ),
        "types/c.json": '{"InstanceTypes": [',
    }
    archive = folder / "types.json.tar.xz"
    with lzma.open(archive, "wb") as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return archive


def test_instance_types_from_an_archive_with_a_cut_file(tmp_path: Path) -> None:
    archive = types_archive(tmp_path)
    (told,) = run("import_instance_types", str(archive))[0]["runs"]
    assert (told["rows_read"], told["stored"], told["duplicates"], told["rejected"]) == (4, 2, 0, 2)
    assert [(r["file"].rsplit("/", 1)[1], r["row"], r["field"]) for r in told["rejections"]] == [
        ("b.json", 2, "VCpuInfo"),
        ("c.json", None, ""),
    ]
    (again,) = run("import_instance_types", str(archive))[0]["runs"]
    assert (again["stored"], again["duplicates"], again["replaced"]) == (0, 2, 0)
    InstanceType.objects.filter(name="p9.huge").update(vcpus=4)
    (changed,) = run("import_instance_types", str(archive))[0]["runs"]
    assert (changed["stored"], changed["duplicates"], changed["replaced"]) == (1, 1, 1)
    assert InstanceType.objects.get(name="p9.huge").vcpus == 8


def test_interruption_bands_are_dated_by_the_name_and_repeat_without_change(tmp_path: Path) -> None:
    file = tmp_path / "spot-advisor_2025-06.json"
    file.write_text(
        json.dumps(
            {
                "ranges": [{"index": 0, "label": "<5%"}, {"index": 4, "label": ">20%"}],
                "spot_advisor": {
                    "us-east-1": {"Linux": {"c5.xlarge": {"s": 60, "r": 0}, "p3.2xlarge": {"s": 70, "r": 4}}}
                },
            }
        )
    )
    (told,) = run("import_interruption", str(file))[0]["runs"]
    assert (told["rows_read"], told["stored"], told["known_to"]) == (2, 2, "2025-06-30T00:00:00Z")
    (again,) = run("import_interruption", str(file))[0]["runs"]
    assert (again["stored"], again["duplicates"]) == (0, 2)
    assert InterruptionBand.objects.get(instance_type="p3.2xlarge").high is None


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[RecordedAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    with recorded_aws() as server:
        server.answer("DescribeSpotPriceHistory", "faulty_dry_run.xml")
        server.answer("DescribeAvailabilityZones", "faulty_denied.xml")
        settings.AWS_ENDPOINT_URL = server.url
        yield server


def test_a_denied_right_ends_check_permissions_with_an_error_code(aws: RecordedAws) -> None:
    document, code = run("check_permissions", "--regions", "us-east-1")
    assert code == 1
    assert document["account"] == "111122223333"
    assert [(a["action"], a["verdict"]) for a in document["actions"]] == [
        ("ec2:DescribeSpotPriceHistory", "allowed"),
        ("ec2:DescribeAvailabilityZones", "denied"),
    ]
    assert document["all_needed_allowed"] is False
    aws.answer("DescribeAvailabilityZones", "faulty_dry_run.xml")
    document, code = run("check_permissions", "--regions", "us-east-1")
    assert (code, document["all_needed_allowed"]) == (0, True)


def test_the_policy_is_printed_alone() -> None:
    out = io.StringIO()
    call_command("check_permissions", "--print-policy", stdout=out)
    assert json.loads(out.getvalue())["Statement"][0]["Action"] == [
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeSpotPriceHistory",
    ]


def test_an_offer_file_is_dated_by_its_publication(tmp_path: Path) -> None:
    header = (
        "SKU,OfferTermCode,TermType,EffectiveDate,Unit,PricePerUnit,Currency,Product Family,Region Code,"
        "Instance Type,Tenancy,Operating System,License Model,usageType,CapacityStatus,Pre Installed S/W"
    )
    rest = "Hrs,{},USD,Compute Instance,us-east-1,r5.large,Shared,Linux,No License required,{},{},NA"
    used = rest.format("0.1260000000", "BoxUsage:r5.large", "Used")
    reserved = rest.format("0.0000000000", "Reservation:r5.large", "AllocatedCapacityReservation")
    file = tmp_path / "index.csv"
    file.write_text(
        "\n".join(
            [
                '"Publication Date","2026-01-20T00:00:00Z"',
                header,
                f"A,T,OnDemand,2026-01-01,{used}",
                f"B,T,OnDemand,2026-01-01,{reserved}",
            ]
        )
    )
    (told,) = run("import_list_prices", str(file))[0]["runs"]
    assert (told["rows_read"], told["stored"], told["rejected"]) == (1, 1, 0)
    assert told["ignored"] == {"capacity status AllocatedCapacityReservation": 1}
    stored = ListPrice.objects.get()
    assert (stored.price, stored.effective_from) == (Decimal("0.126"), datetime(2026, 1, 20, tzinfo=UTC))
