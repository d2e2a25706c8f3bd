"""Money that nothing used, by hour of the week: sequential, from nothing to the largest hour."""

from __future__ import annotations

from collections.abc import Sequence

from apps.dashboard.figures.template import Figure, base_layout
from finops.engine.profile import HOURS_A_WEEK

RAMP = ("s0", "s1", "s2", "s3", "s4", "s5")
HEIGHT = 230


def idle_map(values: Sequence[float | None], days: Sequence[str], words: Sequence[str]) -> Figure:
    """`values`: 168 hours from Monday; `words`: what each hour's hover says."""
    if len(values) != HOURS_A_WEEK or len(words) != HOURS_A_WEEK:
        raise ValueError("a week has 168 hours")
    top = max((v for v in values if v is not None), default=0.0) or 1.0
    layout = base_layout(right=8, height=HEIGHT)
    axis = {"tickmode": "array", "showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True}
    layout |= {
        "hovermode": "closest",
        "xaxis": {
            **axis,
            "tickvals": list(range(0, 24, 3)),
            "ticktext": [f"{hour:02d}" for hour in range(0, 24, 3)],
            "range": [-0.5, 23.5],
        },
        "yaxis": {**axis, "tickvals": list(range(7)), "ticktext": list(days), "autorange": "reversed"},
    }
    trace = {
        "type": "heatmap",
        "x": list(range(24)),
        "y": list(range(7)),
        "z": [list(values[24 * d : 24 * d + 24]) for d in range(7)],
        "zmin": 0,
        "zmax": top,
        "colorscale": [[i / (len(RAMP) - 1), f"@{name}"] for i, name in enumerate(RAMP)],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "customdata": [list(words[24 * d : 24 * d + 24]) for d in range(7)],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    return {"data": [trace], "layout": layout}
