"""Texts of tables and forms as values. Fixed rules, no locale: a point in decimals, ISO dates."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from finops.frames.money import CurrencyError, currency_code

_DECIMAL = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,18})?")
_YES = {
    "yes": True,
    "true": True,
    "1": True,
    "y": True,
    "no": False,
    "false": False,
    "0": False,
    "n": False,
    "": False,
}


def word_cell(value: Any, *, most: int, needed: bool = False) -> str:
    """A line of text. Raises ValueError when it is too long, empty though needed, or holds what no database
    keeps: a null character or half a character (a lone surrogate).
    """
    text = " ".join(str(value or "").split())
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(_("It holds a character that cannot be kept."))
    if needed and not text:
        raise ValueError(_("It may not be empty."))
    if len(text) > most:
        raise ValueError(_("At most %(most)s characters.") % {"most": most})
    return text


def decimal_cell(value: Any, *, needed: bool = False) -> Decimal | None:
    """An exact number; None for an empty text. Raises ValueError for anything else, a float too."""
    if isinstance(value, Decimal) and value.is_finite():
        return value
    text = "" if value is None else str(value).strip()
    if not text and not needed:
        return None
    if isinstance(value, float | bool) or not _DECIMAL.fullmatch(text):
        raise ValueError(_("Not a number: write 12.5 with a point and without grouping."))
    return Decimal(text)


def currency_cell(value: Any) -> str:
    """A currency's code. Raises ValueError."""
    try:
        return currency_code(str(value or ""))
    except CurrencyError:
        raise ValueError(_("Not a currency: write three letters, for example USD.")) from None


def day_cell(value: Any, *, needed: bool = False) -> date | None:
    """A date; None for an empty text. Raises ValueError for anything else."""
    if isinstance(value, datetime):
        raise ValueError(_("Not a date like 2026-05-31."))
    if isinstance(value, date):
        return value
    text = str(value or "").strip()
    if not text and not needed:
        return None
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(_("Not a date like 2026-05-31."))
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(_("Not a date like 2026-05-31.")) from None


def yes_cell(value: Any) -> bool:
    """Yes or no; empty is no. Raises ValueError for anything else."""
    if isinstance(value, bool):
        return value
    found = _YES.get(str(value if value is not None else "").strip().casefold())
    if found is None:
        raise ValueError(_("Write yes or no."))
    return found
