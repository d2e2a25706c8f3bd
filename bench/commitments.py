"""10,000 offers against a year of hourly demand of 200 families, beside reading that demand and one pass
over it.

`python -m bench.commitments`. Demand and offers are made up (seeded): no marketplace listings are
public. Baseline: the demand read from Parquet into an array of (families, hours), and one vectorised sum
of min(demand, level). Limits: 20 times the baseline, 1 GB at the peak. Evaluated: each offer at its best
quantity, with interval and risk. Medians of 3 of both: the first reading alone takes three times as long.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from finops.engine.commitments.coverage import cover
from finops.engine.commitments.desk import Desk
from finops.engine.commitments.pools import PoolBook
from finops.engine.commitments.selection import consider
from finops.frames.demand import Demand, Use
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind
from finops.frames.sizes import size_table

FAMILIES, HOURS, OFFERS = 200, 8760, 10_000
LIMIT_TIMES, LIMIT_BYTES = 20.0, 1 << 30
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = 3


def made_up(random: np.random.Generator) -> np.ndarray:
    """Instances in use: a base, a day, a week, noise; whole numbers; shape (families, hours)."""
    hour = np.arange(HOURS)
    base = random.uniform(2, 80, (FAMILIES, 1))
    day = 0.3 * base * np.sin((hour + random.integers(0, 24, (FAMILIES, 1))) * np.pi / 12)
    week = 0.1 * base * (hour // 24 % 7 < 5)
    noise = random.normal(0, 0.1, (FAMILIES, HOURS)) * base
    return np.maximum(0.0, np.round(base + day + week + noise))


def offers(random: np.random.Generator) -> list[Offer]:
    """Second-hand offers of whole months left at 5 % to 80 % of what the hours cost on demand."""
    found = []
    for number in range(OFFERS):
        hours = int(random.integers(1, 36)) * 730
        fixed = Decimal(str(round(0.1 * hours * float(random.uniform(0.05, 0.8)), 2)))
        key = OfferKey("aws", "us-east-1", "", "Linux/UNIX", "default", f"f{number % FAMILIES}.large")
        found.append(
            Offer(
                str(number), OfferKind.SECOND_HAND, key, OfferingClass.STANDARD, "all-upfront",
                Decimal(hours), fixed, Decimal(0), "USD", int(random.integers(1, 20)), NOW,
            )
        )  # fmt: skip
    return found


def median_seconds(work: Callable[[], object]) -> float:
    """Median of TIMES runs."""
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def read_and_pass(path: Path) -> np.ndarray:
    """The baseline; the demand, shape (families, hours)."""
    read = pq.read_table(path)
    demand = np.zeros((FAMILIES, HOURS))
    demand[read["family"].to_numpy(), read["hour"].to_numpy()] = read["instances"].to_numpy()
    np.minimum(demand, demand.mean(axis=1, keepdims=True)).sum(axis=1)
    return demand


def judged(demand: np.ndarray, asked: list[Offer]) -> tuple[int, int]:
    """(offers that save, offers refused)."""
    uses = tuple(
        Use(OfferKey("aws", "us-east-1", "a", "Linux/UNIX", "default", f"f{i}.large"), "1", demand[i])
        for i in range(FAMILIES)
    )
    sizes = size_table("aws")
    coverage = cover(Demand(NOW - timedelta(hours=HOURS), HOURS, uses), [], sizes=sizes)
    desk = Desk(PoolBook(coverage, lambda _key: Decimal("0.1"), sizes), NOW, "USD")
    kept, refused, _draws = consider(desk, asked)
    return len(kept), len(refused)


def main() -> int:
    """Print the line; 1 where a limit is broken."""
    random = np.random.default_rng(4)
    table = made_up(random)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demand.parquet"
        family = np.repeat(np.arange(FAMILIES), HOURS)
        hour = np.tile(np.arange(HOURS), FAMILIES)
        pq.write_table(pa.table({"family": family, "hour": hour, "instances": table.ravel()}), path)
        demand = read_and_pass(path)
        baseline = median_seconds(lambda: read_and_pass(path))
    asked = offers(random)
    kept, refused = judged(demand, asked)
    seconds = median_seconds(lambda: judged(demand, asked))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    times = seconds / baseline
    print(
        f"commitments: {OFFERS} offers, {FAMILIES} families, {HOURS} h: {seconds:.2f} s = {times:.1f}x of "
        f"reading and one pass ({baseline * 1000:.0f} ms), limit {LIMIT_TIMES:.0f}; "
        f"peak {peak / 1e6:.0f} MB, limit 1074; {kept} save, {refused} refused"
    )
    return 0 if times <= LIMIT_TIMES and peak <= LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
