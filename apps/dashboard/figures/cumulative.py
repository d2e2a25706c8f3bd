"""Cost of a month adding up by day: this month, its forecast with the band, the month before, the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.dashboard import format as fmt
from apps.dashboard.figures.template import (
    HEIGHT,
    PHONE_HEIGHT,
    EndLabel,
    Figure,
    base_layout,
    end_labels,
)

Points = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Ahead:
    """(day of month, expected, low, high) of the sum at the end of days to come."""

    points: Sequence[tuple[int, float, float, float]]


@dataclass(frozen=True)
class Words:
    """Names of the lines and, for the right edge, with their amounts."""

    spent: str
    forecast: str
    before: str
    budget: str
    forecast_end: str
    before_end: str
    budget_end: str


def cumulative(
    spent: Points, ahead: Ahead, before: Points, budget: float | None, *, days: int, words: Words, lang: str
) -> Figure:
    """The figure; points are (day of month, sum up to its end), day 0 the start at nothing."""
    top = max(
        [y for _, y in spent]
        + [high for *_, high in ahead.points]
        + [y for _, y in before]
        + [budget or 0.0],
        default=0.0,
    )
    low = min([0.0, *(y for _, y in spent), *(y for _, y in before)])
    axis, bottom, height = _axis(low, top, lang)
    traces = [_line(words.before, before, "@c-other", 1.25)]
    if ahead.points:
        join = list(spent[-1:])
        x = [d for d, _ in join] + [d for d, *_ in ahead.points]
        lows = [y for _, y in join] + [v for _, _, v, _ in ahead.points]
        highs = [y for _, y in join] + [v for *_, v in ahead.points]
        traces.append(
            {
                "type": "scatter", "mode": "lines", "name": "", "x": [*x, *reversed(x)],
                "y": [*highs, *reversed(lows)], "fill": "toself", "fillcolor": "@c-band",
                "line": {"width": 0}, "hoverinfo": "skip",
            }
        )  # fmt: skip
        points = [*join, *((d, y) for d, y, *_ in ahead.points)]
        traces.append(_line(words.forecast, points, "@c1", 2.0, "2px,3px"))
    if budget is not None:
        traces.append(_line(words.budget, [(0, budget), (days, budget)], "@deny", 1.25, "4px,3px"))
    traces.append(_line(words.spent, spent, "@c1", 2.5))
    labels = _labels(spent, ahead, before, budget, words)
    layout = base_layout(right=126) | {"xaxis": _days(days, 7), "yaxis": axis}
    layout["annotations"] = end_labels(labels, bottom, height, HEIGHT)
    phone = base_layout(right=118, height=PHONE_HEIGHT) | {"xaxis": _days(days, 4), "yaxis": axis}
    phone["annotations"] = end_labels(labels, bottom, height, PHONE_HEIGHT)
    return {"data": traces, "layout": layout, "phone": phone}


def _labels(
    spent: Points, ahead: Ahead, before: Points, budget: float | None, words: Words
) -> list[EndLabel]:
    end = ahead.points[-1][1] if ahead.points else (spent[-1][1] if spent else 0.0)
    found = [EndLabel(words.forecast_end, end, "@c1", True)]
    if before:
        found.append(EndLabel(words.before_end, before[-1][1], "@ink-2"))
    if budget is not None:
        found.append(EndLabel(words.budget_end, budget, "@deny"))
    return found


def _line(name: str, points: Points, colour: str, width: float, dash: str = "solid") -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [day for day, _ in points],
        "y": [value for _, value in points],
        "customdata": [fmt.number(value, 2) for _, value in points],
        "line": {"width": width, "color": colour, "dash": dash},
        "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
    }


def _days(days: int, at_most: int) -> dict[str, Any]:
    step = 5 if at_most >= 7 else 10
    places = [1, *range(step, days + 1, step)]
    return {
        "type": "linear",
        "range": [0, days],
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [str(day) for day in places],
        "tickangle": 0,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "@line-strong",
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "linewidth": 1,
        "linecolor": "@line-strong",
        "fixedrange": True,
    }


def _axis(low: float, high: float, lang: str) -> tuple[dict[str, Any], float, float]:
    """The value axis with at most about five lines, and its two ends."""
    reach = (high - low) or 1.0
    size = 10.0 ** math.floor(math.log10(reach / 4))
    step = next(size * f for f in (1, 2, 2.5, 5, 10) if size * f >= reach / 4)
    ticks = [i * step for i in range(math.floor(low / step), math.ceil(high / step) + 1)]
    axis = {
        "range": [ticks[0], ticks[-1]],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [
            fmt.compact(round(tick, 10), lang) if step >= 1 else fmt.number(round(tick, 10), 2)
            for tick in ticks
        ],
        "gridcolor": "@line",
        "gridwidth": 1,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "fixedrange": True,
    }
    return axis, ticks[0], ticks[-1]
