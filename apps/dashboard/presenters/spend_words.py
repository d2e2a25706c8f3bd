"""Words of the spend pages: dimensions, values, periods, bases, the chips of filters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.billing.selectors.spend_question import ABSENT, TEAM, UNALLOCATED
from apps.dashboard import format as fmt
from apps.dashboard.words import lang
from finops.engine.spend import Window, month_start, next_month, week_of

DIMENSION_WORDS: dict[str, Any] = {
    "provider": gettext_lazy("Provider"),
    "payer": gettext_lazy("Payer"),
    "account": gettext_lazy("Account"),
    "service": gettext_lazy("Service"),
    "service_category": gettext_lazy("Service category"),
    "region": gettext_lazy("Region"),
    "resource": gettext_lazy("Resource"),
    "instance_type": gettext_lazy("Instance type"),
    "charge_category": gettext_lazy("Charge category"),
    "pricing_category": gettext_lazy("Pricing category"),
    "commitment": gettext_lazy("Commitment"),
    "commitment_type": gettext_lazy("Commitment type"),
    "commitment_status": gettext_lazy("Commitment used or not"),
    "line_item_type": gettext_lazy("Line item type"),
    "billing_entity": gettext_lazy("Billing entity"),
    "usage_type": gettext_lazy("Usage type"),
    "team": gettext_lazy("Team"),
    "seller": gettext_lazy("Seller"),
}
BASIS_WORDS: dict[str, Any] = {
    "billed": gettext_lazy("Billed"),
    "amortised": gettext_lazy("Amortised"),
    "net": gettext_lazy("Net"),
    "list": gettext_lazy("List price"),
}
AGAINST_WORDS: dict[str, Any] = {
    "month": gettext_lazy("Same days, month before"),
    "previous": gettext_lazy("Days just before"),
    "none": gettext_lazy("Nothing"),
}
GRANULARITY_WORDS: dict[str, Any] = {
    "day": gettext_lazy("Day"),
    "week": gettext_lazy("Week"),
    "month": gettext_lazy("Month"),
}


def dimension_word(name: str) -> str:
    """`Service`; a tag or cost category with its key."""
    kind, colon, key = name.partition(":")
    if not colon:
        return str(DIMENSION_WORDS.get(name, name))
    word = {
        "tag": _("Tag %(key)s"),
        "tagfold": _("Tag %(key)s, any case"),
        "cost_category": _("Cost category %(key)s"),
    }[kind]
    return word % {"key": key}


def value_word(name: str, value: str | None, names: Mapping[str, Mapping[str, str]]) -> str:
    """A value as it is shown; what has no value says why."""
    tag = name.startswith(("tag:", "tagfold:"))
    if value is None:
        return _("not in this export") if tag else _without(name)
    if value == "":
        return _without(name)
    if name == TEAM and value == UNALLOCATED:
        return _("Unallocated")
    known = names.get(name, {}).get(value)
    return known or value


def _without(name: str) -> str:
    _kind, colon, key = name.partition(":")
    return _("without %(what)s") % {"what": key if colon else dimension_word(name).lower()}


def condition_value(name: str, value: str | None) -> str:
    """The value as a condition in the address."""
    if value is None:
        return ABSENT if name.startswith(("tag:", "tagfold:")) else ""
    return value


def condition_word(name: str, value: str, names: Mapping[str, Mapping[str, str]]) -> str:
    """`Service: Amazon EC2`."""
    absent = name.startswith(("tag:", "tagfold:")) and value == ABSENT
    return f"{dimension_word(name)}: {value_word(name, None if absent else value, names)}"


def instant(day: date) -> datetime:
    """Midnight UTC: bills are in UTC days."""
    return datetime.combine(day, time(), UTC)


def window_word(window: Window) -> str:
    """`November 2018` for a whole month, else `1–18 Nov 2018`."""
    if window.start == month_start(window.start) and window.end == next_month(window.start):
        return month_word(window.start)
    return fmt.day_range(instant(window.start), instant(window.end - timedelta(days=1)), UTC, lang())


def month_word(month: date) -> str:
    """`Nov 2018`; `2018年11月`."""
    if fmt.is_zh(lang()):
        return f"{month.year}年{month.month}月"
    return f"{fmt.MONTHS[month.month - 1]} {month.year}"


def period_word(granularity: str, start: date, end: date) -> str:
    """A row's period: `5 Nov 2018`, `W47, 19–25 Nov 2018`, `Nov 2018`."""
    if granularity == "day":
        return fmt.day(instant(start), UTC, lang(), year=True)
    if granularity == "week":
        days = fmt.day_range(instant(start), instant(end - timedelta(days=1)), UTC, lang())
        return _("Week %(n)d, %(days)s") % {"n": int(week_of(start).label[-2:]), "days": days}
    return month_word(start)


def short_period(granularity: str, start: date, *, first: bool) -> str:
    """A tick of the axis; the first names the year."""
    if granularity == "month":
        return month_word(start) if first or start.month == 1 else month_short(start)
    if granularity == "week":
        return f"{fmt.day(instant(start), UTC, lang(), year=first)}"
    return fmt.day(instant(start), UTC, lang(), year=first)


def month_short(month: date) -> str:
    """`Nov`; `11月`."""
    return f"{month.month}月" if fmt.is_zh(lang()) else fmt.MONTHS[month.month - 1]
