"""Back to Spot: a machine on demand that gives its place to one on Spot.

Whether Spot is there is known only by asking for it, so the Spot machine is asked for beside the one that
runs. Refused, nothing has changed and nothing was paid. Given, the machine on demand is ended at once and the
work goes on from its last checkpoint. Each step is stored before the next one; where a worker is lost between
two, the reconciler takes the same next one.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, InterfaceError, OperationalError, transaction

from apps.ingest.locks import held
from apps.launches.models import Attempt, AttemptState, Executor, Launch, LaunchState, Market
from apps.launches.services.calls import attempt_call, attempt_prepare
from apps.launches.services.choosing import FORGET, meaning_of, offers_left, pace_of
from apps.launches.services.claims import LostClaimError
from apps.launches.services.executors import Offer, executor_of
from apps.launches.services.gangs import end_all
from apps.launches.services.guards import StoppedError, allowed_offers
from apps.launches.services.outcomes import (
    MOVED,
    NOT_REACHED,
    NOT_SENT,
    SURPLUS,
    attempt_ended,
    attempt_refused,
    attempt_running,
    attempt_unknown,
    work_left,
)
from apps.launches.services.outlook import outlook
from apps.launches.services.timeline import launch_event
from finops.engine.launches.last_moment import may_start_spot
from finops.frames.launch_errors import Meaning
from finops.frames.launches import Ending, Machine
from finops.providers.base import ProviderError
from finops.providers.launching import LaunchOutcomeUnknownError, LaunchRefusedError

log = structlog.get_logger(__name__)
# "opm" in ASCII: the lock that one worker holds while it looks at what may move.
_LOCK = 0x6F706D
# Refusals that pass by themselves; for another reason they are a person's to mend.
PASSES = frozenset({Meaning.CAPACITY, Meaning.THROTTLED})
MENDED = timedelta(hours=1)
# The next turn begins a minute after this one.
TURN = timedelta(seconds=45)
# Places whose machines are refused at once where there are none; pods would wait for a node.
ASKED = (Executor.AWS, Executor.SIMULATED)


def moves_run(*, now: datetime) -> int:
    """Look at machines on demand that may go back to Spot; how many went.

    One worker at a time, for less than a minute: turns never pile up, however many machines there are.
    """
    with held(_LOCK) as mine:
        return _turn(now) if mine else 0


def _turn(now: datetime) -> int:
    rows = Attempt.objects.filter(
        state=AttemptState.RUNNING,
        market=Market.ON_DEMAND,
        beside=False,
        noticed_at__isnull=True,
        launch__state=LaunchState.RUNNING,
        launch__on_demand=False,
        launch__deadline__gt=now,
        launch__plan__target__executor__in=ASKED,
    ).order_by("?")  # What does not fit into this turn has its chance in the next ones.
    moved, begun = 0, time.monotonic()
    left = list(rows.values_list("pk", flat=True))
    while left:
        ran = timedelta(seconds=int(time.monotonic() - begun))
        if ran >= TURN:
            log.info("launch_moves_cut_off", not_looked_at=len(left))
            break
        pk = left.pop()
        try:
            moved += move_to_spot(pk, now=now + ran) == "moved"
        except ProviderError as error:
            log.warning("launch_not_moved", attempt=pk, error=str(error))
        except (OperationalError, InterfaceError):
            log.exception("launch_moves_broken_off", attempt=pk)
            break
        except Exception:  # one launch must not keep all others where they are
            log.exception("launch_not_looked_at", attempt=pk)
    return moved


def move_to_spot(attempt_id: int, *, now: datetime) -> str:
    """One machine on demand: "stays", "refused" (no Spot), "open" (no clear answer) or "moved".

    Raises ProviderError where its place cannot be reached.
    """
    attempt = Attempt.objects.select_related(
        "launch__organisation", "launch__plan__target", "launch__plan__team", "launch__plan__owner",
        "launch__plan__workload", "launch__plan__organisation",
    ).get(pk=attempt_id)  # fmt: skip
    spots = _worth_asking(attempt, now)
    for offer in spots:
        said = _ask(attempt, offer, now)
        if said != "refused":
            return said
    return "refused" if spots else "stays"


def take_over(attempt: Attempt, now: datetime) -> str:
    """A Spot machine that is there takes the place of the one that runs: "moved". "ended": it is taken back,
    or was found too late to be safe for the deadline, and was ended instead. "stays": somebody else took the
    step. Raises ProviderError.

    The other machine is ended first: two that work at once would write the same checkpoints.
    """
    with transaction.atomic():
        launch = Launch.objects.select_for_update(of=("self",)).select_related("plan").get(
            pk=attempt.launch_id
        )  # fmt: skip
        mine = launch.attempts.get(pk=attempt.pk)
        former = launch.attempts.filter(state=AttemptState.RUNNING, beside=False).first()
        beside = mine.beside and mine.state == AttemptState.RUNNING
        if launch.state != LaunchState.RUNNING or not beside or former is None:
            return "stays"
        safe = may_start_spot(pace_of(launch, now))
    goes, ending = former, MOVED
    if mine.noticed_at is not None or not safe:
        goes, ending = mine, SURPLUS if mine.noticed_at is None else Ending.INTERRUPTED
    end_all(executor_of(attempt.launch.plan.target, goes.region, now), goes, now, ending=ending)
    attempt_ended(goes, ending, now)
    return "moved" if goes is former else "ended"


def _worth_asking(attempt: Attempt, now: datetime) -> list[Offer]:
    """Spot offers to ask for now, the best one first; none where the machine on demand should stay."""
    launch = attempt.launch
    if _asked_lately(launch, FORGET, now):
        return []
    offers, _stop = allowed_offers(launch, now)
    left = offers_left(launch, offers, now)
    ahead = outlook(launch, offers, now) if left.spot and left.spot_safe else None
    if ahead is None or _asked_lately(launch, ahead.wait(), now):
        return []
    since = launch.hours - work_left(launch, attempt, now) - launch.done_hours
    return ahead.ordered(left.spot) if ahead.worth_moving(max(0.0, since) * 3600) else []


def _asked_lately(launch: Launch, wait: timedelta, now: datetime) -> bool:
    """Whether Spot was asked for beside this machine, or before it, so lately that nothing is new."""
    refused = launch.attempts.filter(market=Market.SPOT, state=AttemptState.REFUSED)
    last = refused.exclude(code=NOT_SENT).order_by("-number").first()
    if last is None:
        return False
    passes = last.code == NOT_REACHED or meaning_of(launch, last).meaning in PASSES
    return now - last.prepared_at < (wait if passes else MENDED)


def _ask(former: Attempt, offer: Offer, now: datetime) -> str:
    launch = former.launch
    try:
        mine = attempt_prepare(launch, offer, now, beside=former)
    except (LostClaimError, StoppedError, IntegrityError):
        return "stays"
    try:
        executor = executor_of(launch.plan.target, mine.region, now)
        machine = executor.launch(attempt_call(launch, mine, now), now=now)
    except (LostClaimError, StoppedError):
        attempt_refused(mine, NOT_SENT)
        return "stays"
    except LaunchRefusedError as error:
        attempt_refused(mine, error.code, str(error))
        return _refused(launch, mine)
    except LaunchOutcomeUnknownError as error:
        attempt_unknown(mine, str(error), now)
        return "open"
    except ProviderError as error:
        attempt_refused(mine, NOT_REACHED, str(error))
        raise
    return _given(mine, machine, now)


def _given(mine: Attempt, machine: Machine, now: datetime) -> str:
    """The Spot machine is there; where the launch is over by now, the reconciler ends it."""
    if not attempt_running(mine, machine, now):
        return "stays"
    return take_over(mine, now) if mine.beside else "moved"


def _refused(launch: Launch, mine: Attempt) -> str:
    """Only a lack of capacity is worth asking another pool; what else is wrong shows in the timeline."""
    meaning = meaning_of(launch, mine).meaning
    if meaning in {Meaning.TOKEN_USED, Meaning.OUTCOME_OPEN}:
        Attempt.objects.filter(pk=mine.pk).update(state=AttemptState.UNKNOWN)
        return "open"
    if meaning is Meaning.CAPACITY:
        return "refused"
    launch_event(launch, "refused", attempt=mine.number, code=mine.code, next="on demand")
    return "stays"
