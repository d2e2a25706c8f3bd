"""Transfer: known pairs cost, unknown ones are unknown, staying costs nothing."""

import pytest

from finops.engine.transfer import TransferPrice, transfer_cost

PRICES = {("us-east-1", "us-west-2"): TransferPrice(0.02, "USD", "made up")}


def test_a_known_pair_costs_amount_times_price() -> None:
    cost = transfer_cost(500, "us-east-1", "us-west-2", PRICES, currency="USD")
    assert cost == pytest.approx(10.0)


def test_the_direction_matters() -> None:
    assert transfer_cost(500, "us-west-2", "us-east-1", PRICES, currency="USD") is None


def test_no_data_and_the_same_region_cost_nothing() -> None:
    assert transfer_cost(0, "us-east-1", "eu-west-1", PRICES, currency="USD") == 0.0
    assert transfer_cost(500, "us-east-1", "us-east-1", {}, currency="USD") == 0.0


def test_an_amount_not_given_or_another_currency_is_unknown_not_zero() -> None:
    assert transfer_cost(None, "", "us-west-2", PRICES, currency="USD") is None
    assert transfer_cost(500, "us-east-1", "us-west-2", PRICES, currency="CNY") is None
