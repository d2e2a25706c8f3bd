"""Cash gained against staying, by month, of several policies: the advised one with its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from apps.dashboard import format as fmt
from apps.dashboard.figures.cash import value_axis
from apps.dashboard.figures.template import (
    HEIGHT,
    PHONE_HEIGHT,
    EndLabel,
    Figure,
    base_layout,
    end_labels,
)


class Line(NamedTuple):
    """A policy: its name, cash after month 0 .. 12, the ends of the band; the first one is the subject."""

    name: str
    cash: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


# The subject, its rival Intelligent-Tiering, context.
SUBJECT, RIVAL, CONTEXT = "@c1", "@c2", "@c-other"


def policies_cash(
    lines: Sequence[Line], *, rival: str, month_word: str, start_word: str, lang: str
) -> Figure:
    """The figure; all lines share the axis, the zero line stands out."""
    first = lines[0]
    months = list(range(len(first.cash)))
    low = min(0.0, *first.low, *(value for line in lines for value in line.cash))
    high = max(0.0, *first.high, *(value for line in lines for value in line.cash))
    axis, bottom, top = value_axis(low, high, lang)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "lines", "name": "", "x": [*months, *reversed(months)],
            "y": [*first.high, *reversed(first.low)], "fill": "toself", "fillcolor": "@c-band",
            "line": {"width": 0}, "hoverinfo": "skip",
        }
    ]  # fmt: skip
    labels = []
    for index, line in reversed(list(enumerate(lines))):
        colour = SUBJECT if index == 0 else RIVAL if line.name == rival else CONTEXT
        width = 2.5 if index == 0 else 2.25 if line.name == rival else 1.25
        traces.append(
            {
                "type": "scatter", "mode": "lines", "name": line.name, "x": months, "y": list(line.cash),
                "line": {"width": width, "color": colour},
                "customdata": [fmt.number(value, 0, sign=True) for value in line.cash],
                "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
            }
        )  # fmt: skip
        text = f"{_short(line.name)} {fmt.compact(round(line.cash[-1]), lang)}"
        label = "@d3" if line.name == rival and index else SUBJECT if index == 0 else "@ink-2"
        labels.append(EndLabel(text, line.cash[-1], label, index == 0))
    layout = base_layout(right=204) | {"xaxis": _months(months, start_word, month_word, 3), "yaxis": axis}
    layout["annotations"] = end_labels(labels, bottom, top, HEIGHT)
    phone = base_layout(right=48, height=PHONE_HEIGHT) | {
        "xaxis": _months(months, start_word, month_word, 6),
        "yaxis": axis,
    }
    # No room for names: the table under the plot has them in the same order.
    bare = [replace(label, text=label.text.rsplit(" ", 1)[-1]) for label in labels]
    phone["annotations"] = end_labels(bare, bottom, top, PHONE_HEIGHT)
    return {"data": traces, "layout": layout, "phone": phone}


def _short(name: str) -> str:
    short = name.replace("Glacier Instant Retrieval", "Glacier Instant")
    short = short.replace("Glacier Flexible Retrieval", "Glacier Flexible")
    return short if len(short) <= 30 else short[:29] + "…"


def _months(months: Sequence[int], start: str, end: str, step: int) -> dict[str, Any]:
    ticks = [month for month in months if month % step == 0]
    words = [start, *(str(month) for month in ticks[1:-1]), end]
    return {
        "range": [0, months[-1]], "tickmode": "array", "tickvals": ticks, "ticktext": words,
        "showgrid": False, "showline": True, "linecolor": "@line-strong", "linewidth": 1,
        "ticks": "outside", "ticklen": 4, "tickcolor": "@line-strong", "tickangle": 0, "fixedrange": True,
        "zeroline": False,
    }  # fmt: skip
