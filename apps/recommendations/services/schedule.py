"""The fixed schedule of repeating work, as part of launch advice."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext as _

from apps.recommendations import wording
from apps.recommendations.services.document import Document, iso, result_document
from apps.workloads import selectors
from finops.engine.advice import Advice
from finops.engine.calendar import RepeatingWork
from finops.engine.repeating import advise_schedule
from finops.engine.series import PriceBook
from finops.engine.workload import Workload


def repeating_work(workload: Workload, *, repeat: str, done_by: str, timezone: str) -> RepeatingWork | None:
    """The repeating work, None for a single run. Raises WorkloadError with the field and the way out."""
    return selectors.repeating_work(
        length=timedelta(microseconds=workload.length_us),
        slack=timedelta(microseconds=workload.slack_us),
        repeat=repeat,
        done_by=done_by,
        timezone=timezone,
    )


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
        "next": [[iso(run.start), iso(run.end)] for run in found.upcoming],
        "backtest": result_document(found.result, advice.workload.count),
    }
