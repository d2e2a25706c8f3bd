"""Deadline strategies on real traces of Spot availability, against the exact optimum.

`OFFPEAK_BENCH_DATA=… python -m bench.deadline [--deadline 52,56,60,70] [--overhead 0.1] [--starts 12]`.
48 h of work, on-demand 3.15x the Spot price. Every trace of one node long enough for the deadline; each
counts the same. Deterministic.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from finops.engine.launches.compare import Share, compare
from finops.engine.launches.deadline import Job
from finops.providers.files.availability_traces import availability_of

WORK_HOURS, RATIO = 48, 3.15


def measure(root: Path, *, deadline: float, overhead: float, starts: int) -> tuple[dict[str, Share], int]:
    """Mean share and all misses by strategy, over traces; and how many traces there were."""
    job = Job(WORK_HOURS * 3600, round(deadline * 3600), round(overhead * 3600), RATIO)
    found: dict[str, list[Share]] = {}
    traces = 0
    for path in sorted((root / "avail").rglob("1-node/*/*.json")):
        trace = availability_of(str(path))
        if trace.hours < deadline:
            continue
        traces += 1
        for name, share in compare(trace, job, starts=starts)[0].items():
            found.setdefault(name, []).append(share)
    means = {
        name: Share(float(np.mean([one.cost_share for one in all_])), sum(one.missed for one in all_))
        for name, all_ in found.items()
    }
    return means, traces


def main() -> None:
    """A line for each deadline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deadline", default="52,56,60,70")
    parser.add_argument("--overhead", default=0.1, type=float)
    parser.add_argument("--starts", default=12, type=int)
    asked = parser.parse_args()
    root = os.environ.get("OFFPEAK_BENCH_DATA")
    if not root:
        print("deadline: not run: no data")
        return
    for text in asked.deadline.split(","):
        table, traces = measure(
            Path(root), deadline=float(text), overhead=asked.overhead, starts=asked.starts
        )
        best = table["optimum"].cost_share
        shown = ", ".join(
            f"{name} {one.cost_share:.3f} ({one.cost_share / best:.3f}x, missed {one.missed})"
            for name, one in table.items()
        )
        print(f"{text} h, {traces} traces x {asked.starts} starts: {shown}", flush=True)


if __name__ == "__main__":
    main()
