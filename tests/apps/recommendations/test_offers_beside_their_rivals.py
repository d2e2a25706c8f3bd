"""Every offer stands beside on-demand, Spot as measured, new terms and savings plans; what is not bought says
why, also what is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from apps.ingest.models import IngestRun
from apps.prices.models import ReservedPrice
from tests.support.deals import AT, COMMON, LISTED, START, asked, bill, plan_price, prices, seen

pytestmark = pytest.mark.django_db
DAYS = ("--lookback-days", "2")


def rivals(row: dict[str, Any]) -> dict[str, tuple[str | None, bool]]:
    return {one["rival"]: (one["saving"], bool(one["reason"])) for one in row["versus"]}


def test_a_second_hand_offer_beside_all_rivals(load: Callable[..., IngestRun]) -> None:
    bill(quantity="2")
    prices()
    plan_price("0.06")
    stamp = START.strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = [
        {"Timestamp": stamp, "SpotPrice": price, "AvailabilityZone": zone, "InstanceType": "m5.large",
         "ProductDescription": "Linux/UNIX"}
        for zone, price in (("us-east-1a", "0.04"), ("us-east-1b", "0.03"))
    ]  # fmt: skip
    load(rows, request_start=START, request_end=AT, region="us-east-1")
    seen(count=2)
    document = asked("advise_commitments", *DAYS)
    best = document["advice"][0]
    # two of them at 150: 2 x 5840 h x 0.1 = 1168 on demand
    assert (best["offer"], best["quantity"], best["upfront"], best["saving"]) == ("o-1", 2, "300", "868")
    assert float(best["effective_hourly"]) == pytest.approx(150 / 5840, abs=1e-8)
    # spot at 0.03 of the cheapest zone; a new year at 500 / 8760; a plan at 0.06 an hour
    assert {name: saving and round(float(saving), 2) for name, (saving, _) in rivals(best).items()} == {
        "on-demand": 868.0,
        "spot": round(2 * 5840 * 0.03 - 300, 2),
        "new-1y": round(2 * 5840 * 500 / 8760 - 300, 2),
        "new-3y": None,
        "savings-plan-1y": round(2 * 5840 * 0.06 - 300, 2),
        "savings-plan-3y": None,
    }
    assert rivals(best)["new-3y"] == (None, True)
    spot = next(one for one in best["versus"] if one["rival"] == "spot")
    assert (spot["hourly"], spot["detail"]) == ("0.03", "m5.large us-east-1b")
    assert [p["months"] for p in best["cash_curve"]] == list(range(10))
    assert best["cash_curve"][0]["expected"] == "-300" == best["worst_cash"]["amount"]
    assert float(best["cash_curve"][-1]["expected"]) == pytest.approx(868)


def test_without_spot_the_rival_is_null_with_its_reason() -> None:
    bill(quantity="2")
    prices()
    seen()
    best = asked("advise_commitments", *DAYS)["advice"][0]
    spot = next(one for one in best["versus"] if one["rival"] == "spot")
    assert (spot["saving"], spot["hourly"]) == (None, None)
    assert "m5.large" in spot["reason"]


def test_a_savings_plan_takes_hours_like_any_other_offer() -> None:
    bill(quantity="2")
    prices()
    plan_price("0.05")
    plan_price("0.04", payment="all-upfront")
    plan_price("0.045", payment="partial-upfront")
    document = asked("advise_commitments", *DAYS, "--kinds", "savings-plan")
    (one,) = document["advice"]
    assert (one["kind"], one["quantity"]) == ("savings-plan", 2)
    # all upfront at 0.04: 0.04 x 8760 = 350.40 each
    assert (one["upfront"], one["hourly"]) == ("700.8", "0")
    assert float(one["saving"]) == pytest.approx(2 * 8760 * 0.06)
    partial = next(r for r in document["alternatives"] if r["payment"] == "partial-upfront")
    assert (partial["upfront_each"], partial["hourly_each"]) == ("197.1", "0.0225")
    assert {row["code"] for row in document["alternatives"]} == {"hours taken by"}
    assert one["claims"][0]["of"] == "m5"


def test_alternatives_stand_with_their_own_figures_and_are_not_in_the_sum() -> None:
    bill(quantity="2")
    prices()
    seen(count=2)
    document = asked("advise_commitments", *DAYS)
    assert [row["offer"].rpartition(" ")[2] for row in document["alternatives"]] == [
        "all-upfront",
        "no-upfront",
    ]
    assert float(document["alternatives"][0]["saving"]) == pytest.approx(752)
    assert float(document["total"]["saving"]) == pytest.approx(868)
    assert (document["total"]["saving_low"], document["total"]["loss_probability"]) == ("868", 0.0)
    assert document["advice"][0]["one_more_saving"] is None


def test_what_is_gone_says_since_when_and_is_never_advised() -> None:
    bill(quantity="2")
    prices()
    seen(at=AT - timedelta(days=3), gone_at=AT - timedelta(days=1))
    seen("old", at=AT - timedelta(days=90), gone_at=AT - timedelta(days=60))
    document = asked("advise_commitments", *DAYS)
    gone = [row for row in document["refused"] if row["code"] == "gone"]
    assert [(row["offer"], row["values"]["at"]) for row in gone] == [("o-1", "2018-11-02T00:00:00Z")]
    assert "o-1" not in {row["offer"] for row in document["advice"]}


def test_a_term_comes_from_the_newest_list_that_names_it() -> None:
    bill(quantity="2")
    prices()
    term = {"instance_type": "m5.large", "offering_class": "standard", "term_months": 12}
    older = {**COMMON, "effective_from": LISTED - timedelta(days=30)}
    later = {**COMMON, "effective_from": AT + timedelta(days=30)}
    ReservedPrice.objects.create(
        **older, **term, payment="partial-upfront", fixed=100, hourly=Decimal("0.03")
    )
    ReservedPrice.objects.create(**older, **term, payment="all-upfront", fixed=1, hourly=0)
    ReservedPrice.objects.create(**later, **term, payment="all-upfront", fixed=2, hourly=0)
    document = asked("advise_commitments", *DAYS)
    (one,) = document["advice"]
    # partial: 100 + 0.03 x 8760 = 362.80; the newest all upfront that counts is 500
    assert (one["payment"], one["upfront"]) == ("partial-upfront", "200")
    assert document["evidence"]["later_prices"] is False
    assert len(document["evidence"]["price_lists"]) == 2


@pytest.mark.parametrize(
    "words", [("--max-upfront", "-1"), ("--max-loss-probability", "1.5"), ("--max-upfront", "NaN")]
)
def test_limits_out_of_range_are_wrong_usage(words: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as ended:
        asked("advise_commitments", *words)
    assert ended.value.code == 2
