"""The deadline strategies played on a trace of Spot availability: a file and a job in, shares of cost out."""

from __future__ import annotations

import math
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.recommendations.services.document import Document, evidence, rounded
from finops.engine.launches.compare import compare
from finops.engine.launches.deadline import Job
from finops.engine.launches.plan_ahead import HALF_LIFE_SECONDS, REPLAN_SECONDS
from finops.engine.workload import WorkloadError
from finops.providers.files.availability_traces import availability_of

# On-demand over Spot of p3.2xlarge in the study that the traces come from (NSDI 2024).
ON_DEMAND_RATIO = 3.15
STARTS = 12
MAX_STARTS = 1000
# Ten weeks; the exact optimum takes time and memory with the square of it.
LONGEST_HOURS = 70 * 24


def simulate_deadline(
    *,
    trace: str,
    work_hours: float,
    deadline_hours: float,
    overhead_hours: float,
    on_demand_ratio: float = ON_DEMAND_RATIO,
    starts: int = STARTS,
    count: int = 1,
    at: datetime | None = None,
) -> Document:
    """The document of `simulate_deadline`. Raises WorkloadError (input) and UnreadableError (the file)."""
    hours = {"work_hours": work_hours, "deadline_hours": deadline_hours, "overhead_hours": overhead_hours}
    for field, value in hours.items():
        if not (math.isfinite(value) and 0 <= value <= LONGEST_HOURS):
            raise WorkloadError(field, _("Out of range: %(value)s") % {"value": value})
    for field, number, most in (("starts", starts, MAX_STARTS), ("count", count, 100_000)):
        if not 1 <= number <= most:
            raise WorkloadError(field, _("Out of range: %(value)s") % {"value": number})
    work, deadline, overhead = (round(value * 3600) for value in hours.values())
    if work <= 0:
        raise WorkloadError("work_hours", _("Out of range: %(value)s") % {"value": work_hours})
    if not (math.isfinite(on_demand_ratio) and on_demand_ratio > 0):
        raise WorkloadError("on_demand_ratio", _("Out of range: %(value)s") % {"value": on_demand_ratio})
    if deadline < work + overhead:
        raise WorkloadError("deadline_hours", _("Not even on-demand from the start meets it."))
    seen = availability_of(trace, count=count)
    try:
        table, played = compare(seen, Job(work, deadline, overhead, on_demand_ratio), starts=starts)
    except ValueError as error:
        raise WorkloadError("trace", str(error)) from error
    return {
        "strategies": {
            name: {"cost_share": rounded(one.cost_share), "missed": one.missed} for name, one in table.items()
        },
        "starts": played,
        "on_demand_ratio": on_demand_ratio,
        "trace": {
            "hours": rounded(seen.hours),
            "gap_seconds": seen.gap_seconds,
            "available_share": rounded(float(seen.available.mean())),
            "count": count,
        },
        "evidence": evidence(
            {},
            at or timezone.now(),
            later_prices=None,
            policy={
                "half_life_hours": HALF_LIFE_SECONDS / 3600,
                "plans_every_hours": REPLAN_SECONDS / 3600,
            },
        ),
    }
