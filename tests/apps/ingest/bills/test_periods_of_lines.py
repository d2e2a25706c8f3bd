"""Periods of lines through the whole pipeline: rejections are kept with file, row and field, notes say what
counts for the whole billing period; each format alone is tested in tests/finops/providers/bills.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from apps.billing.models import Delivery
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text
from tests.support.focus_files import V10, focus_text

pytestmark = pytest.mark.usefixtures("lake_folder")
BILL = cur_csv(
    [
        {"lineItem/UnblendedCost": "1"},
        {"lineItem/UnblendedCost": "2", "lineItem/UsageEndDate": "2026-03-01T23:59:59Z"},
        {
            "lineItem/UnblendedCost": "0.19",
            "lineItem/LineItemType": "Tax",
            "lineItem/UsageStartDate": "",
            "lineItem/UsageEndDate": "",
        },
    ]
)


def test_a_line_that_ends_before_it_starts_is_kept_out_and_told(tmp_path: Path) -> None:
    run = import_text(tmp_path / "bill.csv", BILL)
    assert (run.state, run.rows_read, run.stored, run.rejected) == ("finished", 3, 2, 1)
    [told] = run.rejections.all()
    assert (told.file, told.row, told.field) == ("bill.csv", 2, "lineItem/UsageEndDate")
    assert told.reason == "ends before it starts"
    assert lines("sum(billed_cost)") == [(Decimal("1.19"),)]
    assert lines("x_row, x_day, x_undated") == [
        (1, date(2026, 3, 2), None),
        (3, date(2026, 3, 1), "lineItem/UsageStartDate"),
    ]
    assert [note for note in Delivery.objects.get().notes if note["code"] == "undated"] == [
        {
            "code": "undated",
            "column": "lineItem/UsageStartDate",
            "line_item_type": "Tax",
            "currency": "USD",
            "rows": 1,
            "billed": "0.19",
        }
    ]


def _month(name: str, begin: str, end: str, day: str) -> dict[str, str | None]:
    return {
        **V10,
        "ResourceId": name,
        "BillingPeriodStart": begin,
        "BillingPeriodEnd": end,
        "ChargePeriodStart": f"{day}T16:00:00Z",
        "ChargePeriodEnd": f"{day}T17:00:00Z",
    }


@pytest.mark.parametrize(
    ("begin", "end", "month"),
    [
        ("2026-02-28T16:00:00Z", "2026-03-31T16:00:00Z", "2026-03-01"),  # UTC+8
        ("2026-02-28T10:00:00Z", "2026-03-31T10:00:00Z", "2026-03-01"),  # UTC+14
        ("2026-02-28 16:00:00", "", "2026-03-01"),
        ("2025-12-31T16:00:00Z", "2026-01-31T16:00:00Z", "2026-01-01"),
        ("2026-03-01T05:00:00Z", "2026-04-01T04:00:00Z", "2026-03-01"),  # New York
        ("2026-02-28T16:00:00Z", "2026-03-01T00:00:00Z", "2026-02-01"),  # eight hours of February
        ("2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z", "2026-02-01"),  # a whole day earlier
    ],
)
def test_a_month_ahead_of_utc_is_that_month(tmp_path: Path, begin: str, end: str, month: str) -> None:
    import_text(tmp_path / "bill.csv", focus_text([_month("i-1", begin, end, "2026-02-28")]))
    assert str(Delivery.objects.get().billing_period) == month
    start = datetime.fromisoformat(begin.replace("Z", "")).replace(tzinfo=UTC)
    assert lines("x_month, x_day, billing_period_start") == [(month[:7], date(2026, 2, 28), start)]


def test_a_file_of_two_months_ahead_of_utc_is_split_by_them(tmp_path: Path) -> None:
    february = ("2026-01-31T16:00:00Z", "2026-02-28T16:00:00Z")
    march = ("2026-02-28T16:00:00Z", "2026-03-31T16:00:00Z")
    rows = [_month("i-1", *february, "2026-02-27"), _month("i-2", *march, "2026-02-28")]
    run = import_text(tmp_path / "bill.csv", focus_text(rows))
    assert (run.stored, run.rejected) == (2, 0)
    assert lines("x_month, resource_id") == [("2026-02", "i-1"), ("2026-03", "i-2")]


@pytest.mark.parametrize(("word", "reason"), [("", "blank"), (None, "blank"), (" ", "no currency")])
def test_a_currency_that_is_missing_is_told_once(tmp_path: Path, word: str | None, reason: str) -> None:
    rows = [{**V10}, {**V10, "BillingCurrency": word}]
    run = import_text(tmp_path / "bill.csv", focus_text(rows))
    assert (run.stored, run.rejected) == (1, 1)
    assert [(r.row, r.field, r.reason) for r in run.rejections.all()] == [(2, "BillingCurrency", reason)]
