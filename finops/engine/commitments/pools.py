"""The use that an offer could take: its pool's hours after all that exists, and what an hour of it costs
today.

An offer that finds no use is refused with the first reason that holds, nearest first: the same family is
used in another zone, size, tenancy, platform or region, or all of it is covered already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from finops.engine.commitments.coverage import Coverage
from finops.engine.commitments.eligibility import Pool, applies, pool_of, units_of
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import Floats, ScenarioConfig, block_hours_for
from finops.frames.offers import OfferKey
from finops.frames.sizes import SizeTable, family_of

# The on-demand price of an instance-hour of a key; None: no list has it.
Prices = Callable[[OfferKey], Decimal | None]


@dataclass(frozen=True)
class PoolUse:
    """Known hours of a pool in its units, oldest first and whole blocks only; `rate`: on-demand price of a
    unit-hour, the mean over the use. `keys`: what it is made of, `parts`: the unit-hours of each.
    """

    pool: Pool
    history: Floats
    rate: float
    keys: tuple[OfferKey, ...]
    covering: tuple[str, ...]
    parts: tuple[float, ...] = ()


class PoolBook:
    """All pools of one demand. Pools are summed once, when an offer asks for them first."""

    def __init__(
        self, coverage: Coverage, prices: Prices, sizes: SizeTable, config: ScenarioConfig | None = None
    ) -> None:
        self._coverage = coverage
        self._prices = prices
        self._sizes = sizes
        self._by_family: dict[tuple[str, str], list[int]] = defaultdict(list)
        for index, use in enumerate(coverage.demand.uses):
            self._by_family[use.key.provider, family_of(use.key.instance_type)].append(index)
        self._hours = known_hours(coverage, config or ScenarioConfig())
        self._found: dict[Pool, PoolUse | Refusal] = {}

    @property
    def known_hours(self) -> int:
        """Known hours behind every pool."""
        return int(self._hours.size)

    @property
    def hours(self) -> np.ndarray:
        """Places of the known hours in the range of the demand, oldest first."""
        return self._hours

    def pool(self, key: OfferKey) -> Pool:
        """The pool that an offer of this key draws on, whether there is use or not."""
        return pool_of(key, self._sizes)

    def find(self, key: OfferKey) -> PoolUse | Refusal:
        """The use that an offer of this key draws on, or why there is none."""
        pool = pool_of(key, self._sizes)
        found = self._found.get(pool)
        if found is None:
            found = self._found[pool] = self._sum(pool, key)
        return found

    def units(self, key: OfferKey) -> Decimal:
        """Units of one instance of an offer."""
        return units_of(key, self._sizes)

    def size(self, instance_type: str) -> float:
        """Normalised units of a type; 1 where the table has none."""
        return float(self._sizes.factor(instance_type) or 1)

    def _sum(self, pool: Pool, key: OfferKey) -> PoolUse | Refusal:
        family = self._by_family.get((key.provider, family_of(key.instance_type)), [])
        uses = self._coverage.demand.uses
        mine = [i for i in family if applies(pool, uses[i].key, self._sizes) and self._used(i) > 0]
        if not mine:
            return self._nearest(key, [i for i in family if self._used(i) > 0])
        history, cost = np.zeros(self._hours.size), 0.0
        parts: list[float] = []
        for i in mine:
            left = np.maximum(self._coverage.left[i][self._hours], 0.0)
            factor = self.size(uses[i].key.instance_type) if pool.flexible else 1.0
            price = self._prices(uses[i].key)
            if price is None:
                return refuse("no list price", type=uses[i].key.instance_type, region=key.region)
            history += left * factor
            cost += float(left.sum()) * float(price)
            parts.append(float(left.sum()) * factor)
        units = sum(parts)
        covering = tuple(dict.fromkeys(c for i in mine for c in self._coverage.covering.get(i, ())))
        if units <= 1e-9:
            return refuse("already covered", by=_named(covering))
        keys = tuple(uses[i].key for i in mine)
        return PoolUse(pool, history, cost / units, keys, covering, tuple(parts))

    def _used(self, index: int) -> float:
        return float(self._coverage.demand.uses[index].hours[self._hours].sum())

    def _nearest(self, key: OfferKey, family: list[int]) -> Refusal:
        """Which attribute of the offer keeps it from the use of its family."""
        keys = [self._coverage.demand.uses[i].key for i in family]
        if not keys:
            return refuse("no use", family=family_of(key.instance_type))
        for name in ("region", "platform", "tenancy"):
            same = [k for k in keys if getattr(k, name) == getattr(key, name)]
            if not same:
                return refuse(
                    f"other {name}", offered=getattr(key, name), used=_named(getattr(k, name) for k in keys)
                )
            keys = same
        if key.zone and (types := [k for k in keys if k.instance_type == key.instance_type]):
            return refuse("zonal", offered=key.zone, used=_named(k.zone for k in types))
        why = "zonal size" if key.zone else "size"
        return refuse(why, offered=key.instance_type, used=_named(k.instance_type for k in keys))


def known_hours(coverage: Coverage, config: ScenarioConfig) -> np.ndarray:
    """Indices of the hours of the newest whole blocks without an unknown hour, oldest first."""
    demand = coverage.demand
    known = np.ones(demand.length, dtype=bool)
    for use in demand.uses:
        known &= ~np.isnan(use.hours)
    block = block_hours_for(int(known.sum()), config)
    first = demand.length % block
    whole = known[first:].reshape(-1, block).all(axis=1)
    hours: np.ndarray = np.flatnonzero(np.repeat(whole, block)) + first
    return hours


def _named(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))
