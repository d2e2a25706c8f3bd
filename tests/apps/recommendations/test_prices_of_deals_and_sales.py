"""The calculator, one offer with what-if values, what may be sold: by service, command and REST."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from apps.ingest.models import IngestRun
from apps.recommendations.services.deal_claim import Claim, deal_claim
from apps.recommendations.services.deal_offer import offer_detail
from finops.engine.workload import WorkloadError
from tests.support.deals import AT, asked, bill, owned, plan_price, prices, seen

pytestmark = pytest.mark.django_db
D = Decimal
# The worked example of docs/algorithms/deals.md.
BY_HAND = {"list_fixed": D(500), "on_demand": D("0.096"), "spot": D("0.032")}


@pytest.fixture
def client() -> Client:
    user = User.objects.create_user("v@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=Organisation.default(), role="viewer")
    client = Client()
    client.force_login(user)
    return client


def against(document: dict[str, Any], reading: int = 0) -> dict[str, dict[str, Any]]:
    return {one["rival"]: one for one in document["deals"][reading]["against"]}


def test_the_claim_by_hand() -> None:
    document = deal_claim(Claim(**BY_HAND), at=AT)
    whole, left = document["deals"]
    assert (whole["reading"], whole["price"], whole["effective_hourly"]) == (
        "whole term",
        "150",
        "0.02568493",
    )
    assert (left["reading"], left["price"]) == ("remaining term", "100")
    found = against(document)
    assert (found["on-demand"]["saving"], found["on-demand"]["pays"]) == ("410.64", True)
    assert found["on-demand"]["from_use_pct"] == pytest.approx(26.755, abs=1e-3)
    assert found["spot"]["from_use_pct"] == pytest.approx(80.265, abs=1e-3)
    assert (found["new-1y"]["saving"], found["new-1y"]["reason"]) == (
        None,
        "Give a type and a region to compare with it.",
    )
    little = against(deal_claim(Claim(**BY_HAND, used_pct=D(25)), at=AT))
    assert (little["on-demand"]["saving"], little["on-demand"]["pays"]) == ("-9.84", False)
    assert little["spot"]["pays"] is False


def test_a_price_has_one_reading() -> None:
    document = deal_claim(Claim(**BY_HAND, price=D(200)), at=AT)
    (one,) = document["deals"]
    assert (one["reading"], one["price"], document["claim"]["share_pct"]) == ("price", "200", 40.0)


def test_prices_come_from_the_lists_and_from_measured_spot(load: Callable[..., IngestRun]) -> None:
    prices()
    plan_price("0.06")
    row = {"Timestamp": (AT - timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ"), "SpotPrice": "0.03",
           "AvailabilityZone": "us-east-1a", "InstanceType": "m5.large",
           "ProductDescription": "Linux/UNIX"}  # fmt: skip
    load([row], request_start=AT - timedelta(days=30), request_end=AT, region="us-east-1")
    words = ("--type", "m5.large", "--region", "us-east-1", "--months-left", "8")
    document = asked("price_deal", *words)
    assert document["list"]["fixed"] == "500"
    found = against(document)
    assert {name: one["hourly"] for name, one in found.items()} == {
        "on-demand": "0.1", "spot": "0.03", "new-1y": "0.05707763", "new-3y": None,
        "savings-plan-1y": "0.06", "savings-plan-3y": None,
    }  # fmt: skip
    assert found["spot"]["detail"] == "us-east-1a"
    # at 150 for 5840 h every used hour of Spot must count: 150 / 0.03 = 5000 h
    assert found["spot"]["from_use_pct"] == pytest.approx(5000 / 5840 * 100, abs=1e-6)


def test_a_larger_size_is_priced_from_the_smallest_of_its_family() -> None:
    prices()
    prices("m5.xlarge", 2)
    document = deal_claim(Claim("m5.xlarge", "us-east-1"), at=AT)
    assert document["list"]["fixed"] == "1000"
    assert against(document)["on-demand"]["hourly"] == "0.2"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "type"),
        ({"instance_type": "m5.large"}, "region"),
        ({"instance_type": "m5.large", "region": "us-east-1"}, "type"),
        ({**BY_HAND, "share_pct": D(-1)}, "share_pct"),
        ({**BY_HAND, "used_pct": D(101)}, "used_pct"),
        ({**BY_HAND, "hours_left": D(0)}, "hours_left"),
        ({**BY_HAND, "hours_left": D(8761)}, "hours_left"),
        ({**BY_HAND, "list_fixed": D(0)}, "list_fixed"),
        ({**BY_HAND, "price": D("Infinity")}, "price"),
        ({"instance_type": "x", "region": "us-east-1", "platform": "BeOS"}, "platform"),
    ],
)
def test_a_claim_out_of_range_names_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(WorkloadError) as refused:
        deal_claim(Claim(**given), at=AT)
    assert refused.value.field == field


def test_the_claim_by_rest_is_that_of_the_command(client: Client) -> None:
    words = ["--list-fixed", "500", "--on-demand", "0.096", "--spot", "0.032"]
    told = asked("price_deal", *words)
    rest = client.get(
        "/api/v1/deals/claim?list_fixed=500&on_demand=0.096&spot=0.032&at=2018-11-03T00:00:00Z"
    ).json()
    assert rest == told
    assert client.get("/api/v1/deals/claim?list_fixed=500").status_code == 400


def test_an_offer_with_what_if_values() -> None:
    bill(Organisation.default(), quantity="2")
    prices()
    row = seen(fixed="150")
    document = offer_detail(offer_id=row.pk, organisation=Organisation.default(), at=AT)
    assert (document["judged"]["quantity"], document["judged"]["saving"]) == (1, "434")
    assert (document["refused"], document["what_if"]) == (None, None)
    asked_for = offer_detail(
        offer_id=row.pk, organisation=Organisation.default(), at=AT, price=D(300), hours_left=D(5000),
        used_pct=D(50), quantity=2,
    )  # fmt: skip
    found = asked_for["what_if"]
    # two at 300 for 5,000 h, used half: 2 x 5000 x 0.5 x 0.1 = 500 against 600
    assert (found["quantity"], found["upfront"], float(found["saving"])) == (2, "600", pytest.approx(-100))
    assert (found["pays_up_to_price"], found["pays_from_use_pct"], found["pays_from_hours"]) == (
        "250", 60.0, pytest.approx(6000),
    )  # fmt: skip
    assert float(found["cash_curve"][-1]["expected"]) == pytest.approx(-100)
    assert offer_detail(offer_id=row.pk + 1, organisation=None) == {}


def test_an_offer_that_is_gone_or_finds_no_use_says_so(client: Client) -> None:
    bill(Organisation.default(), quantity="2")
    prices()
    gone = seen("gone", at=AT - timedelta(days=2), gone_at=AT - timedelta(days=1))
    other = seen("windows", platform="Windows")
    at = "?at=2018-11-03T00:00:00Z"
    told = client.get(f"/api/v1/deals/offers/{gone.pk}{at}").json()
    assert (told["refused"]["code"], told["judged"]) == ("gone", None)
    assert client.get(f"/api/v1/deals/offers/{other.pk}{at}&price=0").status_code == 200
    told = client.get(f"/api/v1/deals/offers/{other.pk}{at}&price=1").json()
    assert (told["refused"]["code"], told["what_if"]) == ("other platform", None)
    assert client.get(f"/api/v1/deals/offers/{other.pk + 9}{at}").status_code == 404
    assert client.get(f"/api/v1/deals/offers/{other.pk}{at}&used_pct=101").status_code == 400
    assert client.get(f"/api/v1/deals/offers/{other.pk}{at}&hours_left=0.0000000001").status_code == 400
    for address in ("deals", "deals/sales", f"deals/offers/{other.pk}", "deals/claim"):
        assert client.get(f"/api/v1/{address}?at=0001-01-02T00:00:00Z").status_code == 400


def test_idle_reservations_are_sold_and_used_ones_kept() -> None:
    bill(Organisation.default(), quantity="1")
    prices()
    owned("idle")
    owned("new", start=AT - timedelta(days=10), end=AT + timedelta(days=355))
    owned("convertible", offering_class="convertible")
    owned("for sale", listing="active", listing_at=AT - timedelta(days=1))
    owned("waits", listing="pending", listing_at=AT)
    owned("later", listing="active", listing_at=AT + timedelta(hours=1), offering_class="convertible")
    document = asked("sell_commitments", "--lookback-days", "2")
    (one,) = document["sales"]
    # by hand: 3650 h x (0.057078 - 0.01) of a new year = 171.83; asked 95 %
    ceiling = 3650 * (500 / 8760 - 0.01)
    assert (one["verdict"], one["quantity"], one["cheapest_rival"]) == ("sell", 2, "new-1y")
    assert float(one["buyer_ceiling"]) == pytest.approx(ceiling, abs=0.01)
    assert float(one["ask"]) == pytest.approx(ceiling * 0.95, abs=0.01)
    received = ceiling * 0.95 * 0.88
    assert float(one["receives"]) == pytest.approx(received, abs=0.01)
    assert float(one["gain"]) == pytest.approx(2 * (received + 36.5), abs=0.01)
    assert [step["months_left"] for step in one["schedule"]] == [5, 4, 3, 2, 1]
    assert sorted(row["code"] for row in document["refused"]) == [
        "already listed", "already listed", "convertible", "convertible", "younger than the minimum hold",
    ]  # fmt: skip
    assert document["rules"]["seller_fee_pct"] == 12.0


def test_a_cheaper_offer_on_the_market_sets_the_price() -> None:
    bill(Organisation.default(), quantity="1")
    prices()
    owned("idle")
    seen(fixed="58.4")  # 0.01 an hour
    (one,) = asked("sell_commitments", "--lookback-days", "2")["sales"]
    assert (one["cheapest_rival"], one["buyer_ceiling"]) == ("second-hand", "0")


def test_what_is_not_told_of_a_reservation_is_named() -> None:
    bill(Organisation.default(), quantity="1")
    prices()
    owned("late", start=AT - timedelta(days=400), end=AT - timedelta(days=1), state="retired")
    owned("unknown", offering_class="")
    document = asked("sell_commitments", "--lookback-days", "2")
    assert document["sales"] == []
    codes = {row["id"]: row["code"] for row in document["refused"]}
    assert codes["unknown"] == "unknown class"


def test_a_rule_of_the_market_is_named_before_a_price_that_is_missing() -> None:
    owned("may be sold")
    owned("convertible", offering_class="convertible")
    owned("new", start=AT - timedelta(days=12), end=AT + timedelta(days=353))
    owned("short", start=AT - timedelta(days=345), end=AT + timedelta(days=20))
    owned("unpaid", start=AT - timedelta(days=40), end=AT + timedelta(days=325), state="payment-pending")
    owned("in yuan", currency="CNY", offering_class="convertible")
    document = asked("sell_commitments", "--lookback-days", "2")
    assert document["sales"] == []
    assert {row["id"]: row["code"] for row in document["refused"]} == {
        "may be sold": "no list price",
        "convertible": "convertible",
        "new": "younger than the minimum hold",
        "short": "less than one month left",
        "unpaid": "not paid yet",
        "in yuan": "convertible",
    }


def test_sales_by_rest_are_those_of_the_command(client: Client) -> None:
    bill(Organisation.default(), quantity="1")
    prices()
    owned("idle")
    at = "at=2018-11-03T00:00:00Z&lookback_days=2"
    assert client.get(f"/api/v1/deals/sales?{at}").json() == asked("sell_commitments", "--lookback-days", "2")
    assert client.get(f"/api/v1/deals/sales?{at}&ask_share=1.5").status_code == 400
    told = client.get(f"/api/v1/deals?{at}").json()
    assert told == asked("advise_commitments", "--lookback-days", "2")
    out = io.StringIO()
    call_command("price_deal", "--list-fixed", "500", "--on-demand", "0.1", stdout=out)
    assert "whole term: 150 USD" in out.getvalue()


def test_history_tells_how_long_deals_last_and_their_price_path(client: Client) -> None:
    day = timedelta(days=1)
    seen("a", "292", at=AT - 5 * day, gone_at=AT - 3 * day)
    seen("b", "146", at=AT - 4 * day, gone_at=AT - 3 * day)
    seen("c", "438", at=AT - 2 * day)
    found = client.get("/api/v1/deals/history?at=2018-11-03T00:00:00Z&type=m5.large").json()
    (one,) = found["deals"]
    assert (one["seen"], one["gone"], one["standing"]) == (3, 2, 1)
    assert one["lasted_hours"] == {"shortest": 24.0, "median": 36.0, "longest": 48.0}
    path = {row["day"]: float(row["effective_hourly"]) for row in one["path"]}
    assert path["2018-10-29"] == pytest.approx(292 / 5840)
    assert path["2018-10-30"] == pytest.approx(146 / 5840)
    assert json.dumps(found)
    assert datetime.fromisoformat(found["to"].replace("Z", "+00:00")) == datetime(2018, 11, 3, tzinfo=UTC)
