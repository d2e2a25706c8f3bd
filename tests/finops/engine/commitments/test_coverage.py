"""What exists covers use once: sizes of a family, zones, accounts, plans after reservations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.commitments.coverage import Coverage, PlanRate, cover, full_use_quantity
from finops.engine.commitments.eligibility import Pool, pool_of, units_of
from finops.frames.commitments import PlanKind, Reserved, SavingsPlan
from finops.frames.demand import Demand, Use
from finops.frames.offers import OfferingClass, OfferKey
from finops.frames.sizes import size_table

START = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = size_table("aws")


def key(kind: str, zone: str = "a", platform: str = "Linux/UNIX", tenancy: str = "default") -> OfferKey:
    return OfferKey("aws", "us-east-1", zone, platform, tenancy, kind)


def use(kind: str, *hours: float, zone: str = "a", account: str = "1", platform: str = "Linux/UNIX") -> Use:
    return Use(key(kind, zone, platform), account, np.array(hours, dtype=float))


def ri(kind: str, count: int = 1, zone: str = "", name: str = "r", **more: object) -> Reserved:
    platform = str(more.pop("platform", "Linux/UNIX"))
    return Reserved(
        name, str(more.pop("account", "1")), key(kind, zone, platform), OfferingClass.STANDARD, count,
        more.pop("start", START), more.pop("end", START + timedelta(days=365)), Decimal(0), Decimal(0), "USD",
    )  # fmt: skip


def covered(*reserved: Reserved, uses: tuple[Use, ...], shared: bool = True) -> Coverage:
    return cover(Demand(START, len(uses[0].hours), uses), reserved, sizes=SIZES, shared=shared)


def test_one_xlarge_covers_two_large() -> None:
    result = covered(ri("m4.xlarge"), uses=(use("m4.large", 2), use("m4.2xlarge", 1)))
    assert units_of(key("m4.xlarge", ""), SIZES) == 8
    assert result.used["r"][0] / result.capacity["r"][0] == 1.0
    units = [4, 16]
    used = sum(float(h[0]) * u for h, u in zip(result.by_reserved, units, strict=True))
    left = sum(float(h[0]) * u for h, u in zip(result.left, units, strict=True))
    assert (used, left) == (8.0, 16.0)
    assert round(used / (used + left) * 100, 1) == 33.3


def test_plans_take_what_reservations_left() -> None:
    plan = SavingsPlan(
        "sp", "1", PlanKind.COMPUTE, "", "", Decimal("0.15"), "USD", START, START + timedelta(days=365)
    )
    result = cover(
        Demand(START, 1, (use("m5.large", 10.0),)),
        [ri("m5.large", 4)],
        [plan],
        sizes=SIZES,
        rates=lambda _p, _k: PlanRate(0.10, 0.10 * (1 - 0.30)),
    )
    assert round(float(result.by_plans[0][0]), 6) == 2.142857
    assert round(float(result.left[0][0]), 6) == 3.857143
    assert full_use_quantity(result.left[0]) == 3
    assert round(float(result.left[0][0]) * 0.10, 6) == 0.385714
    assert result.covering[0] == ("r", "sp")


def test_small_sizes_of_a_family_pay_for_a_large_one() -> None:
    # 5 x 0.5 + 1 x 1 + 2 x 0.25 = 4 units: one t2.large
    mine = (ri("t2.micro", 5, name="a"), ri("t2.small", 1, name="b"), ri("t2.nano", 2, name="c"))
    result = covered(*mine, uses=(use("t2.large", 1.0),))
    assert float(result.left[0][0]) == 0.0
    assert {name: float(hours[0]) for name, hours in result.used.items()} == {"a": 5.0, "b": 1.0, "c": 2.0}


def test_zonal_windows_and_odd_families_match_by_type() -> None:
    uses = (use("m5.xlarge", 1.0), use("m5.large", 1.0, zone="b"), use("m5.large", 2.0, platform="Windows"))
    assert [float(h[0]) for h in covered(ri("m5.large", 4, zone="a"), uses=uses).left] == [1, 1, 2]
    assert [float(h[0]) for h in covered(ri("m5.large", 4, platform="Windows"), uses=uses).left] == [1, 1, 0]
    assert float(covered(ri("g4dn.2xlarge"), uses=(use("g4dn.xlarge", 1.0),)).left[0][0]) == 1.0
    assert pool_of(key("i3.metal", ""), SIZES) == Pool(
        "aws", "us-east-1", "", "Linux/UNIX", "default", "i3", True
    )
    assert float(covered(ri("i3.metal"), uses=(use("i3.8xlarge", 2.0),)).left[0][0]) == 0.0


def test_the_owner_comes_first_and_unshared_stays_at_home() -> None:
    uses = (use("m5.large", 1.0, account="2"), use("m5.xlarge", 1.0, account="1"))
    assert [float(h[0]) for h in covered(ri("m5.xlarge"), uses=uses).left] == [1.0, 0.0]
    assert [float(h[0]) for h in covered(ri("m5.2xlarge"), uses=uses).left] == [0.0, 0.0]
    assert [float(h[0]) for h in covered(ri("m5.2xlarge"), uses=uses, shared=False).left] == [1.0, 0.0]


def test_a_reservation_counts_only_while_it_is_active_and_unknown_hours_stay_unknown() -> None:
    one = ri("m5.large", 1, start=START + timedelta(minutes=90), end=START + timedelta(hours=3))
    result = covered(one, uses=(use("m5.large", 1, 1, np.nan, 1),))
    np.testing.assert_array_equal(result.left[0], [1.0, 0.5, np.nan, 1.0])
    np.testing.assert_array_equal(result.capacity["r"], [0.0, 0.5, 1.0, 0.0])
    np.testing.assert_array_equal(result.used["r"], [0.0, 0.5, 0.0, 0.0])


RUNNING = st.tuples(
    st.sampled_from(["m5.large", "m5.xlarge", "t2.nano"]), st.sampled_from("ab"), st.integers(0, 5)
)
OWNED = st.tuples(
    st.sampled_from(["m5.large", "m5.2xlarge", "t2.large"]), st.sampled_from(["", "a"]), st.integers(1, 4)
)


@settings(deadline=None, max_examples=60)
@given(st.lists(RUNNING, min_size=1, max_size=5), st.lists(OWNED, max_size=4))
def test_what_is_used_is_what_is_covered(
    running: list[tuple[str, str, int]], owned: list[tuple[str, str, int]]
) -> None:
    uses = tuple(use(kind, float(n), zone=zone) for kind, zone, n in running)
    mine = [ri(kind, n, zone, name=str(i)) for i, (kind, zone, n) in enumerate(owned)]
    result = covered(*mine, uses=uses)
    given_units = sum(
        float(result.used[r.id][0]) * float(SIZES.factor(r.key.instance_type) or 0) for r in mine
    )
    taken = sum(
        float(h[0]) * float(SIZES.factor(u.key.instance_type) or 0)
        for u, h in zip(uses, result.by_reserved, strict=True)
    )
    assert abs(given_units - taken) < 1e-9
    assert all(h[0] >= -1e-9 for h in result.left)
    assert all(result.used[r.id][0] <= result.capacity[r.id][0] + 1e-9 for r in mine)
