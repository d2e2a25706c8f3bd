"""Many offers: what is bought together is credited the same by either way of counting, and the solver's own
failures do not become ours.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest

from finops.engine.commitments import portfolio, selection
from finops.engine.commitments.coverage import cover
from finops.engine.commitments.desk import Desk
from finops.engine.commitments.grid import as_family
from finops.engine.commitments.pools import PoolBook
from finops.engine.commitments.portfolio import Candidate, Family, Limits, choose, worth
from finops.engine.commitments.selection import consider, select, sum_of
from finops.frames.demand import Demand, Use
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind
from finops.frames.sizes import size_table

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SIZES = size_table("aws")
HOURS = 168 * 14


def desk() -> Desk:
    """A day, a week and a rise of the use of one family; two sizes."""
    hour = np.arange(HOURS)
    wave = 6 + 3 * np.sin(hour * np.pi / 12) + 2 * (hour // 24 % 7 < 5) + hour / HOURS
    keys = [
        OfferKey("aws", "us-east-1", "a", "Linux/UNIX", "default", f"m5.{size}")
        for size in ("large", "xlarge")
    ]
    uses = tuple(Use(key, "1", np.round(wave / n)) for key, n in zip(keys, (1, 3), strict=True))
    coverage = cover(Demand(NOW - timedelta(hours=HOURS), HOURS, uses), [], sizes=SIZES)
    price = lambda key: Decimal("0.1") * (SIZES.factor(key.instance_type) or 4) / 4  # noqa: E731
    return Desk(PoolBook(coverage, price, SIZES), NOW, "USD")


def offers(random: np.random.Generator, count: int) -> list[Offer]:
    found = []
    for number in range(count):
        hours = int(random.integers(200, 3000))
        fixed = Decimal(str(round(0.1 * hours * float(random.uniform(0.2, 0.7)), 2)))
        key = OfferKey("aws", "us-east-1", "", "Linux/UNIX", "default", "m5.large")
        found.append(
            Offer(
                str(number), OfferKind.SECOND_HAND, key, OfferingClass.STANDARD, "all-upfront",
                Decimal(hours), fixed, Decimal(0), "USD", int(random.integers(1, 5)), NOW,
            )
        )  # fmt: skip
    return found


@pytest.mark.parametrize("seed", range(4))
def test_stretches_of_time_and_the_grid_count_the_same_cover(seed: int) -> None:
    random = np.random.default_rng(seed)
    found, _refused, draws = consider(desk(), offers(random, 5))
    assert draws is not None
    quantities = random.integers(0, 4, len(found)).astype(float)
    pool = found[0].pool.pool
    values, expected = selection._stretches(found, quantities)
    each = worth(*as_family(desk(), pool, found, draws, mean=False), quantities)
    mean = worth(*as_family(desk(), pool, found, draws, mean=True), quantities)
    assert values == pytest.approx(each, rel=1e-9)
    assert expected == pytest.approx(float(mean[0]), rel=1e-9)


def test_scenarios_of_the_picks_add_up_to_those_of_all() -> None:
    # A limit of risk that forbids nothing makes the choice count by scenario.
    told = replace(desk(), limits=Limits(loss_probability=1.0))
    result = select(told, offers(np.random.default_rng(9), 8))
    assert len(result.picks) > 1
    assert result.choice.savings == pytest.approx(sum_of(result.picks))
    for pick in result.picks:
        low, high = np.quantile(pick.scenarios, (0.05, 0.95))
        assert (pick.evaluation.saving_low, pick.evaluation.saving_high) == pytest.approx((low, high))


def two_families() -> tuple[list[Family], list[Candidate]]:
    random = np.random.default_rng(3)
    families = [Family(random.integers(0, 9, (1, 50)).astype(float), 1.0) for _ in range(2)]
    candidates = [
        Candidate(f, 1.0, np.ones(50), cost, upfront, 9)
        for f in range(2) for cost, upfront in ((20.0, 20.0), (26.0, 0.0))
    ]  # fmt: skip
    return families, candidates


def test_families_one_by_one_are_the_same_optimum_as_all_together() -> None:
    families, candidates = two_families()
    alone = choose(families, candidates)
    together = choose(families, candidates, Limits(upfront=1e9))
    worth_ = portfolio._Worth(families, candidates)
    joint, _rounds = portfolio._Programme(worth_, Limits(), 1).solve()
    assert alone.quantities == together.quantities
    assert alone.saving == pytest.approx(float(worth_.savings(joint)[0]))
    tight = choose(families, candidates, Limits(upfront=40.0))
    assert tight.upfront <= 40.0
    assert tight.saving < alone.saving


def test_a_solver_that_fails_is_asked_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    families, candidates = two_families()
    expected = choose(families, candidates)
    original, asked = portfolio.milp, []

    def failing(*args: object, **options: object) -> object:
        asked.append(options["options"])
        result = original(*args, **options)
        if len(asked) < 4:
            result.x = None
        return result

    monkeypatch.setattr(portfolio, "milp", failing)
    assert choose(families, candidates).quantities == expected.quantities
    assert [one["presolve"] for one in asked[:4]] == [True, False, True, False]  # type: ignore[index]
