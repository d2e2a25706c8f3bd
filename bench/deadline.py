"""Deadline strategies on real traces of Spot availability, against the exact optimum.

`OFFPEAK_BENCH_DATA=… python -m bench.deadline [--deadline 52,56,60,70] [--overhead 0.1,0.2] [--gang 1,4,16]
[--zones | --no-zones] [--zero-is there|away] [--folder availability] [--starts 12] [--unseen]`.
Without options single traces at an overhead of 0.1 h, and one thing else at a time: overhead, gang, zones,
the other reading. An option that is given is combined with all values of the others.
48 h of work, on-demand 3.15x the Spot price. Every trace of one node long enough for the deadline; each
counts the same. Deterministic. A gang is made from a single trace: its members see it ten minutes apart, and
it is there where all of them are. Zones: traces of one machine type and time are zones to choose from.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from finops.engine.launches.compare import Share, compare_zones
from finops.engine.launches.deadline import Job
from finops.frames.availability import AvailabilityTrace, gang_of
from finops.providers.files.availability_traces import availability_of

WORK_HOURS, RATIO = 48, 3.15
APART_SECONDS = 600


@dataclass(frozen=True)
class Setting:
    """One line: hours of deadline and overhead, machines a gang, whether 0 is read as available."""

    deadline: float
    overhead: float
    gang: int
    zero_is_there: bool
    zones: bool
    starts: int
    unseen: bool

    @property
    def title(self) -> str:
        """What the line is of."""
        gang = "" if self.gang == 1 else f", gang of {self.gang} made from single traces"
        zero = ", 0 read as available" if self.zero_is_there else ""
        return f"{self.deadline:g} h, overhead {self.overhead:g} h{gang}{zero}"


def markets(root: Path, folder: str, *, zones: bool) -> list[tuple[Path, ...]]:
    """Each trace alone, or those of one folder and machine type together (more than one)."""
    found = sorted((root / "avail").rglob("1-node/*/*.json"))
    kept = [one for one in found if folder in one.parts or not folder]
    if not zones:
        return [(one,) for one in kept]
    groups: dict[tuple[Path, str], list[Path]] = {}
    for one in kept:
        groups.setdefault((one.parent, one.stem.partition("_")[2]), []).append(one)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _one(paths: tuple[Path, ...], setting: Setting) -> dict[str, Share] | None:
    """The strategies on one market; None where its record is shorter than the deadline."""
    traces = [availability_of(str(path), zero_is_there=setting.zero_is_there) for path in paths]
    seen: list[AvailabilityTrace] = [
        gang_of(trace, setting.gang, apart_seconds=APART_SECONDS) for trace in traces
    ]
    if min(one.hours for one in seen) < setting.deadline:
        return None
    job = Job(WORK_HOURS * 3600, round(setting.deadline * 3600), round(setting.overhead * 3600), RATIO)
    return compare_zones(seen, (1.0,) * len(seen), job, starts=setting.starts, unseen=setting.unseen)[0]


def mean_of(found: list[dict[str, Share]]) -> dict[str, Share]:
    """Mean share and all misses by strategy, over markets."""
    names = found[0] if found else ()
    return {
        name: Share(
            float(np.mean([one[name].cost_share for one in found])), sum(one[name].missed for one in found)
        )
        for name in names
    }


def settings(asked: argparse.Namespace) -> list[Setting]:
    """Those asked for; without options one thing is varied at a time."""
    whole = asked.overhead is asked.gang is asked.zones is asked.zero_is is None
    overheads, gangs = asked.overhead or [0.1, 0.2], asked.gang or [1, 4, 16]
    zeros = [False, True] if asked.zero_is is None else [asked.zero_is == "there"]
    zones = [False, True] if asked.zones is None else [asked.zones]
    found = [
        Setting(deadline, overhead, gang, zero, zone, asked.starts, asked.unseen)
        for zero, zone, gang, overhead, deadline in product(zeros, zones, gangs, overheads, asked.deadline)
    ]

    def varied(one: Setting) -> int:
        return one.zero_is_there + one.zones + (one.gang != gangs[0]) + (one.overhead != overheads[0])

    return [one for one in found if varied(one) <= 1] if whole else found


def _numbers(text: str) -> list[float]:
    return [float(one) for one in text.split(",")]


def main() -> None:
    """A line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deadline", default=[52.0, 56.0, 60.0, 70.0], type=_numbers)
    parser.add_argument("--overhead", default=None, type=_numbers)
    parser.add_argument("--gang", default=None, type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--zones", action=argparse.BooleanOptionalAction, default=None)
    parser.add_argument("--zero-is", choices=["there", "away"], default=None)
    parser.add_argument("--folder", default="", help="availability or preemption; both without")
    parser.add_argument("--starts", default=12, type=int)
    parser.add_argument("--unseen", action="store_true", help="also our policy without a past")
    asked = parser.parse_args()
    root = os.environ.get("OFFPEAK_BENCH_DATA")
    if not root:
        print("deadline: not run: no data")
        return
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        tasks = [
            (
                one,
                [
                    pool.submit(_one, place, one)
                    for place in markets(Path(root), asked.folder, zones=one.zones)
                ],
            )
            for one in settings(asked)
        ]
        for setting, waiting in tasks:
            print(_line(setting, [share for task in waiting if (share := task.result())]), flush=True)


def _line(setting: Setting, found: list[dict[str, Share]]) -> str:
    if not found:
        return f"{setting.title}: no trace is long enough"
    table = mean_of(found)
    best = table["optimum"].cost_share
    shown = ", ".join(
        f"{name} {one.cost_share:.4f} ({one.cost_share / best:.4f}x, missed {one.missed})"
        for name, one in table.items()
    )
    what = "groups of zones" if setting.zones else "traces"
    return f"{setting.title}, {len(found)} {what} x {setting.starts} starts: {shown}"


if __name__ == "__main__":
    main()
