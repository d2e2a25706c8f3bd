"""Policies on reads that happened, against everything in Standard and against the optimum.

An object is whole and read whole; every object weighs the same number of bytes. Policies see the days before;
with `since` the access model learns until then and costs count from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from finops.engine.storage.optimum import optimum
from finops.engine.storage.policies import Advice, AgeRule, Automatic, Policy, SkiRental, Stay, run
from finops.engine.storage.rates import Rates
from finops.engine.storage.reads import Reads

STAY, OPTIMUM = "stay", "optimum"


@dataclass(frozen=True)
class Result:
    """A policy's cost relative to Standard and to the optimum; None where that is zero."""

    cost_share_of_standard: float | None
    ratio_to_optimum: float | None


def backtest(
    reads: Reads,
    by_size: Mapping[int, Rates],
    *,
    since: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Result]:
    """Every policy over objects of each size (bytes -> rates), the sizes holding equally many bytes."""
    costs: dict[str, float] = {}
    for size, rates in by_size.items():
        for name, policy in policies(rates, learn_until=since or None).items():
            tell(f"{size} bytes, {name}")
            cost = float(run(policy, reads, rates)[:, since:].sum())
            costs[name] = costs.get(name, 0.0) + cost
        least = float(optimum(reads, rates, since=since).sum())
        costs[OPTIMUM] = costs.get(OPTIMUM, 0.0) + least
    standard, least = costs[STAY], costs[OPTIMUM]
    return {
        name: Result(cost / standard if standard else None, cost / least if least else None)
        for name, cost in costs.items()
    }


def policies(rates: Rates, *, learn_until: int | None) -> dict[str, Policy]:
    """A fresh object of each policy, by the name of the answer."""
    return {
        "advice": Advice(rates, learn_until=learn_until),
        STAY: Stay(),
        "age_rule": AgeRule(),
        "ski_rental": SkiRental(rates),
        "intelligent_tiering": Automatic(),
    }
