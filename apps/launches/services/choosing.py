"""Where a launch stands against its deadline, what was refused to it, which of its offers are left."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.launches.models import Attempt, AttemptState, Launch, Market
from apps.launches.services.executors import Offer, place_of
from apps.launches.services.outcomes import NOT_REACHED, NOT_SENT
from finops.engine.launches.last_moment import Pace, may_start_spot
from finops.engine.launches.live import LOOK
from finops.frames.launch_errors import LaunchError, Meaning, launch_error

# A place that had no machine is asked again after so long.
FORGET = timedelta(seconds=LOOK)
# (market, region, zone, instance type)
Key = tuple[str, str, str, str]


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


@dataclass(frozen=True)
class Left:
    """Offers that may be tried now. `spot_safe`: Spot is safe for the deadline and no limit forbids it."""

    spot: list[Offer]
    on_demand: list[Offer]
    spot_safe: bool


def offers_left(launch: Launch, offers: list[Offer], now: datetime) -> Left:
    """Offers that were not refused lately, in their order."""
    refused = recent_refusals(launch, now)
    meanings = [meaning_of(launch, one).meaning for one in refused]
    places = {
        place_key(one) for one, meaning in zip(refused, meanings, strict=True) if meaning is Meaning.CAPACITY
    }
    safe = not (
        launch.on_demand or Meaning.SPOT_LIMIT in meanings or not may_start_spot(pace_of(launch, now))
    )
    free = [one for one in offers if key_of(one) not in places]
    return Left(
        spot=[one for one in free if safe and one["market"] == Market.SPOT],
        on_demand=[one for one in free if one["market"] != Market.SPOT],
        spot_safe=safe,
    )


def spot_left(launch: Launch, offers: list[Offer], now: datetime) -> int:
    """How many Spot offers were not refused for capacity lately."""
    refused = {
        place_key(one) for one in recent_refusals(launch, now)
        if meaning_of(launch, one).meaning is Meaning.CAPACITY
    }  # fmt: skip
    return sum(one["market"] == Market.SPOT and key_of(one) not in refused for one in offers)


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


def place_key(attempt: Attempt) -> Key:
    """Where an attempt asked for a machine."""
    return attempt.market, attempt.region, attempt.zone, attempt.instance_type


def key_of(offer: Offer) -> Key:
    """Where an offer asks for a machine."""
    return (
        str(offer["market"]), offer.get("region") or "", offer.get("zone") or "", offer.get("type") or "",
    )  # fmt: skip
