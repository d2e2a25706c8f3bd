"""The next turns of repeating work, and the pieces of a plan, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

from django.utils.translation import gettext as _

from apps.dashboard import format as fmt
from apps.dashboard.words import count_word, lang

Doc = Mapping[str, Any]


def time_of(value: str) -> datetime:
    """The instant of a text of the document."""
    return datetime.fromisoformat(value.replace("Z", "+00:00"))


def stretch(start: datetime, end: datetime, zone: tzinfo) -> str:
    """`Fri 6 Mar 19:00–23:00`; with the second day where it is another one."""
    first = fmt.moment(start, zone, lang(), weekday=True, named=False)
    if start.astimezone(zone).date() == end.astimezone(zone).date():
        return f"{first}{fmt.DASH}{end.astimezone(zone):%H:%M}"
    return f"{first} {fmt.DASH} {fmt.moment(end, zone, lang(), weekday=True, named=False)}"


def piece_rows(plan: Doc, zone: tzinfo) -> list[str]:
    """When each piece runs, on the reader's clock; [] for a plan in one piece."""
    pieces = plan.get("pieces") or ()
    return [stretch(time_of(piece["start"]), time_of(piece["end"]), zone) for piece in pieces]


def turns_context(doc: Doc, zone: tzinfo) -> dict[str, Any]:
    """Title and rows; {} for work that does not repeat."""
    turns = doc.get("occurrences") or ()
    if not turns:
        return {}
    return {"turns_title": _title(turns), "turns": [_row(turn, zone) for turn in turns]}


def _title(turns: Any) -> str:
    places = {_place(turn["plan"]) for turn in turns if turn["plan"] is not None}
    if not places:
        return _("The next turns cannot be priced")
    values = {"n": count_word(len(turns))}
    if len(places) == 1 and all(turn["plan"] is not None for turn in turns):
        return _("All of the next %(n)s turns are cheapest in %(place)s") % {**values, "place": places.pop()}
    return _("The next %(n)s turns, each with its own best plan") % values


def _place(plan: Doc) -> str:
    return str(plan.get("zone_name") or plan.get("zone") or plan["region"])


def _row(turn: Doc, zone: tzinfo) -> dict[str, Any]:
    plan = turn["plan"]
    row = {
        "due": fmt.moment(time_of(turn["due"]), zone, lang(), weekday=True, named=False),
        "window": stretch(time_of(turn["earliest"]), time_of(turn["latest_start"]), zone),
        "sentence": turn["sentence"],
        "plan": plan is not None,
    }
    if plan is None:
        return row
    on_demand = plan["market"] == "on-demand"
    return row | {
        "start": fmt.moment(time_of(plan["start"]), zone, lang(), weekday=True, named=False),
        "zone": _place(plan),
        "type": plan["type"],
        "market": _("On-demand") if on_demand else _("Spot"),
        "cost": fmt.number(plan["cost"], 2),
        "interval": _("list price")
        if on_demand
        else fmt.span(plan["cost_low"], plan["cost_high"], lang(), decimals=2),
        "saving": fmt.percent(plan["saving_vs_home_pct"], lang()),
        "pieces": piece_rows(plan, zone),
    }
