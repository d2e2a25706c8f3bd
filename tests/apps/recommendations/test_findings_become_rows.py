"""Publishing: a subject is one row, history is kept, what people decided stays decided."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import Organisation, Team
from apps.recommendations.models import Recommendation, RecommendationEvent
from apps.recommendations.services.inbox import Finding, Published, publish
from tests.support.recommendations import NOW, finding, made_up_kind, registered

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _kind() -> Iterator[None]:
    with registered(made_up_kind()):
        yield


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


def put(organisation: Organisation, *found: Finding, days: int = 0, whole: bool = True) -> Published:
    return publish("made_up", found, organisation=organisation, now=NOW + days * DAY, whole=whole)


def states(organisation: Organisation) -> dict[str, str]:
    rows = Recommendation.objects.filter(organisation=organisation).order_by("pk")
    return dict(rows.values_list("subject", "state"))


def actions() -> list[str]:
    return list(RecommendationEvent.objects.order_by("pk").values_list("action", flat=True))


def decide(state: str, **changes: Any) -> None:
    """As somebody would have decided at the saving of 100, 90 to 110."""
    Recommendation.objects.update(
        state=state, author="ada", stated_at=NOW, stated_low=90, stated_high=110, **changes
    )


def test_the_same_finding_twice_is_one_row_without_noise(organisation: Organisation) -> None:
    assert put(organisation, finding()) == Published(made=1)
    assert put(organisation, finding(), days=1) == Published(refreshed=1)
    row = Recommendation.objects.get()
    assert (row.found_at, row.refreshed_at) == (NOW, NOW + DAY)
    assert actions() == ["published"]


def test_an_amount_with_more_places_than_are_stored_is_no_news(organisation: Organisation) -> None:
    third = {"monthly_saving": Decimal(100) / 3}
    put(organisation, finding(**third))
    put(organisation, finding(**third), days=1)
    assert actions() == ["published"]


def test_another_saving_is_kept_with_what_it_was(organisation: Organisation) -> None:
    put(organisation, finding())
    put(organisation, finding(saving="150", claims=("b", "a", "b")), days=1)
    row = Recommendation.objects.get()
    assert (row.saving, row.claims) == (Decimal(150), ["a", "b"])
    event = RecommendationEvent.objects.get(action="refreshed")
    assert (event.facts["saving"], event.facts["was"]["saving"]) == ("150", "100")


def test_what_a_whole_look_does_not_find_expires_and_may_come_back(organisation: Organisation) -> None:
    put(organisation, finding("a"), finding("b"))
    assert put(organisation, finding("b"), days=1) == Published(refreshed=1, expired=1)
    assert states(organisation) == {"a": "expired", "b": "open"}
    assert put(organisation, days=2, whole=False) == Published()
    assert put(organisation, finding("a"), days=3, whole=False) == Published(reopened=1)
    assert states(organisation) == {"a": "open", "b": "open"}
    assert actions() == ["published", "published", "expired", "found_again"]
    assert Recommendation.objects.get(subject="a").found_at == NOW


def test_an_older_look_changes_nothing_of_a_newer_one(organisation: Organisation) -> None:
    put(organisation, finding(), days=2)
    assert put(organisation, finding(saving="1"), days=1) == Published(kept=1)
    assert put(organisation, days=1) == Published()
    row = Recommendation.objects.get()
    assert (row.state, row.saving) == ("open", Decimal(100))


@pytest.mark.parametrize(
    ("state", "more"), [("dismissed", {"reason": "no"}), ("snoozed", {"until": (NOW + 9 * DAY).date()})]
)
def test_what_was_set_aside_stays_so_until_the_saving_is_news(
    organisation: Organisation, state: str, more: dict[str, Any]
) -> None:
    put(organisation, finding())
    decide(state, **more)
    assert put(organisation, finding(saving="110"), days=1) == Published(kept=1)
    assert states(organisation) == {"a": state}
    assert Recommendation.objects.get().saving == 110
    put(organisation, days=2)
    assert states(organisation) == {"a": state}
    assert put(organisation, finding(saving="110.01"), days=3) == Published(reopened=1)
    row = Recommendation.objects.get()
    assert (row.state, row.reason, row.until, row.author, row.stated_low) == ("open", "", None, "", None)


@pytest.mark.parametrize("state", ["accepted", "done"])
def test_what_was_accepted_stays_as_it_was_and_news_follow_it(organisation: Organisation, state: str) -> None:
    put(organisation, finding())
    decide(state, accepted_at=NOW, counterfactual={})
    assert put(organisation, finding(saving="95"), days=1) == Published(kept=1)
    accepted = Recommendation.objects.get()
    assert (accepted.saving, accepted.refreshed_at) == (Decimal(100), NOW + DAY)
    assert put(organisation, finding(saving="40"), days=2) == Published(made=1)
    row = Recommendation.objects.exclude(pk=accepted.pk).get()
    assert (row.state, row.follows, row.saving) == ("open", accepted, Decimal(40))
    assert put(organisation, finding(saving="41"), days=3) == Published(refreshed=1)


def test_the_same_saving_is_a_new_question_when_the_claim_has_ended(organisation: Organisation) -> None:
    put(organisation, finding())
    decide("done", accepted_at=NOW, counterfactual={})
    later = finding(claim_start=NOW + 40 * DAY, claim_end=NOW + 70 * DAY)
    assert put(organisation, later, days=40) == Published(made=1)
    assert Recommendation.objects.get(state="open").follows == Recommendation.objects.get(state="done")


def test_two_organisations_have_their_own_rows(organisation: Organisation) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    put(organisation, finding("a"))
    put(elsewhere, finding("b"))
    assert (states(organisation), states(elsewhere)) == ({"a": "open"}, {"b": "open"})
    put(elsewhere, days=1)
    assert (states(organisation), states(elsewhere)) == ({"a": "open"}, {"b": "expired"})


def test_refused_as_a_whole(organisation: Organisation) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    Team.objects.create(organisation=elsewhere, name="Data", slug="data")
    put(organisation, finding("a"))
    for found in ([finding("b"), finding("b")], [finding("b"), finding("c", team="data")]):
        with pytest.raises(ValueError, match=r"about 'b'|team"):
            put(organisation, *found, days=1)
    with pytest.raises(ValueError, match="made_op"):
        publish("made_op", [], organisation=organisation, now=NOW, whole=True)
    assert states(organisation) == {"a": "open"}


@pytest.mark.parametrize(
    "changes",
    [
        {"saving": Decimal("NaN")},
        {"saving": 100.0},
        {"saving_low": Decimal(101)},
        {"claim_end": NOW},
        {"claim_start": NOW.replace(tzinfo=None)},
        {"claims": ("",)},
        {"claims": ("a\x00",)},
        {"effort": "none"},
        {"currency": ""},
        {"scenarios": (Decimal(1),)},
        {"scenarios": (Decimal("Infinity"),), "scenario_set": "s"},
        {"one_time": Decimal(10) ** 20},
        {"evidence": {"snapshots": {"focus_costs": "newest"}}},
        {"evidence": {"inputs": {"name": "a\x00"}}},
    ],
)
def test_a_finding_that_contradicts_itself_is_none(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"'a'|claim"):
        finding(**{"subject": "a", **changes}) if "saving" not in changes else _with_saving(**changes)


def _with_saving(saving: Any) -> None:
    values = {name: getattr(finding(), name) for name in Finding.__dataclass_fields__}
    Finding(**{**values, "saving": saving})


@pytest.mark.django_db(transaction=True)
def test_publishing_at_once_makes_one_row() -> None:
    organisation = Organisation.default()
    start, failed = threading.Barrier(4), []

    def work(n: int) -> None:
        try:
            start.wait(timeout=10)
            put(organisation, finding("a"), finding("b"), days=n)
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert failed == []
    assert states(organisation) == {"a": "open", "b": "open"}
    assert actions() == ["published", "published"]
