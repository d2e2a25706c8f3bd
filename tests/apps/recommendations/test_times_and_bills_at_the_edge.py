"""Times no calendar can count from, and a bill whose fee lines keep the reservation's hours only."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.ingest.bills.demo import demo_bill_load
from apps.ingest.management.reference_command import iso_instant
from apps.recommendations.management.verb import decimal, moment
from apps.recommendations.models import BuyingAccount
from apps.recommendations.selectors.deals import offer_history
from apps.recommendations.services.buyers import buyer_save
from apps.recommendations.services.commitments_alerts import commitments_alert
from apps.recommendations.services.commitments_demand import demand
from apps.recommendations.services.commitments_hours import commitment_series
from apps.recommendations.services.commitments_owned import commitments
from apps.recommendations.services.commitments_sale import sell_commitments
from apps.recommendations.services.deal_claim import Claim, deal_claim
from finops.engine.workload import WorkloadError

pytestmark = pytest.mark.django_db
FIRST = datetime(1, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_the_demo_says_how_far_its_reservations_are_used() -> None:
    demo_bill_load()
    document = commitments(at=datetime(2018, 12, 1, tzinfo=UTC), organisation=Organisation.default())
    found = {one["short_id"][-8:]: one for one in document["commitments"]}
    told = {
        name: (one["count"], one["reserved_hours"], one["utilisation_pct"], one["effective_hourly"])
        for name, one in found.items()
    }
    assert len(told) == 9
    # The fee of two c5.large: 1,440 h, 74.09753281 USD with the part of 446 paid at once.
    assert told["6b6e496d"] == (2, "1440", 100.0, "0.05145662")
    assert told["dc6e058a"] == (1, "720", 0.0, "0.06002283")
    assert (found["dc6e058a"]["idle_hours"], found["dc6e058a"]["idle_cost"]) == ("720", "43.21643836")
    assert [one["contradictions"] for one in found.values()] == [[]] * 9
    october = {name: one["months"][0]["idle_hours"] for name, one in found.items()}
    assert {name: hours for name, hours in october.items() if Decimal(hours)} == {
        "dc6e058a": "744", "e69135aa": "45.999444", "8c3d56fd": "335.320278",
    }  # fmt: skip
    hours = commitment_series(at=datetime(2018, 12, 1, tzinfo=UTC), organisation=Organisation.default())
    idle = {one["short_id"][-8:]: one["idle_cost"] for one in hours["commitments"]}
    assert sum(idle["dc6e058a"]) == pytest.approx(43.21643836, abs=1e-3)


@pytest.mark.parametrize("at", [FIRST, LAST])
@pytest.mark.parametrize(
    "ask",
    [
        lambda at, whose: commitments(at=at, organisation=whose),
        lambda at, whose: commitment_series(at=at, organisation=whose),
        lambda at, whose: demand(at=at, organisation=whose),
        lambda at, whose: sell_commitments(at=at, organisation=whose),
        lambda at, whose: commitments_alert(now=at, organisation=whose),
    ],
)
def test_a_time_nothing_can_be_counted_from_is_refused(at: datetime, ask: Callable[..., Any]) -> None:
    with pytest.raises(WorkloadError) as refused:
        ask(at, Organisation.default())
    assert refused.value.field == "at"


def test_history_from_the_first_day_of_the_calendar_is_empty() -> None:
    assert offer_history(at=FIRST)["deals"] == []


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_times_outside_the_years_of_utc_are_wrong_usage(text: str) -> None:
    for read in (moment, iso_instant):
        with pytest.raises(ArgumentTypeError, match="Out of range"):
            read(text)


def test_a_signalling_nan_is_no_number() -> None:
    with pytest.raises(ArgumentTypeError, match="not a number: sNaN"):
        decimal("sNaN")


def test_a_list_price_below_a_cent_is_refused_and_the_answer_is_json_else() -> None:
    given = {"on_demand": Decimal("0.1"), "list_hourly": Decimal(0)}
    with pytest.raises(WorkloadError) as refused:
        deal_claim(Claim(list_fixed=Decimal("1e-400"), **given))
    assert refused.value.field == "list_fixed"
    json.dumps(deal_claim(Claim(list_fixed=Decimal("0.01"), **given)), allow_nan=False)


def test_an_account_has_digits_of_ascii() -> None:
    whose = Organisation.default()
    with pytest.raises(ValidationError) as refused:
        buyer_save(organisation=whose, actor=Actor.system("test"), account="１" * 12)
    assert refused.value.message_dict == {"account": ["An account's number has twelve digits."]}
    assert not BuyingAccount.objects.exists()
