"""Money gained against on-demand after each month: expected, with the band, from the money paid at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

from apps.dashboard import format as fmt
from apps.dashboard.figures.template import (
    HEIGHT,
    PHONE_HEIGHT,
    EndLabel,
    Figure,
    base_layout,
    end_labels,
    local_text,
    time_axis,
)


class CashAt(NamedTuple):
    """A point of the curve."""

    at: datetime
    low: float
    expected: float
    high: float


class CashWords(NamedTuple):
    """Names of the lines, and the words at their ends."""

    expected: str
    low_end: str
    expected_end: str
    high_end: str


def cash_curve(points: Sequence[CashAt], words: CashWords, *, zone: tzinfo, lang: str) -> Figure:
    """The figure; the zero line stands out, and the point where most is out is marked."""
    x = [local_text(point.at, zone) for point in points]
    low, high = min(0.0, *(p.low for p in points)), max(0.0, *(p.high for p in points))
    axis, bottom, top = value_axis(low, high, lang)
    worst = min(range(len(points)), key=lambda i: points[i].expected)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "lines", "name": "", "x": [*x, *reversed(x)],
            "y": [*(p.high for p in points), *(p.low for p in reversed(points))], "fill": "toself",
            "fillcolor": "@c-band", "line": {"width": 0}, "hoverinfo": "skip",
        },
        {
            "type": "scatter", "mode": "lines", "name": words.expected, "x": x,
            "y": [p.expected for p in points], "line": {"width": 2.5, "color": "@c1"},
            "customdata": [
                f"{fmt.number(p.expected, 0)} ({fmt.span(p.low, p.high, lang)})" for p in points
            ],
            "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
        },
        {
            "type": "scatter", "mode": "markers", "name": "", "x": [x[worst]],
            "y": [points[worst].expected], "marker": {"size": 8, "color": "@c2"}, "hoverinfo": "skip",
        },
    ]  # fmt: skip
    last = points[-1]
    labels = [
        EndLabel(words.high_end, last.high, "@ink-2"),
        EndLabel(words.expected_end, last.expected, "@c1", True),
        EndLabel(words.low_end, last.low, "@ink-2"),
    ]
    if math.isclose(last.low, last.high, abs_tol=0.5):
        labels = labels[1:2]
    layout = base_layout(right=132) | {"xaxis": time_axis(points[0].at, last.at, zone, lang), "yaxis": axis}
    layout["annotations"] = end_labels(labels, bottom, top, HEIGHT)
    phone = base_layout(right=118, height=PHONE_HEIGHT) | {
        "xaxis": time_axis(points[0].at, last.at, zone, lang, at_most=3),
        "yaxis": axis,
    }
    phone["annotations"] = end_labels(labels, bottom, top, PHONE_HEIGHT)
    return {"data": traces, "layout": layout, "phone": phone}


def value_axis(low: float, high: float, lang: str) -> tuple[dict[str, Any], float, float]:
    """The value axis with at most about five lines, and its ends."""
    reach = (high - low) or 1.0
    size = 10.0 ** math.floor(math.log10(reach / 4))
    step = next(size * f for f in (1, 2, 2.5, 5, 10) if size * f >= reach / 4)
    ticks = [i * step for i in range(math.floor(low / step), math.ceil(high / step) + 1)]
    axis = {
        "range": [ticks[0], ticks[-1]],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [fmt.compact(round(tick, 10), lang) for tick in ticks],
        "gridcolor": "@line",
        "gridwidth": 1,
        "zeroline": True,
        "zerolinewidth": 1.25,
        "zerolinecolor": "@c-limit",
        "showline": False,
        "ticks": "",
        "fixedrange": True,
    }
    return axis, ticks[0], ticks[-1]
