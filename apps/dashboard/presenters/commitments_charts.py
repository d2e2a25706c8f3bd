"""The pictures of own commitments, each with its finding and its table: use by day, coverage by day, idle
cost by hour of the week.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from apps.dashboard import format as fmt
from apps.dashboard.figures.bars import Series, stacked_bars
from apps.dashboard.figures.idle import idle_map
from apps.dashboard.figures.template import Figure
from apps.dashboard.words import day_names, lang
from apps.recommendations.services.commitments_hours import by_hour_of_week

HOURS_A_DAY = 24
# Hours of the week that differ by less than this part of their mean say nothing.
FLAT_SHARE = 0.05
INDIGO, ORANGE, GREY, PLAN = "@c1", "@c2", "@c-other", "@c5"


@dataclass(frozen=True)
class Chart:
    """A figure with its words and the rows of its table; `legend`: (name, colour token)."""

    id: str
    title: str
    measure: str
    figure: Figure | None
    legend: list[tuple[str, str]]
    rows: list[tuple[str, list[str]]]


def use_chart(document: dict[str, Any], hours: dict[str, Any] | None) -> Chart | None:
    """What used and idle hours cost, a day; in the first currency of the answer."""
    if hours is None or not hours["hours"] or not document["total"]:
        return None
    currency = document["total"][0]["currency"]
    by_id = {one["id"]: one for one in document["commitments"] if one["currency"] == currency}
    used, idle = np.zeros(hours["hours"]), np.zeros(hours["hours"])
    for series in hours["commitments"]:
        one = by_id.get(series["id"])
        if one is None:
            continue
        rate = 1.0 if series["unit"] == "money" else float(one["effective_hourly"] or "nan")
        used += _array(series["used"]) * rate
        idle += _array(series["idle_cost"])
    days = _days(hours)
    spent, unspent = _by_day(used), _by_day(idle)
    share = document["total"][0]["utilisation_pct"]
    title = (
        _("Hours that nothing used are %(share)s of what commitments cost")
        % {"share": fmt.percent(100 - share, lang())}
        if share is not None and share < 100
        else _("Every hour that was bought was used")
    )
    return _bars(
        "use-by-day",
        title,
        _("Amortised cost of commitments, %(currency)s a day, UTC")
        % {"currency": fmt.currency_word(currency, lang())},
        days,
        [(_("Used"), spent, INDIGO), (_("Idle"), unspent, ORANGE)],
    )


def coverage_chart(document: dict[str, Any], hours: dict[str, Any] | None) -> Chart | None:
    """How instance-hours were paid, a day."""
    if hours is None or not hours["hours"]:
        return None
    parts = {name: _by_day(_array(values)) for name, values in hours["coverage"].items()}
    sums = {name: sum(v for v in values if v is not None) for name, values in parts.items()}
    whole = sum(sums.values())
    if not whole:
        return None
    covered = (sums["reserved"] + sums["plans"]) / whole * 100
    series = [(_("Reservations"), parts["reserved"], INDIGO)]
    if sums["plans"]:
        series.append((_("Savings plans"), parts["plans"], PLAN))
    series.append((_("On demand"), parts["on_demand"], GREY))
    return _bars(
        "coverage-by-day",
        _("Commitments pay for %(share)s of instance-hours") % {"share": fmt.percent(covered, lang())},
        _("Instance-hours a day by how they are paid, Spot and free tier left out, UTC"),
        _days(hours),
        series,
    )


def _bars(
    name: str,
    title: str,
    measure: str,
    days: Sequence[datetime],
    parts: Sequence[tuple[str, Sequence[float | None], str]],
) -> Chart:
    labels = [fmt.day(day, UTC, lang()) for day in days]
    series = [
        Series(word, [None if v is None else Decimal(repr(v)) for v in values], colour)
        for word, values, colour in parts
    ]
    rows = [
        (label, [fmt.number(None if v[i] is None else v[i], 2) for _w, v, _c in parts])
        for i, label in enumerate(labels)
    ]
    return Chart(
        name,
        title,
        measure,
        stacked_bars(labels, series, lang=lang()),
        [(word, colour.lstrip("@")) for word, _values, colour in parts],
        rows,
    )


@dataclass(frozen=True)
class WeekChart:
    """Idle cost by hour of the week; without a figure where the hours say nothing."""

    id: str
    title: str
    measure: str
    figure: Figure | None
    days: list[tuple[str, list[str]]]
    low: str
    high: str
    hours: list[str]
    ticks: list[str]


def week_chart(document: dict[str, Any], hours: dict[str, Any] | None) -> WeekChart | None:
    """Where in the week commitments stand idle. None where nothing is idle, or less than a week is known."""
    if hours is None or hours["hours"] < 168 or not document["total"]:
        return None
    if hours["grain"] != "hour":
        return None
    currency = document["total"][0]["currency"]
    own = {one["id"] for one in document["commitments"] if one["currency"] == currency}
    idle = np.zeros(hours["hours"])
    for series in hours["commitments"]:
        if series["id"] in own:
            idle += _array(series["idle_cost"])
    if not np.nansum(idle):
        return None
    week = by_hour_of_week(idle, datetime.fromisoformat(hours["from"]))
    known = [value for value in week if value is not None]
    low, high = min(known), max(known)
    flat = high - low < FLAT_SHARE * (sum(known) / len(known))
    names = day_names()
    top = week.index(high)
    words = [
        f"{names[h // 24]} {h % 24:02d}:00 · "
        + ("—" if value is None else f"{fmt.money_hourly(round(value, 6), currency)}/h")
        for h, value in enumerate(week)
    ]
    title = (
        _("Idle cost is the same at every hour of the week")
        if flat
        else _("Most stands idle on %(day)s at %(hour)s")
        % {"day": names[top // 24], "hour": f"{top % 24:02d}:00"}
    )
    cells = [
        (names[d], [fmt.hourly(None if v is None else round(v, 6)) for v in week[24 * d : 24 * d + 24]])
        for d in range(7)
    ]
    return WeekChart(
        "idle-by-hour",
        title,
        _("Cost of hours that nothing used, %(currency)s an hour, mean by hour of the week, UTC")
        % {"currency": fmt.currency_word(currency, lang())},
        None if flat else idle_map(week, names, words),
        cells,
        fmt.hourly(round(low, 6)),
        fmt.hourly(round(high, 6)),
        [f"{hour:02d}" for hour in range(24)],
        [f"{hour:02d}" for hour in range(0, 24, 3)],
    )


def _array(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _by_day(values: np.ndarray) -> list[float | None]:
    """Sums of whole days; a day without any known hour is unknown. The range begins at midnight."""
    found: list[float | None] = []
    for first in range(0, values.size, HOURS_A_DAY):
        day = values[first : first + HOURS_A_DAY]
        known = day[~np.isnan(day)]
        found.append(round(float(known.sum()), 6) if known.size else None)
    return found


def _days(hours: dict[str, Any]) -> list[datetime]:
    start = datetime.fromisoformat(hours["from"])
    return [start + timedelta(hours=h) for h in range(0, hours["hours"], HOURS_A_DAY)]
