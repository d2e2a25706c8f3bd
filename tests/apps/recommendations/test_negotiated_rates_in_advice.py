"""Negotiated rates in launch advice: on-demand prices only, the option wins, the evidence names the row."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.billing.models import NegotiatedRateRow
from apps.billing.services.rates import rate_add, rate_end
from apps.recommendations.services import advise_launch
from finops.engine.workload import WorkloadError
from tests.apps.recommendations.test_field_cases_of_prices import list_price

ASKED: dict[str, Any] = {
    "hours": 8.0, "types": ["m5.large"], "regions": ["us-east-1", "us-west-2"], "home_zone": "us-east-1b",
    "product": "Linux/UNIX", "slack_hours": 0.0,
}  # fmt: skip


@pytest.fixture
def listed(market: datetime) -> datetime:
    list_price("m5.large", "2.00", market)
    return market


def rate(**given: Any) -> NegotiatedRateRow:
    base = {"provider": "aws", "service": "AmazonEC2", "valid_from": "2026-01-01", "source": "EDP 2026"}
    return rate_add(
        organisation=Organisation.default(), actor=Actor.system("test"), **{**base, "percent": "10", **given}
    )


def on_demand(answer: dict[str, Any]) -> list[str]:
    return [plan["compute_cost"] for plan in answer["plans"] if plan["market"] == "on-demand"]


def spot(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(p["zone_name"], p["cost"]) for p in answer["plans"] if p["market"] == "spot"]


def test_the_table_lowers_on_demand_and_never_spot(listed: datetime) -> None:
    before = advise_launch(**ASKED, at=listed)
    assert on_demand(before) == ["16"]
    assert before["evidence"]["negotiated_rates"] == []
    row = rate(percent="12.5")
    after = advise_launch(**ASKED, at=listed)
    assert on_demand(after) == ["14"]
    assert spot(after) == spot(before)
    told = {
        "id": row.pk,
        "service": "AmazonEC2",
        "percent": "12.5",
        "valid_from": "2026-01-01",
        "source": "EDP 2026",
    }
    assert after["evidence"]["negotiated_rates"] == [told]


def test_an_explicit_discount_wins_also_when_it_is_none(listed: datetime) -> None:
    rate(percent="50")
    assert on_demand(advise_launch(**ASKED, at=listed, discount_pct=25.0)) == ["12"]
    none = advise_launch(**ASKED, at=listed, discount_pct=0.0)
    assert on_demand(none) == ["16"]
    assert none["evidence"]["negotiated_rates"] == []


def test_the_most_specific_row_is_used_and_a_kept_answer_does_not_outlive_it(listed: datetime) -> None:
    rate(percent="10")
    row = rate(
        percent="", price="1.50", currency="USD", sku="BoxUsage:m5.large", product="Linux/UNIX",
        region="us-east-1", source="private offer",
    )  # fmt: skip
    first = advise_launch(**ASKED, at=listed)
    assert on_demand(first) == ["12"]
    assert [told["id"] for told in first["evidence"]["negotiated_rates"]] == [row.pk]
    rate_end(row=row, actor=Actor.system("test"), until=date(2026, 1, 2))
    assert on_demand(advise_launch(**ASKED, at=listed)) == ["14.4"]


def test_a_price_in_another_currency_is_told_and_not_used(listed: datetime) -> None:
    rate(percent="", price="9", currency="CNY", sku="m5.large", product="Linux/UNIX")
    answer = advise_launch(**ASKED, at=listed)
    assert on_demand(answer) == ["16"]
    assert "is in CNY, the list price in USD" in answer["evidence"]["negotiated_rates"][0]["not_used"]


def test_rows_that_tie_are_refused_by_name(listed: datetime) -> None:
    """The services never store such rows; a table filled past them must not be guessed from."""
    for source in ("one", "two"):
        NegotiatedRateRow.objects.create(
            organisation=Organisation.default(),
            provider="aws",
            percent=5,
            valid_from=date(2026, 1, 1),
            source=source,
        )
    with pytest.raises(WorkloadError, match="equally specific") as told:
        advise_launch(**ASKED, at=listed)
    assert told.value.field == "discount_pct"


def test_rates_of_another_organisation_do_not_count(listed: datetime) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    rate_add(
        organisation=other, actor=Actor.system("test"), provider="aws", percent="50", valid_from="2026-01-01",
        source="theirs",
    )  # fmt: skip
    assert on_demand(advise_launch(**ASKED, at=listed)) == ["16"]
