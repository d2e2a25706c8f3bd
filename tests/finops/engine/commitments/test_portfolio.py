"""The optimum over whole quantities equals trying all of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from finops.engine.commitments.portfolio import AGREE, Candidate, Choice, Family, Limits, choose


def by_hand(families: list[Family], candidates: list[Candidate], limits: Limits) -> float:
    """The best expected saving of all quantities, hour by hour."""
    best = -np.inf
    for quantities in itertools.product(*(range(c.most + 1) for c in candidates)):
        if limits.upfront is not None and _upfront(quantities, candidates) > limits.upfront + 1e-9:
            continue
        savings = _savings(quantities, families, candidates)
        lost = (savings < -AGREE).mean()
        if limits.loss_probability is not None and lost > limits.loss_probability + 1e-9:
            continue
        best = max(best, float(savings.mean()))
    return best


def _upfront(quantities: tuple[int, ...], candidates: list[Candidate]) -> float:
    return sum(q * c.upfront for q, c in zip(quantities, candidates, strict=True))


def _savings(quantities: tuple[int, ...], families: list[Family], candidates: list[Candidate]) -> np.ndarray:
    draws, hours = families[0].use.shape
    savings = np.zeros(draws)
    for s in range(draws):
        for number, family in enumerate(families):
            for h in range(hours):
                regional, zonal = 0.0, [0.0] * len(family.cells)
                for q, c in zip(quantities, candidates, strict=True):
                    if c.family == number:
                        size = q * c.units * float(c.active[h])
                        if c.cell < 0:
                            regional += size
                        else:
                            zonal[c.cell] += size
                taken = sum(min(z, float(cell[s, h])) for z, cell in zip(zonal, family.cells, strict=True))
                savings[s] += family.rate * min(float(family.use[s, h]), regional + taken)
    return savings - sum(q * c.cost for q, c in zip(quantities, candidates, strict=True))


def instance(seed: int) -> tuple[list[Family], list[Candidate], Limits]:
    random = np.random.default_rng(seed)
    hours, draws = int(random.integers(1, 6)), int(random.integers(1, 5))
    families = []
    for _ in range(int(random.integers(1, 3))):
        cells = tuple(
            random.integers(0, 5, (draws, hours)).astype(float) for _ in range(int(random.integers(0, 3)))
        )
        rest = random.integers(0, 6, (draws, hours)).astype(float)
        families.append(Family(sum(cells, rest), float(random.uniform(0.5, 2)), cells))
    candidates = []
    for _ in range(int(random.integers(1, 5))):
        number = int(random.integers(0, len(families)))
        term = int(random.integers(1, hours + 1))
        units = float(random.choice([0.5, 1.0, 2.0]))
        cost = float(random.uniform(0.2, 1.3)) * families[number].rate * units * term
        candidates.append(
            Candidate(
                family=number,
                units=units,
                active=(np.arange(hours) < term).astype(float),
                cost=cost,
                upfront=cost * float(random.uniform(0, 1)),
                most=int(random.integers(1, 4)),
                cell=int(random.integers(-1, len(families[number].cells))),
            )
        )
    limits = Limits(
        upfront=float(random.uniform(0, 12)) if random.random() < 0.5 else None,
        loss_probability=float(random.choice([0.0, 0.25, 0.5])) if random.random() < 0.5 else None,
    )
    return families, candidates, limits


@pytest.mark.parametrize("block", range(10))
def test_it_equals_brute_force(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        families, candidates, limits = instance(seed)
        choice = choose(families, candidates, limits)
        assert abs(choice.saving - by_hand(families, candidates, limits)) < 1e-5, seed
        np.testing.assert_allclose(
            choice.savings, _savings(choice.quantities, families, candidates), atol=1e-9
        )
        if limits.upfront is not None:
            assert choice.upfront <= limits.upfront + 1e-6
        if limits.loss_probability is not None:
            assert choice.loss_probability <= limits.loss_probability


def flat(use: float, cost: float, most: int, **more: float) -> tuple[list[Family], list[Candidate]]:
    family = Family(np.full((1, 10), use), 1.0)
    return [family], [Candidate(0, 1.0, np.ones(10), cost, cost, most, **more)]  # type: ignore[arg-type]


def test_it_buys_what_every_hour_uses_and_no_more() -> None:
    choice = choose(*flat(3.5, 6.0, 9))
    assert (choice.quantities, choice.saving) == ((3,), 12.0)
    assert choose(*flat(3.5, 4.0, 9)).quantities == (4,)


def test_limits_bind() -> None:
    assert choose(*flat(3.0, 6.0, 9), Limits(upfront=12.5)).quantities == (2,)
    assert choose(*flat(3.0, 11.0, 9)).quantities == (0,)


def test_nothing_offered_is_nothing_bought() -> None:
    assert choose([], []).quantities == ()
    with pytest.raises(ValueError, match="same scenarios"):
        choose([Family(np.ones((1, 2)), 1.0), Family(np.ones((2, 2)), 1.0)], flat(1, 1, 1)[1])


def test_an_empty_choice_loses_nothing() -> None:
    empty = Choice((), np.zeros(0), 0.0, 0)
    assert (empty.saving, empty.loss_probability) == (0.0, 0.0)
