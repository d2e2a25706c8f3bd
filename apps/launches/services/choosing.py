"""Which offer of a plan is tried next, and whether Spot is still safe for the deadline."""

from __future__ import annotations

from datetime import datetime, timedelta

from apps.launches.models import Attempt, AttemptState, Launch, Market
from apps.launches.services.executors import Offer, place_of
from finops.engine.launches.last_moment import Pace, may_start_spot
from finops.frames.launch_errors import LaunchError, Meaning, launch_error

# A place that had no machine is asked again after so long.
FORGET = timedelta(minutes=10)
# Of attempts that no provider ever saw: they are not counted as tries.
NOT_REACHED, NOT_SENT = "NotReached", "NotSent"


def pace_of(launch: Launch, now: datetime) -> Pace:
    """Where a launch stands against its deadline."""
    job = launch.plan.job
    minutes = job.get("checkpoint_minutes")
    left = None if launch.deadline is None else max(0.0, (launch.deadline - now).total_seconds())
    return Pace(
        work=max(0.0, launch.hours - launch.done_hours) * 3600,
        left=left,
        overhead=float(job.get("restart_minutes") or 0.0) * 60,
        between=None if minutes is None else float(minutes) * 60,
    )


def offers_of(launch: Launch) -> list[Offer]:
    """The plan's offers in their order."""
    return list(launch.plan.document.get("offers") or [])


def next_offer(launch: Launch, offers: list[Offer], now: datetime) -> Offer | None:
    """The first offer that was not refused lately; Spot only while it is safe and no limit forbids it."""
    refused = recent_refusals(launch, now)
    meanings = [meaning_of(launch, one).meaning for one in refused]
    places = {
        _place(one) for one, meaning in zip(refused, meanings, strict=True) if meaning is Meaning.CAPACITY
    }
    no_spot = launch.on_demand or Meaning.SPOT_LIMIT in meanings or not may_start_spot(pace_of(launch, now))
    for offer in offers:
        if offer["market"] == Market.SPOT and no_spot:
            continue
        if _key(offer) not in places:
            return offer
    return None


def spot_left(launch: Launch, offers: list[Offer], now: datetime) -> int:
    """How many Spot offers were not refused for capacity lately."""
    refused = {
        _place(one) for one in recent_refusals(launch, now)
        if meaning_of(launch, one).meaning is Meaning.CAPACITY
    }  # fmt: skip
    return sum(one["market"] == Market.SPOT and _key(one) not in refused for one in offers)


def recent_refusals(launch: Launch, now: datetime) -> list[Attempt]:
    """Attempts that were refused lately, since the last machine."""
    found: list[Attempt] = []
    for one in launch.attempts.order_by("-number"):
        if one.started_at is not None:
            break
        if one.state == AttemptState.REFUSED and one.prepared_at > now - FORGET:
            found.append(one)
    return found


def refused_in_a_row(launch: Launch) -> list[Attempt]:
    """All attempts that were sent and brought nothing since the last machine, newest first."""
    found = []
    for one in launch.attempts.order_by("-number"):
        if one.started_at is not None:
            break
        if one.state == AttemptState.REFUSED and one.code not in {NOT_REACHED, NOT_SENT}:
            found.append(one)
    return found


def meaning_of(launch: Launch, attempt: Attempt) -> LaunchError:
    """What the refusal of an attempt means, by the provider's table."""
    return meaning_of_code(launch, attempt.code)


def meaning_of_code(launch: Launch, code: str) -> LaunchError:
    """What a code means at the launch's place."""
    return launch_error(place_of(launch.plan.target).provider, code)


def _place(attempt: Attempt) -> tuple[str, str, str, str]:
    return attempt.market, attempt.region, attempt.zone, attempt.instance_type


def _key(offer: Offer) -> tuple[str, str, str, str]:
    return (
        str(offer["market"]), offer.get("region") or "", offer.get("zone") or "", offer.get("type") or "",
    )  # fmt: skip
