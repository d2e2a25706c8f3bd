"""Field cases: change points carried forward, VPC names, price 0 or none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from apps.prices.services import Placed, list_prices_store
from finops.frames.list_prices import SHARED, ListPrice, ListPriceKey
from tests.apps.recommendations.conftest import row, verb

SERIES = ("--region", "us-east-1", "--zone", "us-east-1a", "--type", "m5.large", "--product", "Linux/UNIX")
DAY = ("--from", "2026-05-02T00:00:00Z", "--to", "2026-05-03T00:00:00Z")
RANGE = {
    "request_start": datetime(2026, 5, 1, 20, tzinfo=UTC),
    "request_end": datetime(2026, 5, 3, tzinfo=UTC),
}
Capture = pytest.CaptureFixture[str]


def list_price(kind: str, price: str, at: datetime) -> None:
    """Stores one on-demand price for Linux in us-east-1."""
    key = ListPriceKey("aws", "us-east-1", kind, "linux", "none", SHARED, "USD", at)
    list_prices_store(rows=[Placed("list.csv", 1, ListPrice(key, Decimal(price)))], source="made up")


def test_rows_are_change_points_and_the_one_before_the_window_opens_it(
    load: Callable[..., Any], capsys: Capture
) -> None:
    times = (
        ("2026-05-02T20:00:00Z", "0.110"),
        ("2026-05-01T20:00:00Z", "0.040"),
        ("2026-05-02T06:00:00Z", "0.070"),
    )
    load([row(at, price, "us-east-1a", "m5.large") for at, price in times], **RANGE)

    answer = verb(capsys, "prices", *SERIES, *DAY)

    assert answer["opening_price"] == "0.04"
    assert Decimal(answer["time_weighted_mean"]).quantize(Decimal("0.0000001")) == Decimal("0.0691667")
    assert [change["price"] for change in answer["changes"]] == ["0.07", "0.11"]
    assert answer["known"] == [["2026-05-02T00:00:00Z", "2026-05-03T00:00:00Z"]]
    cost = verb(capsys, "run_cost", *SERIES, "--start", "2026-05-02T02:00:00Z", "--hours", "8")
    assert (cost["cost"], cost["known"], cost["currency"]) == ("0.44", True, "USD")
    three = verb(
        capsys, "run_cost", *SERIES, "--start", "2026-05-02T02:00:00Z", "--hours", "8", "--count", "3"
    )
    assert three["cost"] == "1.32"
    assert (cost["billed_seconds"], cost["counted"]["minimum_seconds"]) == ("28800", 60)
    # 18 seconds are billed as a minute, for each instance.
    short = verb(
        capsys, "run_cost", *SERIES, "--start", "2026-05-02T02:00:00Z", "--hours", "0.005", "--count", "2"
    )
    assert Decimal(short["cost"]) == 2 * Decimal("0.040") / 60
    assert short["billed_seconds"] == "60"


def test_one_row_is_a_complete_answer_for_a_constant_price(load: Callable[..., Any], capsys: Capture) -> None:
    load([row("2026-05-01T20:00:00Z", "0.040", "us-east-1a", "m5.large")], **RANGE)
    assert verb(capsys, "prices", *SERIES, *DAY)["time_weighted_mean"] == "0.04"


def test_time_without_a_price_is_unknown_with_a_reason(load: Callable[..., Any], capsys: Capture) -> None:
    load([row("2026-05-02T06:00:00Z", "0.070", "us-east-1a", "m5.large")], **RANGE)
    cost = verb(capsys, "run_cost", *SERIES, "--start", "2026-05-02T02:00:00Z", "--hours", "8")
    assert (cost["cost"], cost["known"]) == (None, False)
    assert cost["reason"] == "no price is known before 2026-05-02T06:00:00Z"
    prices = verb(capsys, "prices", *SERIES, *DAY)
    assert (prices["opening_price"], prices["time_weighted_mean"]) == (None, "0.07")
    assert prices["known"] == [["2026-05-02T06:00:00Z", "2026-05-03T00:00:00Z"]]


def test_a_question_for_linux_takes_the_vpc_name_where_it_is_known(
    load: Callable[..., Any], capsys: Capture
) -> None:
    at = "2026-01-05T00:00:00Z"
    run = load(
        [
            row(at, "2.000", "us-east-1a", "m5.large"),
            row(at, "0.300", "us-east-1a", "m5.large", "Linux/UNIX (Amazon VPC)"),
            row(at, "0.900", "us-east-1a", "m5.large", "Windows (Amazon VPC)"),
        ]
    )
    assert run.series == 3
    assert verb(capsys, "prices", *SERIES)["opening_price"] == "0.3"


def test_a_question_for_linux_takes_the_plain_name_where_there_is_no_other(
    load: Callable[..., Any], capsys: Capture
) -> None:
    load([row("2026-01-05T00:00:00Z", "0.310", "us-east-1a", "m5.large")])
    assert verb(capsys, "prices", *SERIES)["opening_price"] == "0.31"


def test_a_series_seen_once_has_a_name_beside_others_that_are_known_longer(
    load: Callable[..., Any], capsys: Capture
) -> None:
    load(
        [row(at, "0.04", "us-east-1a", "m5.large") for at in ("2026-01-04T00:00:00Z", "2026-01-05T00:00:00Z")]
    )
    load([row("2026-01-05T00:00:00Z", "0.310", "eu-west-1c", "r5.xlarge")])

    answer = verb(
        capsys, "prices", "--region", "eu-west-1", "--zone", "eu-west-1c", "--type", "r5.xlarge",
        "--product", "Linux/UNIX",
    )  # fmt: skip

    assert (answer["opening_price"], answer["time_weighted_mean"], answer["known"]) == ("0.31", None, [])


def test_without_a_decision_time_nothing_after_now_is_shown(
    load: Callable[..., Any], capsys: Capture
) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    past, future = now - timedelta(hours=4), now + timedelta(hours=4)
    load([row(past, "0.040", "us-east-1a", "m5.large"), row(future, "0.070", "us-east-1a", "m5.large")])

    answer = verb(capsys, "prices", *SERIES)

    assert [change["price"] for change in answer["changes"]] == ["0.04"]
    [[low, high]] = answer["known"]
    assert (low, high[:10]) == (f"{past:%Y-%m-%dT%H:%M:%SZ}", f"{datetime.now(UTC):%Y-%m-%d}")
    later = verb(capsys, "prices", *SERIES, "--at", f"{future:%Y-%m-%dT%H:%M:%SZ}")
    assert later["time_weighted_mean"] == "0.04"
    assert later["known"][0][1] == f"{future:%Y-%m-%dT%H:%M:%SZ}"
    ahead = verb(
        capsys, "run_cost", *SERIES, "--start", f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
        "--hours", "1",
    )  # fmt: skip
    assert (ahead["cost"], ahead["known"]) == (None, False)


def test_a_zone_name_beside_zone_ids_is_still_the_home(load: Callable[..., Any], capsys: Capture) -> None:
    at = datetime(2026, 5, 2, tzinfo=UTC)
    load([row(at, "1.000", "us-east-1a", "m5.large"), row(at, "0.800", "use1-az2", "m5.large")])

    answer = verb(
        capsys, "advise_launch", "--hours", "4", "--types", "m5.large", "--regions", "us-east-1",
        "--home-zone", "us-east-1a", "--product", "Linux/UNIX", "--slack-hours", "0",
        "--at", "2026-05-02T00:00:00Z",
    )  # fmt: skip

    assert (answer["home"]["zone"], answer["home"]["cost"]) == ("us-east-1a", "4")
    best = answer["plans"][0]
    assert (best["zone"], best["cost"], round(best["saving_vs_home_pct"], 6)) == ("use1-az2", "3.2", 20)
    told = "us-east-1a is a zone name beside zone ids: without the account's map one zone may count twice."
    assert [one["reason"] for one in answer["excluded"]] == [told]


def test_a_price_of_zero_or_none_is_never_recommended(load: Callable[..., Any], capsys: Capture) -> None:
    at = datetime(2026, 5, 2, tzinfo=UTC)
    run = load(
        [
            row(at, "0.000000", "us-east-1a", "m5.large"),
            row(at, "0.031", "us-east-1a", "r5.large"),
        ]
    )
    assert (run.stored, run.rejected) == (1, 1)
    list_price("r5.large", "0.126", at)
    list_price("m5.large", "0.096", at)

    answer = verb(
        capsys, "advise_launch", "--hours", "1", "--types", "c5.large,m5.large,r5.large",
        "--regions", "us-east-1",
        "--product", "Linux/UNIX", "--slack-hours", "0", "--at", "2026-05-02T00:00:00Z",
    )  # fmt: skip

    best = answer["plans"][0]
    assert (best["rank"], best["type"], best["market"], best["cost"]) == (1, "r5.large", "spot", "0.031")
    assert round(best["saving_vs_on_demand_pct"], 1) == 75.4
    assert {one["type"] for one in answer["excluded"]} == {"c5.large", "m5.large"}
    assert all(plan["type"] != "m5.large" or plan["market"] == "on-demand" for plan in answer["plans"])
    assert answer["backtest"]["realised_saving_pct"] is None
