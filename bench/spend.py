"""Questions about spend over 24 months of bill lines against DuckDB's native table; the explorer page.

`python -m bench.spend [rows]` (10,000,000). One process on embedded servers, medians of 3; `spend` is asked
with nothing kept, the native table is warm. The page is measured against the queries that it asks plus ten
empty signed-in pages, and from cache against one.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from bench.pages import main, median_seconds, signed_in

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
        mine = median_seconds(ours, cache.clear)
        native = median_seconds(lambda: con.execute(sql).fetchall())
        good &= mine <= LIMIT * native
        print(
            f"{name}: {mine * 1000:.0f} ms = {mine / native:.2f}x the native table ({native * 1000:.0f} ms), "
            f"limit {LIMIT}",
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


def page(client: Any) -> bool:
    """The explorer of the newest month, cold and from cache."""
    from django.core.cache import cache

    from apps.accounts.models import Organisation
    from apps.dashboard.spend import filters_of, spend_facts
    from apps.ingest.selectors import current_snapshots

    organisation = Organisation.default()
    from django.http import QueryDict

    filters = filters_of(QueryDict(""), date(2025, 12, 1))

    def get(address: str) -> Callable[[], None]:
        def ask() -> None:
            assert client.get(address).status_code == 200, address

        return ask

    def asked() -> None:
        spend_facts(filters, organisation=organisation, now=NOW, snapshots=current_snapshots())

    get("/empty/")()
    get("/spend/")()
    empty = median_seconds(get("/empty/"))
    queries = median_seconds(asked, cache.clear)
    cold = median_seconds(get("/spend/"), cache.clear)
    get("/spend/")()
    kept = median_seconds(get("/spend/"))
    floor = queries + 10 * empty
    print(
        f"explorer: {cold:.3f} s = {cold / floor:.2f}x its queries ({queries:.3f} s) and ten empty pages "
        f"({empty * 1000:.1f} ms each), limit {COLD_LIMIT}; from cache {kept * 1000:.1f} ms = "
        f"{kept / empty:.2f}x one empty page, limit {CACHED_LIMIT}",
        flush=True,
    )
    return cold <= COLD_LIMIT * floor and kept < CACHED_LIMIT * empty


def child() -> int:
    """Load and measure in this process, on the servers of the environment."""
    import django

    django.setup()
    from bench._bill_history import load, native

    rows = int(os.environ.get("OFFPEAK_BENCH_ROWS", ROWS))
    begun = time.perf_counter()
    load(rows)
    print(f"{rows:,} lines of 24 months in the lake after {time.perf_counter() - begun:.0f} s", flush=True)
    with tempfile.TemporaryDirectory(prefix="offpeak-native-") as folder:
        con = native(str(Path(folder) / "native.duckdb"))
        within = questions(con)
        con.close()
    return 0 if page(signed_in()) and within else 1


if __name__ == "__main__":
    if "--child" in sys.argv:
        sys.exit(child())
    if len(sys.argv) > 1:
        os.environ["OFFPEAK_BENCH_ROWS"] = sys.argv[1]
    sys.exit(main("bench.spend"))
