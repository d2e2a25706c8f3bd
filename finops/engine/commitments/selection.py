"""What to buy: every offer evaluated or refused with its reason, the best quantities of all together,
and what each one adds.

Offers that draw on one family share its hours. What is chosen together is credited in the order of the
price of an hour, cheapest first: each offer gets what the sum of the hours covered grows by, less its
own cost. So the credits add up to the saving of all, and no hour is counted for two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from finops.engine.commitments.desk import Considered, Desk
from finops.engine.commitments.eligibility import Pool
from finops.engine.commitments.evaluate import (
    HIGH,
    LOW,
    PENNY_DUST,
    Asked,
    Evaluation,
    Market,
    evaluate,
    evaluate_all,
    offer_hours_left,
    savings_by_scenario,
    versus,
)
from finops.engine.commitments.grid import as_family
from finops.engine.commitments.pools import PoolUse
from finops.engine.commitments.portfolio import Candidate, Choice, Family, Limits, choose, worth
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import Draws, Floats, draw, future_of
from finops.frames.offers import Offer, OfferKey
from finops.frames.sizes import family_of

# Money by scenario, and expected, of the hours that quantities take together.
Value = Callable[[Floats], tuple[Floats, float]]


@dataclass(frozen=True)
class Pick:
    """An offer to buy. `evaluation`: at its quantity, with the saving that it adds to those before it;
    `alone`: the same quantity without them. `claims`: the pool whose hours it takes. `scenarios`: the saving
    that it adds in each scenario, the same scenarios in the same order for all picks.
    """

    considered: Considered
    evaluation: Evaluation
    alone: Evaluation
    claims: Pool
    scenarios: Floats


@dataclass(frozen=True)
class Selection:
    """Picks, cheapest hour first; refusals in the order of the offers; the choice behind them. `found`: every
    offer that saves by itself, whether it is bought or not.
    """

    picks: tuple[Pick, ...]
    refused: tuple[tuple[Offer, Refusal], ...]
    choice: Choice
    draws: Draws | None
    found: tuple[Considered, ...] = ()


def sum_of(picks: Sequence[Pick]) -> Floats:
    """The saving of picks together in each scenario; empty without one."""
    return np.sum([pick.scenarios for pick in picks], axis=0) if picks else np.zeros(0)


def advised(pick: Pick, limits: Limits) -> bool:
    """Whether a pick is advised rather than only the best there is: without a limit of risk its whole 90 %
    interval lies above zero, as for every other recommendation; with one, the choice keeps to it already.
    """
    return limits.loss_probability is not None or pick.evaluation.saving_low > 0


def consider(
    desk: Desk, offers: Sequence[Offer]
) -> tuple[list[Considered], list[tuple[Offer, Refusal]], Draws | None]:
    """Each offer by itself: (those that save, the others with the reason, the draws). One set of draws
    for all.
    """
    left = [offer_hours_left(offer, desk.now) for offer in offers]
    refused: list[tuple[Offer, Refusal]] = []
    if not offers or desk.book.known_hours < 2:
        return [], [(offer, refuse("no known use")) for offer in offers], None
    try:
        draws = draw(desk.book.known_hours, max(1.0, float(max(left))))
    except ValueError:
        return (
            [],
            [(offer, refuse("too short a history", hours=desk.book.known_hours)) for offer in offers],
            None,
        )
    answers: dict[int, Considered | Refusal] = {}
    keys: dict[OfferKey, tuple[PoolUse, Decimal, Market] | Refusal] = {}
    pools: dict[Pool, list[tuple[int, PoolUse, Asked]]] = {}
    for place, offer in enumerate(offers):
        if offer.currency != desk.currency:
            answers[place] = refuse("other currency", offered=offer.currency, used=desk.currency)
            continue
        if offer.key not in keys:
            keys[offer.key] = _use(desk, offer.key)
        use = keys[offer.key]
        if isinstance(use, Refusal):
            answers[place] = use
        else:
            pools.setdefault(use[0].pool, []).append((place, use[0], Asked(offer, left[place], *use[1:])))
    for members in pools.values():
        future = future_of(members[0][1].history, draws)
        alone = evaluate_all([asked for _, _, asked in members], future=future, now=desk.now)
        for (place, pool, one), answer in zip(members, alone, strict=True):
            answers[place] = (
                answer
                if isinstance(answer, Refusal)
                else Considered(one.offer, one.units, pool, future, one.market, answer)
            )
    found: list[Considered] = []
    for place, offer in enumerate(offers):
        result = answers[place]
        if isinstance(result, Refusal):
            refused.append((offer, result))
        else:
            found.append(result)
    return found, refused, draws


def _use(desk: Desk, key: OfferKey) -> tuple[PoolUse, Decimal, Market] | Refusal:
    """The pool that offers of a key draw on, its units in one instance, and prices of a unit-hour."""
    use = desk.book.find(key)
    if isinstance(use, Refusal):
        return use
    units = desk.book.units(key)
    return use, units, Market(use.rate, desk.rivals(key, units))


def select(desk: Desk, offers: Sequence[Offer]) -> Selection:
    """The best quantities of all offers together, within the limits."""
    found, refused, draws = consider(desk, offers)
    if not found or draws is None:
        return Selection((), tuple(refused), Choice((), np.zeros(0), 0.0, 0), draws)
    groups = grouped(found)
    choice = _choose(desk, found, groups, draws)
    picks: list[Pick] = []
    for members in groups.values():
        bought = [(found[i], choice.quantities[i]) for i in members if choice.quantities[i] > 0]
        credited = _credit(desk, bought, draws)
        picks += credited
        names = ", ".join(sorted({pick.considered.offer.offer for pick in credited}))
        refused += [
            (found[i].offer, _left_out(found[i], names, desk.limits))
            for i in members
            if not choice.quantities[i]
        ]
    picks.sort(key=lambda pick: (pick.evaluation.break_even_share, pick.considered.offer.offer))

    order = {id(offer): place for place, offer in enumerate(offers)}
    refused.sort(key=lambda item: order[id(item[0])])
    return Selection(tuple(picks), tuple(refused), choice, draws, tuple(found))


def _left_out(one: Considered, rivals: str, limits: Limits) -> Refusal:
    """Why an offer that saves by itself is not bought."""
    if rivals:
        return refuse("hours taken by", by=rivals)
    if limits.upfront is not None and float(one.offer.fixed) > 0:
        return refuse("over the cash limit", upfront=one.offer.fixed, limit=limits.upfront)
    return refuse("over the risk limit", loss_pct=f"{one.alone.loss_probability * 100:.1f}")


def grouped(found: Sequence[Considered]) -> dict[Pool, list[int]]:
    """Offers that have hours in common, by the widest pool among them.

    A zonal offer joins the regional pool of its type, or of its family where sizes are flexible, if an
    offer draws on that; else it stands alone in its zone.
    """
    regional = {one.pool.pool for one in found if not one.pool.pool.zone}
    groups: dict[Pool, list[int]] = {}
    for index, one in enumerate(found):
        own = one.pool.pool
        wider = [
            replace(own, zone=""),
            replace(own, zone="", name=family_of(own.name), flexible=True),
        ]
        groups.setdefault(next((pool for pool in wider if pool in regional), own), []).append(index)
    return groups


def _choose(desk: Desk, found: Sequence[Considered], groups: dict[Pool, list[int]], draws: Draws) -> Choice:
    """The portfolio over all groups."""
    mean = desk.limits.loss_probability is None
    families: list[Family] = []
    candidates: dict[int, Candidate] = {}
    for number, (pool, members) in enumerate(groups.items()):
        family, built = as_family(desk, pool, [found[i] for i in members], draws, mean=mean)
        families.append(family)
        candidates |= {i: replace(one, family=number) for i, one in zip(members, built, strict=True)}
    return choose(families, [candidates[i] for i in range(len(found))], desk.limits)


def _credit(desk: Desk, bought: list[tuple[Considered, int]], draws: Draws) -> list[Pick]:
    """What is bought of one group, cheapest hour first, each with what it adds to those before it."""
    bought = sorted(bought, key=lambda item: (item[0].alone.break_even_share, item[0].offer.offer))
    members = [one for one, _ in bought]
    picks: list[Pick] = []
    for pool, places in grouped(members).items():
        picks += _credit_together(desk, pool, [bought[i] for i in places], draws)
    return picks


def _credit_together(
    desk: Desk, pool: Pool, bought: list[tuple[Considered, int]], draws: Draws
) -> list[Pick]:
    members = [one for one, _ in bought]
    if len(bought) == 1:
        evaluation, one = _at(desk, *bought[0]), members[0]
        savings = savings_by_scenario(evaluation, future=one.future, market=one.market)
        return [Pick(one, evaluation, evaluation, one.pool.pool, savings)]
    value = _value_of(desk, pool, members, draws)
    before, expected = np.zeros(draws.choice.shape[0]), 0.0
    quantities = np.zeros(len(bought))
    picks: list[Pick] = []
    for place, (one, quantity) in enumerate(bought):
        quantities[place] = quantity
        after, now_expected = value(quantities)
        alone = _at(desk, one, quantity)
        added = _credited(alone, one, after - before, now_expected - expected)
        picks.append(Pick(one, added, alone, one.pool.pool, after - before - float(alone.total)))
        before, expected = after, now_expected
    return picks


def _value_of(desk: Desk, pool: Pool, members: list[Considered], draws: Draws) -> Value:
    """What the hours that quantities take together would cost on demand: by scenario, and expected.

    Offers of one pool cover its use up to the sum of their units, in each stretch of time between the ends of
    their terms; where zonal offers are among regional ones the grid of the portfolio says it.
    """
    if {one.pool.pool for one in members} == {pool}:
        return lambda quantities: _stretches(members, quantities)
    each = as_family(desk, pool, members, draws, mean=False)
    mean = as_family(desk, pool, members, draws, mean=True)
    return lambda quantities: (worth(*each, quantities), float(worth(*mean, quantities)[0]))


def _stretches(members: list[Considered], quantities: Floats) -> tuple[Floats, float]:
    future, rate = members[0].future, members[0].market.on_demand
    covered, expected, begun = np.zeros(future.draws.choice.shape[0]), 0.0, 0.0
    for end in sorted({float(one.alone.hours_left) for one in members}):
        level = sum(
            float(one.units) * float(quantity)
            for one, quantity in zip(members, quantities, strict=True)
            if float(one.alone.hours_left) >= end
        )
        covered += future.covered(level, end)
        expected += future.expected(end).at(level)
        if begun:
            covered -= future.covered(level, begun)
            expected -= future.expected(begun).at(level)
        begun = end
    return rate * covered, float(rate * expected)


def _at(desk: Desk, one: Considered, quantity: int) -> Evaluation:
    found = evaluate(
        one.offer, units=one.units, future=one.future, market=one.market, now=desk.now, quantity=quantity
    )
    if isinstance(found, Refusal):
        raise ValueError(f"{one.offer.offer}: chosen, but {found.code}")
    return found


def _credited(alone: Evaluation, one: Considered, value: Floats, expected: float) -> Evaluation:
    """The evaluation with the value (money of hours taken) beyond what those before it take."""
    cost = float(alone.total)
    low, high = np.quantile(value - cost, (LOW, HIGH))
    hours = float(alone.units) * alone.quantity * float(alone.hours_left)
    used = expected / one.market.on_demand
    share = used / hours
    return replace(
        alone,
        utilisation=share,
        effective_used=cost * float(alone.units) / used if used > 0 else None,
        saving_low=float(low),
        saving=expected - cost,
        saving_high=float(high),
        loss_probability=float((value - cost < -PENNY_DUST).mean()),
        versus=versus(one.market, used, hours, cost),
    )
