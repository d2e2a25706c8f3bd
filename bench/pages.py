"""Market and Run against their plain DuckDB queries plus ten empty signed-in pages; from cache against one.

`python -m bench.pages`. The demo prices always; with OFFPEAK_BENCH_DATA the us-east-1 archive of 2021 too.
One process on embedded servers, medians of 3. "Cold" forgets Django's cache, the books kept in memory and
the kept answers, not the imported modules. The plain queries fetch the rows that the page needs: those of
the type, and for Market those of the whole region, on which the claim is tested.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

TIMES = 3
COLD_LIMIT, CACHED_LIMIT = 1.5, 3.0
ARCHIVE = "spot/us-east-1_2021-03-02_2021-05-31.json.tar.xz"
CASES = [("demo", "p3.2xlarge", ["us-east-1", "us-west-2"], "us-east-1b")]
ARCHIVE_CASES = [("us-east-1 2021", "c5.xlarge", ["us-east-1"], "us-east-1a")]


def median_seconds(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Median of TIMES runs; `before` is not timed."""
    taken = []
    for _ in range(TIMES):
        before()
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def plain_queries(regions: list[str], kind: str | None) -> None:
    """Fetch the change points and known ranges of a type (or all) in the regions."""
    from pyiceberg.expressions import And, BooleanExpression, EqualTo, In

    from apps.ingest.selectors import current_snapshots, lake
    from finops.lake import SPOT_CHANGES, SPOT_KNOWN

    wanted: BooleanExpression = And(EqualTo("provider", "aws"), In("region", regions))
    if kind:
        wanted = And(wanted, EqualTo("instance_type", kind))
    con = lake().connect(current_snapshots(), filters={SPOT_CHANGES: wanted, SPOT_KNOWN: wanted})
    order = "region, zone_key, instance_type, product"
    con.execute(
        f'SELECT {order}, epoch_us("at") AS us, CAST(price AS DOUBLE) AS price FROM {SPOT_CHANGES} '
        "WHERE product LIKE 'Linux/UNIX%' ORDER BY ALL"
    ).fetchnumpy()
    con.execute(f"SELECT {order}, known_from, known_to FROM {SPOT_KNOWN} ORDER BY ALL").fetchnumpy()
    con.close()


def forget() -> None:
    """Everything that a page could be answered from without work."""
    from django.core.cache import cache

    from apps.dashboard import catalogue
    from apps.prices.selectors import books
    from apps.recommendations.models import Advice

    cache.clear()
    books._kept.clear()
    catalogue.forget()
    Advice.objects.all().delete()


def signed_in() -> Any:
    """A client of the demo login whose addresses include an empty page of the ordinary frame."""
    from django.conf import settings
    from django.shortcuts import render
    from django.test import Client
    from django.urls import path

    from apps.accounts.services.members import demo_user_ensure
    from finops.urls import urlpatterns

    module = types.ModuleType("bench_urls")
    empty = path("empty/", lambda request: render(request, "dashboard/market_empty.html", {"page": "market"}))
    module.urlpatterns = [empty, *urlpatterns]  # type: ignore[attr-defined]
    sys.modules["bench_urls"] = module
    settings.ROOT_URLCONF = "bench_urls"
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client()
    client.force_login(demo_user_ensure(password="only-for-the-bench"))  # noqa: S106
    return client


def measure(case: tuple[str, str, list[str], str], client: Any) -> bool:
    """Print the lines of one case; True within the limits."""
    name, kind, regions, home = case

    def get(address: str) -> Callable[[], None]:
        def ask() -> None:
            response = client.get(address)
            assert response.status_code == 200, (address, response.status_code)

        return ask

    where = "".join(f"&region={r}" for r in regions)
    allowed = "".join(f"&regions={r}" for r in regions)
    market = f"/market/?type={kind}{where}"
    run = f"/run/?hours=8&types={kind}{allowed}&home_zone={home}&slack_hours=24&interruptible=on"
    get("/empty/")()
    empty = median_seconds(get("/empty/"))
    one = median_seconds(lambda: plain_queries(regions, kind))
    whole = median_seconds(lambda: plain_queries(["us-east-1"], None))
    good = True
    for page, address, queries in (("market", market, one + whole), ("run", run, one)):
        get(address)()
        cold = median_seconds(get(address), forget)
        kept = median_seconds(get(address))
        floor = queries + 10 * empty
        ratios = cold / floor, kept / empty
        good &= ratios[0] <= COLD_LIMIT and ratios[1] < CACHED_LIMIT
        print(
            f"{page}, {name} {kind}: {cold:.3f} s = {ratios[0]:.2f}x of its queries ({queries:.3f} s) "
            f"and ten empty pages ({empty * 1000:.1f} ms each), limit {COLD_LIMIT}; from cache "
            f"{kept * 1000:.1f} ms = {ratios[1]:.2f}x one empty page, limit {CACHED_LIMIT}",
            flush=True,
        )
    return good


def child(measure: Callable[[tuple[str, str, list[str], str], Any], bool]) -> int:
    """Load and measure each case in this process, on the servers of the environment."""
    import django

    django.setup()
    from apps.ingest import services

    services.demo_load()
    cases = list(CASES)
    data = os.environ.get("OFFPEAK_BENCH_DATA")
    if data:
        services.prices_import(source=str(Path(data) / ARCHIVE), location=str(Path(data) / ARCHIVE))
        cases += ARCHIVE_CASES
    client = signed_in()
    within = [measure(case, client) for case in cases]
    return 0 if all(within) else 1


def main(module: str) -> int:
    """Start servers of its own and run the child of `module` on them."""
    from finops.embedded.servers import Servers

    with tempfile.TemporaryDirectory(prefix="offpeak-bench-") as base:
        servers = Servers.of(Path(base) / "home", durable=False)
        holder = servers.acquire()
        try:
            environment = {
                **os.environ,
                **servers.environment(),
                "OFFPEAK_HOME": str(Path(base) / "home"),
                "DJANGO_SETTINGS_MODULE": "finops.settings.check",
            }
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--verbosity", "0"], env=environment, check=True
            )
            return subprocess.run(
                [sys.executable, "-m", module, "--child"], env=environment, check=False
            ).returncode
        finally:
            servers.release(holder)


if __name__ == "__main__":
    sys.exit(child(measure) if "--child" in sys.argv else main("bench.pages"))
