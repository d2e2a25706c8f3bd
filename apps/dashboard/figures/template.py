"""The plotly template `offpeak`: layouts, axes and line-end labels. Colours are token names ("@c1")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from apps.dashboard import format as fmt

Figure = dict[str, Any]
HEIGHT, PHONE_HEIGHT = 300, 250
MARGIN = {"l": 50, "r": 16, "t": 10, "b": 30}
LABEL_GAP_PX = 14


def local_text(moment: datetime, zone: tzinfo) -> str:
    """plotly draws a date as it is written, so an instant is written as the wall clock of the zone."""
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")


def time_ticks(
    start: datetime, end: datetime, zone: tzinfo, lang: str, at_most: int = 7
) -> tuple[list[str], list[str]]:
    """Tick places and words at local midnights, evenly spaced; the first names the year."""
    if fmt.is_zh(lang) and at_most <= 4:  # 2020年3月6日 is half as wide again as 6 Mar 2020
        at_most -= 1
    days = max(1, round((end - start) / timedelta(days=1)))
    step = next((s for s in (1, 2, 3, 4, 5, 7, 14, 21, 28, 35, 56, 91, 182, 364) if days / s <= at_most), 728)
    local = start.astimezone(zone)
    first = local.replace(hour=0, minute=0, second=0, microsecond=0)
    while first < local:
        first = (first + timedelta(days=1)).replace(hour=0)
    places: list[str] = []
    words: list[str] = []
    while first < end.astimezone(zone):
        # A label nearer to the edge than 3 % of the axis would hang over it.
        inside = (first - local) > 0.02 * (end - start) and (end - first) > 0.03 * (end - start)
        if inside:
            places.append(first.strftime("%Y-%m-%d %H:%M:%S"))
            words.append(fmt.day(first, zone, lang, year=not words))
        first = (first + timedelta(days=step)).replace(hour=0)
    return places, words


def value_range(values: Sequence[float]) -> tuple[float, float, float]:
    """A cut axis around the values: low, high and the step of at most five grid lines."""
    low, high = min(values), max(values)
    reach = max(high - low, 0.02 * high) or 1.0
    raw = reach / 4
    size = 10.0 ** _floor_log10(raw)
    step = next(size * f for f in (1, 2, 2.5, 5, 10) if size * f >= raw)
    bottom = max(0.0, (low - 0.05 * reach) // step * step)
    top = -(-(high + 0.05 * reach) // step) * step
    return bottom, top, step


def _floor_log10(value: float) -> int:
    return math.floor(math.log10(value))


@dataclass(frozen=True)
class EndLabel:
    """A word at a line's end. `value` is where the line ends, `strong` the subject."""

    text: str
    value: float
    colour: str
    strong: bool = False


def spread_labels(
    labels: Sequence[EndLabel], low: float, high: float, height: int
) -> list[tuple[EndLabel, float]]:
    """Labels with the height (in values) at which they stand at least LABEL_GAP_PX apart, order kept."""
    plot = height - MARGIN["t"] - MARGIN["b"]
    gap = LABEL_GAP_PX / plot * (high - low)
    ordered = sorted(labels, key=lambda label: label.value)
    places: list[float] = []
    for label in ordered:
        places.append(max(label.value, places[-1] + gap) if places else label.value)
    over = places[-1] - high if places else 0.0
    if over > 0:
        # Pushed out at the top: move down as far as needed, from the top.
        limit = high
        for i in range(len(places) - 1, -1, -1):
            places[i] = min(places[i], limit)
            limit = places[i] - gap
    return list(zip(ordered, places, strict=True))


def end_labels(labels: Sequence[EndLabel], low: float, high: float, height: int) -> list[dict[str, Any]]:
    """plotly annotations for the right edge."""
    return [
        {
            "x": 1,
            "xref": "paper",
            "xanchor": "left",
            "xshift": 6,
            "y": y,
            "yanchor": "middle",
            "showarrow": False,
            "align": "left",
            "text": f"<b>{label.text}</b>" if label.strong else label.text,
            "font": {"color": label.colour, "size": 12},
        }
        for label, y in spread_labels(labels, low, high, height)
    ]


def base_layout(*, right: int, height: int = HEIGHT) -> dict[str, Any]:
    """What every chart shares."""
    return {
        "autosize": True,
        "height": height,
        "margin": {**MARGIN, "r": right},
        "font": {"family": "@font", "size": 12, "color": "@ink-2"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "hovermode": "x unified",
        "hoverlabel": {
            "bgcolor": "@surface",
            "bordercolor": "@line-strong",
            "font": {"family": "@font", "size": 12, "color": "@ink"},
        },
        "dragmode": False,
    }


def time_axis(start: datetime, end: datetime, zone: tzinfo, lang: str, at_most: int = 7) -> dict[str, Any]:
    """Dates along the bottom: no grid, explicit range and ticks."""
    places, words = time_ticks(start, end, zone, lang, at_most)
    return {
        "type": "date",
        "range": [local_text(start, zone), local_text(end, zone)],
        "tickmode": "array",
        "tickvals": places,
        "ticktext": words,
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
        "hoverformat": "%d %b %H:%M",
    }


def value_axis(low: float, high: float, step: float) -> dict[str, Any]:
    """Values up the side: hairline grid, at most about five lines."""
    decimals = (
        max(2, -_floor_log10(step) + (1 if str(step).rstrip("0").endswith("25") else 0)) if step < 1 else 0
    )
    return {
        "range": [low, high],
        "dtick": step,
        "tick0": low,
        "tickformat": f".{decimals}f",
        "gridcolor": "@line",
        "gridwidth": 1,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "fixedrange": True,
    }
