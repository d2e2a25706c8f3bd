"""Amounts that people give, as the rows of launches can keep them."""

from __future__ import annotations

from decimal import Decimal

from django.utils.translation import gettext as _

# One more has no place in the column.
MOST = Decimal(10) ** 12


def amount_fault(value: Decimal, *, zero: bool = False) -> str:
    """What is wrong with an amount, "" for nothing. `zero`: 0 is an amount too."""
    if not value.is_finite() or value < 0 or (value == 0 and not zero):
        return _("An amount, 0 or more.") if zero else _("An amount above 0.")
    if value >= MOST:
        return _("At most %(most)s.") % {"most": format(MOST, "f")}
    return ""
