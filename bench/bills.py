"""A generated CUR into the lake, end to end, against what igzip needs just to unpack the same bytes.

`python -m bench.bills [--rows 1000000] [--only NAME]`. The files come from `bench.cur_file` (115 columns,
seeded). Imports: the working columns, all columns kept, and all columns of as many rows in four files; each
in a process of its own on embedded PostgreSQL. An import's time is that of the run itself, its memory the
peak of the whole process. CPU seconds stand beside the wall clock, for a machine that others use too.
Baselines run beside: igzip, and DuckDB alone reading the working columns of the packed file. koku's
conversion is no package of the index: its rate was measured once. `bench.spend` asks the questions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIMIT_RATIO = 2.5
LIMIT_RATIO_ALL = 4.0
LIMIT_MB = 1200
# koku's own conversion of its generator's file, rows a second on two cores; how much faster this has to be.
KOKU_ROWS = 3388
LIMIT_KOKU = 15.0
LIMIT_SIDE_BY_SIDE = 1.25
FILES = 4
WORKING, ALL, FOUR = "working columns", "all columns", f"all columns, {FILES} files"


def unpack_seconds(paths: list[Path]) -> tuple[float, float]:
    """(wall, CPU) seconds of igzip for the files; nothing is kept."""
    from isal import igzip

    wall, cpu = time.perf_counter(), time.process_time()
    for path in paths:
        with igzip.open(path, "rb") as stream:
            while stream.read(1 << 20):
                pass
    return time.perf_counter() - wall, time.process_time() - cpu


def duckdb_seconds(path: Path) -> tuple[float, float]:
    """(wall, CPU) seconds of DuckDB alone for reading the working columns as text; nothing is kept."""
    import duckdb

    from finops.lake import Limits, open_duckdb
    from finops.providers.aws.bills import CurLegacy
    from finops.providers.bills import Given
    from finops.providers.files.bill_files import open_bill_file

    with tempfile.TemporaryDirectory() as folder:
        file = open_bill_file(path, Path(folder))
    given = Given(CurLegacy(), file.headers)
    CurLegacy().lines(given)
    counted = ", ".join(f"count(r{place})" for place in sorted(given.used))
    con: duckdb.DuckDBPyConnection = open_duckdb(Limits())
    wall, cpu = time.perf_counter(), time.process_time()
    con.execute(f"SELECT {counted} FROM {file.relation()}").fetchall()
    return time.perf_counter() - wall, time.process_time() - cpu


def child(folder: str) -> None:
    """One import in this process; prints its numbers."""
    import resource

    import django

    django.setup()
    from apps.ingest.bills.run import bill_import
    from apps.ingest.selectors import current_snapshots, lake
    from finops.lake import BILL_LINES

    lake()
    cpu = time.process_time()
    run = bill_import(paths=[folder], whole=True)
    numbers: dict[str, Any] = {
        "seconds": run.seconds,
        "cpu": time.process_time() - cpu,
        "rows": run.stored,
        "error": run.error,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    files = lake().files(BILL_LINES, current_snapshots()[BILL_LINES]) if run.stored else []
    numbers["stored_mb"] = sum(Path(file).stat().st_size for file in files) / 1e6
    print(json.dumps(numbers))


def imported(home: Path, folder: Path, *, keep: bool) -> dict[str, Any]:
    """The numbers of one import on servers of its own."""
    from finops.embedded.servers import Servers

    servers = Servers.of(home, durable=False)
    holder = servers.acquire()
    try:
        environment = {
            **os.environ,
            **servers.environment(),
            "DJANGO_SETTINGS_MODULE": "finops.settings.check",
            "BILL_KEEP_SOURCE_COLUMNS": str(keep),
        }
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"], env=environment, check=True
        )
        command = [sys.executable, "-m", "bench.bills", "--child", str(folder)]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    finally:
        servers.release(holder)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(rows: int, only: str) -> bool:
    """Print the figures; True when all are within their limits."""
    from bench.cur_file import write_cur

    good = True
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="offpeak-bench-") as base:
        paths: dict[int, list[Path]] = {}
        for name in (WORKING, ALL, FOUR):
            if only and only != name:
                continue
            files = FILES if name == FOUR else 1
            folder = Path(base) / f"cur{files}"
            if files not in paths:
                folder.mkdir()
                paths[files] = write_cur(folder, rows, files=files)
            before = unpack_seconds(paths[files])
            home = Path(base) / name.replace(" ", "-")
            found = imported(home, folder, keep=name != WORKING)
            after = unpack_seconds(paths[files])
            unpack = ((before[0] + after[0]) / 2, (before[1] + after[1]) / 2)
            good &= report(name, rows, unpack, found)
            seconds[name] = found["cpu"] / unpack[1]
            if name == WORKING:
                alone = duckdb_seconds(paths[files][0])
                print(f"  DuckDB alone, reading the working columns: {alone[0]:.2f} s, CPU {alone[1]:.2f} s,")
                print(f"  {alone[0] / unpack[0]:.1f} x igzip, of CPU {alone[1] / unpack[1]:.1f}")
    if ALL in seconds and FOUR in seconds:
        ratio = seconds[FOUR] / seconds[ALL]
        good &= ratio <= LIMIT_SIDE_BY_SIDE
        print(f"{FILES} files cost {ratio:.2f} of what one costs (CPU; limit {LIMIT_SIDE_BY_SIDE})")
    return good


def report(name: str, rows: int, unpack: tuple[float, float], found: dict[str, Any]) -> bool:
    """Print times, ratios and memory of one import."""
    limit = LIMIT_RATIO if name == WORKING else LIMIT_RATIO_ALL
    seconds, cpu, peak = found["seconds"], found["cpu"], found["mb"]
    ratio, koku = seconds / unpack[0], found["rows"] / seconds / KOKU_ROWS
    print(f"{name}: {rows} rows, stored {found['rows']} {found['error']}")
    print(
        f"  igzip alone {unpack[0]:.2f} s, CPU {unpack[1]:.2f} s; into the lake {seconds:.2f} s, "
        f"CPU {cpu:.2f} s; load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"  {ratio:.1f} x igzip (limit {limit}), of CPU {cpu / unpack[1]:.1f}; {rows / seconds:.0f} rows/s,"
    )
    print(f"  {koku:.1f} x koku's conversion (limit {LIMIT_KOKU:.0f})")
    print(f"  peak memory {peak:.0f} MB (limit {LIMIT_MB}); lines {found['stored_mb']:.0f} MB")
    good = ratio <= limit and peak < LIMIT_MB and found["rows"] == rows and koku >= LIMIT_KOKU
    return bool(good)


def main() -> int:
    """0 when within the limits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help=f"{WORKING!r}, {ALL!r} or {FOUR!r}")
    parser.add_argument("--child", default="")
    given = parser.parse_args()
    if given.child:
        child(given.child)
        return 0
    return 0 if measure(given.rows, given.only) else 1


if __name__ == "__main__":
    sys.exit(main())
