"""What claims the same is shown as alternatives and counted once; sums have an interval of their own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.roles import Action
from apps.billing.models import Anomaly
from apps.ingest.services import upkeep
from apps.recommendations.kinds import kind_for
from apps.recommendations.models import RealisedSaving, Recommendation
from apps.recommendations.selectors.inbox import (
    InboxFilter,
    recommendation_find,
    recommendation_list,
    waiting_count,
)
from apps.recommendations.selectors.inbox_document import best_open
from apps.recommendations.selectors.standing import standing
from apps.recommendations.services.decisions import recommendation_accept
from apps.recommendations.services.inbox import Finding, publish
from apps.recommendations.services.realised import realised_refresh
from tests.support.recommendations import NOW, finding, made_up_kind, registered

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _kind() -> Iterator[None]:
    with registered(made_up_kind()):
        yield


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


def put(organisation: Organisation, *found: Finding) -> dict[str, Recommendation]:
    publish("made_up", found, organisation=organisation, now=NOW, whole=True)
    return {row.subject: row for row in Recommendation.objects.filter(organisation=organisation)}


def pool(subject: str, saving: str, *keys: str, **changes: Any) -> Finding:
    return finding(subject, saving, claims=tuple(f"pool:{key}" for key in keys), **changes)


def test_a_plan_for_two_pools_is_an_alternative_to_an_offer_for_each(organisation: Organisation) -> None:
    rows = put(
        organisation, pool("plan", "100", "x", "y"), pool("x", "60", "x"), pool("y", "50", "y"),
        pool("other", "7", "z"),
    )  # fmt: skip
    found = standing(organisation)
    ids = {name: row.pk for name, row in rows.items()}
    assert found.counted == {ids["x"], ids["y"], ids["other"]}
    assert found.alternatives[ids["plan"]] == tuple(sorted((ids["x"], ids["y"])))
    assert (found.alternatives[ids["x"]], found.alternatives[ids["other"]]) == ((ids["plan"],), ())
    total = found.totals["USD"]
    # 60 ± 6, 50 ± 5, 7 ± 0.7: the distances in quadrature, not 11.7.
    assert (total.expected, total.method) == (117, "independent")
    assert round(total.low, 20) == round(117 - (Decimal(36) + 25 + Decimal("0.49")).sqrt(), 20)


def test_what_was_accepted_has_its_hours(organisation: Organisation) -> None:
    rows = put(organisation, pool("plan", "100", "x", "y"), pool("x", "60", "x"), pool("y", "50", "y"))
    recommendation_accept(recommendation=rows["x"], actor=Actor.system("ada"), now=NOW)
    found = standing(organisation)
    assert found.held_by == {rows["plan"].pk: rows["x"].pk}
    assert found.counted == {rows["y"].pk}
    assert found.totals["USD"].expected == 50


def test_a_filter_changes_the_total_and_not_who_excludes_whom(organisation: Organisation) -> None:
    rows = put(organisation, pool("plan", "100", "x", "y"), pool("x", "60", "x"), pool("y", "50", "y"))
    found = standing(organisation, [rows["plan"].pk])
    assert found.counted == {rows["plan"].pk}
    assert found.totals["USD"].expected == 100
    assert len(found.alternatives[rows["plan"].pk]) == 2


def test_a_month_is_part_of_a_longer_claim(organisation: Organisation) -> None:
    put(organisation, pool("x", "120", "x", monthly_saving=Decimal(10), claim_end=NOW + 365 * DAY))
    total = standing(organisation).totals["USD"]
    assert (total.low, total.expected, total.high) == (9, 10, 11)


def test_rows_of_one_set_of_worlds_are_added_world_by_world(organisation: Organisation) -> None:
    up = tuple(Decimal(n) for n in range(101))
    made: dict[str, Any] = {"scenario_set": "demand:1", "saving_low": Decimal(5), "saving_high": Decimal(95)}
    put(
        organisation,
        pool("x", "50", "x", scenarios=up, **made),
        pool("y", "50", "y", scenarios=tuple(reversed(up)), **made),
    )
    total = standing(organisation).totals["USD"]
    assert (total.low, total.expected, total.high, total.method) == (100, 100, 100, "scenarios")


def test_two_currencies_are_two_totals_and_never_compared(organisation: Organisation) -> None:
    rows = put(
        organisation, pool("a", "10", "x"), pool("b", "20", "y", currency="EUR"), pool("c", "5", "z"),
        pool("d", "6", "z", currency="EUR"), pool("loss", "-3", "l"),
    )  # fmt: skip
    found = standing(organisation)
    assert {currency: total.expected for currency, total in found.totals.items()} == {"EUR": 20, "USD": 10}
    assert found.mixed == {rows["c"].pk, rows["d"].pk}


def test_the_best_that_wait_for_the_overview(organisation: Organisation) -> None:
    rows = put(
        organisation, pool("plan", "100", "x", "y"), pool("x", "60", "x"), pool("y", "50", "y"),
        pool("z", "7", "z"),
    )  # fmt: skip
    best = best_open(organisation, limit=2)
    assert [card.row for card in best.cards] == [rows["x"], rows["y"]]
    assert [card.sentence.title for card in best.cards] == ["Stop x", "Stop y"]
    assert (best.waiting, best.counted, best.totals["USD"].expected) == (4, 3, 117)
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    assert best_open(elsewhere).cards == ()


def test_a_kind_that_is_no_longer_known_is_shown_by_its_name(organisation: Organisation) -> None:
    row = put(organisation, pool("x", "60", "x"))["x"]
    Recommendation.objects.update(kind="older")
    best = best_open(organisation)
    assert (best.cards[0].kind_title, best.cards[0].sentence.title) == ("older", "older")
    assert kind_for("older").decide == Action.MANAGE_ORGANISATION
    assert recommendation_accept(recommendation=row, actor=Actor.system("ada"), now=NOW).state == "accepted"
    assert realised_refresh(organisation=organisation, now=NOW + DAY) == 1
    assert "do not tell" in RealisedSaving.objects.get().reason


def test_each_organisation_sees_its_own(organisation: Organisation) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    mine = put(organisation, pool("x", "60", "x"))["x"]
    theirs = put(elsewhere, pool("x", "10", "x"), pool("y", "20", "y"))
    assert recommendation_find(organisation, theirs["x"].pk) is None
    assert (waiting_count(organisation), waiting_count(elsewhere)) == (1, 2)
    assert standing(organisation).totals["USD"].expected == 60
    recommendation_accept(recommendation=mine, actor=Actor.system("ada"), now=NOW)
    assert standing(elsewhere).held_by == {}
    assert standing(elsewhere).totals["USD"].expected == 30


def test_filters_of_the_inbox(organisation: Organisation) -> None:
    put(organisation, pool("x", "60", "x"), pool("y", "50", "y", effort="high"))

    def subjects(**given: str) -> list[str]:
        return [row.subject for row in recommendation_list(organisation, InboxFilter(**given))]

    assert subjects() == ["x", "y"]
    assert subjects(effort="high") == ["y"]
    assert subjects(owner="none", team="none", state="open", kind="made_up") == ["x", "y"]
    assert subjects(owner="ada@example.test") == subjects(team="data") == subjects(state="done") == []


def test_snapshots_that_rows_cite_are_never_expired(organisation: Organisation) -> None:
    rows = put(
        organisation, pool("x", "60", "x", evidence={"snapshots": {"focus_costs": "9007199254740993"}})
    )
    RealisedSaving.objects.create(
        recommendation=rows["x"], month=date(2026, 11, 1), currency="USD", promised=1, reason="no bill",
        computed_at=NOW, evidence={"snapshots": {"focus_costs": "12"}},
    )  # fmt: skip
    put(organisation, pool("y", "60", "y", evidence={}))  # x expires
    day = {
        "first_day": date(2026, 11, 1),
        "last_day": date(2026, 11, 1),
        "course": "over",
        "direction": "rise",
    }
    Anomaly.objects.create(
        organisation=organisation, basis="amortised", currency="USD", actual=1, expected=1, amount=0, low=0,
        high=0, evidence={"snapshots": {"focus_costs": "13", "focus_daily": "14"}}, **day,
    )  # fmt: skip
    cited = set().union(*(one() for one in upkeep.cited_snapshots))
    assert cited == {12, 13, 14}
    put(organisation, pool("x", "60", "x", evidence={"snapshots": {"focus_costs": "9007199254740993"}}))
    assert 9007199254740993 in set().union(*(one() for one in upkeep.cited_snapshots))
