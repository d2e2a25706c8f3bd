"""Advice: properties over made-up markets, and worked examples."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.advice import Advice, advise
from finops.engine.plans import ListedPrice, Market, chance_cheaper
from finops.engine.rework import Hazard, measured_hazard
from finops.engine.series import PriceBook, from_us
from finops.engine.transfer import TransferPrice
from finops.engine.workload import Workload
from tests.support.price_books import START_US, book_of, walk_steps

HOURS = 24 * 50
AT = from_us(START_US + HOURS * 3_600_000_000)
Series = dict[tuple[str, str], list[tuple[float, float]]]
levels = st.floats(0.1, 5.0).map(lambda x: round(x, 4))


def workload(**changes: Any) -> Workload:
    base: dict[str, Any] = {
        "hours": 4, "regions": ("us-east-1",), "product": "Linux/UNIX", "at": AT, "types": ("m5.large",),
        "home_zone": "a", "slack_hours": 0,
    }  # fmt: skip
    return Workload(**(base | changes))


def flat(**prices: float) -> PriceBook:
    """One type, zones with constant prices."""
    return book_of({(zone, "m5.large"): [(0, price)] for zone, price in prices.items()}, hours=HOURS)


def best_cost(found: Advice) -> float:
    assert found.best is not None
    return found.best.cost


@given(home=levels, others=st.lists(levels, min_size=1, max_size=4), more=levels)
@settings(max_examples=25, deadline=None)
def test_one_more_option_never_makes_the_best_plan_dearer(
    home: float, others: list[float], more: float
) -> None:
    zones = dict(zip("bcde", others, strict=False))
    few = advise(workload(), Market(flat(a=home, **zones)))
    many = advise(workload(), Market(flat(a=home, **zones, z=more)))
    assert best_cost(many) <= best_cost(few)
    assert best_cost(few) == pytest.approx(4 * min(home, *others))


@given(
    home=levels, other=levels, share=st.floats(0.3, 1.0), hazard=st.floats(0, 0.1), seed=st.integers(0, 99)
)
@settings(max_examples=15, deadline=None)
def test_cheaper_prices_never_give_a_dearer_plan_and_costs_add_up(
    home: float, other: float, share: float, hazard: float, seed: int
) -> None:
    asked = workload(
        slack_hours=24, hazard_per_hour=hazard, checkpoint_minutes=30, restart_minutes=5, count=3
    )

    def market(factor: float) -> Market:
        steps = {
            ("a", "m5.large"): walk_steps(seed, hours=HOURS, level=home * factor),
            ("b", "m5.large"): walk_steps(seed + 1, hours=HOURS, level=other * factor),
        }
        return Market(book_of(steps, hours=HOURS))

    dear, cheap = advise(asked, market(1.0)), advise(asked, market(share))
    assert best_cost(cheap) <= best_cost(dear) * (1 + 1e-9)
    for plan in dear.plans:
        assert plan.cost == pytest.approx(plan.compute + (plan.transfer or 0) + (plan.rework or 0))
        assert plan.low is not None
        assert plan.high is not None
        assert plan.low <= plan.cost * (1 + 1e-9)
        assert plan.cost <= plan.high * (1 + 1e-9)


@given(seed=st.integers(0, 1000), slack=st.sampled_from([0, 4, 24]))
@settings(max_examples=10, deadline=None)
def test_changing_the_future_changes_nothing(seed: int, slack: int) -> None:
    past: Series = {(zone, "m5.large"): walk_steps(seed + i, hours=HOURS) for i, zone in enumerate("ab")}
    dearer = {key: [*steps, (HOURS + 1.0, 9.0), (HOURS + 9.0, 0.1)] for key, steps in past.items()}
    asked = workload(slack_hours=slack)
    known = advise(asked, Market(book_of(past, hours=HOURS)))
    later = advise(asked, Market(book_of(dearer, hours=HOURS + 200)))
    assert known == later


def test_the_cheapest_zone_now_with_savings_against_home_and_on_demand() -> None:
    market = Market(flat(a=1.25, b=1.0), list_prices={("us-east-1", "m5.large"): ListedPrice(2.0, "USD")})
    found = advise(workload(slack_hours=24), market)
    assert found.best is not None
    assert (found.verdict, found.best.zone, found.best.cost) == ("now", "b", 4.0)
    assert found.best.saving_vs_home_pct == pytest.approx(20.0)
    assert found.best.saving_vs_on_demand_pct == pytest.approx(50.0)
    assert found.best.saving_vs_zone_now_pct == pytest.approx(0.0)
    cells = {(cell.wait_hours, cell.where): cell.result.saving_pct for cell in found.flexibility}
    assert cells[0, "home"] == pytest.approx(0.0)
    assert cells[72, "zone"] == pytest.approx(20.0)
    assert cells[0, "region"] is None
    assert found.backtest.advice.lost_share == 0.0


def test_spot_dearer_than_on_demand_loses_and_the_discount_is_on_demand_only() -> None:
    listed = {("us-east-1", "m5.large"): ListedPrice(1.2, "USD")}
    plain = advise(workload(), Market(flat(a=1.0), list_prices=listed))
    cut = advise(workload(discount_pct=25), Market(flat(a=1.0), list_prices=listed))
    assert plain.best is not None
    assert cut.best is not None
    assert (plain.best.market, plain.best.cost) == ("spot", 4.0)
    assert (cut.best.market, cut.best.cost) == ("on-demand", pytest.approx(3.6))


def test_a_flagged_series_is_set_aside_with_its_reason() -> None:
    book = flat(a=1.25, b=0.2)
    found = advise(workload(), Market(book, flags={book.keys[1]: "stale"}))
    assert found.best is not None
    assert found.best.zone == "a"
    assert [(one.zone, one.reason, one.detail) for one in found.excluded] == [("b", "flagged", "stale")]
    no_home = advise(workload(), Market(book, flags={book.keys[0]: "stale"}))
    assert no_home.home is None
    assert no_home.home_reason.code == "flagged"


def test_what_bars_a_candidate_need_not_bar_the_home_price() -> None:
    book = flat(a=1.25, b=1.0)
    barred = {book.keys[0]: "zone name and id"}
    found = advise(workload(), Market(book, flags=barred, home_flags={}))
    assert found.home is not None
    assert (found.home.zone, found.home.cost) == ("a", 5.0)
    assert found.best is not None
    assert (found.best.zone, found.best.saving_vs_home_pct) == ("b", pytest.approx(20.0))
    assert [(one.zone, one.reason) for one in found.excluded] == [("a", "flagged")]
    other = advise(workload(), Market(book, flags={}, home_flags=barred))
    assert (other.home, other.home_reason.code) == (None, "flagged")


def test_a_price_seen_a_day_ago_is_a_forecast_an_older_one_is_not() -> None:
    book = book_of({("a", "m5.large"): [(0, 1.0)], ("b", "m5.large"): [(0, 0.5)]}, hours=HOURS - 23)
    assert advise(workload(), Market(book)).verdict == "now"
    old = advise(workload(), Market(book_of({("a", "m5.large"): [(0, 1.0)]}, hours=HOURS - 25)))
    assert old.verdict == "cannot judge"
    assert old.excluded[0].reason == "late"


def test_an_unknown_price_of_moving_is_never_recommended_over_a_known_one() -> None:
    west = book_of({("w", "m5.large"): [(0, 0.1)]}, hours=HOURS)
    keys = tuple(
        type(k)("aws", "us-west-2", k.zone, k.instance_type, k.product, k.currency) for k in west.keys
    )
    east = flat(a=1.0)
    both = PriceBook(
        (*east.keys, *keys),
        np.array([0, 1, 2]),
        np.concatenate((east.times, west.times)),
        np.concatenate((east.prices, west.prices)),
        np.array([0, 1, 2]),
        np.concatenate((east.known_from, west.known_from)),
        np.concatenate((east.known_to, west.known_to)),
    )
    asked = workload(regions=("us-east-1", "us-west-2"), data_gib=100, data_region="us-east-1")
    unknown = advise(asked, Market(both))
    assert unknown.best is not None
    assert unknown.best.zone == "a"
    price = {("us-east-1", "us-west-2"): TransferPrice(0.02, "USD", "made up")}
    known = advise(asked, Market(both, transfer=price))
    assert known.best is not None
    assert (known.best.zone, known.best.transfer, known.best.cost) == ("w", 2.0, pytest.approx(2.4))


def test_rework_that_never_ends_excludes_the_place() -> None:
    found = advise(workload(hours=200, hazard_per_hour=1.0), Market(flat(a=1.0)))
    assert found.best is None
    assert found.excluded[0].reason == "never finishes"


def test_types_of_unknown_hazard_are_ranked_as_the_worst_that_is_known() -> None:
    book = book_of({("a", "m5.large"): [(0, 1.0)], ("a", "c5.large"): [(0, 0.99)]}, hours=HOURS)
    hazards = {("us-east-1", "m5.large"): measured_hazard(0.05)}
    found = advise(workload(types=("m5.large", "c5.large")), Market(book, hazards=hazards))
    assert found.best is not None
    assert (found.best.instance_type, found.best.rework) == ("c5.large", None)
    wide = {
        ("us-east-1", "m5.large"): Hazard(0.0, 0.0, 0.0, "none"),
        ("us-east-1", "c5.large"): measured_hazard(0.05),
    }
    found = advise(workload(types=("m5.large", "c5.large")), Market(book, hazards=wide))
    assert found.best is not None
    assert found.best.instance_type == "m5.large"


def test_without_a_home_zone_the_cheapest_zone_is_what_is_compared() -> None:
    found = advise(workload(home_zone=""), Market(flat(a=1.0, b=2.0)))
    assert (found.home, found.home_reason.code) == (None, "not given")
    assert found.zone_now is not None
    assert found.zone_now.zone == "a"


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a zone"):
        workload(at=datetime(2026, 1, 1))  # noqa: DTZ001 - the point of the case
    assert workload().at.tzinfo is UTC


def test_pieces_are_advised_where_their_own_back_test_beats_one_piece() -> None:
    hourly = [(float(h), 2.0 if h % 2 else 1.0) for h in range(HOURS + 1)]
    market = Market(book_of({("a", "m5.large"): hourly}, hours=HOURS))
    found = advise(workload(slack_hours=8, splittable=True, hazard_per_hour=0.0), market)
    assert found.best is not None
    assert found.splitting is not None
    assert found.splitting.test is not None
    assert (found.reason.code, len(found.best.pieces)) == ("pieces", 4)
    assert found.best.cost == pytest.approx(4.0)
    assert found.splitting.test.over_one.saving_pct == pytest.approx(100 * (1 - 4 / 6))
    assert found.backtest.advice == found.splitting.test.over_home
    whole = advise(workload(slack_hours=8), market)
    assert whole.splitting is None
    assert whole.best is not None
    assert not whole.best.pieces


def test_pieces_of_a_flat_price_are_not_worth_it() -> None:
    found = advise(workload(slack_hours=24, splittable=True, restart_minutes=5), Market(flat(a=1.25, b=1.0)))
    assert found.splitting is not None
    assert found.splitting.test is not None
    assert (found.splitting.plan, found.splitting.test.over_one.saving_pct) == (None, 0.0)
    assert found.best is not None
    assert (found.best.zone, found.reason.code) == ("b", "no window")


@given(
    home=levels, others=st.lists(levels, min_size=1, max_size=4), which=st.integers(0, 4),
    share=st.floats(0.05, 1.0), hazard=st.floats(0, 0.1),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_lowering_one_series_never_makes_the_best_plan_dearer(
    home: float, others: list[float], which: int, share: float, hazard: float
) -> None:
    zones = {"a": home, **dict(zip("bcde", others, strict=False))}
    name = sorted(zones)[which % len(zones)]
    asked = workload(hazard_per_hour=hazard, checkpoint_minutes=30)
    before = advise(asked, Market(flat(**zones)))
    after = advise(asked, Market(flat(**(zones | {name: zones[name] * share}))))
    assert best_cost(after) <= best_cost(before) * (1 + 1e-9)


def test_a_chance_claims_no_more_than_the_days_behind_it() -> None:
    always, other = np.ones(28 * 24), np.full(28 * 24, 2.0)
    assert chance_cheaper(always, other) == pytest.approx(29 / 30)
    assert chance_cheaper(other, always) == pytest.approx(1 / 30)
    assert chance_cheaper(always, other, days_each=7.0) == pytest.approx(5 / 6)
    assert chance_cheaper(always[:23], other[:23]) is None


def test_the_cheapest_zone_now_is_a_start_now_and_home_is_compared_with_it() -> None:
    # Every night is cheap, so the rule waits for it; "now in the cheapest zone" stays a start now.
    nightly = [(float(h), 1.0 if h % 24 < 6 else 2.0) for h in range(0, HOURS + 1, 6)]
    dear = [(h, 1.5 * price) for h, price in nightly]
    market = Market(book_of({("a", "m5.large"): dear, ("b", "m5.large"): nightly}, hours=HOURS))
    at = from_us(START_US + (HOURS - 12) * 3_600_000_000)
    found = advise(workload(at=at, slack_hours=24), market)
    assert found.verdict == "wait"
    assert found.zone_now is not None
    assert (found.zone_now.zone, found.zone_now.cost) == ("b", pytest.approx(8.0))
    assert found.home is not None
    assert found.home.saving_vs_zone_now_pct == pytest.approx(-50.0)


def test_on_demand_is_offered_only_in_regions_with_an_allowed_zone() -> None:
    keys = {("a", "m5.large"): [(0, 1.0)], ("b", "m5.large"): [(0, 1.0)]}
    east = book_of(keys, hours=HOURS)
    book = replace(east, keys=(east.keys[0], replace(east.keys[1], region="us-west-2")))
    listed = {(region, "m5.large"): ListedPrice(2.0, "USD") for region in ("us-east-1", "us-west-2")}
    two = {"regions": ("us-east-1", "us-west-2")}
    here = advise(workload(zones=("a",), **two), Market(book, list_prices=listed))
    assert {plan.region for plan in here.plans} == {"us-east-1"}
    anywhere = advise(workload(**two), Market(book, list_prices=listed))
    assert {p.region for p in anywhere.plans if p.series is None} == {"us-east-1", "us-west-2"}


def test_work_on_demand_is_tested_on_demand() -> None:
    listed = {("us-east-1", "m5.large"): ListedPrice(2.0, "USD")}
    market = Market(flat(a=1.25, b=1.0), list_prices=listed)
    found = advise(workload(slack_hours=24, interruptible=False), market)
    assert found.backtest.advice.saving_pct == pytest.approx(100 * (1 - 2.0 / 1.25))
    assert dict(found.backtest.rivals)["spot_rule"].saving_pct == pytest.approx(20.0)
    assert {cell.reason for cell in found.flexibility} == {"may not be interrupted"}
    assert found.waiting.decisions == 0
    unlisted = advise(workload(interruptible=False), Market(flat(a=1.25, b=1.0)))
    assert unlisted.backtest.advice.decisions == 0
    cut = advise(workload(discount_pct=60), market)
    assert cut.best is not None
    assert cut.best.market == "on-demand"
    assert cut.backtest.advice.saving_pct == pytest.approx(100 * (1 - 0.8 / 1.25))


@given(seed=st.integers(0, 10_000), restart=st.sampled_from((0, 5)))
@settings(max_examples=40, deadline=None)
def test_the_first_plan_is_never_dearer_than_another_ranked_one(seed: int, restart: int) -> None:
    hours = np.random.default_rng(seed)
    cycle = 1.0 + 0.4 * hours.random(24)
    prices = [(float(h), float(cycle[h % 24] * (1 + 0.15 * hours.random()))) for h in range(HOURS + 1)]
    asked = workload(slack_hours=24, splittable=True, restart_minutes=restart, hazard_per_hour=0.0)
    found = advise(asked, Market(book_of({("a", "m5.large"): prices}, hours=HOURS)))
    ranked = [plan for plan in found.plans if plan.rank is not None]
    assert [plan.rank for plan in ranked] == list(range(1, len(ranked) + 1))
    assert ranked[0].cost <= min(plan.cost for plan in ranked) * (1 + 1e-9)
