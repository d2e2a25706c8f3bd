"""Anomalies in words: one line each, with what drives it and where to look further."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.billing.announced import worded
from apps.billing.models import Anomaly, AnomalyCourse, AnomalyState
from apps.billing.selectors.anomalies import ANNOUNCED, slice_values, state_on
from apps.dashboard import format as fmt
from apps.dashboard.presenters.spend_words import dimension_word, instant, value_word
from apps.dashboard.words import lang

STATE_KINDS = {
    AnomalyState.OPEN: "warn",
    AnomalyState.SNOOZED: "info",
    AnomalyState.CLOSED: "info",
    ANNOUNCED: "pass",
}
COURSE_WORDS: dict[str, Any] = {
    AnomalyCourse.OPEN: gettext_lazy("going on"),
    AnomalyCourse.OVER: gettext_lazy("it is over"),
    AnomalyCourse.NEW_LEVEL: gettext_lazy("the usual cost from then on"),
    AnomalyCourse.RESTATED: gettext_lazy("no longer on the bill"),
}
DRIVERS_SHOWN = 3
AROUND = timedelta(days=14)


@dataclass(frozen=True)
class AnomalyLine:
    """One anomaly as it is shown. `drivers`: (key, its change); `said`: who set it aside, until when, why;
    `announced`: decisions that explain it.
    """

    pk: int
    title: str
    where: str
    when: str
    course: str
    rise: bool
    amount: str
    interval: str
    a_day: str
    drivers: list[tuple[str, str]]
    state: str
    state_kind: str
    state_word: str
    announced: list[str]
    said: str
    address: str
    currency: str


def line(row: Anomaly, names: Mapping[str, str], today: date) -> AnomalyLine:
    """The anomaly in words."""
    pairs = slice_values(row)
    known = {"account": dict(names)}
    state = state_on(row, today)
    days = len(row.days)
    usual, now = row.expected / max(days, 1), row.actual / max(days, 1)
    values = {
        "what": _subject(pairs, known),
        "usual": fmt.money(usual, row.currency),
        "now": fmt.money(now, row.currency),
    }
    text = (
        _("%(what)s costs %(now)s a day instead of %(usual)s")
        if row.course in (AnomalyCourse.OPEN, AnomalyCourse.NEW_LEVEL)
        else _("%(what)s cost %(now)s a day instead of %(usual)s")
    )
    return AnomalyLine(
        pk=row.pk,
        title=text % values,
        where=" · ".join(f"{dimension_word(name)} {value_word(name, value, known)}" for name, value in pairs),
        when=fmt.day_range(instant(row.first_day), instant(row.last_day), UTC, lang()),
        course=str(COURSE_WORDS[row.course]),
        rise=row.direction == "rise",
        amount=fmt.number(row.amount, 2, sign=True),
        interval=fmt.span(row.low, row.high, lang(), decimals=2),
        a_day=ngettext("%(n)s day", "%(n)s days", days) % {"n": days},
        drivers=[
            (str(driver["key"]), fmt.number(driver["change"], 2, sign=True))
            for driver in row.drivers[:DRIVERS_SHOWN]
        ],
        state=state,
        state_kind=STATE_KINDS[state],
        state_word=_("Announced") if state == ANNOUNCED else str(AnomalyState(state).label),
        announced=[
            _("%(sentence)s Of it on this bill: %(money)s")
            % {
                "sentence": worded(one["key"], one["facts"]),
                "money": fmt.money(Decimal(one["amount"]), row.currency),
            }
            for one in row.announcements
        ],
        said=_said(row, state),
        address=_address(row, pairs),
        currency=row.currency,
    )


def _subject(pairs: Any, known: Mapping[str, Mapping[str, str]]) -> str:
    """The most telling value: the service, else whatever names the slice, else the whole bill."""
    found = dict(pairs)
    for name in ("service", "account", "team", "region"):
        if found.get(name):
            return value_word(name, found[name], known)
    return _("The whole bill")


def _said(row: Anomaly, state: str) -> str:
    if state in (AnomalyState.OPEN, ANNOUNCED) or not row.author:
        return ""
    values = {"who": row.author, "why": row.reason}
    if row.until is not None:
        values["until"] = fmt.day(instant(row.until), UTC, lang(), year=True)
        return _("Until %(until)s, by %(who)s: %(why)s") % values
    return _("By %(who)s: %(why)s") % values


def _address(row: Anomaly, pairs: Any) -> str:
    """The explorer on this slice, by day, from two weeks before."""
    query = [
        ("from", (row.first_day - AROUND).isoformat()),
        ("to", (row.last_day + timedelta(days=1)).isoformat()),
        ("by", "usage_type"),
        ("granularity", "day"),
        ("basis", row.basis),
        ("against", "none"),
        *(("where", f"{name}={value}") for name, value in pairs),
    ]
    return urlencode(query)


def heading(rows: list[AnomalyLine], judged: bool) -> str:
    """The answer: how many wait for a person."""
    waiting = [row for row in rows if row.state == AnomalyState.OPEN]
    if not judged:
        return _("No bill has been judged yet.")
    if not waiting:
        return _("Nothing out of the ordinary waits for you.")
    text = ngettext(
        "[[%(n)s]] change of cost waits for somebody to look at it.",
        "[[%(n)s]] changes of cost wait for somebody to look at them.",
        len(waiting),
    )
    return text % {"n": len(waiting)}
