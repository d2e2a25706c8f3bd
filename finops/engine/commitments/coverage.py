"""What existing commitments cover already, hour by hour. Nothing is counted twice.

Order within an hour: zonal Reserved Instances, then regional ones, then savings plans on what is left. A
reservation applies to the account that owns it first, then to the others; a size-flexible one from the
smallest size to the largest. Plans for one family come before plans for all compute; a plan takes the use
with the largest saving in percent first. Sources:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html and
https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-applying.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from finops.engine.commitments.eligibility import applies, is_flexible, pool_of, units_of
from finops.engine.commitments.utilisation import share_of_hours
from finops.frames.commitments import PlanKind, Reserved, SavingsPlan
from finops.frames.demand import Demand, Hours, Use
from finops.frames.offers import OfferKey
from finops.frames.sizes import SizeTable, family_of


@dataclass(frozen=True, slots=True)
class PlanRate:
    """On-demand and plan price of an instance-hour, in one currency."""

    on_demand: float
    plan: float


# The rates of a plan for a key; None: the plan does not apply to it, or its rate is not known.
Rates = Callable[[SavingsPlan, OfferKey], PlanRate | None]


@dataclass(frozen=True)
class Coverage:
    """`left[i]`: hours of `demand.uses[i]` that stay at on-demand prices; `by_reserved[i]` the part that
    reservations took, `by_plans[i]` the part that plans took. `used[id]`: units of a reservation that were
    used in each hour, of `capacity[id]`; `spent[id]`: money of a plan that was used, of `committed[id]`.
    """

    demand: Demand
    left: tuple[Hours, ...]
    by_reserved: tuple[Hours, ...]
    by_plans: tuple[Hours, ...]
    used: Mapping[str, Hours]
    capacity: Mapping[str, Hours]
    spent: Mapping[str, Hours]
    committed: Mapping[str, Hours]
    covering: Mapping[int, tuple[str, ...]]

    def remaining(self) -> Demand:
        """The demand after all that exists."""
        uses = tuple(
            Use(use.key, use.account, left) for use, left in zip(self.demand.uses, self.left, strict=True)
        )
        return Demand(self.demand.start, self.demand.length, uses)


def active_share(start: datetime, end: datetime, demand: Demand) -> Hours:
    """The part of each hour of the range in which [start, end) is active, 0 to 1."""
    return share_of_hours(start, end, demand.start, demand.length)


def cover(
    demand: Demand,
    reserved: Sequence[Reserved],
    plans: Sequence[SavingsPlan] = (),
    *,
    sizes: SizeTable,
    rates: Rates = lambda _plan, _key: None,
    shared: bool = True,
) -> Coverage:
    """Apply what exists to the use. `shared`: reservations also apply to the other accounts of the
    organisation.
    """
    left = [use.hours.copy() for use in demand.uses]
    covering: dict[int, list[str]] = {}
    used, capacity = {}, {}
    for one in sorted(reserved, key=lambda r: (not r.key.zone, is_flexible(r.key, sizes), r.start, r.id)):
        units = float(units_of(one.key, sizes))
        whole = active_share(one.start, one.end, demand) * one.count * units
        free = whole.copy()
        for index in _order(demand, one, sizes, shared=shared):
            factor = float(units_of_use(one.key, demand.uses[index].key, sizes))
            taken = np.minimum(np.nan_to_num(left[index]) * factor, free)
            if taken.any():
                left[index] -= taken / factor
                free -= taken
                covering.setdefault(index, []).append(one.id)
        capacity[one.id], used[one.id] = whole / units, (whole - free) / units
    after_reserved = [hours.copy() for hours in left]
    spent, committed = _plans(demand, plans, left, rates, covering)
    return Coverage(
        demand,
        tuple(left),
        tuple(use.hours - rest for use, rest in zip(demand.uses, after_reserved, strict=True)),
        tuple(before - rest for before, rest in zip(after_reserved, left, strict=True)),
        used,
        capacity,
        spent,
        committed,
        {index: tuple(ids) for index, ids in covering.items()},
    )


def units_of_use(commitment: OfferKey, use: OfferKey, sizes: SizeTable) -> float:
    """Units that an instance of `use` takes of a commitment of that key."""
    if not is_flexible(commitment, sizes):
        return 1.0
    factor = sizes.factor(use.instance_type)
    if factor is None:
        raise ValueError(f"{use.instance_type}: no normalisation factor")
    return float(factor)


def _order(demand: Demand, one: Reserved, sizes: SizeTable, *, shared: bool) -> list[int]:
    """Indices of the uses that a reservation applies to, in its order."""
    pool = pool_of(one.key, sizes)
    found = [
        index
        for index, use in enumerate(demand.uses)
        if applies(pool, use.key, sizes) and (shared or use.account == one.account)
    ]
    return sorted(
        found,
        key=lambda i: (
            demand.uses[i].account != one.account,
            sizes.factor(demand.uses[i].key.instance_type) or 0,
            i,
        ),
    )


def _plans(
    demand: Demand,
    plans: Sequence[SavingsPlan],
    left: list[Hours],
    rates: Rates,
    covering: dict[int, list[str]],
) -> tuple[dict[str, Hours], dict[str, Hours]]:
    """Take from `left` what plans cover; money spent and committed by plan."""
    spent, committed = {}, {}
    for plan in sorted(plans, key=lambda p: (p.plan is not PlanKind.INSTANCE, p.start, p.id)):
        whole = active_share(plan.start, plan.end, demand) * float(plan.commitment_per_hour)
        free = whole.copy()
        priced = [
            (index, rate)
            for index, use in enumerate(demand.uses)
            if _in_scope(plan, use.key) and (rate := rates(plan, use.key)) is not None and rate.plan > 0
        ]
        for index, rate in sorted(priced, key=lambda item: (item[1].plan / item[1].on_demand, item[1].plan)):
            taken = np.minimum(np.nan_to_num(left[index]) * rate.plan, free)
            if taken.any():
                left[index] -= taken / rate.plan
                free -= taken
                covering.setdefault(index, []).append(plan.id)
        spent[plan.id], committed[plan.id] = whole - free, whole
    return spent, committed


def _in_scope(plan: SavingsPlan, key: OfferKey) -> bool:
    if plan.plan is PlanKind.COMPUTE:
        return True
    return plan.region == key.region and plan.family == family_of(key.instance_type)


def full_use_quantity(left: Hours, units: float = 1.0) -> int:
    """Whole commitments of `units` each that every known hour would use: sized at the low point, not the
    mean.
    """
    known = left[~np.isnan(left)]
    return int(np.floor(known.min() / units + 1e-9)) if known.size else 0
