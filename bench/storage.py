"""Storage policies on real reads against Intelligent-Tiering and the optimum: cost ratios, not times."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from finops.engine.storage.backtest import backtest
from finops.engine.storage.rates import rates
from finops.engine.storage.reads import reads_from_days
from finops.frames.storage_classes import INTELLIGENT, lifecycle_moves, storage_classes, tiers
from finops.providers.files.object_reads import read_days

FILE = "storage/dandi_bytes_by_dataset_day_even.csv.xz"
PRICES_ON = date(2026, 11, 30)
SIZES = (1 << 20, 1 << 26, 1 << 32)
ACCESS_BYTES = (10**6, 10**9, 10**11)


def main() -> None:
    """A line for each limit of what counts as a read."""
    root = os.environ.get("OFFPEAK_BENCH_DATA")
    if not root:
        print("storage: not run: no data")
        return
    days = read_days([str(Path(root) / FILE)])
    classes = storage_classes("aws", "us-east-1", PRICES_ON)
    auto, moves = tiers("aws", "us-east-1", INTELLIGENT, PRICES_ON), lifecycle_moves("aws")
    by_size = {size: rates(classes, auto, moves, size) for size in SIZES}
    for limit in ACCESS_BYTES:
        found = backtest(reads_from_days(days.frame, access_bytes=limit), by_size)
        told = ", ".join(f"{name} {one.ratio_to_optimum:.3f}" for name, one in found.items())
        share = found["advice"].cost_share_of_standard
        print(f"storage, reads from {limit:.0e} bytes: cost / optimum: {told}; advice / Standard {share:.3f}")


if __name__ == "__main__":
    main()
