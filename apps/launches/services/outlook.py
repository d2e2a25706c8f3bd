"""What a launch should do next by the plan ahead, from what its organisation has seen of the market.

A plan is made for work with a deadline, checkpoints, and prices of both markets. What was seen: machines on
Spot that ran and were taken back, calls that were refused for lack of capacity.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import F

from apps.launches.models import Attempt, AttemptState, Executor, Launch, Market
from apps.launches.services.choosing import Key, key_of, meaning_of_code, pace_of
from apps.launches.services.executors import Offer
from finops.engine.launches import live
from finops.engine.launches.deadline import Market as Choice
from finops.engine.launches.last_moment import Pace
from finops.engine.launches.live import Hour, Sighting
from finops.engine.launches.plan_ahead import Past
from finops.frames.launch_errors import Meaning
from finops.frames.launches import Ending

SEEN = timedelta(days=14)


@dataclass(frozen=True)
class Outlook:
    """A launch, its prices and its market at one moment."""

    pace: Pace
    prices: Mapping[Key, float]
    on_demand: float
    sightings: Mapping[Key, list[Sighting]]
    hazard_per_hour: float | None
    now: float

    def next_market(self, *, there: bool) -> Choice:
        """What to do while nothing runs, with Spot there or not; `Market.NONE`: wait for it."""
        return live.next_market(self.pace, self._hour(), self._past(), there=there)

    def worth_moving(self, done_since: float) -> bool:
        """Whether a machine on demand should give way to Spot; `done_since`: seconds since a checkpoint."""
        return live.worth_moving(self.pace, self._hour(), self._past(), done_since=done_since)

    def wait(self) -> timedelta:
        """Until the next look at a market that had no machine."""
        return timedelta(seconds=live.wait_of(self._past()))

    def ordered(self, spots: list[Offer]) -> list[Offer]:
        """Spot offers, the one first that costs least an hour with its losses; equals in their order."""
        return sorted(spots, key=self._cost)

    def _cost(self, offer: Offer) -> float:
        key = key_of(offer)
        past = live.past_of([self.sightings.get(key, [])], now=self.now, hazard_per_hour=self.hazard_per_hour)
        hour = Hour(self.prices[key], self.on_demand)
        return live.cost_of_pool(hour, past, self.pace, hazard_per_hour=self.hazard_per_hour)

    def _hour(self) -> Hour:
        return Hour(min(self.prices.values()), self.on_demand)

    def _past(self) -> Past:
        return live.past_of(self.sightings.values(), now=self.now, hazard_per_hour=self.hazard_per_hour)


def plans_ahead(launch: Launch) -> bool:
    """Whether the plan ahead is asked for a launch: it has a deadline, and interruptions do not lose all."""
    return launch.deadline is not None and launch.plan.job.get("checkpoint_minutes") is not None


def outlook(launch: Launch, offers: list[Offer], now: datetime) -> Outlook | None:
    """None where there is nothing to plan: without deadline or checkpoints, or prices in one currency."""
    machines = Decimal(launch.plan.count) * Decimal(repr(launch.plan.hours))
    spots = {key_of(one): _hour(one, machines) for one in offers if one["market"] == Market.SPOT}
    others = [_hour(one, machines) for one in offers if one["market"] != Market.SPOT]
    prices = [*spots.values(), *others]
    if not (plans_ahead(launch) and spots and others) or None in prices:
        return None
    if len({one.get("currency") for one in offers}) > 1:
        return None
    hazard = launch.plan.job.get("hazard_per_hour")
    return Outlook(
        pace=pace_of(launch, now),
        prices={key: price for key, price in spots.items() if price is not None},
        on_demand=min(price for price in others if price is not None),
        sightings=_sightings(launch, set(spots), now),
        hazard_per_hour=None if hazard is None else float(hazard),
        now=now.timestamp(),
    )


def _hour(offer: Offer, machine_hours: Decimal) -> float | None:
    """What advice expects of a machine's hour over the run, else its price; None for none, or not above 0."""
    if offer.get("cost") is not None:
        found = float(Decimal(str(offer["cost"])) / machine_hours)
    else:
        found = float(offer.get("price") or 0)
    return found if 0 < found < math.inf else None


def _sightings(launch: Launch, pools: set[Key], now: datetime) -> dict[Key, list[Sighting]]:
    """What the organisation saw of these pools, the launch's own attempts included.

    A pool that had more machines at once had one too; one that lacked fewer lacked more.
    """
    count = launch.plan.count // launch.plan.parts
    found: dict[Key, list[Sighting]] = defaultdict(list)
    for one in _attempts(launch, now):
        key = (one.market, one.region, one.zone, one.instance_type)
        if key not in pools:
            continue
        if one.started_at is not None and one.machines >= count:
            ends = one.ended_at or now
            found[key].append(Sighting(one.started_at.timestamp(), ends.timestamp(), there=True))
        taken = one.ending == Ending.INTERRUPTED and one.ended_at is not None
        lacked = one.state == AttemptState.REFUSED and (
            meaning_of_code(launch, one.code).meaning is Meaning.CAPACITY
        )
        if (taken or lacked) and one.machines <= count:
            at = (one.ended_at if taken else one.called_at) or one.prepared_at
            found[key].append(Sighting(at.timestamp(), at.timestamp(), there=False))
    return found


class _Seen(NamedTuple):
    """Of an attempt what says something about a market; whole rows of thousands take long to read."""

    market: str
    region: str
    zone: str
    instance_type: str
    machines: int
    state: str
    code: str
    ending: str
    prepared_at: datetime
    called_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None


def _attempts(launch: Launch, now: datetime) -> list[_Seen]:
    target = launch.plan.target
    # A made-up market is a target's own; zones of a provider are the same for all of an organisation.
    market: dict[str, Any] = (
        {"launch__plan__target": target}
        if target.executor == Executor.SIMULATED
        else {
            "launch__plan__target__executor": target.executor,
            "launch__plan__target__provider": target.provider,
        }
    )
    rows = Attempt.objects.filter(
        launch__organisation=launch.organisation_id,
        market=Market.SPOT,
        prepared_at__gt=now - SEEN,
        prepared_at__lte=now,
        state__in=[AttemptState.REFUSED, AttemptState.RUNNING, AttemptState.ENDED],
        **market,
    ).order_by("pk")
    return [_Seen(*one) for one in rows.annotate(machines=F("count")).values_list(*_Seen._fields)]
