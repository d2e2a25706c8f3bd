"""Rates of savings plans in dated lists. Grain: one row per list date and rate.

A plan commits to an amount of money an hour; use is paid from it at `hourly` an instance-hour, in
`currency`. How much of the commitment is paid at once depends on the payment option
(`data/savings_plan_rules.csv`, dated). `family` is empty for plans that apply to all compute.
"""

from __future__ import annotations

import csv
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).parent / "data" / "savings_plan_rules.csv"


class PlanPriceKey(NamedTuple):
    """What is priced, and by which list. `plan`: a `PlanKind`; other names as in `list_prices`."""

    provider: str
    plan: str
    region: str
    family: str
    instance_type: str
    operating_system: str
    licence: str
    tenancy: str
    payment: str
    term_months: int
    currency: str
    effective_from: datetime


class PlanPrice(NamedTuple):
    """One rate of one list; `offering` is the seller's id of the plan, empty where the source has none."""

    key: PlanPriceKey
    hourly: Decimal
    offering: str = ""


@cache
def upfront_share(provider: str, payment: str) -> Decimal | None:
    """The part of a plan's whole commitment that is paid at once; None: not known."""
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if (row["provider"], row["payment"]) == (provider, payment):
                return Decimal(row["upfront_share"])
    return None
