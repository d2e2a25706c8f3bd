"""Live launches replayed on real traces of Spot availability: what the product itself pays for a deadline.

`OFFPEAK_BENCH_DATA=… python -m bench.launch_replay`. Launches of 48 h of work due in 56 h, starts of 0.1 h,
a checkpoint every two minutes (`OFFPEAK_BENCH_CHECKPOINT_MINUTES`), on-demand 3.15 times the Spot price, on
the simulated market made from each ten-minute trace of one node: the services that workers run, with
PostgreSQL, at the times at which beat would call them. They see only what their own calls tell them, lose
the work since a checkpoint, and stay within the worst case of their plan. Beside it the same launches
without the plan ahead (to the last safe moment), and the strategies of `bench.deadline`, which see the
market in every tick and lose no work. Share of on-demand.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from bench.pages import main
from finops.engine.launches.deadline import Job, greedy, run, uniform_progress
from finops.engine.launches.optimum import optimum
from finops.frames.availability import Flags
from finops.providers.files.availability_traces import availability_of

WORK, DEADLINE, START = 48.0, 56.0, 0.1
SPOT, ON_DEMAND = Decimal("0.2"), Decimal("0.63")
STARTS, GAP = 2, 600
STEP = timedelta(minutes=5)
CHECKPOINT = timedelta(minutes=float(os.environ.get("OFFPEAK_BENCH_CHECKPOINT_MINUTES", "2")))
ZONE, REGION = "zone", "region"
OFFER = {"region": REGION, "type": "type", "currency": "USD", "zone_name": None, "start": None}


def offers() -> list[dict[str, Any]]:
    """Of a plan: Spot first, on demand last."""
    hours = Decimal(repr(WORK))
    return [
        {**OFFER, "market": "spot", "zone": ZONE, "price": str(SPOT), "cost": str(SPOT * hours)},
        {**OFFER, "market": "on-demand", "zone": None, "price": str(ON_DEMAND),
         "cost": str(ON_DEMAND * hours)},
    ]  # fmt: skip


def launched(flags: Flags, begins: datetime) -> Any:
    """A launch that is due, on a market of its own."""
    from apps.accounts.models import ActorKind, Membership, Organisation, User
    from apps.accounts.roles import Role
    from apps.launches.models import Launch, LaunchPlan, LaunchTarget, PlanApproval
    from apps.launches.services.offers import costs_of

    number = Organisation.objects.count()
    # One organisation a launch: none learns from another's market.
    organisation = Organisation.objects.create(name=f"bench {number}", slug=f"bench-{number}")
    ticks = "".join("1" if one else "0" for one in flags)
    target = LaunchTarget.objects.create(
        organisation=organisation, name="market", executor="simulated",
        settings={"pools": {ZONE: ticks, REGION: "1"}, "gap_seconds": GAP, "begins": begins.isoformat()},
    )  # fmt: skip
    costs = costs_of(offers(), hours=WORK, restart_hours=START, slack_hours=DEADLINE - WORK)
    job = {"hours": WORK, "provider": "aws", "product": "", "restart_minutes": START * 60,
           "checkpoint_minutes": CHECKPOINT.total_seconds() / 60}  # fmt: skip
    plan = LaunchPlan.objects.create(
        organisation=organisation, target=target, name="bench", hours=WORK, job=job,
        document={"offers": offers()}, due_at=begins, deadline_hours=DEADLINE, cost=costs.expected,
        cost_low=costs.low, cost_high=costs.high, currency="USD", requested_at=begins,
        requested_kind=ActorKind.SYSTEM, requested_by="bench", valid_until=begins + timedelta(days=30),
        state="approved", stated_at=begins, retry={"attempts": 100},
    )  # fmt: skip
    user = User.objects.create_user(f"bench{number}@example.com", "bench")
    Membership.objects.create(user=user, organisation=organisation, role=Role.ADMIN)
    PlanApproval.objects.create(plan=plan, user=user, role=Role.ADMIN, at=begins)
    return Launch.objects.create(
        organisation=organisation, plan=plan, due_at=begins, hours=WORK, start_by=begins + timedelta(hours=1),
        deadline=begins + timedelta(hours=DEADLINE), stated_at=begins, next_at=begins,
    )  # fmt: skip


def played(flags: Flags, begins: datetime) -> tuple[Decimal, bool]:
    """(what the machines cost, whether the deadline was met) of one launch, turn by turn."""
    from django.utils import timezone

    from apps.launches.models import OVER, WAITING, Launch
    from apps.launches.services.moving import moves_run
    from apps.launches.services.reconciling import reconcile
    from apps.launches.services.running import launch_run

    one = launched(flags, begins)
    at = begins
    while at < one.deadline + timedelta(hours=1):
        _job(one, at)
        reconcile(target=one.plan.target, region=REGION, now=at)
        one.refresh_from_db()
        if one.state in OVER:
            break
        if one.state in WAITING and one.next_at <= at:
            # Workers claim by the clock of the database, which does not run ahead.
            Launch.objects.filter(pk=one.pk).update(next_at=timezone.now())
            launch_run(launch_id=one.pk, now=at)
        moves_run(now=at)
        at += STEP
    paid = Decimal(0)
    for attempt in one.attempts.filter(started_at__isnull=False):
        hours = ((attempt.ended_at or at) - attempt.started_at) / timedelta(hours=1)
        paid += attempt.price * Decimal(repr(hours))
    return paid, one.state == "completed" and one.ended_at <= one.deadline


def _job(one: Any, at: datetime) -> None:
    """What the job on the machine has done by now: its last checkpoint, or that it is done."""
    from apps.launches.services.callbacks import checkpoint_keep, launch_finish
    from apps.launches.services.executors import executor_of

    attempt = one.attempts.filter(state="running", beside=False).first()
    if attempt is None or not any(
        machine.id == attempt.machine and machine.state == "running"
        for machine in executor_of(one.plan.target, REGION, at).find({}, now=at - timedelta(seconds=1))
    ):
        return
    begun = attempt.started_at + timedelta(hours=START)
    done = begun + timedelta(hours=WORK - attempt.from_hours)
    if done <= at:
        launch_finish(launch=one, attempt=attempt.number, ok=True, message="", now=done)
        return
    marks = (at - begun) // CHECKPOINT
    if marks > 0:
        hours = attempt.from_hours + marks * CHECKPOINT / timedelta(hours=1)
        checkpoint_keep(
            launch=one, attempt=attempt.number, work_hours=round(hours, 6), name="", marked=True, now=at
        )


def cases(root: Path) -> Iterator[Flags]:
    """The ticks from each start to its deadline, of every ten-minute trace that is long enough."""
    ticks = round(DEADLINE * 3600 / GAP)
    for path in sorted((root / "avail").rglob("1-node/*/*.json")):
        trace = availability_of(str(path))
        if trace.gap_seconds == GAP and trace.available.size >= ticks:
            for first in np.linspace(0, trace.available.size - ticks, STARTS):
                yield trace.available[int(first) : int(first) + ticks]


def child() -> int:
    """Print the line; 1 where a deadline was missed or the plan ahead cost more than the last moment."""
    import django

    django.setup()
    from django.utils import timezone

    from apps.launches.services import deciding, outlook

    root = os.environ.get("OFFPEAK_BENCH_DATA")
    if not root:
        print("launch_replay: not run: no data")
        return 0
    work, deadline, start = (round(hours * 3600) for hours in (WORK, DEADLINE, START))
    job = Job(work, deadline, start, float(ON_DEMAND / SPOT))
    base = job.ratio * (job.work + job.overhead)
    shares: dict[str, list[float]] = {}
    missed = dict.fromkeys(("plan ahead", "last moment"), 0)
    planned = outlook.plans_ahead
    for flags in cases(Path(root)):
        for name in missed:
            plans = planned if name == "plan ahead" else lambda _launch: False
            outlook.plans_ahead = deciding.plans_ahead = plans
            paid, met = played(flags, timezone.now())
            missed[name] += not met
            shares.setdefault(name, []).append(float(paid / SPOT) * 3600 / base)
        for name, rule in (("greedy", greedy), ("uniform progress", uniform_progress)):
            shares.setdefault(name, []).append(run(job, GAP, flags, rule(job, GAP)).cost / base)
        shares.setdefault("optimum", []).append(optimum(job, GAP, flags[:, None], (1.0,)) / base)
        print(" ".join(f"{name} {values[-1]:.3f}" for name, values in shares.items()), flush=True)
    mean = {name: float(np.mean(values)) for name, values in shares.items()}
    print(
        f"{len(shares['optimum'])} live launches: "
        + ", ".join(f"{name} {share:.3f}" for name, share in mean.items())
        + f"; plan ahead = {mean['plan ahead'] / mean['last moment']:.3f}x last moment, missed {missed}"
    )
    return int(any(missed.values()) or mean["plan ahead"] > mean["last moment"])


if __name__ == "__main__":
    sys.exit(child() if "--child" in sys.argv else main("bench.launch_replay"))
