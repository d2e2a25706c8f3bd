"""Repeating workloads whose fixed start is worth changing, as recommendations of the kind `launch_window`,
and those that save by another zone alone (`launch_places`).

The answer is that of launch advice, asked now for each saved workload that repeats. Its schedule says which
start on the clock was cheapest over past turns, tested walk-forward against starting as soon as allowed. A
row exists only where the 90 % interval of that saving lies above 0: no window, no row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Max

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots, price_snapshots
from apps.recommendations.models import InboxLook
from apps.recommendations.services import launch_places
from apps.recommendations.services.document import decimal_text, iso
from apps.recommendations.services.inbox import Finding, Published, publish
from apps.recommendations.services.launch import advise_launch
from apps.workloads.models import Workload
from apps.workloads.selectors import repeating_work, workload_facts, workload_list, workload_question
from finops.engine.calendar import Occurrence
from finops.engine.workload import WorkloadError
from finops.fingerprint import code_fingerprint

log = structlog.get_logger(__name__)

KIND = "launch_window"
# Whole weeks, so that the number of turns does not hang on the weekday on which it was looked.
CLAIM = timedelta(weeks=13)
MONTH = timedelta(hours=730)
# Live prices change the lake every few minutes; a schedule of four weeks does not move so fast.
LEAST_PAUSE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look did. `state`: looked, seen (nothing new)."""

    state: str
    published: Published | None = None
    looked: int = 0
    found: int = 0


def launch_rows_publish(*, organisation: Organisation, now: datetime, again: bool = False) -> Looked:
    """Ask launch advice for each repeating workload and publish what is worth it; `again`: also unchanged.

    Safe to run twice and at the same time: an older look changes nothing of a newer one.
    """
    snapshots = current_snapshots()
    workloads = list(workload_list(organisation).exclude(repeat=""))
    seen = _seen(snapshots)
    last = InboxLook.objects.filter(organisation=organisation, kind=KIND).first()
    if last is not None and not again and not _due(last, seen, organisation, now):
        if last.seen == seen:  # looked, and nothing has changed
            InboxLook.objects.filter(pk=last.pk, at__lt=now).update(at=now)
        return Looked("seen")
    found: dict[str, list[Finding]] = {KIND: [], launch_places.KIND: []}
    problems: list[dict[str, str]] = []
    unknown: list[str] = []
    for workload in workloads:
        try:
            made, reason = _findings(workload, organisation, snapshots, now)
        except WorkloadError as error:
            made, reason = {}, error.message
        for kind, finding in made.items():
            found[kind].append(finding)
        if reason:
            problems.append({"name": workload.name, "reason": reason})
            unknown.append(subject_of(workload))
    worth = len({finding.subject for group in found.values() for finding in group})
    with transaction.atomic():
        given: dict[str, Any] = {"organisation": organisation, "now": now, "whole": True}
        done = publish(KIND, found[KIND], **given, not_judged=unknown)
        publish(launch_places.KIND, found[launch_places.KIND], **given, not_judged=unknown)
        InboxLook.objects.update_or_create(
            organisation=organisation,
            kind=KIND,
            defaults={
                "at": now, "seen": seen, "looked": len(workloads), "found": worth, "problems": problems,
            },
        )  # fmt: skip
    return Looked("looked", done, len(workloads), worth)


def subject_of(workload: Workload) -> str:
    """The stable key of a workload."""
    return f"workload:{workload.pk}"


def _seen(snapshots: Mapping[str, int]) -> str:
    parts = [code_fingerprint(), sorted(price_snapshots(snapshots).items())]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _due(last: InboxLook, seen: str, organisation: Organisation, now: datetime) -> bool:
    mine = Workload.objects.filter(organisation=organisation).exclude(repeat="")
    changed = mine.aggregate(newest=Max("updated_at"))["newest"]
    if mine.count() != last.looked or (changed is not None and changed > last.at):
        return True
    return last.seen != seen and now - last.at >= LEAST_PAUSE


def _findings(
    workload: Workload, organisation: Organisation, snapshots: Mapping[str, int], now: datetime
) -> tuple[dict[str, Finding], str]:
    """Findings by kind; with the reason why the start on the clock cannot be judged, "" where it can."""
    moment = now.replace(second=0, microsecond=0)
    answer = advise_launch(
        at=moment, organisation=organisation, snapshots=snapshots, **workload_question(workload)
    )
    if answer["verdict"] == "cannot judge":
        return {}, str(answer["sentence"])
    turns = _turns(workload, moment)
    if not turns:
        return {}, ""
    window, reason = _window(answer)
    documents = {KIND: window, launch_places.KIND: launch_places.place_document(answer)}
    made = {
        kind: _finding(workload, answer, document, turns)
        for kind, document in documents.items()
        if document is not None
    }
    return made, reason


def _window(answer: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The start on the clock; without one the reason why it cannot be judged, "" where there is no window."""
    schedule = answer.get("schedule")
    if schedule is None:
        return None, ""
    test = schedule["backtest"]
    if test["low"] is None:  # fewer turns or weeks than an interval needs
        return None, str(schedule["sentence"])
    if not schedule["worth_it"]:
        return None, ""
    best = next(plan for plan in answer["plans"] if plan["rank"] == 1)
    mean = Decimal(test["mean_cost"])
    return {
        "start": schedule["start"],
        "zone": schedule["zone"],
        "zone_name": best["zone_name"],
        "region": best["region"],
        "type": best["type"],
        "market": best["market"],
        "currency": answer["currency"],
        "cost_now": decimal_text(_rounded(mean / (1 - _share(test["saving_pct"])))),
        "cost_after": decimal_text(mean),
        "backtest": test,
        "next": schedule["next"],
    }, ""


def _finding(
    workload: Workload, answer: Mapping[str, Any], document: Mapping[str, Any], turns: Sequence[Occurrence]
) -> Finding:
    """What saves `backtest` on each turn of the claim."""
    test = document["backtest"]
    base = Decimal(test["mean_cost"]) / (1 - _share(test["saving_pct"]))
    start, end = turns[0].earliest, turns[0].earliest + CLAIM
    count = sum(turn.earliest < end for turn in turns)
    low, expected, high = (base * _share(test[name]) * count for name in ("low", "saving_pct", "high"))
    return Finding(
        subject=subject_of(workload),
        document={
            **document,
            "workload": workload.pk,
            "name": workload.name,
            "hours": workload.hours,
            "count": workload.count,
            "months": round((end - start) / MONTH, 4),
            "turns": count,
        },
        claims=(subject_of(workload),),
        claim_start=start,
        claim_end=end,
        currency=answer["currency"],
        saving_low=_rounded(low),
        saving=_rounded(expected),
        saving_high=_rounded(high),
        monthly_saving=_rounded(expected * Decimal(MONTH / (end - start))),
        one_time=Decimal(0),
        effort="low",
        reversibility="full",
        evidence={**answer["evidence"], "inputs": _inputs(workload)},
        team=workload.team.slug if workload.team else None,
        owner_id=workload.owner_id,
    )


def _turns(workload: Workload, now: datetime) -> Sequence[Occurrence]:
    """Turns that begin after `now`, for a claim's length and the wait for the first one."""
    work = repeating_work(
        length=timedelta(hours=workload.hours),
        slack=timedelta(hours=workload.slack_hours or 0.0),
        repeat=workload.repeat,
        done_by=workload.done_by,
        timezone=workload.timezone,
    )
    if work is None:
        return []
    until = now + CLAIM + timedelta(days=8) + work.flexibility
    return [turn for turn in work.occurrences(now, until) if turn.earliest >= now]


def _inputs(workload: Workload) -> dict[str, Any]:
    facts = workload_facts(workload)
    return {name: value for name, value in facts.items() if name not in {"owner", "team", "created_at"}}


def _share(percent: float) -> Decimal:
    return Decimal(repr(percent)) / 100


def _rounded(amount: Decimal) -> Decimal:
    """Six decimals: more would be noise."""
    return amount.quantize(Decimal("0.000001"))


def launch_rows_all(*, now: datetime) -> int:
    """Look for every organisation that has repeating workloads or rows of them; returns how many were new."""
    wanted = set(Workload.objects.exclude(repeat="").values_list("organisation", flat=True))
    wanted |= set(InboxLook.objects.filter(kind=KIND).values_list("organisation", flat=True))
    made = 0
    for organisation in Organisation.objects.filter(pk__in=wanted).order_by("pk"):
        done = launch_rows_publish(organisation=organisation, now=now)
        log.info("launch_windows_looked", organisation=organisation.slug, at=iso(now), state=done.state)
        made += done.published.made if done.published else 0
    return made
