"""Own commitments hour by hour: the document of the series endpoint, and what the page draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.commitment_hours import MOST_HOURS, HourlyUse, Hours, commitment_hours
from apps.ingest.selectors import current_snapshots
from apps.recommendations.services.commitments_bill import bill_use
from apps.recommendations.services.commitments_coverage import coverage_series, grain_word
from apps.recommendations.services.commitments_owned import Owned, month_of, owned_at
from apps.recommendations.services.document import Document, evidence, iso
from finops.engine.workload import WorkloadError

HOUR = timedelta(hours=1)
HOURS_A_WEEK = 168


def hours_of(own: Owned, organisation: Organisation | None, start: datetime, end: datetime) -> Hours:
    """Every commitment of the bill over the hours of [start, end), whole hours of UTC."""
    rates = {
        one.name: (use.rate if (use := month_of(one, own.month)) is not None else None)
        for one in own.found
        if one.name
    }
    return commitment_hours(
        organisation=organisation, start=start, end=end, snapshots=own.snapshots, rates=rates
    )


def commitment_series(
    *,
    at: datetime | None = None,
    organisation: Organisation | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    ids: Sequence[str] = (),
    snapshots: Mapping[str, int] | None = None,
) -> Document:
    """Hours of [start, end), by default the judged billing month up to the decision time. `ids`: the bill's
    or the short ids, empty: all. Null is an hour that no bill reaches. Raises WorkloadError.
    """
    moment = (at or timezone.now()).astimezone(UTC)
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    own = owned_at(at=moment, organisation=organisation, snapshots=chosen)
    first = _whole(start or own.start)
    last = min(_whole(end or own.end, up=True), _whole(moment, up=True))
    length = int((last - first) / HOUR)
    if not 0 < length <= MOST_HOURS:
        if start is None and end is None and own.month is None:
            return _document(own, Hours(first, 0), {}, ids, None)
        raise WorkloadError(
            "to", _("The window must end after it starts, at most %(n)d hours later.") % {"n": MOST_HOURS}
        )
    known = {name for one in own.found for name in (one.name, one.id) if name}
    strange = sorted(set(ids) - known)
    if strange:
        raise WorkloadError("id", _("There is no commitment %(id)s in this answer.") % {"id": strange[0]})
    use = bill_use(organisation=organisation, start=first, hours=length, snapshots=chosen)
    hours = hours_of(own, organisation, first, last)
    return _document(own, hours, coverage_series(use), ids, use.grain_hours)


def _whole(moment: datetime, *, up: bool = False) -> datetime:
    floor = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return floor + HOUR if up and floor < moment else floor


def _document(
    own: Owned,
    hours: Hours,
    coverage: Mapping[str, list[float | None]],
    ids: Sequence[str],
    grain: int | None,
) -> Document:
    short = {one.name: one.id for one in own.found if one.name}
    asked = set(ids)
    rows = [
        {"id": name, "short_id": short.get(name, name), **_arrays(use)}
        for name, use in hours.commitments.items()
        if not asked or asked & {name, short.get(name, name)}
    ]
    return {
        "from": iso(hours.start),
        "to": iso(hours.start + hours.length * HOUR),
        "hours": hours.length,
        "grain": grain_word(max(grain or 1, hours.grain_hours)),
        "commitments": rows,
        "coverage": coverage,
        "evidence": evidence(own.snapshots, own.at, later_prices=None),
    }


def _arrays(use: HourlyUse) -> Document:
    settled = use.settled
    return {
        "unit": "hour of its own size" if use.unit == "hour" else "money",
        "bought": _list(settled.bought),
        "used": _list(settled.used),
        "idle": _list(settled.idle),
        "over": _list(settled.over),
        "idle_cost": _list(use.cost_of_idle),
        "on_demand_cost": _list(use.list_cost),
    }


def _list(values: np.ndarray) -> list[float | None]:
    """Six decimals, as bills have; unknown is None."""
    return [None if np.isnan(value) else round(float(value), 6) + 0.0 for value in values]


def by_hour_of_week(values: np.ndarray, start: datetime) -> list[float | None]:
    """Means of 168 hours from Monday 00:00 UTC; None where no hour is known."""
    place = (np.arange(values.size) + start.weekday() * 24 + start.hour) % HOURS_A_WEEK
    found: list[float | None] = []
    for hour in range(HOURS_A_WEEK):
        here = values[place == hour]
        here = here[~np.isnan(here)]
        found.append(float(here.mean()) if here.size else None)
    return found
