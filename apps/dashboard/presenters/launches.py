"""Launches in words and bars: headings, states, the lanes of one launch's timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dashboard import format as fmt
from apps.launches.models import (
    OVER,
    WAITING,
    Attempt,
    AttemptState,
    Launch,
    LaunchPlan,
    LaunchState,
    PlanState,
)
from apps.launches.selectors.asks import Asks
from apps.launches.selectors.launches import queue_reason
from apps.launches.selectors.money import Paid, paid_of, worst_case
from apps.launches.selectors.plans import places_of
from apps.launches.wording import ENDINGS, MARKETS, TRIALS
from apps.launches.wording_refusals import refusal_words

State = LaunchState
VERDICTS = {
    State.QUEUED: "plain",
    State.CLAIMED: "warn",
    State.RUNNING: "pass",
    State.INTERRUPTED: "warn",
    State.UNKNOWN: "unknown",
    State.COMPLETED: "pass",
    State.FAILED: "deny",
    State.MISSED: "deny",
    State.CANCELLED: "plain",
}
PLAN_VERDICTS = {
    PlanState.DRAFT: "plain",
    PlanState.REQUESTED: "warn",
    PlanState.APPROVED: "pass",
    PlanState.DONE: "pass",
    PlanState.CANCELLED: "plain",
    PlanState.EXPIRED: "plain",
}


def queue_heading(running: int, waiting: int, asks: Asks) -> str:
    """What goes on, in one sentence; the key number is what waits for a person."""
    if asks.plans and asks.launches:
        return _("%(plans)s and %(launches)s") % {
            "plans": plans_heading(asks.plans),
            "launches": ngettext(
                "%(n)d launch asks for more money", "%(n)d launches ask for more money", asks.launches
            )
            % {"n": asks.launches},
        }
    if asks.plans:
        return plans_heading(asks.plans)
    if asks.launches:
        return ngettext(
            "[[%(n)d]] launch asks for more money", "[[%(n)d]] launches ask for more money", asks.launches
        ) % {"n": asks.launches}
    if running or waiting:
        return _("%(running)s and %(waiting)s") % {
            "running": ngettext("[[%(n)d]] machine runs", "[[%(n)d]] machines run", running) % {"n": running},
            "waiting": ngettext("%(n)d launch waits", "%(n)d launches wait", waiting) % {"n": waiting},
        }
    return _("Nothing runs and nothing waits")


def plans_heading(plans: int) -> str:
    """How many plans nobody has approved yet."""
    if not plans:
        return _("No plan waits for anybody")
    return ngettext("[[%(n)d]] plan waits for a person", "[[%(n)d]] plans wait for a person", plans) % {
        "n": plans
    }


def launch_row(row: Launch, now: datetime) -> dict[str, Any]:
    """A line of the queue."""
    plan, over = row.plan, row.state in OVER
    share = None if plan.cost is None else plan.cost / plan.parts
    return {
        "it": row,
        "kind": VERDICTS[State(row.state)],
        "word": row.get_state_display(),
        "reason": queue_reason(row, now),
        "cost": row.paid if over and row.paid is not None else share,
        "is_paid": over and row.paid is not None,
        "so_far": None if over else row.paid,
        "high": None if over and row.paid is not None else high_of(row),
        "currency": row.currency or plan.currency,
    }


def high_of(row: Launch) -> Decimal | None:
    """What a launch may cost in the worst case: as it was planned, or as people raised it."""
    planned = row.plan.cost_high
    return worst_case(None if planned is None else planned / row.plan.parts, row.approved_high)


def plan_row(row: LaunchPlan) -> dict[str, Any]:
    """A line of the plans."""
    return {"it": row, "kind": PLAN_VERDICTS[PlanState(row.state)], "word": row.get_state_display()}


def trial_words(plan: LaunchPlan) -> dict[str, Any] | None:
    """What the place said to the plan's first call, as a verdict; None where it was not asked."""
    if not plan.trial:
        return None
    verdict = str(plan.trial.get("verdict"))
    word, kind = {
        "allowed": (_("would be taken"), "pass"),
        "away": (_("not asked"), "unknown"),
    }.get(verdict, (_("would be refused"), "deny"))
    code = plan.trial.get("code")
    return {"kind": kind, "word": word,
            "text": f"{TRIALS.get(verdict, '')} {code or ''}".strip()}  # fmt: skip


def calendar_days(
    rows: Sequence[Launch], now: datetime, zone: ZoneInfo
) -> list[tuple[datetime, list[dict[str, Any]]]]:
    """Launches by the reader's day; a day is named by the first. Those of one turn are one line."""

    def day(line: dict[str, Any]) -> date:
        return line["it"].due_at.astimezone(zone).date()

    turns = groupby(
        sorted(rows, key=lambda row: (row.due_at, row.plan_id)), key=lambda row: (row.due_at, row.plan_id)
    )
    lines = [_turn(list(found), now) for _key, found in turns]
    days = [list(found) for _day, found in groupby(lines, key=day)]
    return [(found[0]["it"].due_at, found) for found in days]


def _turn(rows: list[Launch], now: datetime) -> dict[str, Any]:
    """A line of the calendar: the first launch of a turn, how many there are, what all of them cost."""
    costs = [launch_row(one, now)["cost"] for one in rows]
    whole = None if None in costs else sum(costs, Decimal(0))
    return {**launch_row(rows[0], now), "count": len(rows), "cost": whole}


def launch_heading(row: Launch) -> str:
    """How one launch stands, in one sentence with its number."""
    paid = None if row.paid is None else fmt.paid(row.paid, row.currency)
    name = row.plan.name
    if row.state == State.COMPLETED:
        if paid is None:
            return _("%(name)s is done; what it cost is not known yet") % {"name": name}
        return _("%(name)s is done and cost [[%(paid)s]]") % {"name": name, "paid": paid}
    if row.state == State.RUNNING:
        return _("%(name)s runs: [[%(done)s h]] of %(hours)s h are held by checkpoints") % {
            "name": name,
            "done": fmt.number(row.done_hours, 2),
            "hours": fmt.number(row.hours, 2),
        }
    if row.asked_high is not None and row.state in WAITING:
        asked = fmt.money(row.asked_high, row.plan.currency, decimals=2)
        return _("%(name)s asks for up to [[%(high)s]]") % {"name": name, "high": asked}
    if row.state == State.QUEUED and row.plan.cost is not None:
        cost = fmt.money(row.plan.cost / row.plan.parts, row.plan.currency, decimals=2)
        return _("%(name)s waits; planned are [[%(cost)s]]") % {"name": name, "cost": cost}
    return _("%(name)s: %(state)s") % {"name": name, "state": str(row.get_state_display()).lower()}


def lanes(row: Launch, attempts: Sequence[Attempt], now: datetime) -> dict[str, Any]:
    """The plan and each attempt as bars on one axis, in percent of its length."""
    ran = [one for one in attempts if one.started_at is not None]
    start = min([row.due_at, *(one.prepared_at for one in attempts)])
    planned_end = row.due_at + timedelta(hours=row.hours)
    end = max([planned_end, *((one.ended_at or now) for one in ran)])
    length = max((end - start).total_seconds(), 60.0)

    def at(moment: datetime) -> float:
        return round(min(100.0, max(0.0, (moment - start).total_seconds() / length * 100)), 3)

    offer = (row.plan.document.get("offers") or [{}])[0]
    share = None if row.plan.cost is None else row.plan.cost / row.plan.parts
    return {
        "start": start,
        "end": end,
        "plan": {
            "left": _css(at(row.due_at)),
            "width": _css(max(0.5, at(planned_end) - at(row.due_at))),
            "place": offer.get("zone_name") or offer.get("region") or "",
            "market": offer.get("market"),
            "cost": share,
            "currency": row.plan.currency,
        },
        "attempts": [_lane(one, at, now, places_of(row.plan)) for one in attempts],
    }


def so_far(row: Launch, attempts: Sequence[Attempt]) -> Paid:
    """What is known of the cost."""
    ran = [(one.paid, one.currency) for one in attempts if one.started_at is not None]
    return paid_of(ran, row.currency or row.plan.currency)


def _lane(one: Attempt, at: Any, now: datetime, places: dict[str, str]) -> dict[str, Any]:
    begun = one.started_at or one.called_at or one.prepared_at
    ended = one.ended_at or (now if one.state == AttemptState.RUNNING else begun)
    left, right = at(begun), at(ended)
    # Work that moved on purpose has lost nothing that anybody has to look at.
    lost = one.state == AttemptState.ENDED and one.ending not in {"done", "moved"}
    bad = one.state == AttemptState.REFUSED or lost
    word = str(ENDINGS.get(one.ending, "")) if one.ending else str(one.get_state_display())
    if one.state == AttemptState.REFUSED:
        word = refusal_words(one.code) or one.code or word
    return {
        "it": one,
        "place": places.get(one.zone) or one.zone or one.region,
        "market": _market(one.market),
        "left": _css(left),
        "width": _css(max(0.4, right - left)),
        "mark": _css(min(right, 99.0)),
        # A word at the right end would be cut: it stands before the bar, or in one that fills the track.
        "late": right > 60 and left >= 40,
        "inside": right > 60 and left < 40,
        "right": _css(100 - right),
        "kind": "bad" if bad else "done" if one.ending == "done" else "on",
        "bar": "refused" if one.state == AttemptState.REFUSED else "done" if one.ending == "done" else "on",
        "word": word,
        "ran": one.started_at is not None,
        "hours": None if one.started_at is None else (ended - begun).total_seconds() / 3600,
        "marks": [_css(at(mark.marked_at)) for mark in one.checkpoints.all() if mark.marked_at],
    }


def marks(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Checkpoints in their order, with their attempt."""
    return [{"it": mark, "attempt": one.number} for one in attempts for mark in one.checkpoints.all()]


def attempt_rows(row: Launch, attempts: Sequence[Attempt], now: datetime) -> list[dict[str, Any]]:
    """The attempts as their table has them: place, how it ended, hours of machines, what was paid."""
    places, found = places_of(row.plan), []
    for one in attempts:
        ended = one.ended_at or (now if one.state == AttemptState.RUNNING else None)
        ran = one.started_at is not None and ended is not None
        found.append({
            "it": one,
            "place": places.get(one.zone) or one.zone or one.region,
            "market": _market(one.market),
            "state": str(one.get_state_display()),
            "ending": _ending(one),
            "hours": (ended - one.started_at).total_seconds() / 3600 * one.count
            if ran and ended is not None and one.started_at is not None else None,
        })  # fmt: skip
    return found


def _ending(one: Attempt) -> str:
    """How a machine ended, or why none came; its code stands below."""
    return str(ENDINGS.get(one.ending, "")) if one.ending else refusal_words(one.code)


def _market(value: str | None) -> str:
    return str(MARKETS.get(value or "", value or "–"))


def _css(value: float) -> str:
    """A percentage for a style, whatever the language writes numbers like."""
    return f"{value:.3f}"


def against(row: Launch, attempts: Sequence[Attempt], now: datetime) -> list[dict[str, Any]]:
    """Plan beside actual, a line each; None is not known."""
    plan = row.plan
    share = None if plan.cost is None else plan.cost / plan.parts
    ran = [one for one in attempts if one.started_at is not None]
    hours = sum(
        ((one.ended_at or now) - one.started_at).total_seconds() / 3600 * one.count
        for one in ran
        if one.started_at is not None and (one.ended_at is not None or one.state == AttemptState.RUNNING)
    )
    names, cost = places_of(plan), so_far(row, attempts)
    offer = (plan.document.get("offers") or [{}])[0]
    places = sorted({names.get(one.zone) or one.zone or one.region for one in ran})
    machines = plan.count if plan.gang else 1
    lines: list[dict[str, Any]] = [
        {"name": _("Start"), "plan": row.due_at, "actual": row.first_started_at, "form": "moment"},
        {"name": _("Where"), "plan": offer.get("zone_name") or offer.get("region"),
         "actual": ", ".join(places) or None, "form": "text"},
        {"name": _("Market"), "plan": _market(offer.get("market")),
         "actual": ", ".join(sorted({_market(one.market) for one in ran})) or None, "form": "text"},
        {"name": _("Machine hours"), "plan": row.hours * machines, "actual": hours if ran else None,
         "form": "hours"},
        {"name": _("Interruptions"), "plan": None, "form": "count",
         "actual": sum(one.ending == "interrupted" for one in attempts)},
        {"name": _("Work lost, h"), "plan": 0.0, "actual": row.lost_hours, "form": "hours"},
        {"name": _("Cost") if row.state in OVER and cost.whole else _("Cost so far"), "plan": share,
         "actual": cost.amount, "form": "cost"},
    ]  # fmt: skip
    return [{**line, "both": (line["plan"], line["actual"])} for line in lines]


def offers_of_plan(plan: LaunchPlan) -> list[dict[str, Any]]:
    """The offers in their order, prices as numbers."""
    return [
        {
            **one,
            "price": None if one.get("price") is None else Decimal(str(one["price"])),
            "cost": None if one.get("cost") is None else Decimal(str(one["cost"])),
            "market": _market(one.get("market")),
            "place": one.get("zone_name") or one.get("zone") or one.get("region") or "–",
        }
        for one in plan.document.get("offers") or []
    ]
