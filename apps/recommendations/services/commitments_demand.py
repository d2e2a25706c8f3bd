"""Demand: hourly use of instances after all that is committed, its shape, and what may come.

One row a provider, region, zone, platform, tenancy and family, in normalised units where every type of the
family has a factor, else in instances. Commitments count as they are at the decision: what an ended one paid
for is on demand again, a reservation that began within the look-back takes its part of the hours before.
Of a savings plan that began within it only the hours since count: its rates are not in the bill before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.commitments import Standing
from apps.ingest.selectors import current_snapshots
from apps.recommendations.services.commitments_bill import BillUse, Changes, bill_use
from apps.recommendations.services.commitments_coverage import grain_word
from apps.recommendations.services.commitments_owned import owned_at
from apps.recommendations.services.document import Document, check_moment, evidence, iso, rounded
from finops.engine.commitments.pools import known_hours
from finops.engine.commitments.scenarios import Draws, ScenarioConfig, draw, future_of
from finops.engine.workload import WorkloadError
from finops.frames.commitments import Reserved
from finops.frames.offers import OfferingClass, OfferKey
from finops.frames.sizes import family_of, size_table

LOOKBACK_DAYS = 30
LONGEST_LOOKBACK = 366
TERM_HOURS = 8760
LONGEST_TERM = 3 * 8784
_GONE = frozenset({"expired", "retired", "payment-failed", "queued-deleted", "returned"})


class Group(NamedTuple):
    """What one row is of."""

    provider: str
    region: str
    zone: str
    platform: str
    tenancy: str
    family: str


@dataclass(frozen=True)
class GroupHours:
    """Hours of a group in its unit; unknown hours are NaN."""

    group: Group
    unit: str
    types: Mapping[str, float]
    gross: np.ndarray
    reserved: np.ndarray
    plans: np.ndarray
    left: np.ndarray


def demand_changes(found: Sequence[Standing], *, start: datetime, at: datetime) -> Changes:
    """Commitments that are other at `at` than they were somewhere in [start, at)."""
    ended = frozenset(one.name for one in found if one.name and one.state in _GONE)
    begun = tuple(
        reserved
        for one in found
        if one.state not in _GONE
        and one.start is not None
        and one.start > start
        and (reserved := _reserved(one)) is not None
    )
    return Changes(ended, begun)


def _reserved(one: Standing) -> Reserved | None:
    """The reservation that the engine applies; None where a part of it is not known, or for a plan."""
    values = one.values
    needed = (values["region"], values["platform"], values["instance_type"], values["count"], one.start)
    if one.kind != "reserved" or one.end is None or not all(needed) or one.service not in ("", "AmazonEC2"):
        return None
    start: datetime = values["start"]
    return Reserved(
        id=one.name or one.id,
        account=values["account"] or "",
        key=OfferKey(
            one.provider or "aws",
            values["region"],
            values["zone"] or "",
            values["platform"],
            values["tenancy"] or "default",
            values["instance_type"],
        ),
        offering_class=OfferingClass.UNKNOWN,
        count=values["count"],
        start=start,
        end=one.end,
        fixed=values["fixed"],
        hourly=values["hourly"],
        currency=values["currency"] or "",
        state=one.state,
    )


def use_after_all(
    *,
    organisation: Organisation | None,
    at: datetime,
    lookback_days: int,
    snapshots: Mapping[str, int],
) -> BillUse:
    """Use of the look-back up to the whole hour of `at`, with the commitments of `at`.

    Raises WorkloadError.
    """
    check_moment(at)
    end = at.replace(minute=0, second=0, microsecond=0)
    start = end - timedelta(days=lookback_days)
    own = owned_at(at=at, organisation=organisation, snapshots=snapshots)
    return bill_use(
        organisation=organisation,
        start=start,
        hours=24 * lookback_days,
        snapshots=snapshots,
        changes=demand_changes(own.found, start=start, at=at),
    )


def demand(
    *,
    at: datetime | None = None,
    organisation: Organisation | None = None,
    lookback_days: int = LOOKBACK_DAYS,
    term_hours: int = TERM_HOURS,
    with_hours: bool = False,
    snapshots: Mapping[str, int] | None = None,
) -> Document:
    """The document. Raises WorkloadError (field, message)."""
    moment = (at or timezone.now()).astimezone(UTC)
    if not 2 <= lookback_days <= LONGEST_LOOKBACK:
        raise WorkloadError("lookback_days", _("Out of range: %(value)s") % {"value": lookback_days})
    if not 1 <= term_hours <= LONGEST_TERM:
        raise WorkloadError("term_hours", _("Out of range: %(value)s") % {"value": term_hours})
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    use = use_after_all(organisation=organisation, at=moment, lookback_days=lookback_days, snapshots=chosen)
    config = ScenarioConfig()
    known = known_hours(use.coverage, config)
    draws = draw(known.size, term_hours, config) if known.size >= 48 else None
    start = use.coverage.demand.start
    return {
        "families": [_row(one, known, draws, term_hours, with_hours) for one in groups_of(use)],
        "from": iso(start),
        "to": iso(use.coverage.demand.end),
        "known_hours": int(known.size),
        "grain": grain_word(use.grain_hours),
        "free_tier_hours": rounded(use.free_hours),
        "not_judged": [{"lines": name, "hours": rounded(hours)} for name, hours in use.unread.items()],
        "evidence": evidence(
            chosen,
            moment,
            later_prices=None,
            lookback_days=lookback_days,
            scenarios={"draws": config.draws, "seed": config.seed},
        ),
    }


def groups_of(use: BillUse) -> list[GroupHours]:
    """Hours by group, in units, in order of the group's name."""
    found = use.coverage
    members: dict[Group, list[int]] = defaultdict(list)
    for index, one in enumerate(found.demand.uses):
        key = one.key
        group = Group(
            key.provider, key.region, key.zone, key.platform, key.tenancy, family_of(key.instance_type)
        )
        members[group].append(index)
    return [_group(group, indices, use) for group, indices in sorted(members.items())]


def _group(group: Group, indices: Sequence[int], use: BillUse) -> GroupHours:
    found, sizes = use.coverage, size_table(group.provider)
    uses = found.demand.uses
    factors = [sizes.factor(uses[i].key.instance_type) for i in indices]
    whole = all(factor is not None for factor in factors)
    weights = [float(factor) if whole and factor is not None else 1.0 for factor in factors]
    types: dict[str, float] = defaultdict(float)
    for i in indices:
        types[uses[i].key.instance_type] += float(np.nansum(uses[i].hours))

    def total(parts: Sequence[np.ndarray]) -> np.ndarray:
        summed = np.zeros(found.demand.length)
        for i, weight in zip(indices, weights, strict=True):
            summed = summed + parts[i] * weight
        return summed

    return GroupHours(
        group,
        "normalised unit" if whole else "instance",
        dict(sorted(types.items())),
        total([one.hours for one in uses]),
        total(found.by_reserved),
        total(found.by_plans),
        total(found.left),
    )


def _row(
    one: GroupHours, known: np.ndarray, draws: Draws | None, term_hours: int, with_hours: bool
) -> Document:
    """One group. Base: what 95 % of the known hours reach."""
    row: Document = {
        **one.group._asdict(),
        "zone": one.group.zone or None,
        "unit": one.unit,
        "types": {name: rounded(hours) for name, hours in one.types.items()},
        "gross_unit_hours": _sum(one.gross),
        "reserved_unit_hours": _sum(one.reserved),
        "plan_unit_hours": _sum(one.plans),
        "left_unit_hours": _sum(one.left),
        **_shape(one.left, known, draws, term_hours),
    }
    if with_hours:
        row["hours"] = [None if np.isnan(value) else round(float(value), 6) for value in one.left]
    return row


def _sum(hours: np.ndarray) -> float | None:
    return rounded(float(np.nansum(hours)))


def _shape(left: np.ndarray, known: np.ndarray, draws: Draws | None, term_hours: int) -> Document:
    names = ("base", "mean", "maximum", "season_share", "trend_per_week", "block")
    if draws is None:
        reason = _("Less than two whole days of bills are known in the look-back.")
        return {**dict.fromkeys(names), "scenarios": None, "reason": reason}
    future = future_of(np.maximum(left[known], 0.0), draws)
    shape = future.shape
    means = future.total(lambda use: use, term_hours) / term_hours
    low, middle, high = np.quantile(means, [0.05, 0.5, 0.95])
    return {
        "base": rounded(shape.base),
        "mean": rounded(shape.mean),
        "maximum": rounded(shape.maximum),
        "season_share": rounded(shape.season_share),
        "trend_per_week": rounded(shape.trend_per_block),
        "block": "week" if shape.block_hours == 168 else "day",
        "scenarios": {
            "term_hours": term_hours,
            "low": rounded(float(low)),
            "expected": rounded(future.expected(term_hours).used / term_hours),
            "median": rounded(float(middle)),
            "high": rounded(float(high)),
        },
        "reason": None,
    }
