"""What speaks against a delivery stands wherever its numbers show."""

from __future__ import annotations

from datetime import date

import pytest
from django.utils import translation

from apps.billing.models import Delivery
from apps.dashboard.presenters.delivery_notes import doubts

NOTES = [
    {"code": "ends early", "last_day": "2026-05-12", "period_ends": "2026-05-31"},
    {"code": "one part", "file": "x-00001.csv"},
    {"code": "no line end", "file": "x.csv"},
    {"code": "rounded", "column": "list_cost", "rows": 2, "places": 18},
    {"code": "overlap", "reports": [3]},
]


def test_each_doubt_is_a_sentence() -> None:
    told = doubts(Delivery(billing_period=date(2026, 5, 1), notes=NOTES))
    assert told == [
        "The charges end on 2026-05-12, days before the file was made: it may be cut short.",
        "x-00001.csv looks like a first part: other parts may be missing.",
        "x.csv ends within a line: it may be cut short.",
        "list_cost was rounded to 18 places in 2 lines.",
        "Another report has the same account and month: the sums may count charges twice.",
    ]


@pytest.mark.parametrize("note", NOTES)
def test_each_doubt_is_told_in_chinese(note: dict[str, object]) -> None:
    english = doubts(Delivery(notes=[note]))
    with translation.override("zh-hans"):
        assert doubts(Delivery(notes=[note])) != english


def test_what_is_no_doubt_is_not_told() -> None:
    assert (
        doubts(Delivery(notes=[{"code": "amortised", "agrees": False}, {"code": "kind", "text": "x"}])) == []
    )
