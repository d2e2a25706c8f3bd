"""When to buy, hour by hour, not knowing what comes: the policy, its rivals, and the exact optimum.

One kind of commitment of `term` hours costs `price` on-demand hours in all (fixed + hourly x term, over
the on-demand price); an hour of use that no commitment covers costs 1. A commitment bought at hour t
covers [t, t + term).

**advice** (once a day and whenever a term ends, from the past only). Under a demand that goes on as it
was, a level of use pays where it is used more than price / term of the time. So the target is the (1 -
price / term) quantile of the past hours, each weighted by half for every half-life of age, and what runs
is topped up to it. A purchase must also fit the guard: all that was paid, with it, is at most `guard`
times a lower bound of what the best buyer with hindsight would have paid by now. The bound is the
largest of (a) the sum over levels of min(price, hours used) within the last term: no commitment ends and
begins again within one term, so levels are independent there; (b) price / term of all use: no hour of
use is ever cheaper; (c) half of what the deterministic rule has paid by now: it never pays more than
twice the optimum. Where the guard holds it back, it still buys with the deterministic rule as soon as
that rule would hold more.

**deterministic** and **randomised**: the rules of Wang, Li and Liang, "To Reserve or Not to Reserve:
Optimal Online Multi-Instance Acquisition in IaaS Clouds" (ICAC 2013) with a discount of all hourly
charge: buy one more as soon as the use above what is held, within the last term, has cost as much as a
commitment (times z, drawn with density e^z / (e - 1) on [0, 1], for the randomised one); a purchase also
counts as held over the term before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

Floats = np.ndarray
DAY = 24


@dataclass(frozen=True, slots=True)
class BuyingConfig:
    """The policy's settings and the seed of the randomised rule (its cost is the mean over
    `random_draws`).
    """

    every: int = DAY
    shortest_half_life: float = 72.0
    longest_half_life: float = 8760.0
    half_life_of_age: float = 1.0
    guard: float = 2.0
    random_draws: int = 20
    seed: int = 2013


@dataclass(frozen=True, slots=True)
class Bought:
    """Purchases in each hour and what all of it costs, in on-demand hours."""

    buys: Floats
    cost: float


def cost_of(demand: Floats, buys: Floats, *, term: int, price: float) -> float:
    """Commitments and the on-demand hours beyond them."""
    return float(np.maximum(demand - held(buys, term), 0.0).sum() + price * buys.sum())


def held(buys: Floats, term: int) -> Floats:
    """Commitments that run in each hour."""
    ended = np.zeros_like(buys)
    ended[term:] = buys[: max(0, buys.size - term)]
    running: Floats = np.cumsum(buys - ended)
    return running


def all_on_demand(demand: Floats) -> Bought:
    """Nothing is ever bought."""
    return Bought(np.zeros_like(demand), float(demand.sum()))


class _Past:
    """Hours used at each whole level within the last term, and all use: what the guard needs."""

    def __init__(self, demand: Floats, term: int, price: float) -> None:
        self._demand, self._term, self._price = demand, term, price
        self._levels = np.arange(int(np.ceil(demand.max(initial=0.0))) + 1, dtype=np.float64)
        self._hours = np.zeros_like(self._levels)
        self._all = 0.0
        self._bound = 0.0

    def see(self, hour: int) -> None:
        """Take in the use of an hour that is over."""
        self._hours += np.clip(self._demand[hour] - self._levels, 0.0, 1.0)
        self._all += float(self._demand[hour])
        if hour >= self._term:
            self._hours -= np.clip(self._demand[hour - self._term] - self._levels, 0.0, 1.0)

    def bound(self, paid_by_rule: float) -> float:
        """What the best buyer with hindsight has paid at least; never falls."""
        within = float(np.minimum(self._price, self._hours).sum())
        self._bound = max(self._bound, within, self._price / self._term * self._all, paid_by_rule / 2)
        return self._bound


def target(past: Floats, share: float, config: BuyingConfig) -> float:
    """The level that the hours seen, newer ones weighing more, exceed `share` of the time."""
    age = np.arange(past.size, 0, -1, dtype=np.float64)
    life = np.clip(config.half_life_of_age * past.size, config.shortest_half_life, config.longest_half_life)
    order = np.argsort(past, kind="stable")
    reached = np.cumsum((0.5 ** (age / life))[order])
    place = np.searchsorted(reached, (1.0 - min(1.0, share)) * reached[-1])
    return float(past[order][min(int(place), past.size - 1)])


class _Rule:
    """The deterministic rule, hour by hour: how many to buy in an hour whose use is seen."""

    def __init__(self, demand: Floats, term: int, spent: float) -> None:
        self._demand, self._term, self._spent = demand, term, spent
        self._counted = np.zeros(demand.size + term)
        self._above = 0.0

    def step(self, hour: int) -> int:
        """Buys until the use above what is counted as held has cost no more than allowed within the term."""
        demand, counted, term = self._demand, self._counted, self._term
        self._above += min(1.0, max(0.0, float(demand[hour] - counted[hour])))
        if hour >= term:
            self._above -= min(1.0, max(0.0, float(demand[hour - term] - counted[hour - term])))
        bought = 0
        while self._above > self._spent:
            bought += 1
            first = max(0, hour - term + 1)
            counted[first : hour + term] += 1.0
            self._above = float(np.clip(demand[first : hour + 1] - counted[first : hour + 1], 0.0, 1.0).sum())
        return bought


def advice(demand: Floats, *, term: int, price: float, config: BuyingConfig | None = None) -> Bought:
    """The policy; see the module."""
    config = config or BuyingConfig()
    past, rule = _Past(demand, term, price), _Rule(demand, term, price)
    buys, by_rule = np.zeros_like(demand), np.zeros_like(demand)
    running = held_by_rule = paid = paid_by_rule = 0.0
    for hour in range(demand.size):
        if hour >= term:
            running -= buys[hour - term]
            held_by_rule -= by_rule[hour - term]
        ended = hour >= term and buys[hour - term] > 0
        if hour and (ended or hour % config.every == 0):
            wanted = np.floor(target(demand[:hour], price / term, config) - running + 0.5)
            if wanted > 0:
                room = np.floor((config.guard * past.bound(paid_by_rule) - paid) / price)
                buys[hour] = max(0.0, min(wanted, room))
        by_rule[hour] = rule.step(hour)
        held_by_rule += by_rule[hour]
        lag = held_by_rule - running - buys[hour]
        buys[hour] += max(0.0, min(by_rule[hour], lag))
        running += buys[hour]
        paid += buys[hour] * price + max(0.0, float(demand[hour]) - running)
        paid_by_rule += by_rule[hour] * price + max(0.0, float(demand[hour]) - held_by_rule)
        past.see(hour)
    return Bought(buys, float(paid))


def deterministic(demand: Floats, *, term: int, price: float, threshold: float = 1.0) -> Bought:
    """Buy one more as soon as use above what is held has cost `threshold` commitments within the last
    term.
    """
    rule = _Rule(demand, term, threshold * price)
    buys = np.array([rule.step(hour) for hour in range(demand.size)], dtype=np.float64)
    return Bought(buys, cost_of(demand, buys, term=term, price=price))


def randomised(demand: Floats, *, term: int, price: float, config: BuyingConfig | None = None) -> Bought:
    """The mean over draws of the threshold; `buys` are mean purchases."""
    config = config or BuyingConfig()
    random = np.random.default_rng(config.seed)
    thresholds = np.log1p((np.e - 1.0) * random.random(config.random_draws))
    runs = [deterministic(demand, term=term, price=price, threshold=float(z)) for z in thresholds]
    return Bought(np.mean([run.buys for run in runs], axis=0), float(np.mean([run.cost for run in runs])))


def optimum(demand: Floats, *, term: int, price: float) -> Bought:
    """The cheapest purchases with hindsight, a linear programme; whole, because its matrix is one of
    intervals.

    Variables by hour: purchases, commitments running, hours on demand. ArithmeticError without an answer.
    """
    hours = demand.size
    one = sparse.identity(hours, format="csr")
    nothing = sparse.csr_matrix((hours, hours))
    before = sparse.eye(hours, k=-1, format="csr")
    ended = sparse.eye(hours, k=-term, format="csr") if term < hours else nothing
    result = linprog(
        np.concatenate([np.full(hours, price), np.zeros(hours), np.ones(hours)]),
        A_ub=sparse.hstack([nothing, -one, -one]),
        b_ub=-demand,
        A_eq=sparse.hstack([ended - one, one - before, nothing]),
        b_eq=np.zeros(hours),
        bounds=(0, None),
        method="highs-ds",
    )
    if result.x is None:
        raise ArithmeticError(f"the solver gave no answer: {result.message}")
    return Bought(result.x[:hours], float(result.fun))


POLICIES: dict[str, Callable[..., Bought]] = {
    "advice": advice,
    "deterministic": deterministic,
    "randomised": randomised,
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One policy on one demand: cost relative to all on demand, and to the optimum. None: nothing was
    used.
    """

    cost: float
    cost_share: float | None
    ratio_to_optimum: float | None


def compare(demand: Floats, *, term: int, price: float) -> dict[str, Compared]:
    """Every policy on one demand of non-negative hours. ValueError for an unknown hour, a term or price
    not above zero.
    """
    if term < 1 or price <= 0 or not np.isfinite(demand).all() or (demand < 0).any():
        raise ValueError("demand needs known hours without negatives, term and price above zero")
    costs = {name: float(policy(demand, term=term, price=price).cost) for name, policy in POLICIES.items()}
    costs |= {"all_on_demand": all_on_demand(demand).cost}
    costs |= {"optimum": optimum(demand, term=term, price=price).cost if demand.any() else 0.0}
    base, best = costs["all_on_demand"], costs["optimum"]
    return {
        name: Compared(cost, cost / base if base > 0 else None, cost / best if best > 0 else None)
        for name, cost in costs.items()
    }


def repeated(demand: Floats, hours: int) -> Floats:
    """A demand over `hours`: cut, or repeated from its start as often as needed."""
    whole: Floats = np.tile(demand, -(-hours // demand.size))[:hours]
    return whole


def relative_price(*, fixed: float, hourly: float, term: int, on_demand: float) -> float:
    """(fixed + hourly x term) / on-demand price."""
    return (fixed + hourly * term) / on_demand
