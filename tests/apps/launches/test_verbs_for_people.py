"""`launches` and `launch` as people read them: money with its currency, states and reasons in words."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from apps.launches.models import Attempt, Launch, LaunchState, PlanState
from apps.launches.services.timeline import launch_event
from tests.support.launches import NOW, launch, plan, target

pytestmark = pytest.mark.django_db


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    call_command(*words)
    return capsys.readouterr().out


def attempt(of: Launch, number: int, **changes: Any) -> Attempt:
    values: dict[str, Any] = {
        "launch": of, "number": number, "market": "spot", "zone": "use1-az1", "region": "us-east-1",
        "instance_type": "m5.large", "price": Decimal("0.0400000000"), "currency": "USD", "tags": {},
        "parameters": {}, "token": f"{of.pk}-{number}", "prepared_at": NOW, **changes,
    }  # fmt: skip
    return Attempt.objects.create(**values)


@pytest.fixture
def late() -> Launch:
    """Refused, taken back after an hour, done on demand two hours after its deadline of 17:00."""
    made = plan(target(), state=PlanState.DONE)
    one = launch(
        made, state=LaunchState.COMPLETED, why="done", first_started_at=NOW + timedelta(seconds=20),
        ended_at=NOW + timedelta(hours=10), done_hours=2.0, paid=Decimal("0.2650000000"), currency="USD",
        lost_hours=0.25, lost_cost=Decimal("0.0100000000"),
    )  # fmt: skip
    attempt(one, 1, state="refused", code="InsufficientInstanceCapacity")
    attempt(
        one, 2, state="ended", ending="interrupted", machine="i-1", started_at=NOW + timedelta(seconds=20),
        ended_at=NOW + timedelta(seconds=3620), paid=Decimal("0.0400000000"),
    )  # fmt: skip
    attempt(
        one, 3, state="ended", ending="done", machine="i-2", market="on-demand", zone="",
        price=Decimal("0.1"), started_at=NOW + timedelta(hours=7, minutes=45),
        ended_at=NOW + timedelta(hours=10),
        paid=Decimal("0.2250000000"),
    )  # fmt: skip
    launch_event(one, "refused", attempt=1, code="InsufficientInstanceCapacity", next="next pool")
    one.events.update(at=NOW + timedelta(seconds=3))
    return one


def test_a_launch_that_was_late(late: Launch, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand: 0.04 and 2.25 h at 0.1 are 0.265."""
    assert told(capsys, "launch", str(late.pk)) == (
        f"{late.pk:>6}  Completed             2 Nov 2026 09:00 UTC  Nightly\n"
        "        The work is done, 2 h after its deadline.\n"
        "        Target      priority 0 · cloud\n"
        "        Paid        $0.27, from prices of the hours that ran\n"
        "        Planned     $0.08, up to $0.30\n"
        "        Work done   2 of 2 h, held by checkpoints\n"
        "        Work lost   0.25 h, $0.0100\n"
        "        Deadline    2 Nov 2026 17:00 UTC, late by 2 h\n"
        "        Started     2 Nov 2026 09:00 UTC, 20 s after it was due\n"
        "        Ended       2 Nov 2026 19:00 UTC\n"
        "\n"
        "Attempts\n"
        "     1  m5.large us-east-1a, Spot, $0.0400 an hour  "
        "Refused: no capacity (InsufficientInstanceCapacity)  $0.00\n"
        "     2  m5.large us-east-1a, Spot, $0.0400 an hour  "
        "Ended: taken back by the provider (i-1)  1.00 h  $0.0400\n"
        "     3  m5.large us-east-1, on demand, $0.1000 an hour  "
        "Ended: its work was done (i-2)  2.25 h  $0.23\n"
        "\n"
        "What happened, in UTC\n"
        "        2026-11-02 09:00:03  Attempt 1 was refused: no capacity (InsufficientInstanceCapacity). "
        "Next: the next offer.\n"
    )


def test_plans_and_launches_on_a_line_each(late: Launch, capsys: pytest.CaptureFixture[str]) -> None:
    asking = plan(late.plan.target, name="Weekly", state=PlanState.REQUESTED, cost=None, cost_high=None,
                  cost_low=None, due_at=NOW + timedelta(days=1))  # fmt: skip
    later = launch(
        late.plan, due_at=NOW + timedelta(hours=3), why="above_plan", asked_high=Decimal("0.4"),
        why_values={"cost": "0.4", "spent": "0", "high": "0.3", "currency": "USD"},
    )  # fmt: skip
    runs = launch(late.plan, due_at=NOW + timedelta(hours=2), state=LaunchState.RUNNING, on_demand=True,
                  first_started_at=NOW, paid=Decimal("0.05"), approved_high=Decimal("0.5"))  # fmt: skip
    missed = launch(late.plan, due_at=NOW + timedelta(hours=1), state=LaunchState.MISSED, why="missed",
                    why_values={"at": "2026-11-02T11:00:00Z"}, ended_at=NOW + timedelta(hours=2))  # fmt: skip
    assert told(capsys, "launches") == (
        "Plans\n"
        f"{asking.pk:>6}  Waiting for approval  3 Nov 2026 09:00 UTC  Weekly  cost not known\n"
        f"{late.plan_id:>6}  Done                  2 Nov 2026 09:00 UTC  Nightly  planned $0.08, "
        "up to $0.30\n"
        "Launches\n"
        f"{later.pk:>6}  Waiting               2 Nov 2026 12:00 UTC  Nightly  planned $0.08, up to $0.30  "
        "It would need up to $0.40 in all, $0.00 of it spent already; approved are $0.30. Approve the higher "
        "amount, or cancel it.\n"
        f"{runs.pk:>6}  Running               2 Nov 2026 11:00 UTC  Nightly  planned $0.08, up to $0.50, "
        "paid so far $0.0500  It runs on demand.\n"
        f"{missed.pk:>6}  Missed                2 Nov 2026 10:00 UTC  Nightly  paid $0.00  "
        "It could not start by 2 Nov 2026 11:00 UTC: it was not run.\n"
        f"{late.pk:>6}  Completed             2 Nov 2026 09:00 UTC  Nightly  paid $0.27  "
        "The work is done, 2 h after its deadline.\n"
    )


def test_what_is_not_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "launches") == "Plans\n        none\nLaunches\n        none\n"
    one = launch(plan(cost=None, cost_high=None, cost_low=None, deadline_hours=None, currency=""))
    text = told(capsys, "launch", str(one.pk))
    for line in (
        "        Paid        0.00, no machine has run\n", "        Planned     not known\n",
        "        Deadline    none is set\n", "        Started     —, starts by 2 Nov 2026 10:00 UTC\n",
        "What happened, in UTC\n        Nothing yet.\n",
    ):  # fmt: skip
        assert line in text, line
    attempt(one, 1, state="ended", ending="done", machine="i-1", started_at=NOW, ended_at=NOW, members=[])
    text = told(capsys, "launch", str(one.pk))
    assert "        Paid        —, known once the prices of its hours are\n" in text
    assert "0.00 h  not known yet\n" in text
