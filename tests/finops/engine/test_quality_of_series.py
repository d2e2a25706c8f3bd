"""Data quality: each flaw found on the series that has it, and on no other."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.quality import (
    DAY_US,
    Finding,
    _lowest_others,
    _median_others,
    blocked,
    check_quality,
)
from finops.engine.series import US_PER_HOUR, PriceBook, SeriesKey, to_us

NOW = to_us(datetime(2026, 6, 1, tzinfo=UTC))
START = NOW - 60 * DAY_US
Row = tuple[float, float]  # days before now, price


def key(zone: str, product: str = "Linux/UNIX", type_: str = "m5.large") -> SeriesKey:
    return SeriesKey("aws", "us-east-1", zone, type_, product, "USD")


def book_of(series: dict[SeriesKey, list[Row]], known: dict[SeriesKey, list[Row]] | None = None) -> PriceBook:
    spans = {one: (known or {}).get(one, [(rows[0][0], 0.0)]) for one, rows in series.items()}
    flat = [row for rows in series.values() for row in rows]
    ranges = [span for one in series for span in spans[one]]
    return PriceBook(
        tuple(series),
        np.cumsum([0, *(len(rows) for rows in series.values())]),
        np.array([NOW - round(ago * DAY_US) for ago, _ in flat], np.int64),
        np.array([price for _, price in flat], np.float64),
        np.cumsum([0, *(len(spans[one]) for one in series)]),
        np.array([NOW - round(low * DAY_US) for low, _ in ranges], np.int64),
        np.array([NOW - round(high * DAY_US) for _, high in ranges], np.int64),
    )


def moving(level: float) -> list[Row]:
    """A change a day around `level` for 60 days."""
    return [(float(ago), round(level * (1 + 0.02 * (ago % 3)), 4)) for ago in range(60, 0, -1)]


def kinds(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.key.zone, one.kind) for one in findings]


def test_healthy_series_have_no_findings() -> None:
    book = book_of({key("us-east-1a"): moving(0.05), key("us-east-1b"): moving(0.04)})
    assert check_quality(book, now_us=NOW, list_prices=np.array([0.096, 0.096])) == []


def test_a_price_that_stands_for_weeks_while_the_others_move_is_stale() -> None:
    series = {key("us-east-1a"): [(60.0, 0.05), (30.0, 0.06)], key("us-east-1b"): moving(0.05)}
    (found,) = check_quality(book_of(series), now_us=NOW)
    assert (found.kind, found.key.zone, found.severity) == ("stale", "us-east-1a", "warning")
    assert (found.blocks_home, found.blocks_candidate) == (True, True)
    assert found.since == NOW - 30 * DAY_US
    assert str(found) == "Unchanged for 30 days (since 2026-05-02) while the other zones changed 29 times."


def test_rows_that_repeat_the_price_do_not_hide_staleness() -> None:
    still = [(60.0, 0.06), *((float(ago), 0.06) for ago in range(59, 0, -1))]
    found = check_quality(book_of({key("us-east-1a"): still, key("us-east-1b"): moving(0.05)}), now_us=NOW)
    assert kinds(found) == [("us-east-1a", "stale")]


@pytest.mark.parametrize(
    "series",
    [
        {key("us-east-1a"): [(60.0, 0.05)], key("us-east-1b"): [(60.0, 0.04)]},  # a calm market
        {key("us-east-1a"): [(60.0, 0.03)], key("us-east-1b"): moving(0.05)},  # a floor price
        {key("us-east-1a"): [(20.0, 0.06)], key("us-east-1b"): moving(0.05)},  # not for weeks
        {key("us-east-1a"): [(60.0, 0.06)]},  # no neighbours
    ],
)
def test_standing_still_alone_is_not_stale(series: dict[SeriesKey, list[Row]]) -> None:
    assert check_quality(book_of(series), now_us=NOW) == []


def test_at_list_price_while_the_other_zones_are_at_a_third() -> None:
    series = {
        key("us-east-1a"): [(60.0, 0.03), (9.0, 0.095)],
        key("us-east-1b"): moving(0.031),
        key("us-east-1c"): moving(0.030),
    }
    (found,) = check_quality(book_of(series), now_us=NOW, list_prices=np.full(3, 0.096))
    assert found.kind == "at list price"
    assert str(found) == "At 99 % of the on-demand price since 2026-05-23; the other zones are at 32 %."
    assert check_quality(book_of(series), now_us=NOW - 4 * DAY_US, list_prices=np.full(3, 0.096)) == []
    (without,) = check_quality(book_of(series), now_us=NOW)
    assert str(without) == (
        "3.1 times the price of the other zones since 2026-05-23; no list price to compare with."
    )


def test_spot_above_on_demand() -> None:
    book = book_of({key("us-east-1a"): [(60.0, 0.05), (1.0, 0.12)], key("us-east-1b"): moving(0.05)})
    (found,) = check_quality(book, now_us=NOW, list_prices=np.array([0.096, 0.096]))
    assert (found.kind, str(found)) == ("above on-demand", "Spot costs 1.25 times the on-demand price.")
    home, candidate = blocked([found], 2)
    assert (home.tolist(), candidate.tolist()) == ([True, False], [True, False])


def test_gaps_between_known_ranges_are_told_but_block_nothing() -> None:
    one = key("us-east-1a")
    book = book_of({one: moving(0.05)}, {one: [(60, 40), (38, 20), (19.99, 10), (8, 0)]})
    (found,) = check_quality(book, now_us=NOW)
    assert (found.kind, found.severity, found.blocks_home) == ("gap", "info", False)
    assert str(found) == "Prices are unknown for 96 h in 2 gaps, the first from 2026-04-22."
    assert check_quality(book, now_us=NOW - 39 * DAY_US) == []


def test_zone_names_beside_zone_ids() -> None:
    book = book_of(
        {key("us-east-1a"): moving(0.05), key("use1-az2"): moving(0.05), key("use1-az4"): moving(0.05)}
    )
    assert kinds(check_quality(book, now_us=NOW)) == [("us-east-1a", "zone name and id")]
    with_account = book_of({key("123456789012:us-east-1a"): moving(0.05), key("use1-az2"): moving(0.05)})
    assert kinds(check_quality(with_account, now_us=NOW)) == [("123456789012:us-east-1a", "zone name and id")]
    elsewhere = book_of({key("us-east-1a"): moving(0.05), key("use1-az2", type_="c5.large"): moving(0.05)})
    assert check_quality(elsewhere, now_us=NOW) == []


def test_zone_ids_of_another_time_say_nothing_of_zone_names() -> None:
    name, by_id = key("us-east-1a"), key("use1-az2")
    later = book_of({name: moving(0.05), by_id: [(3.0, 0.05)]}, {name: [(60, 10)], by_id: [(3, 0)]})
    # Twenty days ago nothing was known by id; now nothing is known by name.
    assert check_quality(later, now_us=NOW - 20 * DAY_US) == []
    assert check_quality(later, now_us=NOW) == []
    together = book_of({name: moving(0.05), by_id: [(30.0, 0.05)]}, {by_id: [(30, 0)]})
    assert kinds(check_quality(together, now_us=NOW - 20 * DAY_US)) == [("us-east-1a", "zone name and id")]


def test_two_names_of_a_product_at_two_prices() -> None:
    plain, vpc = key("us-east-1a"), key("us-east-1a", "Linux/UNIX (Amazon VPC)")
    (found,) = check_quality(book_of({plain: [(9.0, 2.0)], vpc: [(9.0, 0.3)]}), now_us=NOW)
    assert (found.key, found.kind) == (plain, "two product names")
    assert str(found) == "Linux/UNIX differs by +566.7 % from its (Amazon VPC) name: they are two markets."
    assert check_quality(book_of({plain: [(9.0, 0.3)], vpc: [(9.0, 0.3)]}), now_us=NOW) == []


def test_a_licence_cheaper_than_linux() -> None:
    linux, windows = key("us-east-1a"), key("us-east-1a", "Windows")
    (found,) = check_quality(book_of({linux: [(9.0, 0.3)], windows: [(9.0, 0.15)]}), now_us=NOW)
    assert (found.key, found.kind) == (windows, "licence below Linux")
    assert str(found) == "Windows costs 50 % of Linux on the same machine; a licence cannot make it cheaper."


def test_prices_that_are_not_above_zero() -> None:
    rows = [(9.0, 0.3), (8.0, 0.0), (7.0, float("nan")), (6.0, 0.3)]
    (found,) = check_quality(book_of({key("us-east-1a"): rows}), now_us=NOW)
    assert (found.kind, found.severity, str(found)) == (
        "invalid price",
        "error",
        "2 prices are not above 0; no price is not a free one.",
    )


def test_nothing_after_now_is_looked_at() -> None:
    calm, dear = moving(0.05), [*moving(0.05)[:-1], (0.5, 9.0)]
    before = NOW - DAY_US
    listed = np.array([0.096, 0.096])
    for rows in (calm, dear):
        book = book_of({key("us-east-1a"): rows, key("us-east-1b"): moving(0.05)})
        assert check_quality(book, now_us=before, list_prices=listed) == []


def test_an_empty_book_and_wrong_list_prices() -> None:
    assert (
        check_quality(
            PriceBook(
                (),
                *[np.zeros(1, np.int64)],
                *[np.zeros(0)] * 2,
                *[np.zeros(1, np.int64)],
                *[np.zeros(0, np.int64)] * 2,
            ),
            now_us=NOW,
        )
        == []
    )
    with pytest.raises(ValueError, match="list prices for 1 series"):
        check_quality(book_of({key("us-east-1a"): moving(1.0)}), now_us=NOW, list_prices=np.zeros(2))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(1, 9))), max_size=12))
def test_the_median_of_the_others(members: list[tuple[int, int | None]]) -> None:
    group = np.array([g for g, _ in members], np.int64)
    values = np.array([np.nan if v is None else v for _, v in members], np.float64)
    found = _median_others(values, group)
    for n, (g, v) in enumerate(members):
        others = [w for m, (h, w) in enumerate(members) if h == g and m != n and w is not None]
        if v is None or not others:
            assert np.isnan(found[n])
        else:
            assert found[n] == np.median(others)


def test_unknown_prices_are_no_neighbours() -> None:
    """A zone known only until 30 days ago says nothing about whether today's price is stale."""
    gone = key("us-east-1b")
    series = {key("us-east-1a"): [(60.0, 0.06)], gone: moving(0.05)}
    assert check_quality(book_of(series, {gone: [(60, 30)]}), now_us=NOW) == []
    assert US_PER_HOUR * 24 == DAY_US


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.2, 0.2, 0.5, float("nan")])), max_size=14)
)
def test_the_lowest_of_the_others_is_that_of_looking_at_each(rows: list[tuple[int, float]]) -> None:
    group = np.array([g for g, _ in rows], np.int64)
    values = np.array([v for _, v in rows], np.float64)
    wanted = []
    for i, (own, _value) in enumerate(rows):
        others = [v for j, (g, v) in enumerate(rows) if j != i and g == own and v == v]
        wanted.append(min(others) if others else float("nan"))
    np.testing.assert_array_equal(_lowest_others(values, group), np.array(wanted, np.float64))
