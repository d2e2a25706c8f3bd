"""Commitments that are owned. Grain: one row per reservation or savings plan as its provider numbers it.

A Reserved Instance of `count` units applies `count` instance-hours in every hour of [start, end); a savings
plan applies `commitment_per_hour` of its currency in every hour. Money per hour is amortised: what was paid
once, spread over all hours of the term, and what is paid hourly. None: the source does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from finops.frames.offers import OfferingClass, OfferKey


class CommitmentKind(StrEnum):
    """What was committed to."""

    RESERVED = "reserved"
    SAVINGS_PLAN = "savings-plan"


class PlanKind(StrEnum):
    """Which use a savings plan applies to: one family in one region, or any compute."""

    INSTANCE = "ec2-instance"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True)
class Reserved:
    """Reserved Instances of one subscription. `key.zone` empty: regional. `fixed` and `hourly` per unit."""

    id: str
    account: str
    key: OfferKey
    offering_class: OfferingClass
    count: int
    start: datetime
    end: datetime
    fixed: Decimal | None
    hourly: Decimal | None
    currency: str
    state: str = "active"
    payment: str = ""
    discounted: bool | None = None
    listing: str = ""

    @property
    def term_hours(self) -> Decimal:
        """Hours of the whole term."""
        return Decimal(int((self.end - self.start).total_seconds())) / 3600

    @property
    def effective_hourly(self) -> Decimal | None:
        """What one unit costs an hour, paid once and hourly together; None where either is not known."""
        if self.fixed is None or self.hourly is None:
            return None
        return self.fixed / self.term_hours + self.hourly


@dataclass(frozen=True, slots=True)
class SavingsPlan:
    """A savings plan: `commitment_per_hour` at plan rates is spent each hour, used or not."""

    id: str
    account: str
    plan: PlanKind
    region: str
    family: str
    commitment_per_hour: Decimal
    currency: str
    start: datetime
    end: datetime
    payment: str = ""
    state: str = "active"
