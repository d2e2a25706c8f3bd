"""Names of commitments as bills write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from apps.accounts.models import Organisation
from apps.billing.selectors.deliveries import deliveries_current
from apps.billing.selectors.spend_reading import connect, report_ids
from finops.engine.spend import Window, next_month
from finops.lake import BILL_DAILY, facts

_ARN = re.compile(
    r"^arn:aws[a-z-]*:(ec2|savingsplans):([a-z0-9-]*):(\d*):(?:reserved-instances|savingsplan)/(.+)$"
)
_IDS = f"SELECT DISTINCT commitment_discount_id FROM {BILL_DAILY} WHERE commitment_discount_id IS NOT NULL"  # noqa: S608


class Arn(NamedTuple):
    """A commitment's name taken apart. Region and account are empty where the name has none."""

    service: str
    region: str
    account: str
    id: str


def arn_of(text: str) -> Arn:
    """The parts; a name that is no ARN of a commitment is its own id.

    >>> arn_of("arn:aws:ec2:us-east-1:111122223333:reserved-instances/0a1b").id
    '0a1b'
    """
    found = _ARN.match(text)
    return Arn(*found.groups()) if found else Arn("", "", "", text)


def regions_in_bills(
    *, organisation: Organisation | None, snapshots: Mapping[str, int] | None = None
) -> dict[str, str]:
    """Regions of the reservations that any bill names, by short id."""
    chosen = dict(facts.current_snapshots() if snapshots is None else snapshots)
    periods = [d.billing_period for d in deliveries_current(organisation=organisation)]
    if not periods or BILL_DAILY not in chosen:
        return {}
    window = Window(min(periods), next_month(max(periods)))
    columns = ["x_report", "x_month", "commitment_discount_id"]
    with connect(window, chosen, report_ids(organisation), BILL_DAILY, columns) as con:
        named = [arn_of(row[0]) for row in con.execute(_IDS).fetchall()]
    return {arn.id: arn.region for arn in named if arn.service == "ec2" and arn.region}
