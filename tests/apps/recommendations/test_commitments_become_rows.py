"""What to buy and to sell becomes rows of the inbox, once for the same data, with claims of their own."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from apps.accounts.models import Organisation
from apps.recommendations.kinds import kind_of
from apps.recommendations.models import InboxLook, Recommendation
from apps.recommendations.services.commitments_rows import (
    BUY,
    SELL,
    commitment_rows_all,
    commitment_rows_publish,
)
from tests.support.deals import AT, bill, plan_price, prices, seen
from tests.support.deals import owned as put_owned

pytestmark = pytest.mark.django_db


def look(again: bool = False, hours: int = 0) -> bool:
    return commitment_rows_publish(
        organisation=Organisation.default(), now=AT + timedelta(hours=hours), again=again
    )


def rows(kind: str) -> list[Recommendation]:
    return list(Recommendation.objects.filter(kind=kind).order_by("pk"))


def test_purchases_are_rows_with_claims_that_do_not_overlap() -> None:
    bill(Organisation.default(), quantity="2")
    prices()
    plan_price("0.06")
    seen(fixed="150", count=1)
    assert look()
    found = rows(BUY)
    assert len(found) == 2
    assert {claim for row in found for claim in row.claims} == {
        "pool:aws:us-east-1::m5:Linux/UNIX:default#1", "pool:aws:us-east-1::m5:Linux/UNIX:default#2",
    }  # fmt: skip
    first = next(row for row in found if row.document["kind"] == "second-hand")
    assert (first.saving, first.one_time, first.currency) == (Decimal(434), Decimal(150), "USD")
    assert (first.claim_start, first.claim_end) == (AT, AT + timedelta(hours=5840))
    assert first.evidence["inputs"]["lookback_days"] == 30
    told = kind_of(BUY).wording(first.document, "en")
    assert told.title == "Buy 1 × m5.large, second-hand"
    assert "Paid at once" in told.text
    assert any("Spot" in label for label, _value in told.lines)
    # Stored in English, told in the reader's language, reasons too.
    told = kind_of(BUY).wording(first.document, "zh-hans")
    reasons = [value for _label, value in told.lines if "m5.large" in value]
    assert reasons
    assert all("。" in value and "known" not in value for value in reasons)
    assert "购买" in kind_of(BUY).wording(first.document, "zh-hans").title


def test_the_same_data_cost_a_look_and_new_offers_are_asked_at_most_once_an_hour() -> None:
    bill(Organisation.default(), quantity="2")
    prices()
    assert look()
    assert not look(hours=2)
    seen(fixed="150", count=2)
    InboxLook.objects.update(at=AT)
    assert not commitment_rows_publish(organisation=Organisation.default(), now=AT + timedelta(minutes=30))
    assert look(hours=24)
    states = {row.document["kind"]: row.state for row in rows(BUY)}
    assert states == {"new": "expired", "second-hand": "open"}
    assert commitment_rows_all(now=AT + timedelta(hours=26)) == 0


def test_without_bills_nothing_is_published_and_nothing_expires() -> None:
    prices()
    assert not look()
    assert rows(BUY) == []
    bill(Organisation.default(), quantity="2")
    assert look(again=True)
    # an hour later only one whole day of the bill is left in the look-back: too little to judge
    assert not look(again=True, hours=1)
    assert [row.state for row in rows(BUY)] == ["open"]


def test_a_sale_is_a_row() -> None:
    bill(Organisation.default(), quantity="1")
    prices()
    put_owned("idle")
    assert look()
    (one,) = rows(SELL)
    assert one.claims == ["reservation:idle"]
    assert one.saving > 0
    told = kind_of(SELL).wording(one.document, "en")
    assert told.title == "Sell 2 of 3 reserved m5.large"
    assert kind_of(SELL).realised(one, Organisation.default(), AT) is None
    assert set(kind_of(SELL).counterfactual(one)) == {"kept_value", "receives"}


def test_what_is_fixed_at_acceptance_are_prices_of_the_family() -> None:
    bill(Organisation.default(), quantity="2")
    prices()
    prices("m5.xlarge", 2)
    assert look()
    (one,) = rows(BUY)
    basis = kind_of(BUY).counterfactual(one)
    assert basis["on_demand"] == {"m5.large": "0.1000000000", "m5.xlarge": "0.2000000000"}
