"""What a launch without a machine does next: which offer is called, or how long it waits for Spot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.launches.models import Attempt, Launch, Market
from apps.launches.services.choosing import (
    FORGET,
    Left,
    meaning_of,
    offers_left,
    pace_of,
    refused_in_a_row,
)
from apps.launches.services.executors import Offer
from apps.launches.services.outlook import Outlook, outlook, plans_ahead
from finops.engine.launches.deadline import Market as Choice
from finops.engine.launches.failure import Bounds
from finops.engine.launches.last_moment import may_wait
from finops.frames.launch_errors import Meaning


@dataclass(frozen=True)
class Decided:
    """`offer`: to call now, None: wait for `wait`. `early`: on demand by the plan, not at the last moment."""

    offer: Offer | None
    wait: timedelta = FORGET
    early: bool = False


def decide(row: Launch, offers: list[Offer], now: datetime) -> Decided:
    """The plan ahead where there is one; else the offers in their order, and on demand once waiting for Spot
    is no longer safe or no attempts are left for it.
    """
    left = offers_left(row, offers, now)
    ahead = outlook(row, offers, now) if left.spot_safe else None
    if ahead is not None:
        return _by_plan(ahead, left)
    usable = {id(one) for one in (*left.spot, *left.on_demand)}
    first = next((one for one in offers if id(one) in usable), None)
    if first is not None and _waits_for_spot(row, first, offers, now):
        first = None
    return Decided(first)


def counted_tries(row: Launch) -> list[Attempt]:
    """Refused attempts since the last machine that the bound of attempts counts, newest first.

    A lack of Spot does not count where the plan ahead waits for it: that ends with the deadline.
    """
    tries = refused_in_a_row(row)
    if not plans_ahead(row):
        return tries
    return [
        one for one in tries
        if one.market != Market.SPOT or meaning_of(row, one).meaning is not Meaning.CAPACITY
    ]  # fmt: skip


def bounds_of(row: Launch) -> Bounds:
    """How often a launch tries."""
    return Bounds(attempts=int(row.plan.retry.get("attempts") or Bounds().attempts))


def _by_plan(ahead: Outlook, left: Left) -> Decided:
    choice = ahead.next_market(there=bool(left.spot))
    if choice is Choice.NONE or (choice is Choice.ON_DEMAND and not left.on_demand and not left.spot):
        return Decided(None, ahead.wait())
    if choice is Choice.ON_DEMAND and left.on_demand:
        return Decided(left.on_demand[0], early=True)
    return Decided(ahead.ordered(left.spot)[0])


def _waits_for_spot(row: Launch, offer: Offer, offers: list[Offer], now: datetime) -> bool:
    """Whether to wait rather than go on demand: all Spot was refused for capacity, the deadline is far, and
    attempts are left for another round and for on demand.
    """
    spots = sum(one["market"] == Market.SPOT for one in offers)
    if offer["market"] == Market.SPOT or not spots or row.on_demand or row.deadline is None:
        return False
    tries = refused_in_a_row(row)
    if not tries or meaning_of(row, tries[0]).meaning is not Meaning.CAPACITY:
        return False
    enough = len(tries) + spots + 2 <= bounds_of(row).attempts
    return enough and may_wait(pace_of(row, now), wait=FORGET.total_seconds())
