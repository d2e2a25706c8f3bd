"""A generated CUR into the lake, end to end, against what igzip needs just to unpack the same bytes.

`python -m bench.bills [--rows 1000000] [--files 1]`. The file comes from `bench.cur_file` (115 columns,
seeded). The import runs in a process of its own on embedded PostgreSQL; its time is that of the run itself,
its memory the peak of the whole process. CPU seconds stand beside the wall clock, for a machine that others
use too. koku's own conversion is not run here: it is no package of the index. Then the daily sums' and five
lake queries' times against DuckDB's native table of the same lines.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_RATIO = 2.5
LIMIT_MB = 1200
LIMIT_QUERY = 2.0
QUERY_TIMES = 3
QUERIES = {
    "cost by service and month": "SELECT service_name, x_month, sum(billed_cost) FROM {t} GROUP BY ALL",
    "cost by team and day": "SELECT tags['user:team'], x_day, sum(billed_cost) FROM {t} GROUP BY ALL",
    "month over month, top 20": "SELECT service_name, sum(billed_cost) FILTER (x_day >= DATE '2026-03-15') - "
    "sum(billed_cost) FILTER (x_day < DATE '2026-03-15') AS d FROM {t} GROUP BY 1 "
    "ORDER BY abs(d) DESC LIMIT 20",
    "top 20 resources": "SELECT resource_id, sum(billed_cost) AS c FROM {t} GROUP BY 1 "
    "ORDER BY c DESC LIMIT 20",
    "one service by day and type": "SELECT x_day, x_line_item_type, sum(billed_cost) FROM {t} "
    "WHERE x_product_code = 'AmazonEC2' GROUP BY ALL",
}


def unpack_seconds(paths: list[Path]) -> tuple[float, float]:
    """(wall, CPU) seconds of igzip for the files; nothing is kept."""
    from isal import igzip

    wall, cpu = time.perf_counter(), time.process_time()
    for path in paths:
        with igzip.open(path, "rb") as stream:
            while stream.read(1 << 20):
                pass
    return time.perf_counter() - wall, time.process_time() - cpu


def child(folder: str) -> None:
    """One import in this process, then the queries; prints its numbers."""
    import resource

    import django

    django.setup()
    from apps.ingest.bills.run import bill_import
    from apps.ingest.selectors import lake

    lake()
    cpu = time.process_time()
    run = bill_import(paths=[folder])
    numbers = {
        "seconds": run.seconds,
        "cpu": time.process_time() - cpu,
        "rows": run.stored,
        "error": run.error,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps({**numbers, "queries": queries(), "daily": daily()}))


def queries() -> dict[str, tuple[float, float]]:
    """Seconds of each question over (the lake, DuckDB's native table), medians."""
    from apps.ingest.selectors import current_snapshots, lake

    found = {}
    with tempfile.TemporaryDirectory() as folder, lake().connect(current_snapshots()) as con:
        con.execute("SELECT 1").fetchall()
        import duckdb

        from finops.lake import BILL_LINES

        files = lake().files(BILL_LINES, current_snapshots()[BILL_LINES])
        with duckdb.connect(str(Path(folder) / "native.duckdb")) as native:
            native.execute("SET threads = 2")
            native.execute("CREATE TABLE lines AS SELECT * FROM read_parquet(?)", [files])
            for name, sql in QUERIES.items():
                ours = [timed(con, sql.format(t="billing.lines")) for _ in range(QUERY_TIMES)]
                theirs = [timed(native, sql.format(t="lines")) for _ in range(QUERY_TIMES)]
                found[name] = (statistics.median(ours), statistics.median(theirs))
    return found


def daily() -> float:
    """Seconds of cost by service and month from the daily sums."""
    from apps.ingest.selectors import current_snapshots, lake

    with lake().connect(current_snapshots()) as con:
        sql = QUERIES["cost by service and month"].format(t="billing.daily")
        return statistics.median(timed(con, sql) for _ in range(QUERY_TIMES))


def timed(con: object, sql: str) -> float:
    """Seconds of one query with its answer."""
    begun = time.perf_counter()
    con.execute(sql).fetchall()  # type: ignore[attr-defined]
    return time.perf_counter() - begun


def measure(rows: int, files: int) -> bool:
    """Print the figures; True when all are within their limits."""
    from bench.cur_file import write_cur
    from finops.embedded.servers import Servers

    with tempfile.TemporaryDirectory(prefix="offpeak-bench-") as base:
        folder = Path(base) / "cur"
        folder.mkdir()
        paths = write_cur(folder, rows, files=files)
        servers = Servers.of(Path(base) / "home", durable=False)
        holder = servers.acquire()
        try:
            environment = {
                **os.environ,
                **servers.environment(),
                "DJANGO_SETTINGS_MODULE": "finops.settings.check",
            }
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--verbosity", "0"], env=environment, check=True
            )
            before = unpack_seconds(paths)
            done = subprocess.run(
                [sys.executable, "-m", "bench.bills", "--child", str(folder)],
                env=environment,
                check=True,
                stdout=subprocess.PIPE,
            )
            after = unpack_seconds(paths)
        finally:
            servers.release(holder)
        unpack = ((before[0] + after[0]) / 2, (before[1] + after[1]) / 2)
        return report(rows, files, unpack, json.loads(done.stdout.splitlines()[-1]))


def report(rows: int, files: int, unpack: tuple[float, float], found: dict[str, object]) -> bool:
    """Print times, ratios and memory."""
    seconds, cpu, peak = (float(found[key]) for key in ("seconds", "cpu", "mb"))  # type: ignore[arg-type]
    ratio = seconds / unpack[0]
    print(f"{rows} rows in {files} files, stored {found['rows']} {found['error']}")
    print(f"igzip alone   {unpack[0]:6.2f} s, CPU {unpack[1]:6.2f} s")
    print(
        f"into the lake {seconds:6.2f} s, CPU {cpu:6.2f} s: ratio {ratio:.2f} (limit {LIMIT_RATIO}),", end=" "
    )
    print(f"of CPU {cpu / unpack[1]:.2f}; {rows / seconds:.0f} rows/s")
    print(f"peak memory   {peak:6.0f} MB (limit {LIMIT_MB})")
    good = ratio <= LIMIT_RATIO and peak < LIMIT_MB and found["rows"] == rows
    for name, (ours, theirs) in found["queries"].items():  # type: ignore[attr-defined]
        good &= ours / theirs <= LIMIT_QUERY
        print(f"{name:30} {ours * 1000:7.0f} ms, native {theirs * 1000:7.0f} ms, ratio {ours / theirs:.2f}")
    print(f"by service and month, daily sums {float(found['daily']) * 1000:.0f} ms")  # type: ignore[arg-type]
    return good


def main() -> int:
    """0 when within the limits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--child", default="")
    given = parser.parse_args()
    if given.child:
        child(given.child)
        return 0
    return 0 if measure(given.rows, given.files) else 1


if __name__ == "__main__":
    sys.exit(main())
