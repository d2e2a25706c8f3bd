"""Each offer is evaluated or refused with its reason; chosen ones share hours and add up."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest

from finops.engine.commitments.coverage import cover
from finops.engine.commitments.desk import Desk
from finops.engine.commitments.evaluate import (
    Market,
    Rival,
    cash_curve,
    evaluate,
    offer_hours_left,
    savings_by_scenario,
    worst_point,
)
from finops.engine.commitments.pools import PoolBook
from finops.engine.commitments.portfolio import Limits
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import draw, future_of
from finops.engine.commitments.selection import advised, select
from finops.frames.commitments import Reserved
from finops.frames.demand import Demand, Use
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind
from finops.frames.sizes import size_table

NOW = datetime(2026, 5, 1, tzinfo=UTC)
HOURS = 720
SIZES = size_table("aws")
D = Decimal


def key(kind: str = "m5.large", zone: str = "", platform: str = "Linux/UNIX", **more: str) -> OfferKey:
    return OfferKey(
        "aws", more.get("region", "us-east-1"), zone, platform, more.get("tenancy", "default"), kind
    )


def offer(name: str, fixed: str, hours: int = 7200, count: int | None = None, **more: str) -> Offer:
    return Offer(
        name, OfferKind.NEW, key(**more), OfferingClass.STANDARD, "all-upfront", D(hours), D(fixed), D(0),
        "USD", count, NOW,
    )  # fmt: skip


def book(*uses: Use, owned: tuple[Reserved, ...] = (), price: str | None = "0.1") -> PoolBook:
    demand = Demand(NOW - timedelta(hours=HOURS), HOURS, uses)
    coverage = cover(demand, owned, sizes=SIZES)
    return PoolBook(
        coverage,
        lambda k: None if price is None else D(price) * (SIZES.factor(k.instance_type) or 4) / 4,
        SIZES,
    )


def use(kind: str = "m5.large", zone: str = "a", level: float = 3.0, platform: str = "Linux/UNIX") -> Use:
    return Use(key(kind, zone, platform), "1", np.full(HOURS, level))


def picked(result: object) -> dict[str, int]:
    return {p.considered.offer.offer: p.evaluation.quantity for p in result.picks}  # type: ignore[attr-defined]


def test_a_steady_load_is_bought_whole_at_the_cheapest_price() -> None:
    # 7200 h x 0.1 = 720.00 on demand; 3.5 instances: a fourth would be used half
    chosen = select(
        Desk(book(use(level=3.5)), NOW, "USD"), [offer("dear", "500"), offer("cheap", "400", count=2)]
    )
    assert picked(chosen) == {"cheap": 2, "dear": 1}
    assert [round(p.evaluation.saving, 2) for p in chosen.picks] == [640.0, 220.0]
    assert sum(p.evaluation.saving for p in chosen.picks) == pytest.approx(chosen.choice.saving)
    assert [p.evaluation.loss_probability for p in chosen.picks] == [0.0, 0.0]


def test_zonal_and_regional_offers_of_one_family_share_its_hours() -> None:
    uses = (use(zone="a", level=1.0), use(kind="m5.xlarge", zone="b", level=1.0))
    offers = [offer("zonal", "300", zone="a"), offer("regional", "400")]
    chosen = select(Desk(book(*uses), NOW, "USD"), offers)
    # 12 units in all, 4 of them in zone a: one zonal and two regional ones of 4 units
    assert picked(chosen) == {"zonal": 1, "regional": 2}
    assert [round(p.evaluation.saving, 2) for p in chosen.picks] == [420.0, 640.0]
    assert sum(p.evaluation.saving for p in chosen.picks) == pytest.approx(chosen.choice.saving)


def test_what_comes_later_is_credited_with_what_it_adds() -> None:
    chosen = select(
        Desk(book(use(level=1.0)), NOW, "USD"), [offer("short", "100", 3600), offer("long", "500")]
    )
    # long alone saves 220; short saves 260 of its 360 and ends half way: long after it adds 360 - 500 < 0
    assert picked(chosen) == {"short": 1}
    assert chosen.refused[0][1] == refuse("hours taken by", by="short")


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (offer("o", "400", zone="b"), refuse("zonal", offered="b", used="a")),
        (
            offer("o", "400", platform="Windows"),
            refuse("other platform", offered="Windows", used="Linux/UNIX"),
        ),
        (
            offer("o", "400", region="eu-west-1"),
            refuse("other region", offered="eu-west-1", used="us-east-1"),
        ),
        (
            offer("o", "400", tenancy="dedicated"),
            refuse("other tenancy", offered="dedicated", used="default"),
        ),
        (offer("o", "400", kind="c5.large"), refuse("no use", family="c5")),
        (
            offer("o", "400", kind="m5.xlarge", zone="a"),
            refuse("zonal size", offered="m5.xlarge", used="m5.large"),
        ),
        (offer("o", "800"), refuse("never pays", effective="0.111111", on_demand="0.100000")),
        (replace(offer("o", "1"), currency="EUR"), refuse("other currency", offered="EUR", used="USD")),
    ],
)
def test_a_refusal_says_what_keeps_the_offer_away(wanted: Offer, reason: Refusal) -> None:
    result = select(Desk(book(use()), NOW, "USD"), [wanted])
    assert result.picks == ()
    assert result.refused == ((wanted, reason),)


def test_covered_use_unpriced_use_and_little_use_are_refused() -> None:
    owned = Reserved(
        "ri-1", "1", key(), OfferingClass.STANDARD, 3, NOW - timedelta(days=60), NOW + timedelta(days=60),
        D(0), D(0), "USD",
    )  # fmt: skip
    one = offer("o", "400")

    def reason(pools: PoolBook) -> Refusal:
        return select(Desk(pools, NOW, "USD"), [one]).refused[0][1]

    assert reason(book(use(), owned=(owned,))) == refuse("already covered", by="ri-1")
    assert reason(book(use(), price=None)) == refuse("no list price", type="m5.large", region="us-east-1")
    assert reason(book(use(level=0.5))) == refuse("too little use", needed_pct="55.6", used_pct="50.0")
    assert reason(book(Use(key(zone="a"), "1", np.full(HOURS, np.nan)))) == refuse("no known use")
    windows = book(use(kind="m5.xlarge", platform="Windows"))
    two = offer("o", "1", platform="Windows")
    assert select(Desk(windows, NOW, "USD"), [two]).refused[0][1] == refuse(
        "size", offered="m5.large", used="m5.xlarge"
    )


def test_the_cash_limit_is_named() -> None:
    desk = Desk(book(use()), NOW, "USD", limits=Limits(upfront=399.0))
    result = select(desk, [offer("o", "400")])
    assert result.refused[0][1] == refuse("over the cash limit", upfront=D(400), limit=399.0)
    assert picked(select(replace(desk, limits=Limits(upfront=900.0)), [offer("o", "400")])) == {"o": 2}


def test_the_risk_limit_leaves_out_what_may_lose() -> None:
    random = np.random.default_rng(5)
    hours = np.repeat(random.integers(0, 2, 30), 24) * 2.0
    pools = book(Use(key(zone="a"), "1", hours))
    one = [offer("o", str(round(float(hours.mean()) / 2 * 720 * 0.95, 2)))]
    free = select(Desk(pools, NOW, "USD"), one)
    assert picked(free) == {"o": 2}
    assert 0.0 < free.picks[0].evaluation.loss_probability < 0.5
    limited = select(Desk(pools, NOW, "USD", limits=Limits(loss_probability=0.0)), one)
    assert limited.picks == ()
    assert limited.refused[0][1].code == "over the risk limit"


def test_a_second_hand_term_runs_on_while_it_stands() -> None:
    old = replace(offer("o", "400"), kind=OfferKind.SECOND_HAND, seen_at=NOW - timedelta(hours=100))
    assert offer_hours_left(old, NOW) == 7100
    assert offer_hours_left(replace(old, kind=OfferKind.NEW), NOW) == 7200
    gone = replace(old, seen_at=NOW - timedelta(hours=7200))
    assert select(Desk(book(use()), NOW, "USD"), [gone]).refused[0][1].code == "over"


def test_the_curve_ends_at_the_expected_saving_and_not_at_the_mean_of_the_draws() -> None:
    hours = np.repeat(np.random.default_rng(5).integers(0, 2, 30), 24) * 1.0
    future = future_of(hours, draw(720, 7200))
    market = Market(0.1, ())
    one = evaluate(offer("o", "300"), units=D(1), future=future, market=market, now=NOW, quantity=1)
    assert not isinstance(one, Refusal)
    drawn = float(savings_by_scenario(one, future=future, market=market).mean())
    assert abs(drawn - one.saving) > 0.5
    last = cash_curve(one, future=future, market=market, now=NOW)[-1]
    assert last.expected == pytest.approx(one.saving, abs=1e-6)
    assert (last.low, last.high) == pytest.approx((one.saving_low, one.saving_high), abs=1e-6)


def test_advised_is_what_is_above_zero_in_its_whole_interval_or_within_the_asked_risk() -> None:
    hours = np.repeat(np.random.default_rng(5).integers(0, 2, 30), 24) * 2.0
    pools = book(Use(key(zone="a"), "1", hours))
    close = [offer("o", str(round(float(hours.mean()) / 2 * 720 * 0.95, 2)))]
    sure = [offer("o", str(round(float(hours.mean()) / 2 * 720 * 0.2, 2)))]
    none = Limits()
    [risky] = select(Desk(pools, NOW, "USD"), close).picks
    assert risky.evaluation.saving > 0 > risky.evaluation.saving_low
    assert not advised(risky, none)
    assert advised(risky, Limits(loss_probability=0.9))
    [safe] = select(Desk(pools, NOW, "USD"), sure).picks
    assert safe.evaluation.saving_low > 0
    assert advised(safe, none)


def test_cash_goes_down_by_the_price_and_comes_back_by_month() -> None:
    future = future_of(np.full(HOURS, 1.0), draw(HOURS, 7200))
    market = Market(0.1, (Rival("spot", 0.03, every_hour=False), Rival("new 1y", 0.07, every_hour=True)))
    one = evaluate(offer("o", "400"), units=D(1), future=future, market=market, now=NOW, quantity=1)
    assert not isinstance(one, Refusal)
    curve = cash_curve(one, future=future, market=market, now=NOW)
    assert (curve[0].expected, round(curve[1].expected, 6)) == (-400.0, -400 + 744 * 0.1)
    assert round(curve[-1].expected, 6) == round(one.saving, 6) == 320.0
    assert curve[-1].at == NOW + timedelta(hours=7200)
    assert worst_point(curve) == curve[0]
    assert [(name, round(value, 6)) for name, value in one.versus] == [
        ("on-demand", 320.0),
        ("spot", -184.0),
        ("new 1y", 104.0),
    ]
    assert one.break_even_at == NOW + timedelta(hours=4000)
    assert one.monthly_saving == pytest.approx(320 / 7200 * 730)
