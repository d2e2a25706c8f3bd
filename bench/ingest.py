"""Files into the lake, end to end, against what orjson needs just to parse the same bytes.

`OFFPEAK_BENCH_DATA=… python -m bench.ingest`. The us-east-1 archive is unpacked to a folder; each import
runs in a process of its own with an empty lake (first) or the one just filled (second), on embedded
PostgreSQL. Times are of the run itself, from opening the folder to the finished run row, medians of 3;
memory is the peak of the whole process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import orjson

ARCHIVE = "spot/us-east-1_2021-03-02_2021-05-31.json.tar.xz"
LIMIT_RATIO = 6.0
LIMIT_MB = 1000
TIMES = 3
THREADS = 2


def parse_seconds(folder: Path) -> float:
    """Seconds of orjson for the good files, already in memory; nothing is kept."""
    contents = [file.read_bytes() for file in sorted(folder.rglob("*.json"))]
    begun = time.perf_counter()
    for content in contents:
        try:
            orjson.loads(content)
        except orjson.JSONDecodeError:
            continue
    return time.perf_counter() - begun


def child(folder: str) -> None:
    """One import in this process; prints its numbers."""
    import resource

    import django

    django.setup()
    from apps.ingest import services
    from apps.ingest.selectors import lake

    lake()
    run = services.prices_import(source=folder)
    print(
        json.dumps(
            {
                "seconds": run.seconds,
                "rows_read": run.rows_read,
                "stored": run.stored,
                "duplicates": run.duplicates,
                "rejected": run.rejected,
                "error": run.error,
                "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def imported(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """The numbers of one import in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.ingest", "--child", str(folder)],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    numbers: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def measure(data: Path) -> bool:
    """Print the figures; True when all are within their limits."""
    from finops.embedded.servers import Servers

    with tempfile.TemporaryDirectory(prefix="offpeak-bench-") as base:
        folder = Path(base) / "unpacked"
        with tarfile.open(data / ARCHIVE) as archive:
            archive.extractall(folder, filter="data")
        first, second, baseline = [], [], []
        for i in range(TIMES):
            servers = Servers.of(Path(base) / f"home{i}", durable=False)
            holder = servers.acquire()
            try:
                environment = {
                    **os.environ,
                    **servers.environment(),
                    "DJANGO_SETTINGS_MODULE": "finops.settings.check",
                    "LAKE_THREADS": str(THREADS),
                }
                subprocess.run(
                    [sys.executable, "manage.py", "migrate", "--verbosity", "0"], env=environment, check=True
                )
                baseline.append(parse_seconds(folder))
                first.append(imported(folder, environment))
                second.append(imported(folder, environment))
            finally:
                servers.release(holder)
    return report(baseline, first, second)


def report(baseline: list[float], first: list[dict[str, float]], second: list[dict[str, float]]) -> bool:
    """Print medians and ratios."""
    parse = statistics.median(baseline)
    once, again = (statistics.median(run["seconds"] for run in runs) for runs in (first, second))
    peak = max(run["mb"] for run in first + second)
    rows = first[0]
    print(
        f"rows read {rows['rows_read']} = stored {rows['stored']} + duplicates {rows['duplicates']}"
        f" + rejected {rows['rejected']}"
    )
    print(f"orjson alone        {parse:6.2f} s")
    print(f"first import        {once:6.2f} s  ratio {once / parse:.2f} (limit {LIMIT_RATIO})")
    print(f"second import       {again:6.2f} s  ratio {again / parse:.2f}, stored {second[0]['stored']}")
    print(f"peak memory         {peak:6.0f} MB (limit {LIMIT_MB})")
    return (
        once / parse <= LIMIT_RATIO
        and again <= once
        and peak < LIMIT_MB
        and all(run["stored"] == 0 for run in second)
        and rows["rows_read"] == rows["stored"] + rows["duplicates"] + rows["rejected"]
    )


def main() -> int:
    """0 when within the limits or without data."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
        return 0
    data = os.environ.get("OFFPEAK_BENCH_DATA")
    if not data:
        print("not run: no data")
        return 0
    return 0 if measure(Path(data)) else 1


if __name__ == "__main__":
    sys.exit(main())
