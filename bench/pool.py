"""Jobs of the Philly trace on a hybrid pool, against first come, first served on demand.

`OFFPEAK_BENCH_DATA=… python -m bench.pool [--estimate-error 0.5]`. The example pools; each job has half of
its hours and one hour to spare; Spot with interruptions at random, then with the availability of a traced
zone, repeated. Deterministic.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from finops.engine.launches.pool_compare import Terms, compare_pools, repeated_openings
from finops.engine.launches.pool_policies import AdviceRules
from finops.engine.launches.pool_replay import ReplayRules, Stretches
from finops.frames.pools import PoolKind, example_pools
from finops.providers.files.availability_traces import availability_of
from finops.providers.files.job_files import JobTrace, jobs_of

JOBS = "jobs/philly_gpu_jobs_before_2017-11-15.csv.xz"
TRACE = "avail/availability/1-node/aws-10-26-2022/us-west-2a_v100_1.json"


def line(title: str, trace: JobTrace, terms: Terms, opens: dict[str, Stretches] | None) -> bool:
    """Print what each policy does; True where ours keeps every deadline for less than its rival."""
    assert trace.began is not None
    began = time.perf_counter()
    found = compare_pools(
        trace.jobs,
        example_pools(),
        began=trace.began,
        terms=terms,
        rules=ReplayRules(),
        advice=AdviceRules(),
        opens=opens,
    )
    print(f"{title}: {len(trace.jobs)} jobs, floor {found.floor:,.0f} USD", flush=True)
    for name, one in found.strategies.items():
        print(
            f"  {name}: {one.result.cost:,.0f} USD ({one.cost_share:.3f} of on demand), wait mean "
            f"{one.wait_mean:.2f} h, p95 {one.wait_p95:.2f} h, missed {one.result.missed}",
            flush=True,
        )
    print(f"  {time.perf_counter() - began:.0f} s", flush=True)
    ours, rival = found.strategies["advice"], found.strategies["first_come_first_served"]
    return ours.result.cost < rival.result.cost and ours.result.missed <= rival.result.missed


def main() -> int:
    """Two lines; the exit code is 1 where a plain rival was as good."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--estimate-error", default=0.0, type=float)
    asked = parser.parse_args()
    root = os.environ.get("OFFPEAK_BENCH_DATA")
    if not root:
        print("pool: not run: no data")
        return 0
    trace = jobs_of(str(Path(root) / JOBS))
    terms = Terms(estimate_error=asked.estimate_error)
    seen = availability_of(str(Path(root) / TRACE))
    hours = max(arrival + length for arrival, length, _ in trace.jobs) * 2 + 1000
    stretches = repeated_openings([bool(one) for one in seen.available], seen.gap_seconds / 3600, hours)
    opens = {one.name: stretches for one in example_pools() if one.kind is PoolKind.SPOT}
    good = line("Spot with interruptions at random", trace, terms, None)
    good &= line("Spot as available in a traced zone", trace, terms, opens)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
