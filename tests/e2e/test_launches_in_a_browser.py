"""Launches in a browser: a move back to Spot in the picture, what waits and what has ended, long words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from apps.accounts.models import Membership, User
from apps.launches.models import (
    Attempt,
    Checkpoint,
    Launch,
    LaunchEvent,
    LaunchPlan,
    LaunchTarget,
    PlanApproval,
    PlanState,
)
from apps.launches.services.callbacks import checkpoint_keep
from apps.launches.services.moving import moves_run
from apps.launches.services.running import launch_run
from tests.e2e.test_pages_in_a_browser import LOOKS
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch, plan, target
from tests.support.looks import look_at

pytestmark = pytest.mark.e2e
Visit = Callable[..., Page]
MINUTES = timedelta(minutes=1)
JOB = {"hours": 20.0, "product": "", "provider": "aws", "restart_minutes": 6.0, "checkpoint_minutes": 10.0,
       "hazard_per_hour": 0.2}  # fmt: skip
WHY: dict[str, tuple[str, dict[str, Any]]] = {
    "above_plan": ("queued", {"cost": "12.4", "spent": "3.2", "high": "9", "currency": "USD"}),
    "away": ("queued", {"reason": "AWS could not be reached.", "at": "2026-12-01T05:00:00Z"}),
    "interrupted": ("interrupted", {"hours": 3.25}),
    "refused": ("failed", {"code": "InvalidParameterValue", "message": "x" * 300}),
    "done": ("completed", {}),
}
# All that a launch is made of, what points to another row first.
MADE = (LaunchEvent, Checkpoint, Attempt, Launch, PlanApproval, LaunchPlan, LaunchTarget)


def moved(now: datetime) -> Launch:
    """On demand while there is no Spot, for half an hour; then back to it from the last checkpoint."""
    begins = now - 40 * MINUTES
    pools = {"pools": {"use1-az1": "000" + "1" * 200, "us-east-1": "1"}, "gap_seconds": 600}
    place = target(name="market", executor="simulated", account="",
                   settings={**pools, "begins": begins.isoformat()})  # fmt: skip
    offers = [{**OFFER, "cost": "0.8"}, {**ON_DEMAND_OFFER, "cost": "2"}]
    one = launch(approved(
        place, name="Train the ranking model of the shop", due_at=begins, hours=20.0, deadline_hours=21.6,
        job=JOB, document={"offers": offers}, cost=Decimal("0.8"), cost_high=Decimal(9),
    ))  # fmt: skip
    Launch.objects.filter(pk=one.pk).update(next_at=begins)
    launch_run(launch_id=one.pk, now=begins)
    at = begins + 33 * MINUTES
    checkpoint_keep(launch=one, attempt=2, work_hours=0.44, name="step-440", marked=True, now=at)
    assert moves_run(now=at) == 1
    return one


@pytest.fixture(scope="module")
def stories(site: str) -> Iterator[dict[str, int]]:
    """The pages' numbers by name; all of it is gone afterwards."""
    now, before = timezone.now(), set(User.objects.values_list("pk", flat=True))
    one = moved(now)
    for why, (state, values) in WHY.items():
        made = plan(one.plan.target, name=f"Nightly-{why}-" + "long" * 15, due_at=now - MINUTES)
        ended = None if state in {"queued", "interrupted"} else now + timedelta(hours=9)
        launch(made, state=state, why=why, why_values=values, ended_at=ended, next_at=now)
    asked = plan(one.plan.target, name="Asked", state=PlanState.REQUESTED, valid_until=now + 60 * MINUTES)
    yield {"launch": one.pk, "plan": one.plan_id, "asked": asked.pk}
    for model in MADE:
        model.objects.all().delete()
    Membership.objects.exclude(user__in=before).delete()
    User.objects.exclude(pk__in=before).delete()


@pytest.mark.parametrize("name", ["launches", "launch", "plan", "asked", "plans"])
def test_pages_of_launches_fit_every_width_and_axe_finds_nothing_serious(
    visit: Visit, stories: dict[str, int], name: str
) -> None:
    address = {"launches": "/launches/", "launch": f"/launches/{stories['launch']}/",
               "plans": "/launches/plans/"}.get(name) or f"/launches/plans/{stories[name]}/"  # fmt: skip
    for looks in LOOKS:
        for width, theme, language in looks:
            look_at(visit, address, name=f"story-{name}", width=width, theme=theme, language=language)


def test_a_move_is_told_in_the_picture_and_in_words(visit: Visit, stories: dict[str, int]) -> None:
    page = visit(f"/launches/{stories['launch']}/")
    words = page.locator(".lane-word").all_inner_texts()
    assert words == ["no capacity", "the work moved to another machine", "Running"]
    assert page.locator(".lane-word.bad").count() == 1
    told = page.locator("#h-events").locator("xpath=../..").inner_text()
    assert "Spot is there: machine i-2 takes over from i-1." in told
    assert "Machine i-1 ended: the work moved to another machine. 0.01 h of work were lost." in told
    assert page.locator("h1").inner_text() == (
        "Train the ranking model of the shop runs: 0.44 h of 20.00 h are held by checkpoints"
    )
