"""Accept, dismiss, snooze, carry out, open again: who, when, why; alternatives exclude each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.recommendations.models import Recommendation, RecommendationEvent
from apps.recommendations.selectors.standing import standing
from apps.recommendations.services import decisions
from apps.recommendations.services.inbox import publish
from apps.recommendations.services.inbox_clock import inbox_tick
from tests.support.recommendations import NOW, finding, made_up_kind, registered

DAY = timedelta(days=1)
ADA = Actor.system("ada")


@pytest.fixture(autouse=True)
def _kind() -> Iterator[None]:
    with registered(made_up_kind()):
        yield


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


def put(organisation: Organisation, subject: str = "a", days: int = 0, **changes: Any) -> Recommendation:
    publish(
        "made_up", [finding(subject, **changes)], organisation=organisation, now=NOW + days * DAY, whole=False
    )
    return Recommendation.objects.filter(subject=subject).order_by("-pk")[0]


def accept(row: Recommendation, days: int = 1, **more: Any) -> Recommendation:
    return decisions.recommendation_accept(recommendation=row, actor=ADA, now=NOW + days * DAY, **more)


def dismiss(row: Recommendation, reason: str = "too risky") -> Recommendation:
    return decisions.recommendation_dismiss(recommendation=row, actor=ADA, now=NOW + DAY, reason=reason)


DAY_FIVE = (NOW + 5 * DAY).date()


def snooze(row: Recommendation, until: date = DAY_FIVE) -> Recommendation:
    return decisions.recommendation_snooze(recommendation=row, actor=ADA, now=NOW + DAY, until=until)


def reopen(row: Recommendation, days: int = 2) -> Recommendation:
    return decisions.recommendation_reopen(recommendation=row, actor=ADA, now=NOW + days * DAY)


def history() -> list[tuple[str, str, str]]:
    events = RecommendationEvent.objects.order_by("pk")
    return list(events.values_list("action", "before", "after"))


def test_acceptance_fixes_the_counterfactual_and_says_who(organisation: Organisation) -> None:
    row = accept(put(organisation))
    again = accept(row, days=2)
    assert again.accepted_at == row.accepted_at == NOW + DAY
    assert row.counterfactual is not None
    assert row.counterfactual["basis"] == {"cost": "300"}
    assert (row.counterfactual["saving"], row.counterfactual["fixed_at"]) == ("100", "2026-11-02T00:00:00Z")
    assert (row.author, row.stated_low, row.stated_high) == ("ada", Decimal(90), Decimal(110))
    assert history() == [("published", "", "open"), ("accepted", "open", "accepted")]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.object_id) == ("recommendation.accept", str(row.pk))
    assert (entry.before["state"], entry.after["state"]) == ("open", "accepted")


def test_carried_out_is_what_was_accepted(organisation: Organisation) -> None:
    row = put(organisation)
    done: Callable[[], Recommendation] = lambda: decisions.recommendation_done(  # noqa: E731
        recommendation=row, actor=ADA, now=NOW + 3 * DAY
    )
    with pytest.raises(ValidationError) as refused:
        done()
    assert "state" in refused.value.message_dict
    accept(row)
    assert done().state == done().state == "done"
    assert [action for action, _, _ in history()] == ["published", "accepted", "done"]


def test_a_dismissal_needs_a_reason_and_leaves_nothing_without(organisation: Organisation) -> None:
    row = put(organisation)
    for reason in ("", "  \n", "x" * 501, "a\x00b"):
        with pytest.raises(ValidationError) as refused:
            dismiss(row, reason)
        assert "reason" in refused.value.message_dict
    assert Recommendation.objects.get().state == "open"
    assert not AuditEntry.objects.exists()
    assert dismiss(row, " too \n risky ").reason == "too risky"
    assert dismiss(row).state == "dismissed"
    with pytest.raises(ValidationError, match="ada"):
        accept(row)
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize("until", [NOW.date(), (NOW + DAY).date(), (NOW + 368 * DAY).date()])
def test_a_snooze_ends_on_a_later_day_within_a_year(organisation: Organisation, until: date) -> None:
    row = put(organisation)
    with pytest.raises(ValidationError) as refused:
        snooze(row, until)
    assert "until" in refused.value.message_dict
    assert Recommendation.objects.get().state == "open"


def test_a_snooze_ends_on_its_day(organisation: Organisation) -> None:
    snooze(put(organisation))
    assert inbox_tick(now=NOW + 4 * DAY) == (0, 0)
    assert inbox_tick(now=NOW + 5 * DAY) == (1, 0)
    assert inbox_tick(now=NOW + 5 * DAY) == (0, 0)
    row = Recommendation.objects.get()
    assert (row.state, row.until, row.author, row.stated_at) == ("open", None, "", None)
    assert history()[-1] == ("woken", "snoozed", "open")


def test_a_snooze_of_what_is_no_longer_found_ends_in_expiry(organisation: Organisation) -> None:
    snooze(put(organisation))
    publish("made_up", [], organisation=organisation, now=NOW + 2 * DAY, whole=True)
    assert inbox_tick(now=NOW + 5 * DAY) == (0, 1)
    assert history()[-1] == ("expired", "snoozed", "expired")


def test_open_rows_expire_with_their_period_and_accepted_ones_do_not(organisation: Organisation) -> None:
    put(organisation, "a")
    accept(put(organisation, "b"))
    assert inbox_tick(now=NOW + 31 * DAY) == (0, 1)
    assert dict(Recommendation.objects.values_list("subject", "state")) == {"a": "expired", "b": "accepted"}


def test_a_decision_is_taken_back(organisation: Organisation) -> None:
    row = put(organisation)
    for decide in (dismiss, snooze, accept):
        decide(row)
        assert reopen(row).state == "open"
        assert reopen(row).counterfactual is None
    assert len(history()) == 7


def test_what_is_over_or_gone_or_replaced_is_not_opened_again(organisation: Organisation) -> None:
    row = accept(put(organisation))
    later = put(organisation, days=3, saving="500")
    with pytest.raises(ValidationError, match=str(later.pk)):
        reopen(row)
    gone = dismiss(put(organisation, "b"))
    publish("made_up", [], organisation=organisation, now=NOW + 4 * DAY, whole=True)
    for one, days in ((gone, 5), (Recommendation.objects.get(pk=later.pk), 5), (gone, 60)):
        with pytest.raises(ValidationError) as refused:
            reopen(one, days)
        assert "state" in refused.value.message_dict


def test_of_two_that_claim_the_same_one_is_accepted(organisation: Organisation) -> None:
    first = accept(put(organisation, "a", claims=("pool:x", "pool:y")))
    second = put(organisation, "b", claims=("pool:y",))
    later = put(organisation, "c", claims=("pool:y",), claim_start=first.claim_end,
                claim_end=first.claim_end + DAY)  # fmt: skip
    with pytest.raises(ValidationError, match=str(first.pk)):
        accept(second)
    assert accept(later).state == "accepted"
    reopen(first)
    assert accept(second).state == "accepted"


def test_what_follows_an_accepted_one_takes_its_place_or_is_refused(organisation: Organisation) -> None:
    former = accept(put(organisation))
    news = put(organisation, days=3, saving="500")
    with pytest.raises(ValidationError, match=str(former.pk)):
        accept(news, days=4)
    assert standing(organisation, now=NOW).held_by == {news.pk: former.pk}
    with registered(made_up_kind(replaces=True)):
        assert standing(organisation, now=NOW).held_by == {}
        later = accept(news, days=4)
    former.refresh_from_db()
    assert (later.state, former.state, former.claim_end) == ("accepted", "done", NOW + 4 * DAY)
    assert RecommendationEvent.objects.get(action="done").facts["followed_by"] == later.pk


def test_what_was_carried_out_has_its_hours_until_a_look_can_know_it(organisation: Organisation) -> None:
    first = accept(put(organisation, "a", claims=("pool:x",)))
    second = put(organisation, "b", claims=("pool:x",))
    decisions.recommendation_done(recommendation=first, actor=ADA, now=NOW + 2 * DAY)
    with pytest.raises(ValidationError, match=str(first.pk)):
        accept(second, days=8)
    assert standing(organisation, now=NOW + 8 * DAY).held_by == {second.pk: first.pk}
    assert standing(organisation, now=NOW + 10 * DAY).held_by == {}
    assert accept(second, days=10).state == "accepted"


def test_an_owner_is_a_member(organisation: Organisation) -> None:
    row = put(organisation)
    ada = User.objects.create_user("ada@example.test", "correct horse battery")
    assign = decisions.recommendation_assign
    with pytest.raises(ValidationError) as refused:
        assign(recommendation=row, actor=ADA, now=NOW, owner_id=ada.pk)
    assert "owner" in refused.value.message_dict
    Membership.objects.create(user=ada, organisation=organisation, role="viewer")
    assert assign(recommendation=row, actor=ADA, now=NOW, owner_id=ada.pk).owner == ada
    assert assign(recommendation=row, actor=ADA, now=NOW, owner_id=None).owner is None
    assert AuditEntry.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_alternatives_accepted_at_once_by_several_people() -> None:
    organisation = Organisation.default()
    rows = [put(organisation, name, claims=("pool:x",)) for name in "abcd"]
    start, outcome = threading.Barrier(8), []

    def work(row: Recommendation) -> None:
        try:
            start.wait(timeout=10)
            accept(row)
            outcome.append("accepted")
        except ValidationError:
            outcome.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(rows[n % 4],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    states = sorted(Recommendation.objects.values_list("state", flat=True))
    assert states == ["accepted", "open", "open", "open"]
    assert sorted(outcome) == ["accepted"] * 2 + ["refused"] * 6  # the same one twice is the same decision
    assert AuditEntry.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_publishing_while_somebody_accepts_keeps_one_truth() -> None:
    organisation = Organisation.default()
    row = put(organisation)
    start, failed = threading.Barrier(2), []

    def work(task: Callable[[], object]) -> None:
        try:
            start.wait(timeout=10)
            task()
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    tasks = (lambda: accept(row), lambda: put(organisation, days=2, saving="400"))
    threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert failed == []
    accepted = Recommendation.objects.get(state="accepted")
    assert accepted.counterfactual is not None
    # Accepted first: the news follow as a row of their own. Published first: the news were accepted.
    assert Decimal(accepted.counterfactual["saving"]) == accepted.saving
    if accepted.saving == 100:
        assert Recommendation.objects.get(state="open").follows == accepted
    else:
        assert Recommendation.objects.count() == 1
