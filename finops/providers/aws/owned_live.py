"""Own commitments of one account, live: reservations region by region, savings plans once.

Rights: ec2:DescribeReservedInstances and savingsplans:DescribeSavingsPlans; both only read. A region that
refuses does not keep the others from being read; what it refused is raised by the caller's choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import boto3
from tenacity.wait import wait_base

from finops.frames.owned import Owned
from finops.providers.aws.client import BACK_OFF
from finops.providers.aws.owned_commitments import (
    PLANS,
    PLANS_REGION,
    RESERVED,
    plan_pages,
    read_owned,
    reserved_page,
)
from finops.providers.aws.reading import Reading
from finops.providers.aws.session import Access, account_id, client, ec2, open_session


@dataclass(frozen=True)
class OwnAccount:
    """An account, opened: who it is, and a client for each question."""

    account: str
    session: boto3.Session
    access: Access
    back_off: wait_base

    def reserved(self, region: str, *, seen_at: datetime) -> Reading[Owned]:
        """All reservations of a region. Raises TransientError or PermanentError."""
        answer = reserved_page(
            ec2(self.session, self.access, region=region), region=region, back_off=self.back_off
        )
        found = {RESERVED: list(answer.get(RESERVED, []))}
        return read_owned(found, seen_at=seen_at, region=region, account=self.account)

    def plans(self, *, seen_at: datetime) -> Reading[Owned]:
        """All savings plans of the account, whatever their region. Raises as `reserved`."""
        rows: list[Any] = []
        asked = client(self.session, self.access, "savingsplans", region=PLANS_REGION)
        for page in plan_pages(asked, back_off=self.back_off):
            rows += page.get(PLANS, [])
        return read_owned({PLANS: rows}, seen_at=seen_at, account=self.account)


def open_account(
    access: Access, *, region: str, base: boto3.Session | None = None, back_off: wait_base | None = None
) -> OwnAccount:
    """Opens a session and reads the account's number. Raises TransientError or PermanentError."""
    session = open_session(access, region=region, base=base)
    return OwnAccount(account_id(session, access, region=region), session, access, back_off or BACK_OFF)
