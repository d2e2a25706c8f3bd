"""Questions about spend over 24 months of bill lines against DuckDB's native table; explorer and Overview.

`python -m bench.spend [rows]` (10,000,000). One process on embedded servers, medians of 3; `spend` is asked
with nothing kept, by connections that are open as in a process that serves, the native table is warm. Both
have the same lines in the same types, memory and threads; `spend` also gives currency, unit, number of lines
and what is missing, and one row a group as Python objects. Beside the times stands the processor time: on a
machine with other work it is the steadier one. Pages are measured against the statements that they ask of the
lake plus ten empty signed-in pages, and from cache against one.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from bench.pages import TIMES, main, median_seconds, signed_in

ROWS = 10_000_000
LIMIT = 2.0
COLD_LIMIT, CACHED_LIMIT = 1.0, 3.0
NOW = datetime(2026, 1, 10, tzinfo=UTC)
SERVICE = "Service 03"
# (name, what is asked of `spend`, the same of the native table)
QUESTIONS: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        "cost by service and month",
        {"by": "service", "granularity": "month"},
        "SELECT service_name, x_month, sum(billed_cost), sum(x_quantity) FROM lines GROUP BY ALL "
        "ORDER BY ALL",
    ),
    (
        "cost by team and day",
        {"by": "tag:user:team", "granularity": "day"},
        "SELECT tags['user:team'] AS team, x_day, sum(billed_cost), sum(x_quantity) FROM lines GROUP BY ALL "
        "ORDER BY ALL",
    ),
    (
        "top 20 resources",
        {"by": "resource", "limit": 20},
        "SELECT resource_id, sum(billed_cost) AS cost, sum(x_quantity) FROM lines GROUP BY ALL "
        "ORDER BY cost DESC LIMIT 20",
    ),
    (
        "one service by day and usage type",
        {"by": "usage_type", "granularity": "day", "where": [f"service={SERVICE}"]},
        "SELECT x_day, x_usage_type, sum(billed_cost), sum(x_quantity) FROM lines "
        f"WHERE service_name = '{SERVICE}' GROUP BY ALL ORDER BY ALL",
    ),
)
MONTHS = (
    "WITH a AS (SELECT sub_account_id AS k, service_name AS s, sum(billed_cost) AS cost FROM lines "
    "WHERE x_month = '2025-12' GROUP BY ALL), b AS (SELECT sub_account_id AS k, service_name AS s, "
    "sum(billed_cost) AS cost FROM lines WHERE x_month = '2025-11' GROUP BY ALL) "
    "SELECT k, s, a.cost, b.cost, coalesce(a.cost, 0) - coalesce(b.cost, 0) AS d FROM a FULL JOIN b "
    "USING (k, s) ORDER BY abs(d) DESC LIMIT 20"
)


def _once(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> tuple[float, float]:
    """Seconds and processor seconds; `before` is not timed."""
    before()
    begun, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun, time.process_time() - used


def questions(con: Any) -> bool:
    """Print one line a question; True when all are within the limit."""
    from django.core.cache import cache

    from apps.billing.selectors.spend import SpendQuestion, spend
    from apps.billing.selectors.spend_compare import spend_compare
    from apps.billing.selectors.spend_question import question_of

    good = True

    def line(name: str, ours: Callable[[], object], sql: str) -> None:
        nonlocal good
        ours()
        con.execute(sql).fetchall()
        # In turn, so that other work on the machine meets both.
        pairs = [(_once(ours, cache.clear), _once(lambda: con.execute(sql).fetchall())) for _ in range(TIMES)]
        mine, native, my_cpu, native_cpu = (
            statistics.median(pair[side][kind] for pair in pairs) for kind in (0, 1) for side in (0, 1)
        )
        good &= mine <= LIMIT * native
        print(
            f"{name}: {mine * 1000:.0f} ms = {mine / native:.2f}x the native table ({native * 1000:.0f} ms), "
            f"limit {LIMIT}; processor {my_cpu * 1000:.0f} ms = {my_cpu / native_cpu:.2f}x",
            flush=True,
        )

    for name, given, sql in QUESTIONS:
        question = question_of(start="2024-01-01", end="2026-01-01", **given)
        line(name, lambda q=question: spend(q, organisation=None, now=NOW), sql)  # type: ignore[misc]
    december = SpendQuestion(start=date(2025, 12, 1), end=date(2026, 1, 1), by=("account", "service"))
    line(
        "month over month, top 20",
        lambda: spend_compare(december, organisation=None, now=NOW, against="month"),
        MONTHS,
    )
    return good


@contextmanager
def asking() -> Iterator[list[float]]:
    """Seconds that are spent asking the lake, a number a statement."""
    from apps.billing.selectors import bill_days, savings, spend_reading

    taken: list[float] = []

    def timed(real: Any) -> Any:
        @contextmanager
        def block(*args: Any, **more: Any) -> Iterator[Any]:
            with real(*args, **more) as con:
                begun = time.perf_counter()
                yield con
                taken.append(time.perf_counter() - begun)

        return block

    places = [(spend_reading, "reading"), (savings, "connect"), (bill_days, "connect")]
    kept = [(module, name, getattr(module, name)) for module, name in places]
    for module, name, real in kept:
        setattr(module, name, timed(real))
    try:
        yield taken
    finally:
        for module, name, real in kept:
            setattr(module, name, real)


def page(client: Any, name: str, address: str) -> bool:
    """A page of the newest month, cold and from cache."""
    from django.core.cache import cache

    def get(address: str) -> Callable[[], None]:
        def ask() -> None:
            assert client.get(address).status_code == 200, address

        return ask

    get("/empty/")()
    get(address)()
    empty = median_seconds(get("/empty/"))
    cold = median_seconds(get(address), cache.clear)
    with asking() as taken:
        median_seconds(get(address), cache.clear)
    queries = sum(taken) / TIMES
    get(address)()
    kept = median_seconds(get(address))
    floor = queries + 10 * empty
    print(
        f"{name}: {cold:.3f} s = {cold / floor:.2f}x its queries ({queries:.3f} s) and ten empty pages "
        f"({empty * 1000:.1f} ms each), limit {COLD_LIMIT}; from cache {kept * 1000:.1f} ms = "
        f"{kept / empty:.2f}x one empty page, limit {CACHED_LIMIT}",
        flush=True,
    )
    return cold <= COLD_LIMIT * floor and kept < CACHED_LIMIT * empty


def child() -> int:
    """Load and measure in this process, on the servers of the environment."""
    import django

    django.setup()
    from apps.billing.services.spend_sums import spend_sums_make
    from bench._bill_history import load, native

    rows = int(os.environ.get("OFFPEAK_BENCH_ROWS", ROWS))
    begun = time.perf_counter()
    load(rows)
    print(f"{rows:,} lines of 24 months in the lake after {time.perf_counter() - begun:.0f} s", flush=True)
    begun = time.perf_counter()
    months = spend_sums_make()
    print(f"sums of {months} months ready after {time.perf_counter() - begun:.0f} s", flush=True)
    with tempfile.TemporaryDirectory(prefix="offpeak-native-") as folder:
        con = native(str(Path(folder) / "native.duckdb"))
        within = questions(con)
        con.close()
    client = signed_in()
    pages = [page(client, "explorer", "/spend/"), page(client, "Overview", "/overview/")]
    return 0 if all(pages) and within else 1


if __name__ == "__main__":
    if "--child" in sys.argv:
        sys.exit(child())
    if len(sys.argv) > 1:
        os.environ["OFFPEAK_BENCH_ROWS"] = sys.argv[1]
    sys.exit(main("bench.spend"))
