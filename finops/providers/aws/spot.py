"""Live Spot prices of one region of one account: who we are, which zones there are, all pages of the history.

Nothing is handed over before the last page is here: a collection that breaks off in the middle leaves no
hole behind a newer row, the next one simply asks from the same start again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

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
    """An account's region, opened: who asks, the zones as the account names them, and the question."""

    account: str
    region: str
    region_name: str
    zone_ids: dict[str, str]
    question: SpotPriceQuestion
    client: Any
    back_off: wait_base

    def batches(self) -> Iterator[SpotBatch]:
        """All pages, newest row first. Raises TransientError or PermanentError: then store none of them."""
        context = SpotContext(
            provider=PROVIDER, region=self.region, account=self.account, zone_ids=self.zone_ids
        )
        pages = spot_price_pages(self.client, self.question, back_off=self.back_off)
        for number, page in enumerate(pages, start=1):
            yield spot_page(context, page, file=f"DescribeSpotPriceHistory {self.region}, page {number}")


def question_start(*, known_to: datetime | None, end: datetime) -> datetime:
    """Where to ask from: a little before what is known, at most as far back as AWS keeps."""
    oldest = end - timedelta(days=HISTORY_DAYS)
    return oldest if known_to is None else max(oldest, min(known_to, end) - OVERLAP)


def open_region(
    access: Access,
    question: SpotPriceQuestion,
    *,
    base: boto3.Session | None = None,
    back_off: wait_base | None = None,
) -> LiveRegion:
    """Opens a session and reads the account's number and zones. Raises TransientError or PermanentError."""
    region, wait = question.region, back_off or BACK_OFF
    session = open_session(access, region=region, base=base)
    account = account_id(session, access, region=region)
    client = ec2(session, access, region=region)
    return LiveRegion(
        account=account,
        region=region,
        region_name=region_names().get(region, ""),
        zone_ids=zone_map(availability_zones(client, region=region, back_off=wait)),
        question=question,
        client=client,
        back_off=wait,
    )
