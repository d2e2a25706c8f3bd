"""The deadline strategies on one trace: many starts, one table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finops.engine.launches.deadline import Job, greedy, on_demand, run, uniform_progress
from finops.engine.launches.optimum import optimum
from finops.engine.launches.plan_ahead import advice
from finops.frames.availability import AvailabilityTrace


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
    gap = trace.gap_seconds
    costs: dict[str, list[float]] = {}
    missed: dict[str, int] = {}
    places = starts_of(trace, job, starts)
    for first in places:
        ahead = trace.available[first : first - (-job.deadline // gap)]
        base = run(job, gap, ahead, on_demand(job, gap))
        played = {
            "advice": run(job, gap, ahead, advice(job, gap, trace.available[:first])),
            "greedy": run(job, gap, ahead, greedy(job, gap)),
            "uniform_progress": run(job, gap, ahead, uniform_progress(job, gap)),
            "on_demand": base,
        }
        for name, outcome in played.items():
            costs.setdefault(name, []).append(outcome.cost / base.cost)
            missed[name] = missed.get(name, 0) + outcome.missed
        costs.setdefault("optimum", []).append(optimum(job, gap, ahead) / base.cost)
        missed["optimum"] = 0
    return {name: Share(float(np.mean(found)), missed[name]) for name, found in costs.items()}, len(places)
