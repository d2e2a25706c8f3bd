"""Live collection: what storing adds to what botocore needs to parse the answers.

The floor is botocore's own parser over recorded pages (made up: 100 pages of 1,000 rows in the documented
format, no network). Measured beside it: everything of ours from parsed pages to the finished run (frame,
checks, comparison with the lake, commit, run row), into an empty lake and again for a repeat. At most 0.15
of the floor. Medians of three, in turn.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

PAGES, ROWS, ROUNDS, LIMIT = 100, 1000, 3, 0.15
REGION = "us-east-1"
START = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = [
    f"{family}.{size}"
    for family in ("c5", "m5", "r5", "c6i", "m6i")
    for size in ("large", "xlarge", "4xlarge")
]
PRODUCTS = ("Linux/UNIX", "Windows", "Red Hat Enterprise Linux", "SUSE Linux")
ZONES = {f"us-east-1{letter}": f"use1-az{number}" for number, letter in enumerate("abcdef", start=1)}


def pages(shift: int) -> list[bytes]:
    """Answers of DescribeSpotPriceHistory, newest first; `shift` moves all times, so that rounds do not
    repeat.
    """
    zones, documents, number = list(ZONES), [], 0
    for page in range(PAGES):
        items = []
        for _ in range(ROWS):
            series = number % (len(TYPES) * len(PRODUCTS) * len(zones))
            at = START + timedelta(days=60 + shift, seconds=-37 * number)
            price = 0.02 + (number * 7919 % 100_000) / 1e6
            items.append(
                f"<item><instanceType>{TYPES[series % len(TYPES)]}</instanceType>"
                f"<productDescription>{PRODUCTS[series // len(TYPES) % len(PRODUCTS)]}</productDescription>"
                f"<spotPrice>{price:.6f}</spotPrice><timestamp>{at:%Y-%m-%dT%H:%M:%S}.000Z</timestamp>"
                f"<availabilityZone>{zones[series // len(TYPES) // len(PRODUCTS)]}</availabilityZone></item>"
            )
            number += 1
        token = f"<nextToken>{page + 2}</nextToken>" if page + 1 < PAGES else "<nextToken/>"
        documents.append(
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<DescribeSpotPriceHistoryResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
            f"<spotPriceHistorySet>{''.join(items)}</spotPriceHistorySet>{token}"
            "</DescribeSpotPriceHistoryResponse>".encode()
        )
    return documents


def parsed(documents: list[bytes]) -> tuple[list[list[dict[str, Any]]], float]:
    """(rows by page, seconds) of botocore's parser."""
    from botocore.parsers import create_parser
    from botocore.session import Session

    model = Session().get_service_model("ec2").operation_model("DescribeSpotPriceHistory")
    parser = create_parser("ec2")
    begun = time.perf_counter()
    answers = [
        parser.parse({"status_code": 200, "headers": {}, "body": body}, model.output_shape)
        for body in documents
    ]
    return [answer["SpotPriceHistory"] for answer in answers], time.perf_counter() - begun


def stored(rows: list[list[dict[str, Any]]]) -> tuple[Any, float]:
    """(run, seconds) from parsed pages to the finished run."""
    from apps.ingest.models import RunKind
    from apps.ingest.services import ingest_run_create, prices_store
    from finops.providers.aws.parse import spot_page
    from finops.providers.spot_rows import SpotContext

    begun = time.perf_counter()
    context = SpotContext(provider="aws", region=REGION, account="111122223333", zone_ids=ZONES)
    batches = (spot_page(context, page, file=f"page {n}") for n, page in enumerate(rows, start=1))
    run = ingest_run_create(source="bench", kind=RunKind.LIVE)
    run = prices_store(run=run, batches=batches)
    return run, time.perf_counter() - begun


def measure() -> int:
    """Print the ratios; 1 when one is above its limit."""
    floor, fresh, again = [], [], []
    for number in range(ROUNDS):
        rows, seconds = parsed(pages(shift=90 * number))
        floor.append(seconds)
        run, seconds = stored(rows)
        assert (run.stored, run.rejected) == (PAGES * ROWS, 0), (run.stored, run.duplicates, run.rejected)
        fresh.append(seconds)
        run, seconds = stored(rows)
        assert (run.stored, run.duplicates) == (0, PAGES * ROWS)
        again.append(seconds)
    base = statistics.median(floor)
    told = f"the floor, {base:.2f} s for {PAGES * ROWS:,} rows"
    print(f"live: botocore parses {PAGES * ROWS / base:,.0f} rows/s ({told})")
    worst = 0.0
    for name, times in (("storing new rows", fresh), ("storing a repeat", again)):
        ratio = statistics.median(times) / base
        worst = max(worst, ratio)
        told = ", ".join(f"{seconds:.2f}" for seconds in times)
        print(f"live: {name} adds {ratio:.3f}x of the floor (at most {LIMIT}x; seconds {told})")
    return int(worst > LIMIT)


def main() -> int:
    """A database and a lake of its own, thrown away afterwards."""
    from finops.embedded.servers import Servers

    with tempfile.TemporaryDirectory(prefix="offpeak-bench-") as folder:
        home = Path(folder) / "home"
        servers = Servers.of(home, durable=False)
        holder = servers.acquire()
        try:
            os.environ.update(servers.environment())
            os.environ.update(
                OFFPEAK_HOME=str(home),
                LAKE_WAREHOUSE=str(home / "lake"),
                DJANGO_SETTINGS_MODULE="finops.settings.test",
                LOG_LEVEL="WARNING",
            )
            import django
            from django.core.management import call_command

            django.setup()
            call_command("migrate", verbosity=0)
            return measure()
        finally:
            servers.release(holder)


if __name__ == "__main__":
    sys.exit(main())
