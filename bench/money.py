"""What the launch rule saves, walk-forward, beside its rivals and the optimum.

`OFFPEAK_BENCH_DATA=… python -m bench.money [eu-west-1|us-east-1|auction|intervals …]`. Jobs of 1, 4, 8 and
24 h, slack of 4, 24 and 72 h, decisions after four weeks of training, every 6 hours (every hour for the
auction file, where types are few: 17 of its 20 have rows). All numbers but the seconds are deterministic.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from bench import spot_archives
from finops.engine.backtest import FREEDOM, BacktestResult, backtest
from finops.engine.policy import choose, decide
from finops.engine.series import US_PER_HOUR, PriceBook

HOURS, SLACKS = (1.0, 4.0, 8.0, 24.0), (4.0, 24.0, 72.0)
TRAINING_US = 28 * 24 * US_PER_HOUR
LEAST_CAPTURE, WORST_POINTS, LEAST_NO_WINDOW, LEAST_AUCTION = 0.97, -0.05, 0.95, 0.25
PRODUCT = "Linux/UNIX"
ARCHIVES = {
    "eu-west-1": spot_archives.eu_west_1_2021_12,
    "us-east-1": spot_archives.us_east_1_2021,
    "auction": spot_archives.auction_2016,
}


def book_of(name: str, root: Path) -> PriceBook:
    """The archive's series of the plain Linux product."""
    frame = ARCHIVES[name](root)
    frame = frame[frame["product"] == PRODUCT]
    return PriceBook.from_frames(frame, spot_archives.known_ranges(frame))


def equivalents_of(root: Path) -> dict[str, list[str]]:
    """Types that can do the work of a type: same vCPUs, GPUs and architecture, at least its memory."""
    facts: dict[str, tuple[int, int, tuple[str, ...], tuple[tuple[str, int], ...]]] = {}
    with tarfile.open(root / "spot" / "describe-instance-types_2021-05.json.tar.xz") as archive:
        for member in archive:
            handle = archive.extractfile(member) if member.name.endswith(".json") else None
            if handle is None:
                continue
            try:
                answer = json.loads(handle.read())
            except ValueError:
                continue
            for item in answer.get("InstanceTypes") or []:
                gpus = (item.get("GpuInfo") or {}).get("Gpus") or []
                facts[item["InstanceType"]] = (
                    item["VCpuInfo"]["DefaultVCpus"],
                    item["MemoryInfo"]["SizeInMiB"],
                    tuple(sorted(item["ProcessorInfo"]["SupportedArchitectures"])),
                    tuple((gpu["Name"], gpu["Count"]) for gpu in gpus),
                )
    return {
        name: [
            other
            for other, (cpus, memory, chips, gpus) in facts.items()
            if other != name and (cpus, gpus) == (own[0], own[3]) and memory >= own[1] and own[2][-1] in chips
        ]
        for name, own in facts.items()
    }


def table(result: BacktestResult) -> pd.DataFrame:
    """One row a cell: shares and, for each strategy, its saving in percent and its capture."""
    rows = []
    for cell in result.cells:
        row: dict[str, float | str | None] = {
            "hours": cell.hours,
            "slack": cell.slack_hours,
            "series": cell.series,
            "decisions": cell.decisions,
            "no_window": cell.no_window_share,
            "series_without": cell.series_without_window_share,
        }
        for name, outcome in cell.strategies.items():
            row[name] = outcome.saving_vs_home_pct
            row[name + "/"] = outcome.capture
        row["lost"] = cell.strategies["advice"].lost_share
        row["regret"] = cell.strategies["advice"].regret_pct
        rows.append(row)
    return pd.DataFrame(rows).astype(float)


def show(frame: pd.DataFrame, names: list[str]) -> None:
    """Print the chosen columns that are there."""
    print(frame[[name for name in names if name in frame]].round(4).to_string(index=False), flush=True)


def verdict(ok: bool) -> str:
    return "met" if ok else "NOT met"


def run(name: str, book: PriceBook, equivalents: Mapping[str, list[str]] | None) -> None:
    """One archive: all cells, then the figures asked for."""
    start = int(book.times.min()) // US_PER_HOUR * US_PER_HOUR + TRAINING_US
    auction = name == "auction"
    begun = time.perf_counter()
    result = backtest(
        book,
        home_series=range(len(book)),
        hours=HOURS,
        slack_hours=SLACKS,
        start_us=start,
        end_us=int(book.times.max()),
        equivalents=equivalents,
        every_hours=1 if auction else 6,
    )
    print(f"{name}: {len(book)} series, 12 cells in {time.perf_counter() - begun:.0f} s")
    frame = table(result)
    shares = ["hours", "slack", "series", "decisions", "no_window", "series_without", "lost", "regret"]
    show(frame, shares)
    print("saving against starting now at home, percent")
    show(frame, ["hours", "slack", *FREEDOM])
    print("capture of the optimum with the same freedom")
    show(frame, ["hours", "slack", *(f"{s}/" for s in FREEDOM if not s.startswith("clairvoyant"))])
    capture = frame["advice/"]
    if auction:
        ok = capture.mean() >= LEAST_AUCTION and capture.min() >= 0
        print(f"capture: mean {capture.mean():.3f}, lowest {capture.min():.3f}: {verdict(ok)}")
        median = frame["trailing_median/"]
        print(f"trailing median: mean {median.mean():.3f}, lowest {median.min():.3f}")
        return
    worst = (frame["advice"] - frame["zone_now"]).min()
    print(f"capture: lowest {capture.min():.4f}: {verdict(capture.min() >= LEAST_CAPTURE)}")
    print(f"cells below {LEAST_CAPTURE}: {(capture < LEAST_CAPTURE).sum()} of {len(capture)}")
    print(f"zone_now: lowest capture {frame['zone_now/'].min():.4f}")
    print(f"advice less zone_now: worst {worst:+.3f} points: {verdict(worst >= WORST_POINTS)}")
    share = frame["no_window"].mean()
    print(f"decisions with no window: mean {share:.3f}, lowest cell {frame['no_window'].min():.3f}")
    print(f"no window: {verdict(share >= LEAST_NO_WINDOW)} on the mean of the cells")


def intervals(name: str, book: PriceBook, draws: int = 300) -> None:
    """How often what a decision really cost lay in its 90 % interval, at random decision times."""
    rng = np.random.default_rng(1)
    groups: dict[str, list[int]] = {}
    for i, key in enumerate(book.keys):
        groups.setdefault(key.instance_type, []).append(i)
    kinds = sorted(groups)
    low, high = int(book.times.min()) + TRAINING_US, int(book.times.max()) - 100 * US_PER_HOUR
    inside: list[bool] = []
    for _ in range(draws):
        part = book.select(groups[kinds[rng.integers(len(kinds))]])
        hours = int(rng.choice([1, 4, 8, 24]))
        now = int(rng.integers(low, high)) // US_PER_HOUR * US_PER_HOUR
        places = np.arange(len(part))
        if not np.isfinite(part.price_at(places, now)).any():
            continue
        slack, length = 24 * US_PER_HOUR, hours * US_PER_HOUR
        got = decide(part, places, home=None, hours=hours, now_us=now, slack_us=slack)
        series, begins = choose(part, places, np.array([now]), length_us=length, slack_us=slack)
        cost = float(part.cost(series, begins, length)[0])
        if np.isfinite(cost) and np.isfinite(got.low):
            inside.append(bool(got.low * (1 - 1e-6) <= cost <= got.high * (1 + 1e-6)))
    print(f"{name}: {np.mean(inside):.3f} of {len(inside)} outcomes inside their 90 % interval", flush=True)


def main() -> int:
    """Run the archives named as arguments, or all of them and the intervals."""
    folder = os.environ.get("OFFPEAK_BENCH_DATA")
    if not folder:
        print("not run: no data")
        return 0
    root, chosen = Path(folder), sys.argv[1:] or [*ARCHIVES, "intervals"]
    equivalents = equivalents_of(root)
    for name in ARCHIVES:
        book = book_of(name, root) if name in chosen or "intervals" in chosen else None
        if book is not None and name in chosen:
            run(name, book, None if name == "auction" else equivalents)
        if book is not None and "intervals" in chosen:
            intervals(name, book)
    return 0


if __name__ == "__main__":
    sys.exit(main())
