"""Periods of lines through the whole pipeline: rejections are kept with file, row and field, notes say what
counts for the whole billing period; each format alone is tested in tests/finops/providers/bills.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from apps.billing.models import Delivery
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

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
