"""Repeating work as part of launch advice: its fixed schedule and its next turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from django.utils.translation import gettext as _

from apps.recommendations import wording
from apps.recommendations.services.document import Document, iso, plan_document, result_document
from apps.workloads import selectors
from finops.engine.advice import Advice, advise
from finops.engine.calendar import RepeatingWork
from finops.engine.plans import Market
from finops.engine.repeating import advise_schedule
from finops.engine.series import PriceBook
from finops.engine.workload import Workload, WorkloadError

TURNS = 5


def repeating_work(workload: Workload, *, repeat: str, done_by: str, timezone: str) -> RepeatingWork | None:
    """The repeating work, None for a single run. Raises WorkloadError with the field and the way out."""
    work = selectors.repeating_work(
        length=timedelta(microseconds=workload.length_us),
        slack=timedelta(microseconds=workload.slack_us),
        repeat=repeat,
        done_by=done_by,
        timezone=timezone,
    )
    if work is not None and workload.deadline is not None:
        raise WorkloadError("deadline", _("Repeating work has hours it may wait, not a deadline."))
    return work


def turns_document(
    workload: Workload, market: Market, work: RepeatingWork, *, names: Mapping[str, str]
) -> list[Document]:
    """Advice for each of the next turns, as it looks at the decision time.

    A turn is one run inside [earliest, due), which is converted on its own date; the prices ahead are
    forecast from what is known at `at`, so a turn is to be asked again when it comes near.
    """
    turns = []
    for turn in selectors.next_turns(work, after=workload.at, count=TURNS):
        asked = replace(workload, earliest=turn.earliest, slack_hours=None, deadline=turn.due)
        advice = advise(asked, market)
        best = advice.best
        turns.append(
            {
                "day": turn.day.isoformat(),
                "earliest": iso(turn.earliest),
                "latest_start": iso(turn.latest_start),
                "due": iso(turn.due),
                "verdict": advice.verdict,
                "sentence": wording.turn(advice, names),
                "plan": None if best is None else plan_document(best, names),
            }
        )
    return turns


def schedule_document(advice: Advice, book: PriceBook, work: RepeatingWork) -> Document | None:
    """Local start, next runs in UTC and the back-test; null when no Spot plan is recommended."""
    best = advice.best
    if best is None or best.series is None:
        return None
    found = advise_schedule(book, best.series, work, at=advice.workload.at)
    start, saving = found.schedule.describe(), found.result.saving_pct
    if saving is None:
        sentence = _("Start at %(start)s; there is too little history to test other hours.") % {
            "start": start
        }
    elif found.worth_it:
        sentence = _("Start at %(start)s; that hour saved %(saving)s on average in the back-test.") % {
            "start": start, "saving": wording.percent(saving),
        }  # fmt: skip
    else:
        sentence = _("Start at %(start)s; no other hour is worth it: %(saving)s in the back-test.") % {
            "start": start, "saving": wording.percent(saving),
        }  # fmt: skip
    return {
        "start": start,
        "zone": best.zone,
        "sentence": sentence,
        "worth_it": found.worth_it,
        "next": [[iso(run.start), iso(run.end)] for run in found.upcoming],
        "backtest": result_document(found.result, advice.workload.count),
    }
