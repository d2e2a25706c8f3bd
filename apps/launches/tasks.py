"""Doors for Celery: one service call each."""

from __future__ import annotations

import structlog
from celery import shared_task
from kombu.exceptions import OperationalError

from apps.launches.services.bursts import bursts_tick
from apps.launches.services.clock import database_now, due_launches, launches_tick
from apps.launches.services.costs import costs_fill
from apps.launches.services.interruptions import notices_take
from apps.launches.services.moving import moves_run
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run

log = structlog.get_logger(__name__)
# A launch that no worker took by then is handed out again by the clock; the old message is dropped.
HAND_OUT_SECONDS = 60


@shared_task(name="launches.launch_run")
def launches_launch_run(launch_id: int) -> None:
    """Carry out one due launch; a second hand-out finds it taken and does nothing."""
    state = launch_run(launch_id=launch_id, now=database_now())
    if state:
        log.info("launch_ran", launch=launch_id, state=state)


def launches_hand_out(*launch_ids: int) -> int:
    """Give launches to workers; with the broker out of reach the clock finds them."""
    for number, launch_id in enumerate(launch_ids):
        try:
            launches_launch_run.apply_async((launch_id,), expires=HAND_OUT_SECONDS)
        except OperationalError as error:
            log.warning("launches_not_handed_out", launches=len(launch_ids) - number, error=str(error))
            return number
    return len(launch_ids)


@shared_task(name="launches.tick")
def launches_turn() -> None:
    """Rows for due times, late ones missed, due ones to the workers."""
    done = launches_tick(now=database_now())
    done["handed_out"] = launches_hand_out(*due_launches())
    if any(done.values()):
        log.info("launches_ticked", **done)


@shared_task(name="launches.reconcile")
def launches_reconcile() -> None:
    """Settle open calls, see ends and notices, end what nobody asks for; then hand out what waits."""
    now = database_now()
    notices = notices_take(now=now)
    done = reconcile_all(now=now)
    launches_hand_out(*due_launches())
    if notices or +done:
        log.info("launches_reconciled", notices=notices, **dict(done))


@shared_task(name="launches.moves")
def launches_moves() -> None:
    """Machines on demand whose work goes back to Spot."""
    moved = moves_run(now=database_now())
    if moved:
        log.info("launches_moved", moved=moved)


@shared_task(name="launches.costs")
def launches_costs() -> None:
    """What machines that have ended cost, once prices of their hours are known."""
    priced = costs_fill(now=database_now())
    if priced:
        log.info("attempts_priced", attempts=priced)


@shared_task(name="launches.bursts")
def launches_bursts() -> None:
    """Buy help for long queues, end what is idle; then hand out what is due."""
    done = bursts_tick(now=database_now())
    if any(done.values()):
        log.info("launches_burst", **done)
        launches_hand_out(*due_launches())
