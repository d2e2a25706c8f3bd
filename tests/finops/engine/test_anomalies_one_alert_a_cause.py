"""Anomalies of daily cost: one a cause, none for what is usual; the table of docs/algorithms/anomalies.md."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.anomaly import Anomaly, Cube, drivers, find

FIRST = date(2026, 3, 2)  # a Monday
DIMENSIONS = ("service", "account", "region", "team")
Parts = dict[tuple[str, str, str, str], list[float]]


def cube(parts: Parts, *, settled: int | None = None, first: date = FIRST) -> Cube:
    values = np.array(list(parts.values()), dtype=np.float64)
    return Cube(DIMENSIONS, tuple(parts), first, values, values.shape[1] if settled is None else settled)


def part(service: str = "EC2", account: str = "1", region: str = "eu", team: str = "") -> tuple[str, ...]:
    return (service, account, region, team)


def around(days: int = 20) -> dict[tuple[str, ...], list[float]]:
    """Two services in two accounts and two regions that cost the same every day."""
    return {
        part(s, a, r): [level] * days
        for s, level in (("EC2", 10.0), ("RDS", 20.0))
        for a in ("1", "2")
        for r in ("eu", "us")
    }


def brief(found: list[Anomaly]) -> list[tuple[str, dict[str, str], int, float, str]]:
    return [(a.direction, dict(a.slice), len(a.days), round(a.amount, 2), a.state) for a in found]


def test_the_worked_table_of_a_spike() -> None:
    days = [10.0, 11.0, 9.0, 10.0, 12.0, 10.0, 9.0, 30.0]
    [got] = find(cube({part(): days}))
    [day] = got.days
    # median 10; deviations 0 1 1 0 2 0 1, their median 1, times 1.4826
    assert (day.day, day.actual, day.expected) == (FIRST + timedelta(days=7), 30.0, 10.0)
    reach = 1.645 * 1.4826 * np.sqrt(1 + 1.2533**2 / 7)
    assert (day.low, day.high) == pytest.approx((10 - reach, 10 + reach))
    assert (got.low, got.amount, got.high) == pytest.approx((20 - reach, 20.0, 20 + reach))
    assert (got.direction, got.slice, got.state) == ("rise", (), "open")


def test_five_deviations_are_needed() -> None:
    days = [10.0, 11.0, 9.0, 10.0, 12.0, 10.0, 9.0]
    assert find(cube({part(): [*days, 10 + 5 * 1.4826 - 0.01]})) == []
    assert len(find(cube({part(): [*days, 10 + 5 * 1.4826 + 0.01]}))) == 1


def test_one_part_that_rises_is_one_alert_with_its_finest_name() -> None:
    parts = around()
    parts[part("EC2", "2", "us")][15] = 40.0
    assert brief(find(cube(parts))) == [
        ("rise", {"service": "EC2", "account": "2", "region": "us"}, 1, 30.0, "over")
    ]


def test_a_service_that_rises_everywhere_is_one_alert() -> None:
    parts = around()
    for key in parts:
        if key[0] == "EC2":
            parts[key][15] = 20.0
    assert brief(find(cube(parts))) == [("rise", {"service": "EC2"}, 1, 40.0, "over")]


def test_two_causes_on_one_day_are_two_alerts() -> None:
    parts = around()
    parts[part("EC2", "1", "eu")][15] = 40.0
    parts[part("RDS", "2", "us")][15] = 90.0
    assert brief(find(cube(parts))) == [
        ("rise", {"service": "RDS", "account": "2", "region": "us"}, 1, 70.0, "over"),
        ("rise", {"service": "EC2", "account": "1", "region": "eu"}, 1, 30.0, "over"),
    ]


def test_many_small_rises_are_seen_where_they_add_up() -> None:
    # Forty services of 1 a day; each rises by 0.9, under the floor of 2 % of the bill for a part.
    parts = {part(f"S{i:02d}", "1" if i % 2 else "2"): [1.0] * 20 for i in range(100)}
    for key in parts:
        if key[1] == "1":
            parts[key][15] = 1.9
    assert brief(find(cube(parts))) == [("rise", {"account": "1"}, 1, 45.0, "over")]


def test_a_new_level_is_one_alert_and_then_the_usual_cost() -> None:
    parts = around(40)
    for at in range(15, 40):
        parts[part("RDS", "1", "eu")][at] = 45.0
    [got] = find(cube(parts))
    assert (got.first_day, len(got.days), got.state) == (FIRST + timedelta(days=15), 7, "new level")
    assert got.amount == 175.0
    parts[part("RDS", "1", "eu")][39] = 20.0
    assert [a.direction for a in find(cube(parts))] == ["rise", "drop"]


def test_a_short_pause_does_not_end_an_anomaly() -> None:
    parts = around(30)
    for at in (15, 16, 18, 19):
        parts[part("RDS", "1", "eu")][at] = 45.0
    assert brief(find(cube(parts))) == [
        ("rise", {"service": "RDS", "account": "1", "region": "eu"}, 4, 100.0, "over")
    ]


def test_incomplete_last_days_are_no_drop_but_may_be_a_rise() -> None:
    parts = around()
    for key in parts:
        parts[key][18:] = [1.0, 0.0]
    assert find(cube(parts, settled=18)) == []
    assert [a.direction for a in find(cube(parts, settled=20))] == ["drop"]
    parts[part("RDS", "1", "eu")][19] = 100.0
    assert brief(find(cube(parts, settled=18))) == [
        ("rise", {"service": "RDS", "account": "1", "region": "eu"}, 1, 80.0, "open")
    ]


def test_weekends_are_no_anomaly_once_they_are_known() -> None:
    week = [50.0] * 5 + [5.0] * 2
    assert find(cube({part(): week * 6}), judge_from=28) == []
    odd = week * 6
    odd[5 * 7 + 6] = 50.0  # a Sunday like a working day
    [got] = find(cube({part(): odd}), judge_from=28)
    assert (got.first_day, got.amount) == (FIRST + timedelta(days=41), 45.0)


def test_fees_of_the_first_are_compared_with_the_first_before() -> None:
    first = date(2026, 3, 1)
    days = [100.0, *[10.0] * 30, 100.0, *[10.0] * 5]
    assert find(cube({part(): days}, first=first)) == []
    days[31] = 150.0
    [got] = find(cube({part(): days}, first=first))
    assert (got.first_day, got.amount) == (date(2026, 4, 1), 50.0)
    # Without an earlier first nobody knows what a first costs.
    assert find(cube({part(): [*[10.0] * 9, 100.0, 10.0]}, first=date(2026, 3, 23))) == []


def test_a_part_that_is_new_is_judged_against_nothing() -> None:
    parts = around()
    parts[part("Bedrock")] = [0.0] * 19 + [60.0]
    assert brief(find(cube(parts))) == [
        ("rise", {"service": "Bedrock", "account": "1", "region": "eu"}, 1, 60.0, "open")
    ]


def test_the_least_amount_holds() -> None:
    parts = around()
    parts[part("EC2", "2", "us")][15] = 40.0
    assert find(cube(parts), least_amount=30.0) == []
    assert len(find(cube(parts), least_amount=29.99)) == 1


def test_an_anomaly_that_began_before_is_not_found_again() -> None:
    parts = around(20)
    for at in (13, 14, 15):
        parts[part("RDS", "1", "eu")][at] = 45.0
    [got] = find(cube(parts), judge_from=15)
    assert got.first_day == FIRST + timedelta(days=13)
    assert find(cube(parts), judge_from=16) == []


def test_drivers_are_named_by_what_they_changed() -> None:
    history = np.array([[10.0, 10.0, 12.0], [5.0, 5.0, 5.0], [0.0, 0.0, 0.0]])
    got = drivers(["box", "disk", "new"], history, np.array([30.0, 4.0, 5.0]), direction="rise")
    assert [(d.key, d.change) for d in got] == [("box", 20.0), ("new", 5.0)]
    assert got[0].share == pytest.approx(20 / 24)
    assert [d.key for d in drivers(["box"], history[:1], np.array([3.0]), direction="drop")] == ["box"]


levels = st.floats(0.1, 1e5)


@given(st.lists(levels, min_size=1, max_size=6), st.integers(8, 50))
@settings(max_examples=40, deadline=None)
def test_what_costs_the_same_every_day_never_alerts(costs: list[float], days: int) -> None:
    parts = {part(f"S{i}"): [level] * days for i, level in enumerate(costs)}
    assert find(cube(parts)) == []


noise = st.lists(st.floats(0.9, 1.1), min_size=24, max_size=24)


@given(noise, noise, st.floats(1e-3, 1e3), st.integers(8, 22), st.floats(1.0, 8.0))
@settings(max_examples=40, deadline=None)
def test_another_currency_changes_nothing(
    one: list[float], two: list[float], rate: float, at: int, factor: float
) -> None:
    one[at] *= factor
    parts = {part("EC2"): one, part("RDS"): two}
    scaled = {key: [v * rate for v in values] for key, values in parts.items()}
    here, there = find(cube(parts)), find(cube(scaled))
    assert [(a.slice, a.direction, a.first_day, a.last_day) for a in here] == [
        (a.slice, a.direction, a.first_day, a.last_day) for a in there
    ]
    assert [a.amount * rate for a in here] == pytest.approx([a.amount for a in there])


@given(noise, st.integers(8, 22), st.floats(3.0, 50.0))
@settings(max_examples=40, deadline=None)
def test_a_single_spike_alerts_once(values: list[float], at: int, factor: float) -> None:
    values[at] *= factor
    quiet = {part("RDS"): [1.0] * 24, part("S3"): [0.5] * 24}
    found = find(cube({part("EC2"): values, **quiet}))
    assert [(dict(a.slice), a.first_day, len(a.days)) for a in found] == [
        ({"service": "EC2"}, FIRST + timedelta(days=at), 1)
    ]


@given(noise, st.integers(8, 22), st.floats(3.0, 50.0), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_order_of_the_parts_does_not_matter(
    values: list[float], at: int, factor: float, random: object
) -> None:
    parts = around(24)
    parts[part("EC2", "1", "us")] = values
    values[at] *= factor
    order = list(parts)
    random.shuffle(order)  # type: ignore[attr-defined]
    assert find(cube({key: parts[key] for key in order})) == find(cube(parts))
