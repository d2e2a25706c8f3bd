"""Files read quickly become the very lines, days and totals that they become row by row."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery
from apps.ingest.bills import quick, quickly, stage
from apps.ingest.bills.run import bill_import
from bench.cur_file import write_cur
from finops.lake import BILL_DAILY, BILL_LINES
from finops.lake.bill_tables import DAILY_SUMS
from finops.lake.tables import TABLES
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, focus_csv

pytestmark = pytest.mark.usefixtures("lake_folder")

KINDS = ("Usage", "DiscountedUsage", "SavingsPlanCoveredUsage", "SavingsPlanNegation", "Tax", "Fee", "Refund")
COSTS = ("0.1", "2.2E-9", "-3.25", "0", "", "1234567890123.1", "0.1234567890123456789", "+7")


def _rows(count: int, seed: int) -> list[dict[str, str]]:
    """Lines of all types: a few resources that repeat, amounts that do not, quotes and blanks."""
    draw = random.Random(seed)
    world = [
        {
            "lineItem/ResourceId": f"i-{n}",
            "lineItem/LineItemType": draw.choice(KINDS),
            "lineItem/ProductCode": draw.choice(("AmazonEC2", "AmazonS3", "")),
            "lineItem/LineItemDescription": draw.choice(("a, b", "plain", 'the "best"', "üß")),
            "lineItem/AvailabilityZone": draw.choice(("us-east-1a", "us-east-1")),
            "lineItem/CurrencyCode": draw.choice(("USD", " usd", "EUR")),
            "product/region": "us-east-1",
            "product/locationType": "AWS Region",
            "product/memory": draw.choice(("16 GiB", "")),
            "reservation/ReservationARN": draw.choice(("", "arn:ri")),
            "resourceTags/user:team": draw.choice(("web", "data", "")),
            "resourceTags/user:Team": draw.choice(("web", "")),
            "costCategory/Env": draw.choice(("prod", "")),
            "lineItem/UnblendedRate": f"0.{n:04d}",
        }
        for n in range(max(count // 9, 1))
    ]
    return [
        {
            **draw.choice(world),
            "identity/LineItemId": f"L{i}",
            "identity/TimeInterval": f"2026-03-{i % 28 + 1:02d}/x",
            "lineItem/UsageStartDate": f"2026-03-{i % 28 + 1:02d}T{i % 24:02d}:00:00Z",
            "lineItem/UnblendedCost": draw.choice(COSTS) if i % 2 else f"{draw.random():.12f}",
            "lineItem/UsageAmount": f"{draw.random():.9f}",
            "lineItem/BlendedCost": draw.choice(("", f"{draw.random():.9f}")),
            "reservation/EffectiveCost": f"{draw.random():.9f}" if i % 5 else "",
        }
        for i in range(count)
    ]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[bool], dict[str, Any]]]:
    """Import quickly or row by row, as an organisation of its own: which files were quick, what is stored."""
    taken: list[bool] = []
    real = stage.read_quickly

    def spied(*given: Any) -> quickly.QuickFiles:
        found = real(*given)
        taken.extend(path is not None for path in found.lines)
        return found

    monkeypatch.setattr(stage, "read_quickly", spied)
    # Blocks of a few lines, row groups of a few blocks.
    monkeypatch.setattr(quick, "BLOCK_BYTES", 8192)
    monkeypatch.setattr(quick, "BATCH_ROWS", 90)

    def go(
        paths: Sequence[Path], quickly_: bool, state: str = "finished"
    ) -> tuple[list[bool], dict[str, Any]]:
        monkeypatch.setattr(quickly, "QUICK_FROM_BYTES", 0 if quickly_ else 1 << 40)
        organisation = Organisation.objects.create(name=f"o{quickly_}", slug=f"o{quickly_}".lower())
        taken.clear()
        run = bill_import(paths=paths, organisation=organisation)
        assert run.state == state, run.error
        return list(taken), _stored(organisation) | {"error": run.error, "rejected": _rejected(run)}

    return go


def _rejected(run: Any) -> list[tuple[Any, ...]]:
    return list(run.rejections.order_by("pk").values_list("file", "row", "field", "reason"))


def _stored(organisation: Organisation) -> dict[str, Any]:
    reports = [str(r.pk) for r in BillReport.objects.filter(organisation=organisation)]
    mine = "x_report IN ('" + "', '".join(reports or ["-"]) + "')"
    found: dict[str, Any] = {}
    for table in (BILL_LINES, BILL_DAILY):
        columns = [
            f"list_sort(map_entries({c}))" if kind.startswith("MAP") else c
            for c, _, kind in TABLES[table].columns
            if c not in ("x_report", "x_delivery")
        ]
        found[table] = lines(", ".join(columns), mine, table)
    found["deliveries"] = [
        (d.billing_period, d.stored, d.rejected, d.totals, d.by_line_item_type, d.notes, d.tag_keys)
        for d in Delivery.objects.filter(report__organisation=organisation).order_by("pk")
    ]
    return found


@pytest.mark.parametrize("keep", [True, False])
def test_lines_of_all_types_in_several_files(tmp_path: Path, read: Any, settings: Any, keep: bool) -> None:
    settings.BILL_KEEP_SOURCE_COLUMNS = keep
    paths = []
    for number in (1, 2):
        paths.append(tmp_path / f"report-{number}.csv")
        rows = [row | {"identity/LineItemId": f"{number}-{i}"} for i, row in enumerate(_rows(330, number))]
        paths[-1].write_text(cur_csv(rows), encoding="utf-8")
    taken, quickly_ = read(paths, True)
    assert taken == [True, True]
    none, by_row = read(paths, False)
    assert none == [False, False]
    assert quickly_ == by_row
    assert len(quickly_[BILL_LINES]) == 660
    sums = ", ".join(f"sum({c})" for c in DAILY_SUMS)
    assert lines(sums, table=BILL_LINES) == lines(sums, table=BILL_DAILY)


def test_a_generated_report_packed(tmp_path: Path, read: Any) -> None:
    paths = write_cur(tmp_path, 700, files=2)
    taken, quickly_ = read(paths, True)
    assert taken == [True, True]
    assert quickly_ == read(paths, False)[1]


def test_a_focus_file_with_nulls(tmp_path: Path, read: Any) -> None:
    rows = [
        {"billed_cost": f"{i}.5", "service_name": None if i % 3 else "EC2", "resource_id": f"r{i % 20}",
         "tags": {"team": "web"} if i % 2 else {}, "x_instance_type": "NULL"}
        for i in range(400)
    ]  # fmt: skip
    path = tmp_path / "focus.csv"
    path.write_text(focus_csv(rows, period=date(2026, 3, 1)).replace("Usage,", "usage,"), encoding="utf-8")
    taken, quickly_ = read([path], True)
    assert taken == [True]
    assert quickly_ == read([path], False)[1]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"lineItem/UsageStartDate": "soon"}, "finished"),
        ({"bill/BillingPeriodStartDate": "2026-04-01T00:00:00Z"}, "finished"),
        ({"lineItem/UnblendedCost": "1.2.3"}, "refused"),
        ({"lineItem/LineItemType": "Surprise"}, "refused"),
    ],
)
def test_a_file_with_a_fault_or_of_two_months_is_judged_as_ever(
    tmp_path: Path, read: Any, change: dict[str, str], state: str
) -> None:
    rows = _rows(300, 5)
    rows[250] |= change
    path = tmp_path / "report-1.csv"
    path.write_text(cur_csv(rows), encoding="utf-8")
    _, quickly_ = read([path], True, state)
    _, by_row = read([path], False, state)
    assert quickly_ == by_row


def test_one_file_of_two_that_is_not_plain_is_read_row_by_row(tmp_path: Path, read: Any) -> None:
    paths = [tmp_path / "report-1.csv", tmp_path / "report-2.csv"]
    for number, path in enumerate(paths):
        rows = [row | {"identity/LineItemId": f"{number}-{i}"} for i, row in enumerate(_rows(200, number))]
        path.write_text(cur_csv(rows).rstrip("\n") + ("\n\n" if number else "\n"), encoding="utf-8")
    taken, quickly_ = read(paths, True)
    assert taken == [True, False]
    assert quickly_ == read(paths, False)[1]
    assert len(quickly_[BILL_LINES]) == 400


def test_each_file_is_read_in_its_own_order_of_day_and_month(tmp_path: Path, read: Any) -> None:
    header = (
        "SubscriptionGuid,ResourceGroup,ResourceLocation,UsageDateTime,BillingPeriodStartDate,"
        "BillingPeriodEndDate,MeterCategory,UsageQuantity,PreTaxCost,Currency\n"
    )
    # Nothing but the billing period says that the second file has the day first.
    written = (("2026-03-05", "2026-03-01", "2026-04-01"), ("05/03/2026", "01/03/2026", "01/04/2026"))
    paths = []
    for number, (day, start, end) in enumerate(written, 1):
        paths.append(tmp_path / f"costs-{number}.csv")
        rows = [f"s1,rg,US East,{day},{start},{end},Storage,{number}{i},0.75,EUR\n" for i in range(40)]
        paths[-1].write_text(header + "".join(rows), encoding="utf-8")
    _, quickly_ = read(paths, True)
    _, by_row = read(paths, False)
    assert quickly_ == by_row
    assert [(d[0], d[1]) for d in quickly_["deliveries"]] == [(date(2026, 3, 1), 80)]
