"""One CUR file and one FOCUS file through the whole pipeline."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from apps.billing.models import Delivery
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_lines, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")


def test_a_cur_file_becomes_the_current_delivery_of_its_month(tmp_path: Path) -> None:
    run = import_text(
        tmp_path / "march.csv",
        cur_csv(
            [
                {
                    "lineItem/UnblendedCost": "1.25",
                    "lineItem/ResourceId": "i-1",
                    "resourceTags/user:team": "a",
                },
                {"lineItem/UnblendedCost": "2.2e-09", "lineItem/UsageStartDate": "2026-03-31T23:00:00Z"},
            ]
        ),
    )
    assert (run.state, run.rows_read, run.stored, run.rejected, run.error) == ("finished", 2, 2, 0, "")
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.billing_period, delivery.kind) == (
        "current",
        date(2026, 3, 1),
        "aws-cur",
    )
    assert (delivery.report.provider, delivery.report.payer) == ("aws", "999")
    assert delivery.totals == {
        "USD": {"billed": "1.2500000022", "amortised": "1.2500000022", "net": "1.2500000022", "list": None}
    }
    assert (delivery.first_day, delivery.last_day) == (date(2026, 3, 2), date(2026, 3, 31))
    assert lines("x_row, billed_cost, resource_id, tags, service_category") == [
        (1, Decimal("1.25"), "i-1", {"user:team": "a"}, "Compute"),
        (2, Decimal("2.2e-09"), None, {}, "Compute"),
    ]
    assert lines("x_day, billed_cost, x_rows", table="billing.daily") == [
        (date(2026, 3, 2), Decimal("1.25"), 1),
        (date(2026, 3, 31), Decimal("2.2e-09"), 1),
    ]


def test_focus_rows_come_in_as_they_are(tmp_path: Path) -> None:
    delivery = import_lines(
        [
            {"billed_cost": "3", "effective_cost": "2", "tags": {"team": "web"}, "region_id": "eu-west-1"},
            {
                "billed_cost": "-1",
                "charge_category": "Credit",
                "charge_period_start": datetime(2026, 3, 5, tzinfo=UTC),
                "service_name": None,
            },
        ],
        tmp_path,
    )
    assert delivery.totals["USD"] == {"billed": "2", "amortised": "1", "net": "2", "list": "2"}
    assert lines("billed_cost, service_name, tags, x_provider") == [
        (Decimal(-1), None, None, "aws"),
        (Decimal(3), "Amazon EC2", {"team": "web"}, "aws"),
    ]
