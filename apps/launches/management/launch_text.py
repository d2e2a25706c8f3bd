"""Plans and launches for people on a terminal, told as their pages tell them; `--json` has the values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from apps.launches.models import OVER, AttemptState, LaunchState, PlanState
from apps.launches.selectors.money import paid_of, worst_case
from apps.launches.wording import ENDINGS, MARKETS
from apps.launches.wording_refusals import refusal_text
from finops.text import display

STATE = 20
LABEL = 10
INDENT = " " * 8


def plan_line(plan: Mapping[str, Any]) -> str:
    """A plan on one line."""
    parts = [f"{plan['id'] or '-':>6}", f"{PlanState(plan['state']).label:<{STATE}}", when(plan["due_at"]),
             plan["name"], _planned(plan["cost"], plan["cost_high"], plan["currency"])]  # fmt: skip
    return "  ".join(map(str, parts))


def launch_line(one: Mapping[str, Any]) -> str:
    """A launch on one line: its state, what it costs, why it waits, what it does or how it ended."""
    return f"{_head(one)}  {_cost(one)}  {one['reason']}".rstrip()


def launch_lines(one: Mapping[str, Any], places: Mapping[str, str], now: datetime) -> list[str]:
    """One launch with its sums, its deadline, its attempts and its timeline. `places`: zones by their id."""
    facts = [(_("Target"), _target(one)), (_("Paid"), _paid(one)),
             (_("Planned"), _planned(one["planned"]["expected"], _high(one), one["currency"], led=False)),
             (_("Work done"), _("%(done)s of %(hours)s h, held by checkpoints")
              % {"done": display.hours(one["done_hours"]), "hours": display.hours(one["hours"])}),
             (_("Work lost"), _lost(one)), (_("Deadline"), _deadline(one, now)),
             (_("Started"), _started(one)), (_("Ended"), when(one["ended_at"]))]  # fmt: skip
    lines = [_head(one)]
    if one["reason"]:
        lines.append(INDENT + one["reason"])
    lines += [f"{INDENT}{name:<{LABEL}}  {text}" for name, text in facts]
    if one["attempts"]:
        lines += ["", _("Attempts")]
        lines += [_attempt(found, places, one["currency"] or "", now) for found in one["attempts"]]
    zone = timezone.get_current_timezone()
    lines += ["", _("What happened, in %(zone)s") % {"zone": timezone.get_current_timezone_name()}]
    lines += [
        f"{INDENT}{_at(line['at']).astimezone(zone):%Y-%m-%d %H:%M:%S}  {line['text']}"
        for line in one["timeline"]
    ]
    return lines if one["timeline"] else [*lines, INDENT + _("Nothing yet.")]


def when(text: str | None) -> str:
    """`2 Nov 2026 09:00 UTC`; a dash for none."""
    if text is None:
        return display.UNKNOWN
    return display.moment(_at(text), timezone.get_current_timezone(), _language(), year=True)


def _head(one: Mapping[str, Any]) -> str:
    state = LaunchState(one["state"]).label
    return f"{one['id']:>6}  {state:<{STATE}}  {when(one['due_at'])}  {one['name']}"


def _target(one: Mapping[str, Any]) -> str:
    told = _("priority %(p)s · %(t)s") % {"p": one["priority"], "t": one["target"]}
    return " · ".join([told, *(one[name] for name in ("team", "owner") if one[name])])


def _high(one: Mapping[str, Any]) -> Decimal | None:
    return worst_case(_decimal(one["planned"]["high"]), _decimal(one["approved_high"]))


def _planned(cost: str | None, high: str | Decimal | None, currency: str | None, *, led: bool = True) -> str:
    """`planned $0.08, up to $0.30`; `led`: with the word before it."""
    if cost is None:
        told = _("cost not known") if led else _("not known")
    else:
        told = _("planned %(c)s") % {"c": _cents(cost, currency)} if led else _cents(cost, currency)
    return told if high is None else f"{told}, {_('up to %(c)s') % {'c': _cents(high, currency)}}"


def _cost(one: Mapping[str, Any]) -> str:
    """A launch's cost in a list: paid once it is over, before that planned with what is paid so far."""
    paid, currency = one["paid"], one["currency"] or ""
    if one["state"] in OVER:
        if paid is None and one["first_started_at"] is not None:
            return _("paid: not known yet")
        return _("paid %(c)s") % {"c": display.paid(paid or 0, currency).strip()}
    told = _planned(one["planned"]["expected"], _high(one), currency)
    if paid is None:
        return told
    return f"{told}, {_('paid so far %(c)s') % {'c': display.paid(paid, currency)}}"


def _paid(one: Mapping[str, Any]) -> str:
    """The sum of the attempts that are priced, and how many of those that ran."""
    attempts = [found for found in one["attempts"] if found["started_at"] is not None]
    known = paid_of(((_decimal(found["paid"]), found["currency"] or "") for found in attempts), "")
    if not known.ran:
        return f"{_cents('0', one['currency'])}, {_('no machine has run')}"
    if known.amount is None:
        return f"{display.UNKNOWN}, {_('known once the prices of its hours are')}"
    told = display.paid(known.amount, known.currency)
    if one["state"] in OVER and known.whole:
        return f"{told}, {_('from prices of the hours that ran')}"
    note = _("so far; priced attempts: %(p)s of %(r)s") % {"p": known.priced, "r": known.ran}
    return f"{told}, {note}"


def _lost(one: Mapping[str, Any]) -> str:
    told = f"{display.hours(one['lost_hours'])} h"
    cost = one["lost_cost"]
    return told if cost is None else f"{told}, {display.paid(cost, one['currency'] or '')}"


def _deadline(one: Mapping[str, Any], now: datetime) -> str:
    """When the work must be done; of work that is done, and of a time that has passed, how late it is."""
    if one["deadline"] is None:
        return _("none is set")
    told, by = when(one["deadline"]), _at(one["deadline"])
    open_still = one["state"] not in OVER
    if open_still or one["state"] == LaunchState.COMPLETED:
        done = now if open_still or one["ended_at"] is None else _at(one["ended_at"])
        if done > by:
            length = display.duration(done - by, _language())
            return f"{told}, {_('late by %(length)s') % {'length': length}}"
        if not open_still:
            return f"{told}, {_('done in time')}"
    return told


def _started(one: Mapping[str, Any]) -> str:
    late = one["plan_against_actual"]["start"]["late_seconds"]
    if late is None:
        return f"{display.UNKNOWN}, {_('starts by %(t)s') % {'t': when(one['start_by'])}}"
    start = _at(one["first_started_at"])
    length = display.duration(start - _at(one["due_at"]), _language())
    return f"{when(one['first_started_at'])}, {_('%(length)s after it was due') % {'length': length}}"


def _attempt(one: Mapping[str, Any], places: Mapping[str, str], currency: str, now: datetime) -> str:
    """An attempt: where and at what price, what came of it, hours of machines, what they cost."""
    currency = one["currency"] or currency
    place = places.get(one["zone"] or "") or one["zone"] or one["region"] or ""
    machine = f"{one['machines']} × {one['type']}" if one["machines"] > 1 else one["type"]
    where = " ".join(filter(None, (machine, place)))
    told = [", ".join(filter(None, (where, str(MARKETS.get(one["market"], one["market"])))))]
    if one["price"] is not None:
        told[0] += ", " + _("%(price)s an hour") % {"price": display.money_hourly(one["price"], currency)}
    told.append(_outcome(one))
    ended = _at(one["ended_at"]) if one["ended_at"] else now if one["state"] == AttemptState.RUNNING else None
    if one["started_at"] is None:
        told.append(_cents("0", currency))
    else:
        if ended is not None:
            ran = (ended - _at(one["started_at"])).total_seconds() / 3600 * one["machines"]
            told.append(f"{display.number(ran, 2)} h")
        told.append(_("not known yet") if one["paid"] is None else display.paid(one["paid"], currency))
    return f"{one['number']:>6}  " + "  ".join(told)


def _outcome(one: Mapping[str, Any]) -> str:
    """`Ended: taken back by the provider (i-1)`, `Refused: no capacity (InsufficientInstanceCapacity)`."""
    told = str(AttemptState(one["state"]).label)
    why = str(ENDINGS.get(one["ending"], "")) if one["ending"] else refusal_text(one["code"] or "")
    told = f"{told}: {why}" if why else told
    return f"{told} ({one['machine']})" if one["machine"] else told


def _cents(value: str | Decimal, currency: str | None) -> str:
    """To the cent; a plan of machines that have no price has no currency."""
    return display.money(value, currency or "", decimals=2).strip()


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _language() -> str:
    return get_language() or "en"
