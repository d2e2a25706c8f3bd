"""What starting a repeating workload at its new hour saved, as far as prices and the bill prove it.

Counterfactual: the hours that the bill shows for a turn, at the mean Spot price of the same place over the
window in which the turn would have run before (from its first allowed start on). Actual: the amortised cost
of those lines. Lines belong to the workload by a tag on its instances; without it nothing can be proved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_noop as noop

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots
from apps.prices.selectors.exact import ExactSeries, exact_series
from apps.recommendations.kinds import RealisedMonth
from apps.recommendations.models import Recommendation
from apps.recommendations.services.bill_months import MonthState, TaggedUse, month_state, tagged_use
from apps.recommendations.services.realised import NO_BILL, claim_months
from apps.workloads.selectors import repeating_work
from finops.engine.calendar import Occurrence
from finops.engine.series import exact_cost, hours_to_us, to_us

# Tag the instances of a workload with its name under this key, and the bill tells them apart.
TAG = "offpeak-workload"
HOUR = timedelta(hours=1)

NO_TAG = noop("No instance line of this month is tagged offpeak-workload with the name of the workload.")
DAILY = noop("The bill has daily lines; an hourly export is needed to see when a turn ran.")
NO_PRICE = noop("No Spot price is known for the hours in which a turn would have run.")
NO_COST = noop("Lines of the workload have no effective cost.")
OTHER_CURRENCY = noop("The bill is in another currency than the recommendation.")


@dataclass(frozen=True, slots=True)
class Basis:
    """What was fixed at acceptance."""

    provider: str
    region: str
    zone: str
    type: str
    product: str
    currency: str
    hours: float
    slack_hours: float
    repeat: str
    done_by: str
    timezone: str
    tag: str
    value: str


def counterfactual(row: Recommendation) -> Mapping[str, Any]:
    """Where and when the workload would have gone on to run: from its first allowed start, at that price."""
    document, inputs = row.document, row.evidence["inputs"]
    return {
        "provider": inputs["provider"],
        "region": document["region"],
        "zone": document["zone"],
        "type": document["type"],
        "product": inputs["product"],
        "currency": row.currency,
        "hours": inputs["hours"],
        "slack_hours": inputs["slack_hours"] or 0.0,
        "repeat": inputs["repeat"],
        "done_by": inputs["done_by"],
        "timezone": inputs["timezone"],
        "tag": TAG,
        "value": document["name"],
    }


def realised(
    row: Recommendation, organisation: Organisation, now: datetime
) -> Sequence[RealisedMonth] | None:
    """The months of an accepted row."""
    fixed = (row.counterfactual or {}).get("basis") or {}
    basis = Basis(**{name: fixed[name] for name in Basis.__dataclass_fields__})
    snapshots = current_snapshots()
    series = exact_series(
        provider=basis.provider, region=basis.region, instance_type=basis.type, zone_key=basis.zone,
        product=basis.product, snapshots=snapshots, currency=basis.currency,
    )  # fmt: skip
    evidence = {"snapshots": {table: str(number) for table, number in sorted(snapshots.items())}}
    found = []
    for month, low, high in claim_months(row, now):
        state = month_state(month, organisation=organisation, now=now)
        if not state.delivered:
            found.append(RealisedMonth(month, None, None, reason=NO_BILL))
            continue
        turns = _turns(basis, low, high)
        last = turns[-1].due if turns else high
        lines = tagged_use(
            basis.tag, basis.value, start=_hour(low), end=max(high, last), organisation=organisation,
            snapshots=snapshots,
        )  # fmt: skip
        found.append(
            _month(RealisedMonth(month, None, None, evidence=evidence), basis, turns, lines, series, state)
        )
    return found


def _turns(basis: Basis, low: datetime, high: datetime) -> list[Occurrence]:
    """Turns that may first begin in [low, high)."""
    work = repeating_work(
        length=timedelta(hours=basis.hours), slack=timedelta(hours=basis.slack_hours), repeat=basis.repeat,
        done_by=basis.done_by, timezone=basis.timezone,
    )  # fmt: skip
    if work is None:
        return []
    found = work.occurrences(low, high + work.flexibility + timedelta(days=1))
    return [turn for turn in found if low <= turn.earliest < high]


def _month(
    empty: RealisedMonth,
    basis: Basis,
    turns: Sequence[Occurrence],
    lines: Sequence[TaggedUse],
    series: ExactSeries,
    state: MonthState,
) -> RealisedMonth:
    """Both sides of one month, or the reason why they are not known."""

    def unknown(reason: str) -> RealisedMonth:
        return RealisedMonth(empty.month, None, None, reason=reason, evidence=empty.evidence)

    by_turn: dict[int, list[TaggedUse]] = defaultdict(list)
    for line in lines:
        place = _turn_of(line, turns)
        if place is not None:
            by_turn[place].append(line)
    kept = [line for group in by_turn.values() for line in group]
    if not kept:
        return unknown(NO_TAG)
    if any(line.end - line.start > HOUR + timedelta(seconds=1) for line in kept):
        return unknown(DAILY)
    if any(line.currency != basis.currency for line in kept):
        return unknown(OTHER_CURRENCY)
    if any(line.without_cost for line in kept):
        return unknown(NO_COST)
    would = Decimal(0)
    for place, group in by_turn.items():
        price = _mean_price(series, turns[place].earliest, basis.hours)
        if price is None:
            return unknown(NO_PRICE)
        would += price * sum((line.hours for line in group), Decimal(0))
    did = sum((line.cost for line in kept), Decimal(0))
    return RealisedMonth(empty.month, would, did, complete=state.closed, evidence=empty.evidence)


def _turn_of(line: TaggedUse, turns: Sequence[Occurrence]) -> int | None:
    """The last turn that may have begun when the line began; None before the first one."""
    for place in range(len(turns) - 1, -1, -1):
        if _hour(turns[place].earliest) <= line.start:
            return place
    return None


def _mean_price(series: ExactSeries, start: datetime, hours: float) -> Decimal | None:
    """Price of an instance-hour over the run from `start`; None where a part of it is not known."""
    begin = to_us(start)
    answer = exact_cost(
        series.times, series.prices, series.known, start_us=begin, end_us=begin + hours_to_us(hours)
    )
    return None if answer.value is None else answer.value / Decimal(repr(hours))


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
