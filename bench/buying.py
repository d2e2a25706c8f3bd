"""Buying over time on demand made from job traces: the policy, its rivals, and the exact optimum.

`OFFPEAK_BENCH_DATA=… python -m bench.buying [--all]`. Demand: units in use by the hour of the PAI trace
(a year) and of the Philly trace (71 days), repeated to the horizon of two years; `--all` adds the
virtual clusters of Philly that use a unit or more in the mean. Prices: m5.large Linux, us-east-1, list
of 2018-11-29: a new year, all upfront; and eight months second-hand (8/12 of that year) at 30 % of what
is left of its list price. Deterministic.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from finops.engine.commitments.buying import compare, repeated
from finops.providers.files.demand_files import read_demand

HORIZON = 2 * 8760
LIMIT_MEAN, LIMIT_WORST = 1.15, 2.0
YEAR, EIGHT_MONTHS = 8760, 5840
TYPE = ("m5.large", "us-east-1", "linux")
SHOWN = ("advice", "deterministic", "randomised", "all_on_demand")


def prices(root: Path) -> tuple[float, float]:
    """(price of an hour of a new year all upfront, on-demand price)."""
    found = {}
    with gzip.open(root / "ri" / "ec2_ondemand_reserved_2018-11-29.csv.gz", "rt") as handle:
        for kind, region, system, term, price in csv.reader(handle):
            if (kind, region, system) == TYPE:
                found[term] = float(price)
    return found["yrTerm1Standard.allUpfront"], found["ondemand"]


def demands(root: Path, *, clusters: bool) -> dict[str, np.ndarray]:
    """Each series by name."""
    jobs = root / "jobs"
    philly = lzma.decompress((jobs / "philly_gpu_jobs_before_2017-11-15.csv.xz").read_bytes()).decode()
    found = {
        "PAI": read_demand(lzma.decompress((jobs / "alibaba_pai_100k.csv.xz").read_bytes()).decode()),
        "Philly": read_demand(philly),
    }
    if clusters:
        by_cluster: dict[str, list[str]] = defaultdict(list)
        for row in csv.DictReader(io.StringIO(philly)):
            by_cluster[row["cluster"]].append(f"{row['timestamp']},{row['duration']},{row['num_gpus']}")
        for name, lines in by_cluster.items():
            series = read_demand("timestamp,duration,num_gpus\n" + "\n".join(lines))
            if series.mean() >= 1:
                found[f"Philly {name}"] = series
    return found


def main() -> int:
    """Print the table; 1 where a limit is broken."""
    data = os.environ.get("OFFPEAK_BENCH_DATA")
    if not data:
        print("buying: not run: no data")
        return 0
    effective, on_demand = prices(Path(data))
    share = effective / on_demand
    terms = {
        "new year": (YEAR, share * YEAR),
        "8 months second-hand": (EIGHT_MONTHS, 0.3 * share * EIGHT_MONTHS),
    }
    broken = False
    print(f"{'series':14} {'commitment':21} " + " ".join(f"{name:>14}" for name in SHOWN) + "  seconds")
    for name, series in demands(Path(data), clusters="--all" in sys.argv).items():
        for title, (term, price) in terms.items():
            began = time.monotonic()
            result = compare(repeated(series, HORIZON), term=term, price=price)
            ratios = {one: result[one].ratio_to_optimum or 0.0 for one in SHOWN}
            limit = LIMIT_WORST if " " in name else LIMIT_MEAN
            broken |= ratios["advice"] > limit
            print(
                f"{name:14} {title:21} "
                + " ".join(f"{ratios[one]:14.3f}" for one in SHOWN)
                + f"  {time.monotonic() - began:7.1f}",
                flush=True,
            )
    print(
        f"times the optimum; limit of the advice {LIMIT_MEAN} on whole traces, {LIMIT_WORST} on any series; "
        f"PAI is repeated twice, Philly ten times"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
