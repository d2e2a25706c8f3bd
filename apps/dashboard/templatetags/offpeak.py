"""Filters and tags of the pages: numbers and times in the reader's language and zone, icons, sparklines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import orjson
from django import template
from django.template.context import Context
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from apps.billing.models import Delivery
from apps.dashboard import format as fmt
from apps.dashboard.icons import icon as svg_icon
from apps.dashboard.presenters import delivery_notes
from finops.reasons import reason_text

register = template.Library()


def _lang() -> str:
    return get_language() or "en"


@register.simple_tag
def icon(name: str) -> SafeString:
    """One of our icons, inline."""
    return svg_icon(name)


@register.filter
def at(values: Mapping[str, Any], key: str) -> Any:
    """The value under a key, None without one or without values."""
    return values.get(key) if values else None


@register.filter
def number(value: fmt.Number | None, decimals: int = 0) -> str:
    """`1,234.5` with the given decimals."""
    return fmt.number(value, int(decimals))


@register.filter
def percent(value: fmt.Number | None, decimals: int = 1) -> str:
    """A value in percent, one decimal."""
    return fmt.percent(value, _lang(), decimals=int(decimals))


@register.filter
def change(value: fmt.Number | None) -> str:
    """A change in percent, with its sign."""
    return fmt.percent(value, _lang(), sign=True)


@register.filter
def hourly(value: fmt.Number | None) -> str:
    """The price of an hour, without currency."""
    return fmt.hourly(value)


@register.filter
def money(value: fmt.Number | None, currency: str) -> str:
    """An amount in a sentence."""
    return fmt.money(value, currency)


@register.filter
def cents(value: fmt.Number | None, currency: str) -> str:
    """An amount that somebody decides on: always to the cent."""
    return fmt.money(value, currency, decimals=2)


@register.filter
def paid(value: fmt.Number | None, currency: str) -> str:
    """What something cost: to the cent, below ten cents to four digits, so that little is not nothing."""
    return fmt.paid(value, currency)


@register.filter
def currency_word(currency: str) -> str:
    """The currency in a table's head."""
    return fmt.currency_word(currency, _lang())


def _moment(value: datetime | str | None) -> datetime | None:
    if isinstance(value, str):
        value = datetime.fromisoformat(value) if value else None
    return value


@register.filter
def moment(value: datetime | str | None, form: str = "") -> str:
    """`6 Mar 09:00 UTC` in the reader's zone; form: any of the words year, weekday, bare."""
    return fmt.moment(
        _moment(value),
        timezone.get_current_timezone(),
        _lang(),
        year="year" in form,
        weekday="weekday" in form,
        named="bare" not in form,
    )


@register.filter
def day(value: datetime | str | None, form: str = "year") -> str:
    """`6 Mar 2020` in the reader's zone."""
    at = _moment(value)
    if at is None:
        return fmt.UNKNOWN
    return fmt.day(
        at, timezone.get_current_timezone(), _lang(), year="year" in form, weekday="weekday" in form
    )


@register.filter
def age(value: datetime | str | None, now: datetime | None = None) -> str:
    """`4 min old`."""
    at = _moment(value)
    return fmt.UNKNOWN if at is None else fmt.age(at, now or datetime.now(UTC), _lang())


@register.filter
def weekdays(text: str) -> str:
    """`Mon–Fri`, `every day`."""
    return fmt.weekdays(str(text or ""), _lang())


@register.filter
def answer(sentence: Any) -> SafeString:
    """The sentence of a heading: the figure between [[ and ]] stands in accent; everything is escaped."""
    safe = str(conditional_escape(sentence))
    return mark_safe(re.sub(r"\[\[(.+?)\]\]", r'<span class="key">\1</span>', safe))  # noqa: S308 - escaped above


@register.filter
def doubts(delivery: Delivery) -> list[str]:
    """What speaks against taking a delivery for the whole month."""
    return delivery_notes.doubts(delivery)


@register.filter
def reason(text: str) -> str:
    """Why something was refused, in the reader's language."""
    return reason_text(str(text or ""))


@register.filter
def plain(sentence: Any) -> str:
    """The same sentence as text, for titles and labels."""
    return str(sentence).replace("[[", "").replace("]]", "")


@register.simple_tag
def figure_json(figure: dict[str, Any], element_id: str) -> SafeString:
    """A figure as a data block for the page's script; `<` is escaped, so no text can end the block."""
    body = orjson.dumps(figure, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    safe = body.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return format_html(
        '<script type="application/json" id="{}">{}</script>',
        element_id,
        mark_safe(safe),  # noqa: S308
    )


@register.simple_tag
def spark(values: Sequence[float | None]) -> SafeString:
    """A small line of the values, evenly spaced; gaps stay gaps. Decoration: the numbers stand in the row."""
    known = [v for v in values if v is not None]
    if len(known) < 2:
        return mark_safe("")
    low, high = min(known), max(known)
    # A move under 2 % of the price is drawn as (nearly) flat: the line must not shout about nothing.
    reach = max(high - low, 0.02 * high) or 1.0
    middle = (high + low) / 2
    parts: list[str] = []
    pen = "M"
    for i, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        x = 92 * i / (len(values) - 1)
        y = 9 - 15 * (value - middle) / reach
        parts.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return format_html(
        '<svg class="spark" viewBox="0 0 92 18" preserveAspectRatio="none" aria-hidden="true">'
        '<path d="{}"/></svg>',
        " ".join(parts),
    )


@register.simple_tag(takes_context=True)
def query(context: Context, **changes: Any) -> str:
    """This page's address with some parameters changed; None removes one."""
    params: dict[str, list[str]] = dict(context["request"].GET.lists())
    for key, value in changes.items():
        if value is None:
            params.pop(key, None)
        else:
            params[key] = [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
    return "?" + urlencode(params, doseq=True) if params else context["request"].path


@register.simple_tag(takes_context=True)
def sort_head(
    context: Context, key: str, title: str, current: str, *, num: bool = False, only_l: bool = False
) -> SafeString:
    """A column head whose sort is a link; the current one says so."""
    classes = " ".join(name for name, on in (("num", num), ("only-l", only_l)) if on)
    return format_html(
        '<th scope="col" class="{}"{}><a href="{}">{}</a></th>',
        classes,
        mark_safe(' aria-sort="ascending"') if key == current else "",
        query(context, sort=key),
        title,
    )
