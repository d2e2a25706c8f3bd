"""Bytes billed against bytes listed, and what a storage amount of a bill means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from finops.engine.storage.bill import StorageError

# A listing is a day's, a bill a month's mean: a few per cent apart is a growing bucket, not a missing part.
TOLERANCE = Decimal("0.05")
# A rate this far from every known one is a wrong unit, not a discount.
RATE_RANGE = (Decimal("0.4"), Decimal("2.5"))


@dataclass(frozen=True)
class Reconciled:
    """`gap_gib` is billed less listed; `blocked` says why no advice may be given, "" where it may."""

    billed_gib: Decimal
    listed_gib: Decimal
    gap_gib: Decimal
    gap_share: Decimal
    blocked: str
    missing: tuple[str, ...]


PARTS = ("current", "noncurrent", "incomplete")


def reconcile(billed: Mapping[str, Decimal], listed: Mapping[str, Decimal]) -> Reconciled:
    """Compare billed GiB by storage class (all of them) with listed GiB by part (`PARTS`).

    A part that the listing does not hold at all is named as missing, a part with 0 is not. Raises
    StorageError when nothing was billed.
    """
    total, counted = sum(billed.values(), Decimal(0)), sum(listed.values(), Decimal(0))
    if total <= 0:
        raise StorageError("billed", "the bill holds no bytes for this bucket")
    gap = total - counted
    missing = tuple(part for part in PARTS if part not in listed)
    share = gap / total
    blocked = ""
    if abs(share) > TOLERANCE:
        blocked = "bill and listing differ"
    return Reconciled(total, counted, gap, share, blocked, missing)


def gib_months(amount: Decimal, unit: str, month_hours: Decimal) -> Decimal:
    """An amount of a storage line in GiB-months. The unit column decides, never the usage type's name.

    What AWS bills as GB are GiB. Raises StorageError for a unit that is not known.
    """
    parts = {
        "gb-mo": Decimal(1),
        "gb-month": Decimal(1),
        "gb-months": Decimal(1),
        "gibibyte month": Decimal(1),
        "gb-hours": month_hours,
        "gb-hrs": month_hours,
        "byte-hrs": Decimal(2**30) * month_hours,
        "byte-hours": Decimal(2**30) * month_hours,
    }
    divisor = parts.get(unit.strip().lower())
    if divisor is None:
        raise StorageError("unit", f"not a unit of stored bytes: {unit or 'blank'}")
    return amount / divisor


def rate_is_plausible(cost: Decimal, months: Decimal, known: Decimal) -> bool:
    """Whether cost per GiB-month lies near a list price: a cheap check against a wrong unit."""
    if months == 0:
        return cost == 0
    low, high = RATE_RANGE
    return low * known <= cost / months <= high * known
