"""Offers of one group as a family of the portfolio.

The grid is (range of time) x (known hour of the past): ranges end where a term ends, and where a trend
takes its next step. Hours of equal use are counted once, with the number of times that each scenario
sees them as their weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finops.engine.commitments.desk import Considered, Desk
from finops.engine.commitments.eligibility import Pool
from finops.engine.commitments.portfolio import Candidate, Family
from finops.engine.commitments.scenarios import Draws, Floats, Future


def as_family(
    desk: Desk, pool: Pool, members: Sequence[Considered], draws: Draws, *, mean: bool
) -> tuple[Family, list[Candidate]]:
    """The family and its candidates in the order of `members`. `pool`: the widest pool among them.
    `mean`: one scenario, the expected one.
    """
    whole = next(m for m in members if m.pool.pool == pool)
    cells = list(dict.fromkeys(m.pool.pool for m in members if m.pool.pool != pool))
    by_pool = {m.pool.pool: m for m in members}
    factors = {cell: _factor(desk, by_pool[cell], whole) for cell in cells}
    histories = [by_pool[cell].pool.history * factors[cell] for cell in cells]
    ends = _ends(draws, members, whole.future)
    uses: list[list[Floats]] = [[] for _ in range(1 + len(cells))]
    weights: list[Floats] = []
    active: list[Floats] = []
    begun = 0.0
    for end in ends:
        rows = _rows(whole, histories, draws, begun)
        distinct, place = _distinct(rows)
        weight = _weight(draws, end, mean=mean) - _weight(draws, begun, mean=mean)
        columns = distinct.shape[1]
        weights.append(
            np.stack([np.bincount(place.ravel(), weights=row, minlength=columns) for row in weight])
        )
        active.append(np.full(columns, end))
        for gathered, row in zip(uses, distinct, strict=True):
            gathered.append(row)
        begun = end
    weight = np.concatenate(weights, axis=1)
    shape = weight.shape
    tiled = [np.broadcast_to(np.concatenate(row), shape) for row in uses]
    until = np.concatenate(active)
    candidates = [
        _candidate(m, float(m.units) * factors.get(m.pool.pool, 1.0), until, float(tiled[0].max()), cells)
        for m in members
    ]
    return Family(tiled[0], whole.market.on_demand, tuple(tiled[1:]), weight), candidates


def _distinct(rows: Floats) -> tuple[Floats, np.ndarray]:
    """(the different columns, which one each column is); one row is sorted as plain numbers, much faster."""
    if rows.shape[0] == 1:
        values, place = np.unique(rows[0], return_inverse=True)
        return values[None], place
    found, place = np.unique(rows, axis=1, return_inverse=True)
    return found, place


def _factor(desk: Desk, member: Considered, whole: Considered) -> float:
    """Units of the family in one instance of a zonal offer's type."""
    return desk.book.size(member.offer.key.instance_type) if whole.pool.pool.flexible else 1.0


def _ends(draws: Draws, members: Sequence[Considered], future: Future) -> list[float]:
    """Where ranges end, in hours from the decision."""
    terms = {float(m.alone.hours_left) for m in members}
    longest = max(terms)
    if len(future.by_step) > 1:
        steps = (float(last * draws.block_hours) for _, last in draws.steps(longest))
        terms |= {end for end in steps if end < longest}
    return sorted(terms)


def _rows(whole: Considered, histories: Sequence[Floats], draws: Draws, begun: float) -> Floats:
    """Use of the family and of its cells in a range that begins `begun` hours on; the cells follow a
    trend of the family in proportion.
    """
    steps = whole.future.by_step
    step = len(draws.steps(begun + 1e-6)) - 1
    family = steps[min(step, len(steps) - 1)].ravel()
    known = whole.pool.history
    ratio = np.divide(family, known, out=np.zeros_like(family), where=known > 0)
    return np.stack([family, *(history * ratio for history in histories)])


def _weight(draws: Draws, hours: float, *, mean: bool) -> Floats:
    """How often each known hour is seen in the first `hours`; shape (draws or 1, known hours)."""
    if hours <= 0:
        return np.zeros((1 if mean else draws.choice.shape[0], draws.blocks * draws.block_hours))
    weights = draws.weights(0, int(np.ceil(hours / draws.block_hours)), hours)
    if mean:
        return np.tile(weights.seen + weights.parts / draws.blocks, draws.blocks)[None]
    grid = np.repeat(weights.whole, draws.block_hours, axis=1)
    if weights.begun is not None:
        by_block = grid.reshape(-1, draws.blocks, draws.block_hours)
        by_block[np.arange(by_block.shape[0]), weights.begun] += weights.parts
    return grid


def _candidate(
    member: Considered, units: float, until: Floats, highest: float, cells: Sequence[Pool]
) -> Candidate:
    hours = float(member.alone.hours_left)
    useful = int(np.ceil(highest / units))
    return Candidate(
        family=0,
        units=units,
        active=(until <= hours).astype(np.float64),
        cost=float(member.alone.total) / member.alone.quantity,
        upfront=float(member.offer.fixed),
        most=useful if member.offer.count is None else min(useful, member.offer.count),
        cell=cells.index(member.pool.pool) if member.pool.pool in cells else -1,
    )
