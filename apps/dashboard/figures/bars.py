"""Stacked bars by period: the largest parts in the colours of categories, the others in grey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from apps.dashboard import format as fmt
from apps.dashboard.figures.template import HEIGHT, PHONE_HEIGHT, Figure, base_layout

COLOURS = ("@c1", "@c2", "@c3", "@c4", "@c5")
OTHER = "@c-other"


@dataclass(frozen=True)
class Series:
    """One part: its value in each period, None for none."""

    name: str
    values: Sequence[Decimal | None]
    colour: str


def stacked_bars(labels: Sequence[str], series: Sequence[Series], *, lang: str, decimals: int = 2) -> Figure:
    """Bars that start at 0; credits hang below it. `labels` are the periods, in order."""
    known = [[float(v) for s in series if (v := s.values[i]) is not None] for i in range(len(labels))]
    tops = [sum(v for v in values if v > 0) for values in known]
    lows = [sum(v for v in values if v < 0) for values in known]
    layout = base_layout(right=16)
    layout |= {
        "barmode": "relative",
        "bargap": 0.18,
        "xaxis": _periods(labels, 8),
        "yaxis": _axis(tops, lows, lang),
    }
    phone = base_layout(right=8, height=PHONE_HEIGHT)
    phone |= {"barmode": "relative", "bargap": 0.18, "xaxis": _periods(labels, 4), "yaxis": layout["yaxis"]}
    layout["height"] = HEIGHT
    return {
        "data": [
            {
                "type": "bar",
                "name": one.name,
                "x": list(range(len(labels))),
                "y": [None if v is None else float(v) for v in one.values],
                "customdata": [fmt.number(v, decimals) for v in one.values],
                "marker": {"color": one.colour, "line": {"width": 0}},
                "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
            }
            for one in series
        ],
        "layout": layout,
        "phone": phone,
    }


def _periods(labels: Sequence[str], at_most: int) -> dict[str, Any]:
    step = max(1, math.ceil(len(labels) / at_most))
    places = list(range(0, len(labels), step))
    return {
        "type": "linear",
        "range": [-0.6, len(labels) - 0.4],
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [labels[i] for i in places],
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
        # The hover's head: a number would say nothing.
        "unifiedhovertitle": {"text": ""},
    }


def _axis(tops: Sequence[float], lows: Sequence[float], lang: str) -> dict[str, Any]:
    high, low = max([*tops, 0.0]), min([*lows, 0.0])
    reach = (high - low) or 1.0
    size = 10.0 ** math.floor(math.log10(reach / 4))
    step = next(size * f for f in (1, 2, 2.5, 5, 10) if size * f >= reach / 4)
    first, last = math.floor(low / step), math.ceil(high / step) or 1
    ticks = [i * step for i in range(first, last + 1)]
    return {
        "range": [ticks[0], ticks[-1]],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [
            fmt.compact(round(tick, 10), lang) if step >= 1 else fmt.number(round(tick, 10), 2)
            for tick in ticks
        ],
        "gridcolor": "@line",
        "gridwidth": 1,
        "zeroline": low < 0,
        "zerolinecolor": "@c-limit",
        "zerolinewidth": 1.25,
        "showline": False,
        "ticks": "",
        "fixedrange": True,
    }
