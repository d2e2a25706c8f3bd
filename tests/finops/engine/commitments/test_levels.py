"""Offers of one pool judged together: the same as each by itself, and as trying every quantity."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.commitments import evaluate as judging
from finops.engine.commitments.evaluate import (
    Asked,
    Evaluation,
    Market,
    Rival,
    evaluate,
    evaluate_all,
    offer_hours_left,
)
from finops.engine.commitments.levels import LevelSums
from finops.engine.commitments.refusal import Refusal
from finops.engine.commitments.scenarios import WEEK, Future, draw, future_of
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MARKET = Market(0.05, (Rival("Spot", 0.02, False), Rival("new", 0.03, True)))


def future(seed: int, weeks: int = 20, rise: float = 0.0) -> Future:
    random = np.random.default_rng(seed)
    use = random.integers(0, 9, weeks * WEEK) * 0.5 + rise * np.arange(weeks * WEEK) / WEEK
    return future_of(use, draw(weeks * WEEK, 3 * 8760))


def offer(hours: str, fixed: str, count: int | None = None, seen: datetime = NOW) -> Offer:
    key = OfferKey("aws", "us-east-1", "", "Linux/UNIX", "default", "m5.large")
    return Offer(
        f"{hours}/{fixed}", OfferKind.SECOND_HAND, key, OfferingClass.STANDARD, "partial-upfront",
        Decimal(hours), Decimal(fixed), Decimal("0.003"), "USD", count, seen,
    )  # fmt: skip


def asked(one: Offer, units: str = "1") -> Asked:
    return Asked(one, offer_hours_left(one, NOW), Decimal(units), MARKET)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.floats(0.01, 30), min_size=1, max_size=6, unique=True),
    st.lists(st.sampled_from([1.0, 24.5, 168.0, 600.25, 2184.0, 5000.75, 26280.0]), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.4]),
)
def test_sums_at_many_levels_are_those_at_each(levels: list[float], terms: list[float], rise: float) -> None:
    one, ordered = future(5, rise=rise), np.array(sorted(levels))
    assert (len(one.by_step) > 1) is (rise > 0)
    sums = LevelSums(one, ordered, terms)
    expected = sums.expected()
    for row, hours in enumerate(terms):
        assert expected[row] == pytest.approx([one.expected(hours).at(float(level)) for level in ordered])
    for place, level in enumerate(ordered):
        covered = sums.covered([place] * len(terms))
        for row, hours in enumerate(terms):
            assert covered[row] == pytest.approx(one.covered(float(level), hours))


def test_one_by_one_or_together_is_the_same_to_the_last_bit() -> None:
    random = np.random.default_rng(8)
    offers = [
        asked(offer(str(hours), str(round(hours * random.uniform(0.005, 0.06), 2)), count), units)
        for hours in (30, 730, 5110, 26280)
        for count in (None, 1, 3)
        for units in ("1", "4", "0.5")
    ]
    for rise in (0.0, 0.4):
        together = evaluate_all(offers, future=future(2, rise=rise), now=NOW)
        assert any(isinstance(answer, Refusal) for answer in together)
        assert any(isinstance(answer, Evaluation) for answer in together)
        for one, answer in zip(offers, together, strict=True):
            alone = evaluate(one.offer, units=one.units, future=future(2, rise=rise), market=MARKET, now=NOW)
            if isinstance(answer, Refusal) or isinstance(alone, Refusal):
                assert answer == alone
            else:
                assert answer.quantity == alone.quantity
                assert answer.saving == pytest.approx(alone.saving, rel=1e-12)
                assert answer.saving_low == pytest.approx(alone.saving_low, rel=1e-12)
                assert answer.loss_probability == alone.loss_probability


@pytest.mark.parametrize("count", [None, 3])
def test_the_quantity_is_the_best_of_all(count: int | None) -> None:
    one = future(3)
    for fixed in ("1", "4", "9.5", "14", "22", "26"):
        found = evaluate(offer("730", fixed, count), units=Decimal("0.5"), future=one, market=MARKET, now=NOW)
        tried = [
            evaluate(
                offer("730", fixed, count),
                units=Decimal("0.5"),
                future=one,
                market=MARKET,
                now=NOW,
                quantity=q,
            )
            for q in range(1, (count or 12) + 1)
        ]
        savings = [answer.saving for answer in tried if isinstance(answer, Evaluation)]
        assert len(savings) == len(tried)
        if isinstance(found, Refusal):
            assert max(savings) <= 1e-9
        else:
            assert found.saving == pytest.approx(max(savings))
            assert found.quantity == savings.index(max(savings)) + 1


def test_too_many_levels_are_halved_to_the_same_quantities(monkeypatch: pytest.MonkeyPatch) -> None:
    offers = [asked(offer("730", fixed, count)) for fixed in ("1", "9", "20", "40") for count in (None, 2)]
    tried = evaluate_all(offers, future=future(4), now=NOW)
    monkeypatch.setattr(judging, "MOST_LEVELS", 0)
    halved = evaluate_all(offers, future=future(4), now=NOW)
    assert [getattr(answer, "quantity", answer) for answer in halved] == [
        getattr(answer, "quantity", answer) for answer in tried
    ]
    assert {type(answer) for answer in halved} == {Evaluation, Refusal}


def test_an_offer_that_is_over_keeps_its_place_among_the_others() -> None:
    gone = offer("10", "1", seen=NOW - timedelta(hours=11))
    good, dear = offer("730", "1"), offer("730", "900")
    answers = evaluate_all([asked(dear), asked(gone), asked(good)], future=future(6), now=NOW)
    codes = [answer.code if isinstance(answer, Refusal) else answer.offer.offer for answer in answers]
    assert codes == ["never pays", "over", "730/1"]
    assert answers[1].value("ended") == "2026-04-30T23:00:00+00:00"  # type: ignore[union-attr]
