"""Small pieces of language that mails and alerts share; figures as the design language writes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from finops.engine.spend import Week, Window
from finops.text import display as fmt

MONTHS_LONG = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


def lang() -> str:
    """The language in force."""
    return get_language() or "en"


def joined(*parts: str) -> str:
    """Sentences one after the other: with a blank between them, in Chinese without."""
    return ("" if fmt.is_zh(lang()) else " ").join(part for part in parts if part)


def clean(text: object) -> str:
    """A text from bills or people on one line, without characters that control a terminal or turn its
    direction.

    >>> clean("a" + chr(10) + "b" + chr(0x202E) + "c" + chr(0))
    'a bc'
    """
    kept = "".join(" " if char in "\t\r\n\v\f\x85\u2028\u2029" else char for char in str(text))
    kept = "".join(
        char for char in kept if char >= " " and char not in _HIDDEN and not "\x7f" <= char < "\xa0"
    )
    return " ".join(part for part in kept.split(" ") if part)


_HIDDEN = frozenset("\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def link(name: str, *args: object, **query: object) -> str:
    """An absolute address of a page."""
    path = reverse(f"dashboard:{name}", args=args)
    text = urlencode({key: value for key, value in query.items() if value not in (None, "")}, doseq=True)
    return f"{settings.PUBLIC_URL}{path}{'?' + text if text else ''}"


def instant(day: date) -> datetime:
    """Midnight UTC: bills are in UTC days."""
    return datetime.combine(day, time(), UTC)


def day(value: date, *, year: bool = False, weekday: bool = False) -> str:
    """`19 Nov`; `11月19日`."""
    return fmt.day(instant(value), UTC, lang(), year=year, weekday=weekday)


def days(first: date, last: date) -> str:
    """`19–25 Nov 2018`."""
    return fmt.day_range(instant(first), instant(last), UTC, lang())


def week_word(week: Week) -> str:
    """`week 47, 19–25 Nov 2018`: the number alone names no year."""
    return _("week %(n)d, %(days)s") % {"n": number(week), "days": days(week.first, week.last)}


def number(week: Week) -> int:
    """47."""
    return int(week.label[-2:])


def window_days(window: Window) -> str:
    """The days of a window, the last included."""
    return days(window.start, date.fromordinal(window.end.toordinal() - 1))


def month(first: date) -> str:
    """`November`; `11月`."""
    return f"{first.month}月" if fmt.is_zh(lang()) else MONTHS_LONG[first.month - 1]


def money(amount: Decimal | None, currency: str, *, cents: bool = False, sign: bool = False) -> str:
    """In sentences whole from 100 on; `cents`: always to the cent."""
    return fmt.money(amount, currency, decimals=2 if cents else None, sign=sign)


def percent(value: Decimal | float | None, *, sign: bool = False, decimals: int = 1) -> str:
    """`51.1 %`."""
    return fmt.percent(value, lang(), sign=sign, decimals=decimals)


def sums(amounts: Mapping[str, Decimal], *, cents: bool = False) -> str:
    """`$505 and CNY 720`: currencies are never added up."""
    return _(" and ").join(money(amount, currency, cents=cents) for currency, amount in amounts.items())


def count_days(count: int) -> str:
    """`7 days`."""
    return ngettext("%(n)d day", "%(n)d days", count) % {"n": count}


def currency_head(currency: str) -> str:
    """The currency in the head of a column."""
    return fmt.currency_word(currency, lang())
