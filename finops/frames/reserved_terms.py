"""Reserved Instance terms of a dated price list. Grain: one row per list date and term that is priced.

`fixed` once and `hourly` in every hour of `term_months` (12 or 36 of 8760 h a year), exact, in `currency`.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple


class ReservedTermKey(NamedTuple):
    """What is priced, and by which list. Names as in `finops.frames.list_prices`."""

    provider: str
    region: str
    instance_type: str
    operating_system: str
    licence: str
    tenancy: str
    offering_class: str
    payment: str
    term_months: int
    currency: str
    effective_from: datetime


class ReservedTerm(NamedTuple):
    """One term of one list."""

    key: ReservedTermKey
    fixed: Decimal
    hourly: Decimal
