"""Reading saved workloads; their turns on the calendar."""

from __future__ import annotations

import difflib
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.workloads.models import Workload
from finops.engine.calendar import Occurrence, RepeatingWork, parse_clock, parse_days, zone_of
from finops.engine.workload import WorkloadError

# What a question is made of; the rest of a row says whose it is.
FIELDS = (
    "hours", "provider", "types", "min_vcpu", "min_memory_gib", "gpu", "gpus", "regions", "zones",
    "home_zone", "count", "product", "earliest", "slack_hours", "deadline", "interruptible", "splittable",
    "checkpoint_minutes", "restart_minutes", "data_gib", "data_region", "discount_pct", "hazard_per_hour",
)  # fmt: skip
REPEATING = ("repeat", "done_by", "timezone")
MAX_OCCURRENCES = 100


def workload_list(organisation: Organisation) -> QuerySet[Workload]:
    """The organisation's workloads by name, with owner and team."""
    return Workload.objects.filter(organisation=organisation).select_related("owner", "team")


def workload_find(organisation: Organisation, text: str) -> Workload:
    """The organisation's workload of this name, whatever its case, else of this id. Raises WorkloadError."""
    mine = workload_list(organisation)
    word = " ".join(text.split())
    found = mine.filter(name__iexact=word).first()
    if found is None and word.isascii() and word.isdigit() and len(word) < 18:
        found = mine.filter(pk=int(word)).first()
    if found is not None:
        return found
    names = list(mine.values_list("name", flat=True))
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.5) or names[:3]
    if near:
        told = _("There is no saved workload %(word)s. Nearest: %(near)s.")
    else:
        told = _("There is no saved workload %(word)s; none are saved.")
    raise WorkloadError("workload", told % {"word": word, "near": ", ".join(near)})


def workload_facts(workload: Workload) -> dict[str, Any]:
    """The workload as JSON values, keyed as in the REST answer; null is what was not given."""
    facts: dict[str, Any] = {
        "id": workload.pk,
        "name": workload.name,
        "owner": workload.owner.email if workload.owner else None,
        "team": workload.team.slug if workload.team else None,
    }
    facts |= {name: getattr(workload, name) for name in (*FIELDS, *REPEATING, "created_at", "updated_at")}
    return {
        name: value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
        for name, value in facts.items()
    }


def workload_question(workload: Workload) -> dict[str, Any]:
    """The workload as `advise_launch` takes it; what was left empty is left out.

    A saved discount of 0 is one that was not given: the table of negotiated rates holds.
    """
    names = (*FIELDS, *REPEATING) if workload.repeat else FIELDS
    given = {name: getattr(workload, name) for name in names}
    given["discount_pct"] = workload.discount_pct or None
    return {name: value for name, value in given.items() if value not in (None, "", [])}


def repeating_work(
    *, length: timedelta, slack: timedelta, repeat: str, done_by: str, timezone: str
) -> RepeatingWork | None:
    """The repeating work, None for a single run. Raises WorkloadError with the field and the way out."""
    if not repeat and not done_by:
        return None
    if not repeat or not done_by:
        raise WorkloadError("done_by" if repeat else "repeat", _("Give both repeat and done-by."))
    for field, value, read in (
        ("repeat", repeat, parse_days), ("done_by", done_by, parse_clock), ("timezone", timezone, zone_of),
    ):  # fmt: skip
        try:
            read(value)
        except ValueError as error:
            raise WorkloadError(field, str(error)) from error
    return RepeatingWork(
        length=length,
        due=parse_clock(done_by),
        zone=timezone,
        days=parse_days(repeat),
        flexibility=length + slack,
    )


def workload_occurrences(workload: Workload, *, after: datetime, count: int = 5) -> list[Occurrence]:
    """The next `count` turns that can still be done in time when begun at `after`; [] for a single run.

    Each date is converted on its own, so a turn keeps its clock time over a change of the clock.
    """
    work = repeating_work(
        length=timedelta(hours=workload.hours),
        slack=timedelta(hours=workload.slack_hours or 0.0),
        repeat=workload.repeat,
        done_by=workload.done_by,
        timezone=workload.timezone,
    )
    return [] if work is None else next_turns(work, after=after, count=count)


def next_turns(work: RepeatingWork, *, after: datetime, count: int) -> list[Occurrence]:
    """The next `count` turns of repeating work that can still be done in time when begun at `after`."""
    wanted = max(0, min(count, MAX_OCCURRENCES))
    # At least one turn a week; the two weeks more cover the length of the work and days without a turn.
    until = after + work.length + timedelta(weeks=wanted + 2)
    turns = work.occurrences(after + work.length, until)
    return list(islice((turn for turn in turns if turn.latest_start >= after), wanted))
