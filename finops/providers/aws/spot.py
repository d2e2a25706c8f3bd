"""Live Spot prices of one region of one account: who we are, which zones there are, all pages of the history.

Nothing is handed over before the last page is here: a collection that breaks off in the middle leaves no
hole behind a newer row, the next one simply asks from the same start again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import boto3
from tenacity.wait import wait_base

from finops.providers.aws.client import (
    BACK_OFF,
    HISTORY_DAYS,
    SpotPriceQuestion,
    availability_zones,
    spot_price_pages,
)
from finops.providers.aws.locations import region_names
from finops.providers.aws.parse import spot_page, zone_map
from finops.providers.aws.session import Access, account_id, ec2, open_session
from finops.providers.base import SpotBatch
from finops.providers.spot_rows import SpotContext

PROVIDER = "aws"
# Asked again before the last known instant: rows that AWS publishes late are still found; repeats are
# duplicates.
OVERLAP = timedelta(minutes=15)


@dataclass(frozen=True)
class LiveRegion:
    """What one collection brought: the zones as the account names them, and every row of the range."""

    account: str
    region: str
    region_name: str
    zone_ids: dict[str, str]
    start: datetime
    end: datetime
    pages: tuple[SpotBatch, ...]

    def batches(self) -> Iterator[SpotBatch]:
        """All rows, newest first."""
        return iter(self.pages)


def question_start(*, known_to: datetime | None, end: datetime) -> datetime:
    """Where to ask from: a little before what is known, at most as far back as AWS keeps."""
    oldest = end - timedelta(days=HISTORY_DAYS)
    return oldest if known_to is None else max(oldest, min(known_to, end) - OVERLAP)


def collect(
    access: Access,
    question: SpotPriceQuestion,
    *,
    base: boto3.Session | None = None,
    back_off: wait_base = BACK_OFF,
    progress: Callable[[int, int], None] = lambda _pages, _rows: None,
) -> LiveRegion:
    """Everything of one region. Raises TransientError or PermanentError; then nothing was brought.

    `progress` is told pages and rows so far.
    """
    region = question.region
    session = open_session(access, region=region, base=base)
    account = account_id(session, access, region=region)
    client = ec2(session, access, region=region)
    zone_ids = zone_map(availability_zones(client, region=region, back_off=back_off))
    context = SpotContext(provider=PROVIDER, region=region, account=account, zone_ids=zone_ids)
    pages: list[SpotBatch] = []
    rows = 0
    for number, page in enumerate(spot_price_pages(client, question, back_off=back_off), start=1):
        pages.append(spot_page(context, page, file=f"DescribeSpotPriceHistory {region}, page {number}"))
        rows += len(page)
        progress(number, rows)
    return LiveRegion(
        account=account,
        region=region,
        region_name=region_names().get(region, ""),
        zone_ids=zone_ids,
        start=question.start,
        end=question.end,
        pages=tuple(pages),
    )
