"""What the database itself holds: one launch a due time, one open attempt, costs in order."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.launches.models import Attempt, AttemptState, Launch, LaunchBudget, LaunchGuard
from apps.launches.selectors.launches import calendar_of, launch_detail, launch_rows, queue_reasons
from tests.support.launches import NOW, launch, plan, target

pytestmark = pytest.mark.django_db


def _attempt(of: Launch, number: int, **changes: Any) -> Attempt:
    values: dict[str, Any] = {
        "launch": of, "number": number, "market": "spot", "parameters": {}, "tags": {},
        "token": f"{of.pk}-{number}", "prepared_at": NOW, **changes,
    }  # fmt: skip
    return Attempt.objects.create(**values)


def _refused(make: Any) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make()


def test_a_due_time_has_one_launch_a_machine() -> None:
    made = plan(count=2)
    launch(made)
    launch(made, part=2)
    _refused(lambda: launch(made))
    assert Launch.objects.count() == 2


def test_no_second_call_while_one_may_have_a_machine() -> None:
    one = launch()
    first = _attempt(one, 1, state=AttemptState.UNKNOWN)
    _refused(lambda: _attempt(one, 2))
    first.state = AttemptState.REFUSED
    first.save()
    _attempt(one, 2)
    assert one.attempts.count() == 2


def test_a_running_attempt_names_its_machine() -> None:
    one = launch()
    _refused(lambda: _attempt(one, 1, state=AttemptState.RUNNING))
    _refused(lambda: _attempt(one, 1, started_at=NOW, ended_at=NOW - timedelta(seconds=1)))


def test_costs_are_in_order_and_have_a_currency() -> None:
    place = target()
    _refused(lambda: plan(place, cost_high=Decimal("0.01")))
    _refused(lambda: plan(place, currency=""))
    _refused(lambda: plan(place, repeat="mon-fri"))
    plan(place, cost_low=None, cost=None, cost_high=None, currency="")


def test_one_budget_a_team_also_for_none() -> None:
    place = target()
    LaunchBudget.objects.create(organisation=place.organisation, monthly=1, currency="USD")
    _refused(lambda: LaunchBudget.objects.create(organisation=place.organisation, monthly=2, currency="USD"))
    _refused(lambda: LaunchGuard.objects.create(organisation=place.organisation, frozen=True))


def test_the_queue_the_calendar_and_one_launch() -> None:
    made = plan()
    due = launch(made)
    later = launch(made, due_at=NOW + timedelta(days=1))
    organisation = made.organisation
    assert [one.pk for one in launch_rows(organisation)] == [later.pk, due.pk]
    assert [one.pk for one in calendar_of(organisation, NOW, NOW + timedelta(days=1))] == [due.pk]
    assert [text for _, text in queue_reasons(organisation, NOW)] == [
        "It is due: the next free worker takes it.",
        "It is due at 3 Nov 2026 09:00 UTC.",
    ]
    assert launch_rows(organisation, {"state": "running"}).count() == 0
    document = launch_detail(due, NOW)
    assert document["planned"] == {"low": "0.07", "expected": "0.08", "high": "0.3"}
    assert document["paid"] is None
    assert document["plan_against_actual"]["cost"] == {"planned": "0.08", "actual": None, "difference": None}
