"""Totals of invoices that come with an import: by currency, or by month and currency ("2018-10:USD")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal

UNCLEAR = (
    "one total was given and {n} deliveries were found ({found}): name the month of each total, "
    "2018-10:USD=123.45, or import them one at a time"
)


def of_month(given: Mapping[str, Decimal], month: date) -> dict[str, Decimal]:
    """Totals by currency of a delivery of this month; one that names it wins over one that names none."""
    found = {key: total for key, total in given.items() if ":" not in key}
    for key, total in given.items():
        named, _colon, currency = key.rpartition(":")
        if named == f"{month:%Y-%m}":
            found[currency] = total
    return found


def unclear(given: Mapping[str, Decimal], months: Sequence[date]) -> str:
    """Why the totals cannot be told apart: "" where each is of one delivery."""
    found = ", ".join(f"{month:%Y-%m}" for month in sorted(months))
    if any(":" not in key for key in given) and len(months) > 1:
        return UNCLEAR.format(n=len(months), found=found)
    named = [key.rpartition(":")[0] for key in given if ":" in key]
    if any([f"{month:%Y-%m}" for month in months].count(name) > 1 for name in named):
        return UNCLEAR.format(n=len(months), found=found)
    return ""
