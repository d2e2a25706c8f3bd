"""The deadline strategies on one trace: many starts, one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finops.engine.launches.deadline import ChooseZone, Job, greedy, on_demand, play, uniform_progress
from finops.engine.launches.optimum import optimum
from finops.engine.launches.zones import cheapest, over_zones, zones_advice
from finops.frames.availability import AvailabilityTrace

STRATEGIES = ("advice", "greedy", "uniform_progress", "on_demand", "optimum")
# Our policy without what was seen before the start.
UNSEEN = "advice_unseen"


@dataclass(frozen=True)
class Share:
    """Mean cost over the starts, as a share of always on-demand; how many starts missed the deadline."""

    cost_share: float
    missed: int


def starts_of(trace: AvailabilityTrace, job: Job, count: int) -> list[int]:
    """Up to `count` first ticks, evenly from the first to the last that leaves room for the deadline.

    Raises ValueError where the trace is shorter than the deadline.
    """
    room = trace.available.size - -(-job.deadline // trace.gap_seconds)
    if room < 0:
        raise ValueError(f"the trace lasts {trace.hours:.1f} h, the deadline is {job.deadline / 3600:g} h")
    return sorted({int(at) for at in np.linspace(0, room, count)})


def compare(trace: AvailabilityTrace, job: Job, *, starts: int) -> tuple[dict[str, Share], int]:
    """Each strategy's mean over the same starts, and how many starts there were.

    `advice` knows the trace before each start; the optimum knows all of it; the others need no past.
    """
    return compare_zones([trace], (1.0,), job, starts=starts)


def compare_zones(
    zones: Sequence[AvailabilityTrace],
    prices: Sequence[float],
    job: Job,
    *,
    starts: int,
    unseen: bool = False,
) -> tuple[dict[str, Share], int]:
    """As `compare`, with several zones to choose from; their ticks are of one length and begin together.
    `unseen`: with `UNSEEN`, our policy when nothing is known of the time before the start.

    Raises ValueError where they are not of one length, or too short.
    """
    gap = zones[0].gap_seconds
    if any(one.gap_seconds != gap for one in zones):
        raise ValueError("the zones' ticks are not of one length")
    size = min(one.available.size for one in zones)
    flags = np.stack([one.available[:size] for one in zones], axis=1)
    costs: dict[str, list[float]] = {}
    missed: dict[str, int] = {}
    places = starts_of(AvailabilityTrace(gap, flags[:, 0]), job, starts)
    for first in places:
        ahead = flags[first : first - (-job.deadline // gap)]
        played = {name: play(job, gap, ahead, prices, one) for name, one in _rivals(job, gap, prices).items()}
        for name, past in {"advice": flags[:first], **({UNSEEN: flags[:0]} if unseen else {})}.items():
            played[name] = play(job, gap, ahead, prices, zones_advice(job, gap, past, prices))
        base = played["on_demand"].cost
        for name, outcome in played.items():
            costs.setdefault(name, []).append(outcome.cost / base)
            missed[name] = missed.get(name, 0) + outcome.missed
        costs.setdefault("optimum", []).append(optimum(job, gap, ahead, prices) / base)
        missed["optimum"] = 0
    names = (*STRATEGIES, UNSEEN) if unseen else STRATEGIES
    return {name: Share(float(np.mean(costs[name])), missed[name]) for name in names}, len(places)


def _rivals(job: Job, gap: int, prices: Sequence[float]) -> dict[str, ChooseZone]:
    made = {"greedy": greedy, "uniform_progress": uniform_progress, "on_demand": on_demand}
    return {name: over_zones(one(job, gap), cheapest(prices)) for name, one in made.items()}
