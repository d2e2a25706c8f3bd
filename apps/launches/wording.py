"""What happened and why, in words: codes and values are stored, sentences are made for each reader."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _

from apps.launches.wording_refusals import refusal_text
from finops.reasons import reason_text
from finops.text.display import decimal_of, duration, hours, moment, money, money_hourly, paid

# Why a launch waits or has ended. `%(…)s` are the values beside the code.
WHY = {
    "due": gettext_noop("It is due at %(at)s."),
    "hand_out": gettext_noop("It is due: the next free worker takes it."),
    "waits": gettext_noop("The provider asked to wait (%(code)s): tried again at %(at)s."),
    "interrupted": gettext_noop("Its machine was taken back: it goes on elsewhere with %(hours)s h done."),
    "incomplete": gettext_noop("Not all of its machines came: what came was released, it is tried again."),
    "preempted": gettext_noop("Launch %(launch)s of priority %(priority)s took its place."),
    "no_answer": gettext_noop(
        "A call has no answer: the machine is looked for before anything else is done."
    ),
    "absent": gettext_noop("The call had no effect, %(looks)s looks found nothing: it is tried again."),
    "away": gettext_noop("The place cannot be reached (%(reason)s): tried again at %(at)s."),
    "lost_worker": gettext_noop("The worker that had it is gone: the next one takes it."),
    "market": gettext_noop("There is no Spot in any place of the plan: tried again at %(at)s."),
    "frozen": gettext_noop("Launches are frozen: %(reason)s."),
    "target_off": gettext_noop("Launching on %(target)s is switched off."),
    "not_approved": gettext_noop("The plan is not approved: %(given)s of %(needed)s approvals stand."),
    "budget": gettext_noop(
        "The budget of %(whose)s for %(month)s does not hold it: %(spent)s are spent or promised, this needs "
        "up to %(high)s, %(monthly)s is the limit."
    ),
    "budget_unknown": gettext_noop(
        "What it costs in the worst case is not known, so it cannot be held against the budget of %(whose)s."
    ),
    "plan_budget": gettext_noop(
        "The plan's own budget is %(budget)s; %(spent)s are spent, this needs up to %(high)s."
    ),
    "price_cap": gettext_noop(
        "Every offer left is dearer than the cap of %(cap)s an hour; the cheapest costs %(price)s."
    ),
    "price_unknown": gettext_noop(
        "The price of every offer left is not known, so it cannot be held against the cap of %(cap)s an hour."
    ),
    "above_plan": gettext_noop(
        "It would need up to %(cost)s in all, %(spent)s of it spent already; approved are %(high)s. Approve "
        "the higher amount, or cancel it."
    ),
    "price_old": gettext_noop(
        "No price of its offers is newer than %(hours)s hours: what this turn costs is not known. "
        "Load prices."
    ),
    "region": gettext_noop("No offer left is in an allowed region: %(regions)s."),
    "quota": gettext_noop("The limit of %(target)s is reached: %(running)s of at most %(most)s machines."),
    "instances": gettext_noop(
        "The limit of the organisation is reached: %(running)s of at most %(most)s machines."
    ),
    "dry_run": gettext_noop("The organisation is set to dry runs: nothing is called."),
    "no_offers": gettext_noop("The plan has no offer left to try."),
    "missed": gettext_noop("It could not start by %(at)s: it was not run."),
    "superseded": gettext_noop("A later turn of the plan is due: of several only the newest runs."),
    "too_late": gettext_noop("The deadline %(at)s has passed."),
    "refused": gettext_noop("Refused: %(refusal)s. %(message)s"),
    "attempts": gettext_noop("No machine in as many attempts as are allowed (%(count)s): %(refusal)s."),
    "limit": gettext_noop("The account's limit was reached (%(code)s): a person must have it raised."),
    "done": gettext_noop("The work is done."),
    "done_late": gettext_noop("The work is done, %(length)s after its deadline."),
    "job_failed": gettext_noop("The job said that it failed: %(message)s"),
    "stopped_outside": gettext_noop("Somebody outside ended the machine: %(message)s"),
    "drained": gettext_noop("The queue that it helped has drained, or its hours are over."),
    "cancelled": gettext_noop("Cancelled by %(by)s: %(reason)s"),
    "broken": gettext_noop("It cannot be carried out: %(message)s"),
}

# Lines of a timeline.
EVENTS = {
    "requested": gettext_noop("%(by)s asked for it."),
    "approved": gettext_noop("%(by)s approved it as %(role)s."),
    "approved_by_rule": gettext_noop("Approved by rule %(rule)s: up to %(limit)s."),
    "made": gettext_noop("Planned for %(at)s."),
    "claimed": gettext_noop("A worker took it, %(late)s s after it was due."),
    "stopped": gettext_noop("Stopped before the call: %(why)s"),
    "called": gettext_noop("Attempt %(attempt)s: %(type)s in %(place)s, %(market)s, at %(price)s an hour."),
    "refused": gettext_noop("Attempt %(attempt)s was refused: %(refusal)s. Next: %(next)s."),
    "no_answer": gettext_noop("Attempt %(attempt)s has no clear answer."),
    "sent_again": gettext_noop("Attempt %(attempt)s was sent again with the same token."),
    "running": gettext_noop("Machine %(machine)s runs."),
    "adopted": gettext_noop("Machine %(machine)s was found by its tags and adopted."),
    "absent": gettext_noop("Attempt %(attempt)s had no effect: nothing was found in %(looks)s looks."),
    "notice": gettext_noop("The provider takes machine %(machine)s back at %(at)s."),
    "rebalance": gettext_noop("The provider sees a higher risk for machine %(machine)s."),
    "checkpoint": gettext_noop("Checkpoint %(name)s holds %(hours)s h of work."),
    "ended": gettext_noop("Machine %(machine)s ended: %(ending)s. %(lost)s h of work were lost."),
    "fallback": gettext_noop("From here on demand, to be done by %(deadline)s."),
    "early": gettext_noop(
        "On demand for now: to be done by %(deadline)s costs less this way than waiting for Spot. It goes "
        "back to Spot when there is some."
    ),
    "moving": gettext_noop("Spot is there: machine %(machine)s takes over from %(former)s."),
    "preempts": gettext_noop("It takes the place of launch %(launch_number)s of priority %(priority)s."),
    "extra_ended": gettext_noop("Machine %(machine)s was one too many and was ended."),
    "completed": gettext_noop("The work is done."),
    "failed": gettext_noop("It failed: %(why)s"),
    "missed": gettext_noop("Missed: it could not start by %(at)s."),
    "cancelled": gettext_noop("Cancelled by %(by)s: %(reason)s"),
    "waits": gettext_noop("It waits: %(why)s"),
    "expired": gettext_noop("Nobody approved it in time."),
    "tried": gettext_noop("Tried without launching: %(verdict)s %(code)s"),
    "raised": gettext_noop("%(by)s approved up to %(high)s as %(role)s."),
    "tags_gone": gettext_noop(
        "Machine %(machine)s has lost its tags: it is known by its id and still counted as ours."
    ),
    "priced": gettext_noop("Attempt %(attempt)s cost %(paid)s by the prices of its hours."),
}

ENDINGS = {
    "interrupted": gettext_lazy("taken back by the provider"),
    "preempted": gettext_lazy("a launch of higher priority took its place"),
    "done": gettext_lazy("its work was done"),
    "failed": gettext_lazy("its work failed"),
    "stopped": gettext_lazy("somebody ended it"),
    "cancelled": gettext_lazy("the launch was cancelled"),
    "incomplete": gettext_lazy("not all of its machines came"),
    "moved": gettext_lazy("the work moved to another machine"),
    "surplus": gettext_lazy("the machine that ran before keeps its place"),
    "unknown": gettext_lazy("the provider does not say why"),
}

TRIALS = {
    "allowed": gettext_lazy(
        "The place would take the call. Whether it has a machine then, no place says before."
    ),
    "permission": gettext_lazy("The role may not send this call."),
    "quota": gettext_lazy("A limit of the account forbids this call."),
    "parameters": gettext_lazy("The call is wrong: the place refuses its parameters."),
    "other": gettext_lazy("The place refuses this call."),
    "away": gettext_lazy("The place could not be asked."),
}

# Why a queue has the help that it has.
BURSTS = {
    "off": gettext_lazy("The backlog is within its limit: no help is needed."),
    "on": gettext_lazy("The backlog is above its limit: help is bought."),
    "full": gettext_lazy("The backlog is above its limit, and no more machines are allowed."),
    "draining": gettext_lazy("The backlog is back within its limit: help ends once it is idle."),
    "idle": gettext_lazy("Idle help was ended."),
    "zero": gettext_lazy("The last of the help was ended."),
}

MARKETS = {"spot": gettext_lazy("Spot"), "on-demand": gettext_lazy("on demand")}
# Values that are times, as they are stored; money and prices of an hour, with `currency` beside them; hours.
MOMENTS = frozenset({"at", "deadline"})
AMOUNTS = frozenset({"cost", "spent", "high", "monthly", "budget", "limit"})
PRICES = frozenset({"cap", "price"})
HOURS = frozenset({"hours", "lost"})
# Texts that others said, or that we keep in English.
SAID = frozenset({"message", "reason"})
# Whose a budget is that is no team's.
ALL_OF_IT = gettext_noop("the organisation")

STEPS = {
    "next pool": gettext_lazy("the next offer"),
    "on demand": gettext_lazy("on demand"),
    "wait": gettext_lazy("the same again, later"),
    "look": gettext_lazy("look for the machine"),
    "fail": gettext_lazy("nothing: the request is wrong"),
    "stop": gettext_lazy("nothing: a person must help"),
}


def why_text(code: str, values: Mapping[str, Any]) -> str:
    """A reason in the reader's language; "" for none."""
    return _filled(WHY.get(code, ""), values)


def event_text(kind: str, document: Mapping[str, Any]) -> str:
    """A line of a timeline in the reader's language."""
    told = dict(document)
    if "code_why" in told:
        told["why"] = why_text(str(told["code_why"]), told)
    if "ending" in told:
        told["ending"] = ENDINGS.get(str(told["ending"]), ENDINGS["unknown"])
    if "next" in told:
        told["next"] = STEPS.get(str(told["next"]), told["next"])
    return _filled(EVENTS.get(kind, kind), told)


def late_text(by: timedelta) -> str:
    """Why a launch that was done past its deadline has ended."""
    return why_text("done_late", {"length": duration(by, get_language() or "en")})


def burst_text(why: str) -> str:
    """How a queue's rule stands, in the reader's language; what went wrong as it was said."""
    return str(BURSTS.get(why, why))


class _Known(dict[str, Any]):
    """A value that was not stored shows as a dash: an old row must not break a page."""

    def __missing__(self, key: str) -> str:
        return "–"


def _filled(text: str, values: Mapping[str, Any]) -> str:
    if not text:
        return ""
    currency = str(values.get("currency") or "")
    shown = {key: _shown(key, value, currency) for key, value in values.items()}
    if values.get("code"):
        shown["refusal"] = refusal_text(str(values["code"]))
    return (_(text) % _Known(shown)).strip()


def amount_text(value: Any, currency: str) -> str:
    """Money in a sentence: to the cent, with up to four decimals where it has them; limits are exact."""
    exact = decimal_of(value)
    if exact is None:
        return "–"
    return money(exact, currency, decimals=min(4, max(2, -int(exact.normalize().as_tuple().exponent))))


def _shown(key: str, value: Any, currency: str) -> Any:
    """A value for a reader: money with its currency, times in their zone and language, a dash for none."""
    if value in (None, ""):
        return "–"
    if key in MOMENTS and isinstance(value, str):
        at = datetime.fromisoformat(value.replace("Z", "+00:00"))
        return moment(at, timezone.get_current_timezone(), get_language() or "en", year=True)
    if key == "paid" and currency:
        return paid(value, currency)
    if key in AMOUNTS and currency:
        return amount_text(value, currency)
    if key in PRICES and currency:
        return money_hourly(value, currency)
    if key in HOURS and isinstance(value, int | float):
        return hours(value)
    words = {"market": MARKETS.get(str(value), value), "whose": _(value) if value == ALL_OF_IT else value}
    if key in SAID and isinstance(value, str):
        told = reason_text(value)
        # What others said ends with their full stop; ours follows.
        return told.rstrip(".。") if key == "reason" else told
    return words.get(key, value)
