"""The Run page in words, from the document of `advise_launch` that the API and the command give too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.dashboard import format as fmt
from apps.dashboard.presenters.turns import piece_rows
from apps.dashboard.words import capital, joined, lang

Doc = Mapping[str, Any]
WHERES = ("home", "zone", "region", "type")
OFF_SCALE = -60.0  # savings below are named, not drawn: one dear alternative must not flatten the rest
NEAR_ZERO = 0.5
MOST_PLANS = 10


def _number(value: Any) -> Decimal | None:
    return fmt.decimal_of(value)


def _time(value: str | None) -> datetime | None:
    return datetime.fromisoformat(value.replace("Z", "+00:00")) if value else None


@dataclass(frozen=True)
class Range:
    """A saving range on the list's one scale: places in percent of its width."""

    zero: str
    at: str
    low: str
    high: str
    best: bool


@dataclass(frozen=True)
class Scale:
    """From `low` to `high` percent of saving; `ticks` are (text, place)."""

    low: float
    high: float

    def place(self, value: float) -> str:
        """Where a value stands, 0-100, as CSS takes it."""
        share = (value - self.low) / (self.high - self.low) * 100
        return f"{min(100.0, max(0.0, share)):.2f}"

    @property
    def ticks(self) -> list[tuple[str, str]]:
        """Zero, the middle and the end."""
        return [("0", self.place(0)), (fmt.percent(self.high, lang(), decimals=0), self.place(self.high))]


def scale_of(plans: Sequence[Doc]) -> Scale:
    """One scale for all plans: zero always, the largest saving rounded up to 5."""
    values = [float(v) for plan in plans if (v := _number(plan.get("saving_vs_home_pct"))) is not None]
    drawn = [v for v in values if v >= OFF_SCALE]
    high = max([5.0, *drawn])
    low = min([0.0, *drawn])
    return Scale(-(-abs(low) // 5) * -5.0 if low < -0.5 else -2.0, -(-high // 5) * 5.0)


def zone_word(plan: Doc) -> str:
    """The zone by the name that the reader knows."""
    return str(plan.get("zone_name") or plan.get("zone") or plan.get("region") or "")


def _same(a: Doc | None, b: Doc | None) -> bool:
    keys = ("zone", "region", "type", "market", "start")
    return a is not None and b is not None and all(a.get(k) == b.get(k) for k in keys)


def best_plan(doc: Doc) -> Doc | None:
    """The plan of rank 1."""
    return next((plan for plan in doc.get("plans", ()) if plan.get("rank") == 1), None)


def heading(doc: Doc, *, zone: tzinfo) -> str:
    """The answer in at most 90 characters; the figure in [[ ]]."""
    best, home = best_plan(doc), doc.get("home")
    if doc.get("verdict") == "cannot judge" or best is None:
        return str(doc.get("sentence") or _("This cannot be judged with the data at hand."))
    saving = _number(best.get("saving_vs_home_pct"))
    place = zone_word(best)
    if len(best.get("pieces") or ()) > 1:
        return _("Run in %(n)s pieces in %(place)s: [[%(cost)s]] expected.") % {
            "n": len(best["pieces"]), "place": place, "cost": fmt.money(best["cost"], best["currency"]),
        }  # fmt: skip
    if doc["verdict"] == "wait":
        when = fmt.moment(_time(best["start"]), zone, lang(), weekday=True)
        if saving is None:
            return _("Wait until %(when)s: %(place)s costs [[%(cost)s]].") % {
                "when": when, "place": place, "cost": fmt.money(best["cost"], best["currency"]),
            }  # fmt: skip
        return _("Wait until %(when)s, %(place)s: saves [[%(saving)s]].") % {
            "when": when, "place": place, "saving": fmt.percent(saving, lang()),
        }  # fmt: skip
    # The document's own words: page, API and command line never tell two figures of waiting.
    lead = str((doc.get("waiting") or {}).get("sentence") or _("Start now."))
    cost = fmt.money(best["cost"], best.get("currency", "USD"))
    if home is None or saving is None:
        several = len({plan["type"] for plan in doc["plans"]}) > 1
        what = f"{best['type']}, {place}" if several else place
        return joined(lead, _("%(place)s now costs [[%(cost)s]].") % {"place": what, "cost": cost})
    if _same(best, home) or saving == 0:
        return joined(lead, _("%(place)s now is the best at [[%(cost)s]].") % {"place": place, "cost": cost})
    what = f"{best['type']}, {place}" if best.get("type") != home.get("type") else place
    return joined(lead, _("Moving to %(place)s now saves [[%(saving)s]].") % {
        "place": what, "saving": fmt.percent(saving, lang()),
    })  # fmt: skip


def lead(doc: Doc) -> str:
    """The comparison under the heading, and what the advice earned on prices it had not seen."""
    best, home, parts = best_plan(doc), doc.get("home"), []
    if best is not None:
        currency = best.get("currency", "USD")
        cost = fmt.money(best["cost"], currency)
        listed = next(
            (p for p in doc["plans"] if p["market"] == "on-demand" and p["type"] == best["type"]), None
        )
        beside = []
        if home is not None and not _same(best, home):
            beside.append(
                _("%(cost)s in %(zone)s now")
                % {"cost": fmt.money(home["cost"], currency), "zone": zone_word(home)}
            )
        if listed is not None and best["market"] != "on-demand":
            beside.append(_("%(cost)s on demand") % {"cost": fmt.money(listed["cost"], currency)})
        if beside:
            parts.append(
                _("%(cost)s instead of %(others)s.") % {"cost": cost, "others": _(" and ").join(beside)}
            )
    test = doc.get("backtest") or {}
    if test.get("realised_saving_pct") is not None and test.get("decisions"):
        parts.append(_backtest_sentence(test))
    if (best or {}).get("transfer_cost") is None and best is not None and not _same(best, home):
        parts.append(_("Before moving data."))
    return joined(*parts)


def _backtest_sentence(test: Doc) -> str:
    values = {
        "saving": fmt.percent(test["realised_saving_pct"], lang()),
        "range": fmt.span(test.get("low"), test.get("high"), lang(), decimals=1, words=True),
        "n": fmt.number(test["decisions"]),
        "lost": fmt.percent(float(test.get("lost_share") or 0) * 100, lang()),
    }
    if test.get("low") is None:
        text = _("In the back-test this advice saved %(saving)s on average") % values
    else:
        text = _("In the back-test this advice saved %(saving)s on average (%(range)s)") % values
    if not test.get("lost_share"):
        return joined(text, _("and never lost money in %(n)s decisions.") % values)
    return joined(text, _("and lost money in %(lost)s of %(n)s decisions.") % values)


def plans_title(doc: Doc) -> str:
    """Title of the table of plans."""
    best, home = best_plan(doc), doc.get("home")
    if best is None:
        return _("No plan can be priced")
    if doc["verdict"] == "wait":
        return _("The best plan waits")
    if home is None:
        return _("The best plan starts now in %(zone)s") % {"zone": zone_word(best)}
    if _same(best, home):
        return _("The best plan is to start now where it runs today")
    if best["type"] != home["type"]:
        return _("The best plan starts now on another type")
    if best["region"] != home["region"]:
        return _("The best plan starts now in another region")
    return _("The best plan starts now, one zone over")


def shown_plans(doc: Doc, *, every: bool) -> list[Doc]:
    """The plans of the table: all, or the first few with home, the first on demand and what has no rank."""
    plans, home = list(doc.get("plans", ())), doc.get("home")
    if every or len(plans) <= MOST_PLANS + 3:
        return plans
    on_demand = next((plan for plan in plans if plan["market"] == "on-demand"), None)
    return [
        plan
        for place, plan in enumerate(plans)
        if place < MOST_PLANS or _same(plan, home) or plan is on_demand or plan.get("rank") is None
    ]


def plan_rows(plans: Sequence[Doc], doc: Doc, zone: tzinfo) -> list[dict[str, Any]]:
    """One row a plan, in the order given."""
    scale, home = scale_of(plans), doc.get("home")
    return [_plan_row(plan, doc, scale, home, zone) for plan in plans]


def _plan_row(plan: Doc, doc: Doc, scale: Scale, home: Doc | None, zone: tzinfo) -> dict[str, Any]:
    saving = _number(plan.get("saving_vs_home_pct"))
    start, at = _time(plan["start"]), _time(doc["evidence"]["at"])
    now = start is not None and at is not None and abs((start - at).total_seconds()) < 60
    when = fmt.moment(start, zone, lang(), weekday=True, named=False)
    low, high = plan.get("cost_low"), plan.get("cost_high")
    return {
        "rank": plan.get("rank") or fmt.UNKNOWN,
        "best": plan.get("rank") == 1,
        "start": _("Now, %(when)s") % {"when": when} if now else when,
        "start_short": _("Now, %(when)s") % {"when": start.astimezone(zone).strftime("%H:%M")}
        if now and start is not None
        else when,
        "zone": zone_word(plan) or plan["region"],
        "zone_id": plan["zone"] if plan.get("zone_name") and plan["zone"] != plan["zone_name"] else "",
        "type": plan["type"],
        "market": _("On-demand") if plan["market"] == "on-demand" else _("Spot"),
        "cost": fmt.number(plan["cost"], 2),
        "interval": _("list price")
        if plan["market"] == "on-demand"
        else fmt.span(low, high, lang(), decimals=2),
        "saving": fmt.percent(saving, lang()),
        "range": _range(plan, saving, home, scale),
        "off_scale": saving is not None and float(saving) < OFF_SCALE,
        "transfer": fmt.number(plan.get("transfer_cost"), 2) if _number(plan.get("transfer_cost")) else "",
        "rework": fmt.number(plan.get("rework_cost"), 2) if _number(plan.get("rework_cost")) else "",
        "rework_unknown": plan.get("rework_cost") is None and plan["market"] == "spot",
        "chance": fmt.percent(float(plan["probability_cheaper"]) * 100, lang(), decimals=0)
        if plan.get("probability_cheaper") is not None
        else "",
        "reason": plan.get("reason") or "",
        "pieces": piece_rows(plan, zone),
    }


def _range(plan: Doc, saving: Decimal | None, home: Doc | None, scale: Scale) -> Range | None:
    if saving is None or float(saving) < OFF_SCALE:
        return None
    low = high = float(saving)
    base = _number(home.get("cost")) if home else None
    dear, cheap = _number(plan.get("cost_high")), _number(plan.get("cost_low"))
    if base and dear is not None and cheap is not None:
        low, high = float((1 - dear / base) * 100), float((1 - cheap / base) * 100)
    return Range(
        scale.place(0), scale.place(float(saving)), scale.place(low), scale.place(high), plan.get("rank") == 1
    )


def grid_title(doc: Doc) -> str:
    """Finding of the flexibility grid: what freedom of place is worth, and what freedom of time."""
    cells = {(c["wait_hours"], c["where"]): _number(c.get("saving_pct")) for c in doc.get("flexibility", ())}
    place = max((v for (w, _where), v in cells.items() if w == 0 and v is not None), default=None)
    waits = [v for (w, where), v in cells.items() if where == "home" and w > 0 and v is not None]
    if place is None or not waits:
        return _("What freedom is worth")
    values = {"place": fmt.percent(place, lang()), "time": fmt.percent(max(waits), lang())}
    if max(waits) < Decimal("0.5"):
        return _("Freedom of place is worth %(place)s, freedom of time nothing") % values
    return _("Freedom of place is worth %(place)s, freedom of time %(time)s") % values


def grid_heads(doc: Doc) -> list[str]:
    """Heads of the columns."""
    home = doc.get("home")
    stay = _("Stay in %(zone)s") % {"zone": zone_word(home)} if home else _("Stay")
    region = _("Any zone of %(region)s") % {"region": home["region"]} if home else _("Any zone")
    return [stay, region, _("Any allowed region"), _("Another type")]


def grid_rows(doc: Doc) -> list[dict[str, Any]]:
    """Rows of the grid by wait; each cell with its class by size."""
    cells = {(c["wait_hours"], c["where"]): c for c in doc.get("flexibility", ())}
    values = [float(v) for c in cells.values() if (v := _number(c.get("saving_pct"))) is not None]
    positive = [v for v in values if v >= NEAR_ZERO]
    half = (min(positive) + max(positive)) / 2 if positive else 0.0
    chosen = _chosen(doc)
    rows: list[dict[str, Any]] = []
    for wait in sorted({w for w, _where in cells}):
        title = _("Start now") if wait == 0 else _("Wait up to %(hours)s h") % {"hours": fmt.hours(wait)}
        made = [
            _grid_cell(cells.get((wait, where)), wait, where, half, (wait, where) == chosen)
            for where in WHERES
        ]
        rows.append({"title": title, "cells": made})
    empty = rows and all(row["cells"][-1]["kind"] == "none" for row in rows)
    for row in rows:
        row["cells"][-1]["drop"] = bool(empty)
    return rows


def _chosen(doc: Doc) -> tuple[float, str] | None:
    best, home = best_plan(doc), doc.get("home")
    if best is None or home is None or best["market"] != "spot":
        return None
    where = "home"
    if best["type"] != home["type"]:
        where = "type"
    elif best["region"] != home["region"]:
        where = "region"
    elif best["zone"] != home["zone"]:
        where = "zone"
    if doc["verdict"] != "wait":
        return (0, where)
    start, at = _time(best["start"]), _time(doc["evidence"]["at"])
    delay = (start - at).total_seconds() / 3600 if start and at else 0.0
    waits = sorted({c["wait_hours"] for c in doc["flexibility"]})
    return (next((w for w in waits if w >= delay), waits[-1]), where)


def _grid_cell(cell: Doc | None, wait: float, where: str, half: float, chosen: bool) -> dict[str, Any]:
    value = _number(cell.get("saving_pct")) if cell else None
    if cell is None or value is None:
        return {
            "kind": "none",
            "value": fmt.UNKNOWN,
            "note": (cell or {}).get("reason") or "",
            "chosen": False,
        }
    if wait == 0 and where == "home":
        return {"kind": "base", "value": fmt.percent(value, lang()), "note": _("the base"), "chosen": chosen}
    size = float(value)
    kind = "zero" if abs(size) < NEAR_ZERO else "worse" if size < 0 else "s2" if size > half else "s1"
    note = fmt.span(cell.get("low"), cell.get("high"), lang(), decimals=1, words=True)
    return {"kind": kind, "value": fmt.percent(value, lang()), "note": note, "chosen": chosen}


STRATEGY_WORDS = {
    "advice": gettext_lazy("Offpeak's advice"),
    "spot_rule": gettext_lazy("The launch rule on Spot"),
    "one_piece": gettext_lazy("The same in one piece"),
    "zone_now": gettext_lazy("Start now in the cheapest zone"),
    "same_hour_4_weeks": gettext_lazy("Same hour as the last four weeks"),
    "night": gettext_lazy("Always at 02:00 UTC, home zone"),
    "home_now": gettext_lazy("Start now, home zone"),
    "on_demand": gettext_lazy("Always on-demand"),
    "clairvoyant": gettext_lazy("Limit: the best start and zone, known only afterwards"),
}


def evidence_rows(doc: Doc) -> list[dict[str, Any]]:
    """The back-test: the advice, its rivals, the limit; in this order, whatever the document's is."""
    strategies = (doc.get("backtest") or {}).get("strategies") or {}
    order = [*STRATEGY_WORDS, *(name for name in strategies if name not in STRATEGY_WORDS)]
    limit = strategies.get("clairvoyant") or {}
    return [_evidence_row(name, strategies[name], limit) for name in order if name in strategies]


def _evidence_row(name: str, result: Doc, limit: Doc) -> dict[str, Any]:
    lost, low = result.get("lost_share"), result.get("low")
    base = name == "home_now"  # what the others are compared with has no interval and no loss of its own
    return {
        "name": STRATEGY_WORDS.get(name, capital(name.replace("_", " "))),
        "best": name == "advice",
        "limit": name == "clairvoyant",
        "cost": fmt.number(result.get("mean_cost"), 2),
        "saving": fmt.percent(result.get("saving_pct"), lang()),
        "interval": fmt.span(None if base else low, result.get("high"), lang(), decimals=1, words=True),
        "lost": fmt.percent(None if base or lost is None else float(lost) * 100, lang()),
        "above": fmt.percent(_above(result, limit), lang()),
    }


def _above(result: Doc, limit: Doc) -> Decimal | None:
    """How much dearer than the limit, percent; None unless both are of the same decisions."""
    mine, best = _number(result.get("mean_cost")), _number(limit.get("mean_cost"))
    if mine is None or not best or result.get("decisions") != limit.get("decisions"):
        return None
    return (mine / best - 1) * 100


def evidence_summary(doc: Doc) -> str:
    """The sentence beside the word Evidence."""
    test = doc.get("backtest") or {}
    strategies = test.get("strategies") or {}
    advice, limit = strategies.get("advice", {}), strategies.get("clairvoyant", {})
    mine, best = _number(advice.get("saving_pct")), _number(limit.get("saving_pct"))
    if mine is not None and best is not None and best >= Decimal("0.5") and mine >= 0:
        return _("The advice earned %(share)s of what was possible, on prices it had not seen") % {
            "share": fmt.percent(mine / best * 100, lang())
        }
    if not test.get("decisions"):
        return _("No back-test: the history before this moment is too short")
    return _("The advice, tested hour by hour on prices it had not seen")
