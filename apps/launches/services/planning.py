"""Making a plan: the product's own advice for the work, turned into offers in order, times and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, Team, User
from apps.launches.models import MAX_PRIORITY, LaunchPlan, LaunchTarget, PlanState, Preemption
from apps.launches.models import Executor as Kind
from apps.launches.selectors.values import iso
from apps.launches.services.amounts import amount_fault
from apps.launches.services.approving import approvals_needed, own_budget_fault, plan_audit, plan_by_rule
from apps.launches.services.offers import Costs, costs_of, offers_from_advice, own_offers
from apps.launches.services.timeline import plan_event
from apps.recommendations.services import advise_launch
from apps.recommendations.services.stated import reason_of
from apps.workloads.models import Workload
from apps.workloads.selectors import workload_question
from finops.engine.calendar import local_instant, parse_clock, parse_days, zone_of
from finops.engine.launches.last_moment import Pace, chance_in_time, may_start_spot, seconds_to_fallback
from finops.engine.workload import LAST
from finops.engine.workload import Workload as EngineWorkload

SCALE = Decimal("1E-10")
MAX_START_MINUTES = 7 * 24 * 60
# Machines of one turn: each is a row, a week of turns ahead.
MAX_COUNT = 1000
# How a job starts and goes on; the rest of it are the fields of a workload.
STARTING = ("user_data", "max_price", "command", "image")
# Fields of a wish that are given as they are.
WISHED = (
    "name", "start", "priority", "preemption", "start_minutes", "repeat", "clock", "timezone",
    "checkpoint_location", "checkpoint_marker", "budget", "gang", "reason", "request_key",
)  # fmt: skip
# So much prices of a repeating plan may rise before a turn asks again.
HEADROOM = Decimal("0.1")
RETRY = {"attempts": (1, 100)}


@dataclass(frozen=True)
class Wish:
    """What is asked for. `question`: the fields of `advise_launch`; with `workload` they are its own.

    `start` fixes the first due time, else advice chooses it. `deadline` ends the work; `repeat` and `clock`
    make a turn of each such day, whose deadline is as far from its due time.
    """

    target: LaunchTarget
    name: str
    question: Mapping[str, Any] = field(default_factory=dict)
    workload: Workload | None = None
    team: Team | None = None
    owner: User | None = None
    job: Mapping[str, Any] = field(default_factory=dict)
    start: datetime | None = None
    priority: int = 0
    preemption: str = Preemption.NEVER
    start_minutes: int = 60
    repeat: str = ""
    clock: str = ""
    timezone: str = ""
    checkpoint_location: str = ""
    checkpoint_marker: str = ""
    retry: Mapping[str, Any] = field(default_factory=dict)
    budget: Decimal | None = None
    gang: bool = False
    reason: str = ""
    request_key: str = ""


def plan_make(*, organisation: Organisation, actor: Actor, wish: Wish, now: datetime) -> LaunchPlan:
    """Store a plan that waits for its approval, or that a rule approves.

    The same `request_key` again gives the plan that it made. Raises ValidationError by field, WorkloadError.
    """
    if wish.request_key:
        former = LaunchPlan.objects.filter(organisation=organisation, request_key=wish.request_key).first()
        if former is not None:
            return _the_same(former, wish)
    row = plan_draft(organisation=organisation, actor=actor, wish=wish, now=now)
    try:
        with transaction.atomic():
            row.state = PlanState.REQUESTED
            row.save()
            plan_event(row, "requested", by=actor.label)
            plan_audit(row, actor, "request", before=None)
            plan_by_rule(row, now=now)
    except IntegrityError:
        former = LaunchPlan.objects.filter(organisation=organisation, request_key=wish.request_key).first()
        if not wish.request_key or former is None:
            raise
        return _the_same(former, wish)
    return row


def plan_draft(*, organisation: Organisation, actor: Actor, wish: Wish, now: datetime) -> LaunchPlan:
    """The plan as it would be stored; nothing is stored. Raises as `plan_make`."""
    _check(organisation, wish, now)
    question = dict(workload_question(wish.workload) if wish.workload else wish.question)
    if not 1 <= int(question.get("count", 1)) <= MAX_COUNT:
        raise ValidationError({"count": _("Between 1 and %(most)d.") % {"most": MAX_COUNT}})
    turn = _first_turn(wish, now)
    if turn is not None:
        question = {key: value for key, value in question.items() if key not in REPEATS}
        question |= {"earliest": turn}
        if question.get("deadline") is None:
            question.setdefault("slack_hours", 0.0)
    advice, offers = _offers(organisation, wish, question, turn, now)
    hours = float(question["hours"])
    due = turn or max(now, _moment(offers[0].get("start")) or now)
    deadline = _deadline(question, due, wish)
    job = _plain({**question, **{key: wish.job[key] for key in STARTING if wish.job.get(key)}})
    pace = _pace(job, hours, due, deadline)
    offers = _by_safety(offers, pace, job)
    costs = costs_of(offers, hours=hours, restart_hours=pace.overhead / 3600, slack_hours=_hours(pace.slack))
    if wish.repeat:
        costs = _with_headroom(costs)
    count = int(question.get("count") or 1)
    row = LaunchPlan(
        organisation=organisation, team=wish.team or (wish.workload.team if wish.workload else None),
        owner=wish.owner or (wish.workload.owner if wish.workload else None), workload=wish.workload,
        target=wish.target, name=" ".join(wish.name.split()), job=job, count=count, hours=hours,
        gang=wish.gang and count > 1,
        document=_document(advice, offers, due, deadline, pace, costs, job), priority=wish.priority,
        preemption=wish.preemption, due_at=due, start_minutes=wish.start_minutes,
        deadline_hours=None if deadline is None else (deadline - due).total_seconds() / 3600,
        repeat=wish.repeat, clock=wish.clock, timezone=wish.timezone,
        checkpoint_location=wish.checkpoint_location, checkpoint_marker=wish.checkpoint_marker,
        retry=dict(wish.retry), cost_low=_scaled(costs.low), cost=_scaled(costs.expected),
        cost_high=_scaled(costs.high), currency=costs.currency, budget=wish.budget,
        reason=reason_of(wish.reason), request_key=wish.request_key, requested_at=now,
        requested_kind=actor.kind, requested_id=actor.id, requested_by=actor.label,
        approvals_needed=approvals_needed(_scaled(costs.high), costs.currency),
        valid_until=now + timedelta(days=settings.LAUNCH_PLAN_VALID_DAYS), stated_at=now,
    )  # fmt: skip
    if fault := own_budget_fault(row):
        raise ValidationError({"budget": fault})
    return row


def _offers(
    organisation: Organisation, wish: Wish, question: dict[str, Any], turn: datetime | None, now: datetime
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(advice, {} for machines of one's own; what is tried in order). Raises ValidationError for nothing."""
    advice: dict[str, Any] = {}
    if wish.target.executor in {Kind.AWS, Kind.SIMULATED}:
        question["provider"] = wish.target.provider
        advice = advise_launch(**question, organisation=organisation, at=now.replace(second=0, microsecond=0))
        offers = offers_from_advice(advice, question, organisation, now, fixed_start=turn is not None)
    else:
        _check_work(question, now)
        offers = own_offers(wish.target, question)
    if not offers:
        raise ValidationError(
            {"plan": advice.get("sentence") or _("There is nothing to launch on: load prices first.")}
        )
    return advice, offers


def _with_headroom(costs: Costs) -> Costs:
    """The worst case of a turn that is due weeks later: prices move, and each turn is held against it."""
    if costs.high is None:
        return costs
    return costs._replace(
        high=costs.high * (1 + HEADROOM), high_is=f"{costs.high_is}, prices up by {HEADROOM:.0%}"
    )


REPEATS = ("repeat", "done_by", "timezone")
_FOUND_ANEW = frozenset({"provider", "earliest", "slack_hours"})


def _check_work(question: Mapping[str, Any], now: datetime) -> None:
    """The same limits for work on machines of one's own, which no advice looks at. Raises WorkloadError."""
    plain: dict[str, Any] = {"regions": ("own",), "product": "own"}
    if question.get("slack_hours") is None and question.get("deadline") is None:
        plain["slack_hours"] = 0.0
    if not any(question.get(name) for name in ("types", "min_vcpu", "min_memory_gib", "gpu", "gpus")):
        plain["types"] = ("own",)
    known = EngineWorkload.__dataclass_fields__
    given = {name: value for name, value in question.items() if value not in (None, []) and name in known}
    EngineWorkload(**{"at": now, **given, **plain})


def _check(organisation: Organisation, wish: Wish, now: datetime) -> None:
    """Raises ValidationError by field for what cannot be a plan."""
    faults: dict[str, str] = {}
    name = " ".join(wish.name.split())
    if not name or len(name) > 100 or "\x00" in name:
        faults["name"] = _("A name of at most 100 characters.")
    if wish.target.organisation_id != organisation.pk:
        faults["target"] = _("There is no such target.")
    for field_name in ("workload", "team"):
        row = getattr(wish, field_name)
        if row is not None and row.organisation_id != organisation.pk:
            faults[field_name] = _("It belongs to another organisation.")
    if (
        wish.owner is not None
        and not Membership.objects.filter(user=wish.owner, organisation=organisation).exists()
    ):
        faults["owner"] = _("No member of this organisation.")
    late = timedelta(minutes=max(1, wish.start_minutes))
    if wish.start is not None and not now - late <= wish.start <= LAST:
        faults["start"] = _("It has passed, or is further ahead than anybody plans.")
    if wish.gang and wish.target.executor not in {Kind.AWS, Kind.KUBERNETES, Kind.SIMULATED}:
        faults["gang"] = _("Only a cloud or a cluster starts machines together.")
    faults |= _number_faults(wish) | _repeat_faults(wish)
    if faults:
        raise ValidationError(faults)


def _number_faults(wish: Wish) -> dict[str, str]:
    faults: dict[str, str] = {}
    if not 0 <= wish.priority <= MAX_PRIORITY:
        faults["priority"] = _("From 0 to %(most)d.") % {"most": MAX_PRIORITY}
    if wish.preemption not in Preemption.values:
        faults["preemption"] = " / ".join(Preemption.values)
    # Workers take what is due: with no minute at all it would be missed each time.
    if not 1 <= wish.start_minutes <= MAX_START_MINUTES:
        faults["start_minutes"] = _("Between 1 and %(most)d.") % {"most": MAX_START_MINUTES}
    if wish.budget is not None and (fault := amount_fault(wish.budget)):
        faults["budget"] = fault
    if wish.job.get("max_price") is not None and (fault := amount_fault(Decimal(wish.job["max_price"]))):
        faults["max_price"] = fault
    if wish.checkpoint_marker and not wish.checkpoint_location:
        faults["checkpoint_location"] = _("A marker lies in a location: name it.")
    for key, value in wish.retry.items():
        low, high = RETRY.get(key, (1, 0))
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            faults["retry"] = _("attempts: from 1 to 100.")
    return faults


def _repeat_faults(wish: Wish) -> dict[str, str]:
    given = (wish.repeat, wish.clock, wish.timezone)
    if not any(given):
        return {}
    if not all(given):
        return {"repeat": _("Give repeat, clock and timezone together.")}
    if wish.start is not None:
        return {"start": _("A repeating plan starts by its clock.")}
    for name, value, read in (
        ("repeat", wish.repeat, parse_days),
        ("clock", wish.clock, parse_clock),
        ("timezone", wish.timezone, zone_of),
    ):  # fmt: skip
        try:
            read(value)
        except ValueError as error:
            return {name: str(error)}
    return {}


def _first_turn(wish: Wish, now: datetime) -> datetime | None:
    """The fixed first due time, None where advice chooses it."""
    if not wish.repeat:
        return wish.start if wish.start is None else max(wish.start, now)
    zone, minutes, days = zone_of(wish.timezone), parse_clock(wish.clock), parse_days(wish.repeat)
    day = now.astimezone(zone).date()
    while True:
        at = local_instant(day, minutes, zone)
        if at >= now and day.weekday() in days:
            return at
        day += timedelta(days=1)


def _deadline(question: Mapping[str, Any], due: datetime, wish: Wish) -> datetime | None:
    """When the work must be done: as given, else due, work and slack; none where slack was not said."""
    hours = float(question["hours"])
    if question.get("deadline") is not None:
        given = question["deadline"]
        if given < due + timedelta(hours=hours):
            raise ValidationError({"deadline": _("The work does not fit before the deadline.")})
        return given
    slack = question.get("slack_hours")
    if slack is None:
        return None
    earliest = question.get("earliest") or due
    return max(earliest + timedelta(hours=hours + float(slack)), due + timedelta(hours=hours))


def _pace(job: Mapping[str, Any], hours: float, due: datetime, deadline: datetime | None) -> Pace:
    between = job.get("checkpoint_minutes")
    return Pace(
        work=hours * 3600,
        left=None if deadline is None else (deadline - due).total_seconds(),
        overhead=float(job.get("restart_minutes") or 0.0) * 60,
        between=None if between is None else float(between) * 60,
    )


def _by_safety(offers: list[dict[str, Any]], pace: Pace, job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """On demand only where the work may not be interrupted or Spot is not safe from the start."""
    if job.get("interruptible", True) and may_start_spot(pace):
        return offers
    kept = [one for one in offers if one["market"] != "spot"]
    if not kept:
        raise ValidationError(
            {"deadline": _("Spot is not safe for this deadline and no on-demand price is known.")}
        )
    return kept


def _document(
    advice: Mapping[str, Any], offers: list[dict[str, Any]], due: datetime, deadline: datetime | None,
    pace: Pace, costs: Costs, job: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """What the plan rests on, as every way in shows it."""
    spot = offers[0]["market"] == "spot"
    wait = seconds_to_fallback(pace) if spot else None
    rate = job.get("hazard_per_hour")
    return {
        "sentence": advice.get("sentence"),
        "offers": offers,
        "fallback_at": None if wait is None else iso(due + timedelta(seconds=math.floor(wait))),
        "deadline": None if deadline is None else iso(deadline),
        "chance_on_spot": round(chance_in_time(pace, rate_per_hour=float(rate)), 6)
        if spot and rate is not None
        else None,
        "kept_by": "on-demand" if any(one["market"] != "spot" for one in offers) else "nothing",
        "high_is": costs.high_is,
        "excluded": list(advice.get("excluded") or [])[:50],
        "waiting": advice.get("waiting"),
        "backtest": advice.get("backtest"),
        "evidence": advice.get("evidence") or {"engine": settings.OFFPEAK_VERSION, "snapshots": {}},
    }


def _the_same(former: LaunchPlan, wish: Wish) -> LaunchPlan:
    """The plan that a key made. Raises ValidationError where the key was another request's."""
    told = (
        " ".join(wish.name.split()), wish.target.pk, wish.priority, wish.repeat, wish.clock,
        wish.workload.pk if wish.workload else None, wish.gang and former.count > 1,
    )  # fmt: skip
    kept = (
        former.name, former.target_id, former.priority, former.repeat, former.clock, former.workload_id,
        former.gang,
    )  # fmt: skip
    asked = _plain({**({} if wish.workload else wish.question), **wish.job})
    # The market and the times of a plan are found anew for each.
    asked = {key: value for key, value in asked.items() if value != "" and key not in _FOUND_ANEW}
    if told != kept or any(former.job.get(key) != value for key, value in asked.items()):
        raise ValidationError({"state": _("Another plan was made with this key.")})
    return former


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON values: a plan is read back as it was made."""
    return {
        key: iso(value) if isinstance(value, datetime) else list(value) if isinstance(value, tuple) else value
        for key, value in values.items()
        if value is not None
    }


def _moment(text: str | None) -> datetime | None:
    return None if not text else datetime.fromisoformat(text.replace("Z", "+00:00"))


def _hours(seconds: float) -> float:
    return seconds / 3600


def _scaled(value: Decimal | None) -> Decimal | None:
    return None if value is None else value.quantize(SCALE)
