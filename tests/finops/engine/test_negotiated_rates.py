"""Negotiated rates: the most specific row wins, ties are refused, Spot has none."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.engine.rates import (
    SPOT,
    CurrencyMismatchError,
    NegotiatedRate,
    Priced,
    TieError,
    conflicts,
    pattern_fits,
    patterns_meet,
    price_after,
    rate_for,
)

DAY = date(2026, 5, 31)
BOX = Priced(
    "aws",
    "AmazonEC2",
    "us-east-1",
    DAY,
    ("m5.large", "BoxUsage:m5.large"),
    ("Linux/UNIX", "Linux/UNIX (Amazon VPC)"),
)


def row(number: int, **given: Any) -> NegotiatedRate:
    base = {"valid_from": date(2026, 1, 1), "source": "EDP", "percent": Decimal(5)}
    if "price" in given:
        base["percent"] = None
    return NegotiatedRate(**{"id": number, "provider": "aws", **base, **given})


def test_the_most_specific_row_wins_whatever_the_order() -> None:
    every = row(1)
    region = row(2, region="us-east-1")
    service = row(3, service="AmazonEC2")
    pattern = row(4, sku="BoxUsage:m5*")
    longer = row(5, sku="BoxUsage:m5.l*")
    exact = row(6, sku="BoxUsage:m5.large")
    ladder = [every, region, service, pattern, longer, exact]
    for n in range(1, len(ladder) + 1):
        assert rate_for(ladder[:n], BOX) == ladder[n - 1]
        assert rate_for(list(reversed(ladder[:n])), BOX) == ladder[n - 1]


def test_a_row_for_another_service_region_product_day_or_provider_does_not_fit() -> None:
    for other in (
        row(1, service="AmazonS3"), row(1, region="eu-west-1"), row(1, product="Windows"),
        row(1, sku="BoxUsage:p3*"), row(1, provider="azure"), row(1, valid_from=date(2026, 6, 1)),
        row(1, valid_until=DAY),
    ):  # fmt: skip
        assert rate_for([other], BOX) is None
    assert rate_for([row(1, valid_until=date(2026, 6, 1), valid_from=DAY)], BOX) is not None
    assert rate_for([row(1, product="linux/unix (amazon vpc)")], BOX) is not None


def test_spot_is_never_discounted() -> None:
    assert rate_for([row(1), row(2, sku="m5.large")], replace(BOX, market=SPOT)) is None


def test_a_tie_is_refused_and_names_both_rows() -> None:
    with pytest.raises(TieError, match="Negotiated rates 7 and 9 are equally specific") as told:
        rate_for(
            [row(9, sku="m5.larg*"), row(7, sku="m*.large", percent=Decimal(9))],
            replace(BOX, skus=("m5.large",)),
        )
    assert {rate.id for rate in told.value.rows} == {7, 9}
    # A more specific row settles it.
    assert rate_for([row(9), row(7), row(8, sku="m5.large")], BOX) == row(8, sku="m5.large")


def test_percent_and_price_are_exact() -> None:
    assert price_after(row(1, percent=Decimal("12.5")), Decimal("0.0960"), "USD") == Decimal("0.084000")
    assert price_after(row(1, percent=Decimal("0")), Decimal("0.0960"), "USD") == Decimal("0.0960")
    fixed = row(2, price=Decimal("0.0700"), currency="USD")
    assert price_after(fixed, Decimal("0.0960"), "USD") == Decimal("0.0700")
    with pytest.raises(CurrencyMismatchError, match="rate 2 is in USD, the list price in CNY"):
        price_after(fixed, Decimal("0.6"), "CNY")


def test_what_would_tie_is_found_when_it_is_entered() -> None:
    known = [
        row(1, sku="BoxUsage:p3*", valid_until=date(2026, 7, 1)),
        row(2, sku="BoxUsage:g5*"),
        row(3, region="us-east-1"),
    ]
    new = row(0, sku="???Usage:p3.2")
    assert [r.id for r in conflicts(replace(new, sku="BoxUsage?p3*"), known)] == []
    assert [r.id for r in conflicts(replace(new, sku="???Usage:p3.2x"), known)] == [1]
    assert conflicts(replace(new, sku="???Usage:p3.2x", valid_from=date(2026, 7, 1)), known) == []
    assert [r.id for r in conflicts(row(0, region="US-EAST-1"), known)] == [3]
    assert conflicts(row(3, region="us-east-1"), known) == []
    assert conflicts(row(0, region="eu-west-1"), known) == []


TEXT = st.text(alphabet="ab", max_size=5)
PATTERN = st.text(alphabet="ab*?", max_size=5)


@given(PATTERN, PATTERN, TEXT)
def test_patterns_that_share_a_text_meet(one: str, other: str, text: str) -> None:
    if one and other and pattern_fits(one, text) and pattern_fits(other, text):
        assert patterns_meet(one, other)
    assert patterns_meet(one, other) == patterns_meet(other, one)


@given(PATTERN.filter(bool), PATTERN.filter(bool))
def test_patterns_that_meet_share_a_short_text(one: str, other: str) -> None:
    """Texts over two letters up to the joined length are enough to find one."""
    from itertools import product

    texts = ("".join(t) for n in range(len(one) + len(other) + 1) for t in product("ab", repeat=n))
    shared = any(pattern_fits(one, text) and pattern_fits(other, text) for text in texts)
    assert patterns_meet(one, other) == shared


@given(st.lists(st.sampled_from(["", "AmazonEC2"]), min_size=3, max_size=3), st.permutations(range(4)))
def test_rows_that_do_not_conflict_never_tie(services: list[str], order: list[int]) -> None:
    kept: list[NegotiatedRate] = []
    made = [row(i + 1, service=s, region="us-east-1" if i % 2 else "") for i, s in enumerate([*services, ""])]
    for i in order:
        if not conflicts(made[i], kept):
            kept.append(made[i])
    assert rate_for(kept, BOX) in kept
