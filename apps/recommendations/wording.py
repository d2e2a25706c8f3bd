"""Advice in plain sentences. Figures as the design language writes them: 16.2 %, −0.1 %, 6 Mar 09:00 UTC."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from finops.engine.advice import Advice
from finops.engine.places import Excluded
from finops.engine.plans import ON_DEMAND, Plan, Reason
from finops.engine.series import from_us
from finops.reasons import reason_text

# A saving of time below this is called nothing, as in the flexibility grid.
WORTH_PCT = 0.5
NARROW_SPACE, MINUS = "\u202f", "\u2212"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _chinese() -> bool:
    return (get_language() or "").startswith("zh")


def joined(*parts: str) -> str:
    """Sentences one after the other: with a blank between them, in Chinese without."""
    return ("" if _chinese() else " ").join(part for part in parts if part)


def percent(value: float) -> str:
    """One decimal, a real minus, never "−0.0"."""
    text = f"{abs(value):.1f}"
    sign = MINUS if value < 0 and text != "0.0" else ""
    return f"{sign}{text}{'' if _chinese() else NARROW_SPACE}%"


def moment(value: datetime) -> str:
    """6 Mar 09:00 UTC; 3月6日 09:00 UTC."""
    if _chinese():
        return f"{value.month}月{value.day}日 {value:%H:%M} UTC"
    return f"{value.day} {MONTHS[value.month - 1]} {value:%H:%M} UTC"


def day(value: datetime) -> str:
    """6 Mar 2020; 2020年3月6日."""
    if _chinese():
        return f"{value.year}年{value.month}月{value.day}日"
    return f"{value.day} {MONTHS[value.month - 1]} {value.year}"


def money(value: float, currency: str, *, decimals: int = 2) -> str:
    """$7.97 in dollars, else "CHF 7.97", with a real minus in front."""
    text = f"{abs(value):,.{decimals}f}"
    sign = MINUS if value < 0 and text.strip("0.,") else ""
    return f"{sign}${text}" if currency == "USD" else f"{currency} {sign}{text}"


def hourly(value: float, currency: str) -> str:
    """A price of an hour: four decimals, more where the first three digits that matter lie further right."""
    further = 2 - math.floor(math.log10(abs(value))) if value else 4
    return money(value, currency, decimals=max(4, further))


def plan_reason(plan: Plan) -> str:
    """Why a plan stands where it stands, in one sentence."""
    values = {name: percent(v) if isinstance(v, float) else v for name, v in plan.reason.values}
    texts = {
        "cheapest": _(
            "Cheapest; its price has moved at most %(moved_pct)s from the forecast in 9 of 10 runs"
        ),
        "base": _("Started at once where it runs today"),
        "home cheapest": _("Where it runs today, and nothing allowed is cheaper"),
        "home": _("Where it runs today; %(dearer_pct)s dearer than the first plan"),
        "next": _("Next if the first plan finds no capacity; %(dearer_pct)s dearer"),
        "dearer": _("%(dearer_pct)s dearer than the first plan"),
        "dearer and moving": _("%(dearer_pct)s dearer than the first plan, moving the data included"),
        "moving unknown": _("The price of moving data to %(region)s is not known, so it is not recommended"),
        "on demand": _("Cannot be interrupted; %(dearer_pct)s dearer than the first plan"),
        "on demand cheapest": _("On demand is the cheapest that is allowed and known"),
        "may be interrupted": _("Spot may be interrupted and this work may not"),
        "pieces": _("In %(pieces)s pieces, in hours that were cheap on past days"),
        "wait": _("Waiting for this start has saved money on the loaded history"),
    }
    code = plan.reason.code
    if code == "cheapest" and not values:
        return _("Cheapest; too little history for an interval")
    if code == "home" and not values:  # the plan that the others are compared with
        return _("Where it runs today")
    if code == "no window":
        return _no_window(plan.reason)
    dearer = dict(plan.reason.values).get("dearer_pct")
    if isinstance(dearer, float) and dearer < 0:  # ranked behind for rework or moving that has no price
        return _("%(cheaper)s cheaper before costs that are not known") % {"cheaper": percent(-dearer)}
    return texts.get(code, "") % values


def _no_window(reason: Reason) -> str:
    saving = dict(reason.values).get("saving_pct")
    if not isinstance(saving, float):
        return _("No window: there is too little history to test waiting")
    if saving < 0:
        return _("No window: waiting by the calendar lost %(lost)s in the back-test") % {
            "lost": percent(-saving)
        }
    return _("No window: waiting by the calendar saved %(saving)s on average in the back-test") % {
        "saving": percent(saving)
    }


def excluded_reason(one: Excluded, names: Mapping[str, str]) -> str:
    """Why a place or type was not used."""
    texts = {
        "unknown": _("unknown: no Spot price is loaded for it"),
        "invalid price": _("invalid price: %(detail)s"),
        "late": _("its price was last seen %(detail)s, too long before this time"),
        "flagged": "%(detail)s",
        "currency": _("its price is in %(detail)s, another currency"),
        "never finishes": _("interrupted so often that the work would not end"),
    }
    return texts[one.reason] % {"detail": reason_text(one.detail)}


def sentence(advice: Advice, names: Mapping[str, str]) -> str:
    """The answer in one or two sentences."""
    if advice.verdict == "cannot judge":
        return _cannot_judge(advice)
    best = advice.best
    if best is None:
        return ""
    parts = [waiting(advice), _move(advice, best, names), splitting(advice)]
    parts += _assumptions(advice, names)
    return joined(*parts)


def _cannot_judge(advice: Advice) -> str:
    w = advice.workload
    what = {"types": ", ".join(w.types) or _("types of this size"), "regions": ", ".join(w.regions)}
    if advice.reason.code == "no list price":
        return (
            _(
                "Cannot judge: this work may not be interrupted and no on-demand price is loaded for "
                "%(types)s in %(regions)s. Load a price list, or allow interruptions."
            )
            % what
        )
    text = _("Cannot judge: no Spot price is known at this time for %(types)s in %(regions)s.") % what
    if advice.best is not None:
        cost = money(advice.best.cost, advice.best.currency)
        return joined(text, _("On demand it costs %(cost)s.") % {"cost": cost})
    return joined(text, _("Load prices, or choose another time."))


def waiting(advice: Advice) -> str:
    """Why the start is now, with what the launch rule's waits were worth at home; "" where nothing may wait.

    Where they were worth something the rule has no reason for one at this time, which is another sentence.
    """
    if advice.verdict != "now" or advice.reason.code != "no window" or not advice.workload.interruptible:
        return ""
    saving = advice.waiting.saving_pct
    if saving is None:
        return _("Waiting cannot be judged: there is too little history.")
    if saving >= WORTH_PCT:
        return _("No reason to wait now; waiting saved %(saving)s on average.") % {"saving": percent(saving)}
    return _("Waiting is not worth it: %(saving)s.") % {"saving": percent(saving)}


def splitting(advice: Advice) -> str:
    """What running in pieces was worth against one piece; "" where the work may not."""
    if advice.splitting is None:
        return ""
    test = advice.splitting.test
    if test is None or test.over_one.saving_pct is None:
        return _("Splitting cannot be judged: there is too little history.")
    saving = {"saving": percent(test.over_one.saving_pct)}
    if advice.reason.code == "pieces":
        return _("Splitting saved %(saving)s on average over one piece in the back-test.") % saving
    if test.worth_it:
        return _("No reason to split now; splitting saved %(saving)s on average over one piece.") % saving
    return _("Splitting is not worth it: %(saving)s over one piece in the back-test.") % saving


def _where(plan: Plan, advice: Advice, names: Mapping[str, str]) -> str:
    zone = names.get(plan.zone, plan.zone) or plan.region
    home = advice.home
    several = len({p.instance_type for p in advice.plans}) > 1
    if several and (home is None or plan.instance_type != home.instance_type):
        return _("%(type)s in %(zone)s") % {"type": plan.instance_type, "zone": zone}
    return zone


def _move(advice: Advice, best: Plan, names: Mapping[str, str]) -> str:
    home, where = advice.home, _where(best, advice, names)
    cost = money(best.cost, best.currency)
    if best.pieces:
        return _("Run in %(pieces)s pieces in %(where)s, %(start)s to %(end)s: %(cost)s expected.") % {
            "pieces": len(best.pieces), "where": where, "cost": cost,
            "start": moment(from_us(best.start_us)), "end": moment(from_us(best.pieces[-1][1])),
        }  # fmt: skip
    if advice.verdict == "wait":
        test = advice.backtest.advice
        told = _("Wait until %(start)s and start in %(where)s: %(cost)s expected.") % {
            "start": moment(from_us(best.start_us)), "where": where, "cost": cost,
        }  # fmt: skip
        if test.saving_pct is None:
            return told
        saved = _("This advice saved %(saving)s on average in the back-test.") % {
            "saving": percent(test.saving_pct)
        }
        return joined(told, saved)
    if best.market == ON_DEMAND:
        return _("On demand in %(where)s is the best known plan at %(cost)s.") % {
            "where": where,
            "cost": cost,
        }
    if home is None:
        return _("Start now in %(where)s at %(cost)s.") % {"where": where, "cost": cost}
    saving = best.saving_vs_home_pct
    if saving is None or best.series == home.series:
        return _("Start now in %(where)s; nothing allowed is cheaper.") % {"where": where}
    values = {"where": where, "saving": percent(saving)}
    if saving < 0:  # home is not among the places allowed
        values["saving"] = percent(-saving)
        values["cost"] = cost
        return _("Start now in %(where)s at %(cost)s: %(saving)s more than where it runs today.") % values
    if best.transfer is None and advice.workload.data_gib is not None:
        return (
            _("Moving to %(where)s now saves %(saving)s, but the price of moving the data is not known.")
            % values
        )
    if best.transfer is None:
        return _("Moving to %(where)s now saves %(saving)s before moving data.") % values
    return _("Moving to %(where)s now saves %(saving)s, moving data included.") % values


def turn(advice: Advice, names: Mapping[str, str]) -> str:
    """One turn of repeating work: when to start where, at what cost."""
    best, home = advice.best, advice.home
    if best is None or (advice.verdict == "cannot judge" and best.market != ON_DEMAND):
        return _cannot_judge(advice)
    values = {
        "start": moment(from_us(best.start_us)),
        "where": _where(best, advice, names),
        "cost": money(best.cost, best.currency),
        "pieces": len(best.pieces),
    }
    if best.pieces:
        told = _("Run in %(pieces)s pieces in %(where)s from %(start)s: %(cost)s expected.") % values
    elif best.market == ON_DEMAND:
        told = _("Start %(start)s on demand in %(where)s: %(cost)s.") % values
    else:
        told = _("Start %(start)s in %(where)s: %(cost)s expected.") % values
    saving = best.saving_vs_home_pct
    if saving is None or home is None or (best.series == home.series and best.start_us == home.start_us):
        return told
    values["saving"] = percent(abs(saving))
    if saving < 0:
        return joined(told, _("%(saving)s more than where it runs today.") % values)
    if best.transfer is None and best.series != home.series:
        return joined(told, _("%(saving)s less than where it runs today, before moving data.") % values)
    return joined(told, _("%(saving)s less than where it runs today.") % values)


def _assumptions(advice: Advice, names: Mapping[str, str]) -> list[str]:
    told = []
    reason, zone_now = advice.home_reason, advice.zone_now
    if reason.code:
        compared = ""
        if zone_now is not None:
            compared = _("compared with starting now in the cheapest zone, %(zone)s") % {
                "zone": names.get(zone_now.zone, zone_now.zone)
            }
        values = dict(reason.values)
        if reason.code == "not given":
            first = _("No home zone was given")
        elif reason.code == "flagged":
            first = _("The home price is not used (%(detail)s)") % {"detail": values.get("detail", "")}
        else:
            first = _("No price is known in the home zone")
        text = _("%(what)s: %(compared)s.") if compared else _("%(what)s.")
        told.append(text % {"what": first, "compared": compared})
    best = advice.best
    if best is not None and best.market != ON_DEMAND and best.rework is None:
        told.append(_("Rework by interruptions is not included: no interruption data."))
    return told


def cell_reason(reason: str) -> str:
    """Why a cell of the flexibility grid has no number."""
    texts: dict[str, Any] = {
        "no home zone": _("no home zone was given"),
        "may not be interrupted": _("it runs on demand, at one price at any hour and in any zone"),
        "no other region is allowed": _("no other region is allowed"),
        "no other type fits": _("no other type fits"),
        "no facts about this type": _("no facts about this type are loaded"),
        "too little history before this time": _("too little history before this time"),
    }
    return str(texts.get(reason, reason))
