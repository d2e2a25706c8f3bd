"""What the pages of deals and recommendations say where the answer is not a plain yes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation

from apps.accounts.models import Organisation
from apps.dashboard import inbox
from apps.dashboard.presenters import commitments, deals, recommendations
from apps.recommendations.commitments_wording import field_words, rule_sentence
from apps.recommendations.selectors.standing import standing
from tests.support.steady_bills import NOW, put_steady_bills

AT = datetime(2026, 5, 1, tzinfo=UTC)


def offer(name: str = "o", saving: str = "100", **more: Any) -> dict[str, Any]:
    return {
        "offer": name, "id": None, "kind": "new", "type": "m5.large", "region": "us-east-1", "zone": None,
        "platform": "Linux/UNIX", "offering_class": "standard", "payment": "all-upfront", "seen_at": None,
        "upfront_each": "50", "hourly_each": "0", "hours_left": 8760.0, "quantity": 2, "upfront": "100",
        "effective_hourly": "0.0057", "below_on_demand_pct": 40.0, "break_even_utilisation_pct": 60.0,
        "break_even_date": "2026-07-01T00:00:00Z", "saving": saving, "saving_low": "-5",
        "saving_high": "200", "loss_probability": 0.2, "currency": "USD", "code": "hours taken by",
        "reason": "Taken.", "claims": [{"to": "2027-05-01T00:00:00Z"}], **more,
    }  # fmt: skip


def document(advice: Sequence[dict[str, Any]], **total: Any) -> dict[str, Any]:
    return {
        "advice": advice,
        "alternatives": [],
        "total": {
            "saving": "0", "saving_low": "0", "saving_high": "0", "loss_probability": 0.0, "upfront": "0",
            "currency": "USD", "count": 0, "not_advised": 0, "rule": rule_sentence(None), **total,
        },
        "use": {"known_hours": 720, "grain_hours": 1},
        "evidence": {"scenarios": {"draws": 200}},
    }  # fmt: skip


def test_what_is_not_sure_enough_is_neither_advised_nor_added() -> None:
    risky = offer(advised=False)
    told = document([risky], not_advised=1)
    assert deals.heading(told, UTC) == "Nothing on offer is sure enough to pay for what runs today."
    assert deals.lead(told) == (
        "Judged on 30 days of bills. Advised and added up is what saves in 19 of 20 scenarios: its whole "
        "90 % interval is above 0."
    )
    [row] = deals.rows_of(told, AT, UTC, kept=[risky], chosen="")
    assert (row.advice, row.kind, row.reason) == ("Too uncertain", "unknown", "20\u202f% risk of a loss")
    sure = offer("p", "300", advised=True)
    both = document(
        [risky, sure], saving="300", saving_low="10", saving_high="400", upfront="100", count=1, not_advised=1
    )
    assert deals.heading(both, UTC) == "Buy 2 m5.large for $100: expected saving [[$300]] by 1 May 2027."
    assert deals.lead(both).endswith(rule_sentence(None))


def test_a_curve_of_shared_hours_says_what_it_is_of() -> None:
    curve = [
        {"months": n, "at": f"2026-0{5 + n}-01T00:00:00Z", "low": "0", "expected": "120", "high": "200"}
        for n in (0, 1)
    ]
    shown = {"cash_curve": curve, "worst_cash": {"amount": "-100"}}
    shared = deals.chart_of(offer(saving="100", saving_alone="120", **shown), UTC)
    assert shared is not None
    assert shared["note"].startswith("By itself, as if nothing else were bought: $120 in the end.")
    assert shared["note"].endswith("it adds $100.")
    alone = deals.chart_of(offer(saving="120", saving_alone="120.004", **shown), UTC)
    assert alone is not None
    assert alone["note"] == ""


@pytest.mark.parametrize(
    ("field", "bill", "api", "told"),
    [
        ("count", "1", "2", "quantity: the bill says 1, the provider's interface 2"),
        ("payment", "no-upfront", "all-upfront",
         "payment: the bill says no upfront, the provider's interface all upfront"),
        ("hourly", "0.01", "0.02",
         "hourly charge: the bill says 0.01 USD, the provider's interface 0.02 USD"),
        ("end", "2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z",
         "end of the term: the bill says 1 May 2026 00:00 UTC, the provider's interface "
         "1 Jun 2026 00:00 UTC"),
        ("idle_hours 2018-11", "700", "720",
         "unused hours of Nov 2018: the fee line says 700, the hours of the bill 720"),
    ],
)  # fmt: skip
def test_contradictions_are_told_in_words(field: str, bill: str, api: str, told: str) -> None:
    found = {"field": field, "bill": bill, "api": api}
    assert commitments.contradiction(found, "USD") == told
    with translation.override("zh-hans"):
        chinese = commitments.contradiction(found, "USD")
    assert field.partition(" ")[0] not in chinese
    assert "账单" in chinese


def test_every_field_that_may_contradict_has_words_in_both_languages() -> None:
    from apps.billing.selectors.commitments import FIELDS

    for field in FIELDS:
        english = field_words(field)
        with translation.override("zh-hans"):
            assert field_words(field) != english


@pytest.mark.django_db
def test_an_inbox_without_a_bill_of_the_last_weeks_says_so(
    organisation: Organisation, empty_lake: Path
) -> None:
    assert inbox.bills_end(organisation, NOW) is None
    put_steady_bills()
    assert inbox.bills_end(organisation, NOW) is None
    end = inbox.bills_end(organisation, datetime(2026, 6, 30, tzinfo=UTC))
    assert end == datetime(2026, 5, 20, tzinfo=UTC)
    found = standing(organisation)
    assert recommendations.heading(found, 0, False, end) == (
        "Nothing can be judged for today: the bills end on 20 May 2026."
    )
    assert recommendations.heading(found, 0, False, None) == "No recommendations yet."
