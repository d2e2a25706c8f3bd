"""Restated months, split and incomplete assemblies, copies: which delivery counts, and only once."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from apps.billing.models import Delivery
from apps.billing.selectors.deliveries import delivery_before, delivery_changes
from apps.ingest.bills.reports import bill_runs_document
from apps.ingest.bills.run import bill_import
from apps.ingest.models import IngestRun
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

EARLY = datetime(2026, 3, 10, 2, tzinfo=UTC)
LATE = datetime(2026, 4, 3, 5, tzinfo=UTC)


def _rows(*told: tuple[str, str, str], **more: str) -> str:
    return cur_csv(
        [
            {"identity/LineItemId": i, "lineItem/ResourceId": r, "lineItem/UnblendedCost": c, **more}
            for i, r, c in told
        ]
    )


FIRST = _rows(("L1", "i-aa", "10.00"), ("L2", "i-bb", "5.00"), ("L3", "i-cc", "2.50"))
APRIL = _rows(("M1", "i-aa", "3"), **{"bill/BillingPeriodStartDate": "2026-04-01T00:00:00Z"})
SECOND = _rows(("L1", "i-aa", "9.20"), ("L2", "i-dd", "1.10"), ("L9", "i-bb", "5.00"))


def _by_resource() -> dict[str, Decimal]:
    return dict(lines("resource_id, sum(billed_cost)", "true GROUP BY 1"))


def _load(folder: Path, name: str, text: str, at: datetime) -> IngestRun:
    return import_text(folder / "20260301-20260401" / name / "r-1.csv", text, at=at)


def test_t1_01_the_later_delivery_takes_the_place_of_the_whole_month(tmp_path: Path) -> None:
    _load(tmp_path, "assembly-a", FIRST, EARLY)
    assert sum(_by_resource().values()) == Decimal("17.50")
    run = _load(tmp_path, "assembly-b", SECOND, LATE)
    assert run.state == "finished"
    assert _by_resource() == {"i-aa": Decimal("9.20"), "i-dd": Decimal("1.10"), "i-bb": Decimal("5.00")}
    assert lines("sum(billed_cost), sum(x_rows)", table="billing.daily") == [(Decimal("15.30"), 3)]
    current = Delivery.objects.get(state="current")
    before = delivery_before(current)
    assert before is not None
    assert (before.state, before.totals["USD"]["billed"], current.totals["USD"]["billed"]) == (
        "superseded",
        "17.5",
        "15.3",
    )
    [change] = delivery_changes(before, current)
    assert (change.before, change.after, change.difference) == (
        Decimal("17.50"),
        Decimal("15.30"),
        Decimal("-2.20"),
    )


def test_an_older_delivery_that_comes_late_never_wins_and_its_totals_are_kept(tmp_path: Path) -> None:
    _load(tmp_path, "assembly-b", SECOND, LATE)
    run = _load(tmp_path, "assembly-a", FIRST, EARLY)
    assert (run.state, run.stored, run.duplicates) == ("finished", 0, 3)
    assert sum(_by_resource().values()) == Decimal("15.30")
    late = Delivery.objects.get(state="late")
    assert late.totals["USD"]["billed"] == "17.5"
    assert late.parts.count() == 1


@pytest.mark.parametrize("state", ["current", "superseded"])
def test_the_same_files_again_store_nothing_whatever_they_are_called(tmp_path: Path, state: str) -> None:
    _load(tmp_path, "a", FIRST, EARLY)
    if state == "superseded":
        _load(tmp_path, "b", SECOND, LATE)
    before = _by_resource()
    run = import_text(tmp_path / "copy" / "again.csv", FIRST)
    assert (run.state, run.stored, run.duplicates, run.options["deliveries"]) == ("finished", 0, 3, [])
    assert [Delivery.objects.get(pk=pk).state for pk in run.options["unchanged"]] == [state]
    assert _by_resource() == before


def _split(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    april = {
        "bill/BillingPeriodStartDate": "2026-04-01T00:00:00Z",
        "bill/BillingPeriodEndDate": "2026-05-01T00:00:00Z",
        "lineItem/UsageStartDate": "2026-04-02T00:00:00Z",
    }
    month = tmp_path / "bucket" / "exp" / "20260401-20260501"
    for name, rows in {
        "b7/exp-1.csv": (("A", "i-1", "1.25"), ("B", "i-2", "0.75")),
        "b7/exp-2.csv": (("C", "i-3", "6.00"), ("D", "i-4", "2.00")),
        "a1/exp-1.csv": (("A", "i-1", "1.25"), ("C", "i-3", "6.25")),
    }.items():
        (month / name).parent.mkdir(parents=True, exist_ok=True)
        (month / name).write_text(_rows(*rows, **april))
    manifest = {
        "assemblyId": "b7",
        "billingPeriod": {"start": "20260401T000000.000Z", "end": "20260501T000000.000Z"},
        "reportKeys": ["exp/20260401-20260501/b7/exp-1.csv", "exp/20260401-20260501/b7/exp-2.csv"],
    }
    (month / "exp-Manifest.json").write_text(json.dumps(manifest))
    return tmp_path / "bucket", manifest


def test_t1_03_the_manifest_says_what_belongs_together(tmp_path: Path) -> None:
    bucket, _manifest = _split(tmp_path)
    run = bill_import(paths=[bucket])
    assert (run.state, run.rows_read, run.stored) == ("finished", 4, 4)
    [delivery] = Delivery.objects.all()
    assert (delivery.totals["USD"]["billed"], delivery.assembly, delivery.report.name) == ("10", "b7", "exp")


def test_t1_03_a_missing_file_refuses_the_delivery_and_the_good_one_stays(tmp_path: Path) -> None:
    bucket, _manifest = _split(tmp_path)
    bill_import(paths=[bucket])
    (bucket / "exp/20260401-20260501/b7/exp-2.csv").unlink()
    run = bill_import(paths=[bucket])
    assert run.state == "refused"
    assert "1 of 2 listed files missing" in run.error
    assert "exp/20260401-20260501/b7/exp-2.csv" in run.error
    assert lines("sum(billed_cost)") == [(Decimal("10.00"),)]
    assert [d.state for d in Delivery.objects.all()] == ["current"]


def test_the_manifest_of_cur_2_lies_beside_its_data(tmp_path: Path) -> None:
    data = tmp_path / "pre/my-export/data/BILLING_PERIOD=2026-03/my-export-00001.csv"
    data.parent.mkdir(parents=True)
    data.write_text(FIRST)
    (data.parent / "left-over-00002.csv").write_text(SECOND)
    manifest = tmp_path / "pre/my-export/metadata/BILLING_PERIOD=2026-03/my-export-Manifest.json"
    manifest.parent.mkdir(parents=True)
    key = "s3://bucket/pre/my-export/data/BILLING_PERIOD=2026-03/my-export-00001.csv"
    manifest.write_text(json.dumps({"dataFiles": [key], "executionId": "e1"}))
    run = bill_import(paths=[tmp_path / "pre"])
    assert (run.state, run.rows_read) == ("finished", 3)
    assert Delivery.objects.get().report.name == "my-export"


def test_files_of_one_folder_whose_names_differ_in_numbers_are_one_delivery(tmp_path: Path) -> None:
    for number, text in enumerate((_rows(("A", "i", "1")), _rows(("B", "i", "2")), _rows(("B", "i", "2")))):
        (tmp_path / f"exp-{number}.csv").write_text(text)
    run = bill_import(paths=[tmp_path])
    # the third is a copy of the second
    assert (run.state, run.rows_read) == ("finished", 2)
    assert Delivery.objects.get().totals["USD"]["billed"] == "3"


def test_two_deliveries_of_one_month_in_one_folder_are_never_added(tmp_path: Path) -> None:
    (tmp_path / "mar-10.csv").write_text(FIRST)
    (tmp_path / "mar-11.csv").write_text(SECOND)
    run = bill_import(paths=[tmp_path])
    assert run.state == "refused"
    assert "line items are in more than one of these files" in run.error
    assert not Delivery.objects.exists()
    assert lines("*") == []


def test_files_of_one_month_with_other_names_in_one_folder_are_refused(tmp_path: Path) -> None:
    for name, text in (("first.csv", FIRST), ("second.csv", SECOND), ("april.csv", APRIL)):
        (tmp_path / name).write_text(text)
    run = bill_import(paths=[tmp_path])
    assert (run.state, run.rejected) == ("finished", 1)
    [refused] = run.options["refused"]
    assert "first.csv, second.csv: in one folder and of the same month 2026-03" in refused["reason"]
    assert [f"{d.billing_period:%m}" for d in Delivery.objects.all()] == ["04"]


def test_folders_of_assemblies_are_deliveries_of_their_own(tmp_path: Path) -> None:
    _load(tmp_path / "x", "nothing", _rows(("X", "i", "1"), **{"bill/PayerAccountId": "5"}), EARLY)
    for name, text, at in (("a", FIRST, EARLY), ("b", SECOND, LATE)):
        path = tmp_path / "in" / name / "r-1.csv"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        os.utime(path, (at.timestamp(), at.timestamp()))
    run = bill_import(paths=[tmp_path / "in"])
    assert (run.stored, run.duplicates) == (3, 3)
    mine = Delivery.objects.filter(report__payer="999").order_by("delivered_at")
    assert [(d.state, d.totals["USD"]["billed"]) for d in mine] == [
        ("superseded", "17.5"),
        ("current", "15.3"),
    ]
    assert lines("sum(billed_cost)") == [(Decimal("16.30"),)]


def test_a_file_of_two_months_becomes_two_deliveries(tmp_path: Path) -> None:
    april = {"bill/BillingPeriodStartDate": "2026-04-01T00:00:00Z"}
    text = cur_csv([{"lineItem/UnblendedCost": "1"}, {"lineItem/UnblendedCost": "2", **april}])
    run = import_text(tmp_path / "both.csv", text)
    assert run.stored == 2
    assert {f"{d.billing_period:%m}": d.totals["USD"]["billed"] for d in Delivery.objects.all()} == {
        "03": "1",
        "04": "2",
    }
    assert lines("x_month, sum(billed_cost)", "true GROUP BY 1") == [
        ("2026-03", Decimal(1)),
        ("2026-04", Decimal(2)),
    ]


def test_a_rejected_row_counts_for_the_month_that_it_says(tmp_path: Path) -> None:
    april = {"bill/BillingPeriodStartDate": "2026-04-01T00:00:00Z"}
    bad = {**april, "lineItem/UnblendedCost": "7", "lineItem/UsageAmount": "x"}
    nobody = {"bill/BillingPeriodStartDate": "", "lineItem/UnblendedCost": "9"}
    good = [{"lineItem/UnblendedCost": "1"}, {"lineItem/UnblendedCost": "2", **april}]
    run = import_text(tmp_path / "both.csv", cur_csv([*good, bad, nobody]))
    march, later = Delivery.objects.order_by("billing_period")
    assert (march.rows_read, march.stored, march.rejected) == (2, 1, 1)
    assert (later.rows_read, later.stored, later.rejected) == (2, 1, 1)
    assert run.rejected == 2
    run = import_text(tmp_path / "again.csv", cur_csv([*good, bad]))
    told = bill_runs_document([run], now=LATE)["deliveries"]
    shown = {d["billing_period"]: (d["rejected"], len(d["rejections"])) for d in told}
    assert shown == {"2026-03": (0, 0), "2026-04": (1, 1)}


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("{", "no JSON document"),
        ('{"reportKeys": []}', "names no data files"),
        ('{"reportKeys": ["exp/../../secret/exp-1.csv"]}', "outside of its export"),
    ],
)
def test_parts_under_a_broken_manifest_are_not_taken_for_a_delivery(
    tmp_path: Path, manifest: str, said: str
) -> None:
    bucket, _manifest = _split(tmp_path)
    bill_import(paths=[bucket])
    month = bucket / "exp/20260401-20260501"
    (month / "exp-Manifest.json").write_text(manifest)
    (month / "b7/exp-2.csv").unlink()
    run = bill_import(paths=[bucket])
    assert run.state == "refused"
    assert said in run.error
    [refused] = run.options["refused"]
    assert [(r["file"], r["row"]) for r in refused["rejections"]] == [
        ("exp/20260401-20260501/exp-Manifest.json", None)
    ]
    assert [(d.state, d.totals["USD"]["billed"]) for d in Delivery.objects.all()] == [("current", "10")]


def test_rows_of_another_month_than_the_manifests_are_refused(tmp_path: Path) -> None:
    bucket, manifest = _split(tmp_path)
    manifest["billingPeriod"]["start"] = "20260501T000000.000Z"
    (bucket / "exp/20260401-20260501/exp-Manifest.json").write_text(json.dumps(manifest))
    run = bill_import(paths=[bucket])
    assert run.state == "refused"
    assert "rows of 2026-04, and the manifest" in run.error
    assert not Delivery.objects.exists()


def test_expected_totals_decide_whether_it_reconciles(tmp_path: Path) -> None:
    run = import_text(tmp_path / "a.csv", FIRST, expected={"USD": Decimal("17.50")})
    [good] = Delivery.objects.filter(run_id=run.pk)
    assert (good.reconciled, good.difference) == (True, {"USD": "0"})
    run = import_text(tmp_path / "b.csv", SECOND, expected={"USD": Decimal("15.31")})
    [bad] = Delivery.objects.filter(run_id=run.pk)
    assert (bad.reconciled, bad.difference) == (False, {"USD": "-0.01"})
    assert bad.expected == {"USD": "15.31"}


def test_a_total_is_of_one_delivery_or_names_its_month(tmp_path: Path) -> None:
    for name, text in (("march.csv", FIRST), ("april.csv", APRIL)):
        (tmp_path / name).write_text(text)
    both = [tmp_path / "march.csv", tmp_path / "april.csv"]
    run = bill_import(paths=both, expected={"USD": Decimal("17.50")})
    assert run.state == "refused"
    assert run.error.startswith("one total was given and 2 deliveries were found (2026-03, 2026-04)")
    assert not Delivery.objects.exists()
    given = {"2026-03:USD": Decimal("17.50"), "2026-04:USD": Decimal("4.00")}
    run = bill_import(paths=both, expected=given)
    found = {f"{d.billing_period:%Y-%m}": d for d in Delivery.objects.filter(run_id=run.pk)}
    assert {month: (d.reconciled, d.expected, d.difference) for month, d in found.items()} == {
        "2026-03": (True, {"USD": "17.5"}, {"USD": "0"}),
        "2026-04": (False, {"USD": "4"}, {"USD": "-1"}),
    }


@pytest.mark.parametrize(
    "words",
    [
        ("--expected-total", "USD=1", "a/x.csv", "b/x.csv"),
        ("--expected-total", "2026-13:USD=1", "a/x.csv"),
        ("--expected-total", "2026-03:USD=1", "--expected-total", "2026-03:USD=2", "a/x.csv"),
    ],
)
def test_totals_that_cannot_be_told_apart_are_wrong_usage(tmp_path: Path, words: tuple[str, ...]) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text(FIRST)
    given = [str(tmp_path / word) if word.endswith(".csv") else word for word in words]
    with pytest.raises(CommandError) as told:
        call_command("import_bill", *given)
    assert told.value.returncode == 2
    assert not IngestRun.objects.exists()


def test_a_total_for_what_is_there_already_is_told_as_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "march.csv"
    path.write_text(FIRST)
    told = StringIO()
    call_command("import_bill", str(path), stdout=StringIO(), stderr=told)
    assert "not compared" not in told.getvalue()
    call_command("import_bill", str(path), "--expected-total", "USD=1", stdout=StringIO(), stderr=told)
    assert "were not compared with it; enter the totals with import_expected_totals" in told.getvalue()
    assert Delivery.objects.get().reconciled is None


def test_lines_beyond_what_can_be_added_are_refused_and_the_old_delivery_stays(tmp_path: Path) -> None:
    _load(tmp_path, "assembly-a", FIRST, EARLY)
    huge = "90000000000000000000"
    run = _load(tmp_path, "assembly-b", _rows(("L1", "i-a", huge), ("L2", "i-b", huge)), LATE)
    assert run.state == "refused"
    assert run.error.startswith("the lines add up to more than 170,141,183,460,469,231,731")
    assert sum(_by_resource().values()) == Decimal("17.50")
    assert Delivery.objects.get().state == "current"


def test_a_header_that_is_no_bill_names_the_nearest_and_what_it_lacks(tmp_path: Path) -> None:
    run = import_text(tmp_path / "tiny.csv", "id,cost\nA,1.25\n")
    assert run.state == "refused"
    assert "not a bill that is known; nearest: " in run.error
    run = import_text(tmp_path / "near.csv", cur_csv([{}], without=["lineItem/CurrencyCode"]))
    assert run.error.endswith(
        "not a bill that is known; nearest: AWS Cost and Usage Report, without its column "
        "lineItem/CurrencyCode"
    )
    assert not Delivery.objects.exists()
