"""Coverage by cost adds up to the whole; keys that look alike are told, never merged."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from apps.accounts.models import Organisation
from apps.billing.selectors.spend_question import question_of
from apps.billing.selectors.tags import TagReport, tag_report
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 10, tzinfo=UTC)


def report() -> TagReport:
    question = question_of(start="2026-04-01", end="2026-06-01")
    return tag_report(question, organisation=Organisation.default(), now=NOW)


def test_each_key_is_tagged_blank_or_not_reported(empty_lake: Path) -> None:
    put_bill([{"billed_cost": "8"}], period=date(2026, 4, 1), tag_keys=["user:cost-center"])
    put_bill(
        [
            {"billed_cost": "2", "tags": {"Team": "web", "user:cost-center": "A1"}},
            {"billed_cost": "3", "tags": {"team": "web", "user:cost_center": "A1"}},
            {"billed_cost": "4", "tags": {"team": "db", "empty": ""}},
            {"billed_cost": "1", "billing_currency": "EUR", "tags": {"team": "x"}},
        ],
        period=date(2026, 5, 1),
    )
    found = report()
    assert found.whole == {"EUR": 1, "USD": 17}
    assert [(k.key, k.currency, k.tagged, k.blank, k.not_reported, k.values) for k in found.keys] == [
        ("team", "EUR", 1, 0, 0, 1),
        ("team", "USD", 7, 2, 8, 2),
        ("user:cost_center", "USD", 3, 6, 8, 1),
        ("Team", "USD", 2, 7, 8, 1),
        ("user:cost-center", "USD", 2, 15, 0, 1),
    ]
    assert all(k.tagged + k.blank + k.not_reported == found.whole[k.currency] for k in found.keys)
    assert found.keys[1].share == Decimal(7) / 9
    assert [(s.kind, s.keys, s.cost) for s in found.suspects["USD"]] == [
        ("case", ("Team", "team"), 9),
        ("separator", ("user:cost-center", "user:cost_center"), 5),
    ]
    assert "EUR" not in found.suspects


def test_without_bills_there_are_no_keys(empty_lake: Path) -> None:
    found = report()
    assert (found.keys, found.whole, found.coverage.complete) == ([], {}, True)
