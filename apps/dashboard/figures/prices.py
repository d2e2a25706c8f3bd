"""Price charts: change points as stepped lines, the hour-of-week map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

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
    value_axis,
    value_range,
)
from finops.engine.profile import HOURS_A_WEEK
from finops.engine.series import from_us

CONTEXT = ("@c-other", 1.25)


@dataclass(frozen=True)
class Line:
    """One stepped line: steps are (instant in microseconds, price or None for a gap)."""

    name: str
    short: str
    steps: Sequence[tuple[int, float | None]]
    colour: str = CONTEXT[0]
    width: float = CONTEXT[1]
    text: str = "@ink-2"
    strong: bool = False
    dash: str = "solid"


def price_lines(
    lines: Sequence[Line], *, start: datetime, end: datetime, zone: tzinfo, lang: str, ticks: int = 7
) -> Figure | None:
    """Stepped price lines with their names and last prices at the right edge; None without any price."""
    prices = [price for line in lines for _, price in line.steps if price is not None]
    if not prices:
        return None
    low, high, step = value_range(prices)
    layout = base_layout(right=150)
    layout["xaxis"] = time_axis(start, end, zone, lang, ticks)
    layout["yaxis"] = value_axis(low, high, step)
    ends = [(line, price) for line in lines if (price := _last(line)) is not None]
    wide = [EndLabel(f"{line.name} {fmt.hourly(p)}", p, line.text, line.strong) for line, p in ends]
    narrow = [EndLabel(line.short, p, line.text, line.strong) for line, p in ends]
    layout["annotations"] = end_labels(wide, low, high, HEIGHT)
    phone = base_layout(right=76, height=PHONE_HEIGHT)
    phone["xaxis"] = time_axis(start, end, zone, lang, at_most=4)
    phone["annotations"] = end_labels(narrow, low, high, PHONE_HEIGHT)
    return {"data": [_trace(line, zone) for line in lines], "layout": layout, "phone": phone}


def _last(line: Line) -> float | None:
    return next((price for _, price in reversed(line.steps) if price is not None), None)


def _trace(line: Line, zone: tzinfo) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": line.name,
        "x": [local_text(from_us(at), zone) for at, _ in line.steps],
        "y": [price for _, price in line.steps],
        "connectgaps": False,
        "line": {"shape": "hv", "width": line.width, "color": line.colour, "dash": line.dash},
        "hovertemplate": "%{y:.4f}<extra>%{fullData.name}</extra>",
    }


def axis_start(lines: Sequence[Line]) -> float | None:
    """Where the cut value axis begins: the measure line states it."""
    prices = [price for line in lines for _, price in line.steps if price is not None]
    return value_range(prices)[0] if prices else None


def week_reach(relative: Sequence[float | None]) -> int:
    """The end of the symmetric colour scale, in percent: the largest deviation, up to the next 5."""
    largest = max((abs(r - 1) * 100 for r in relative if r is not None), default=0.0)
    return max(5, -int(-largest // 5) * 5)


def week_map(relative: Sequence[float | None], days: Sequence[str]) -> Figure:
    """Hour of week against day of week; the scale is symmetric about the mean. `relative` has 168 values."""
    if len(relative) != HOURS_A_WEEK:
        raise ValueError("a week has 168 hours")
    reach = week_reach(relative)
    rows = [
        [None if r is None else round((r - 1) * 100, 3) for r in relative[24 * d : 24 * d + 24]]
        for d in range(7)
    ]
    names = ("d-3", "d-2", "d-1", "d0", "d1", "d2", "d3")
    layout = base_layout(right=8, height=230)
    layout |= {
        "hovermode": "closest",
        "xaxis": {
            "tickmode": "array",
            "tickvals": list(range(0, 24, 3)),
            "ticktext": [f"{h:02d}" for h in range(0, 24, 3)],
            "showgrid": False,
            "zeroline": False,
            "ticks": "",
            "fixedrange": True,
            "range": [-0.5, 23.5],
        },
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(7)),
            "ticktext": list(days),
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
            "ticks": "",
            "fixedrange": True,
        },
    }
    trace = {
        "type": "heatmap",
        "x": list(range(24)),
        "y": list(range(7)),
        "z": rows,
        "zmin": -reach,
        "zmax": reach,
        "colorscale": [[i / 6, f"@{name}"] for i, name in enumerate(names)],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "customdata": [[days[d]] * 24 for d in range(7)],
        "hovertemplate": "%{customdata} %{x}:00 · %{z:+.1f} %<extra></extra>",
    }
    return {"data": [trace], "layout": layout}
