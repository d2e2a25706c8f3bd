"""30 % of the list price with 8 months left; what idle reservations bring."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest

from finops.engine.commitments.evaluate import Rival
from finops.engine.commitments.popular import ListTerm, Reading, popular_claim
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import draw, future_of
from finops.engine.commitments.sell import Sale, buyer_ceiling, sale
from finops.frames.commitments import Reserved
from finops.frames.offers import OfferingClass, OfferKey
from finops.frames.resale import resale_rules

D = Decimal
NOW = datetime(2026, 5, 1, tzinfo=UTC)
LISTED = ListTerm(D(500), D(0), D(8760))
RIVALS = (("on-demand", D("0.096"), False), ("spot", D("0.032"), False), ("new 1y", D(500) / 8760, True))


def test_thirty_percent_of_the_whole_list_price_with_eight_months_left() -> None:
    whole, remaining = popular_claim(
        LISTED, share=D("0.30"), hours_left=D(8) * 730, used_share=D(1), rivals=RIVALS
    )
    assert whole.reading == Reading.WHOLE
    assert whole.price.fixed == D("150.00")
    demand, spot, new = whole.against
    assert round(whole.effective, 6) == D("0.025685")
    # 5840 x 0.096 = 560.64; 150 / 560.64 = 26.8 % of the hours
    assert (demand.saving, round(demand.from_share or 0, 4)) == (D("410.64"), D("0.2676"))
    # 5840 x 0.032 = 186.88: cheaper than Spot only above 80.3 % use
    assert (spot.saving, round(spot.from_share or 0, 4), spot.pays) == (D("36.88"), D("0.8027"), True)
    assert round(new.saving, 2) == D("183.33")
    assert round(demand.up_to_list_share or 0, 4) == D("1.1213")
    assert remaining.price.fixed == D(500) * 8 / 12 * D("0.30")


def test_at_little_use_the_bargain_loses() -> None:
    whole, _ = popular_claim(LISTED, share=D("0.30"), hours_left=D(5840), used_share=D("0.25"), rivals=RIVALS)
    assert whole.against[0].saving == D("560.64") / 4 - 150
    assert not whole.against[0].pays
    assert whole.against[2].pays


def test_a_dear_deal_never_pays() -> None:
    dear, _ = popular_claim(
        LISTED, share=D(2), hours_left=D(730), used_share=D(1), rivals=(*RIVALS, ("free", D(0), False))
    )
    assert [one.from_share for one in dear.against] == [None] * 4
    assert dear.against[3].up_to_list_share == 0
    with pytest.raises(ValueError, match="at most"):
        popular_claim(LISTED, share=D(1), hours_left=D(8761), used_share=D(1), rivals=RIVALS)
    with pytest.raises(ValueError, match="0 to 1"):
        popular_claim(LISTED, share=D(1), hours_left=D(1), used_share=D("1.1"), rivals=RIVALS)


RULES = resale_rules("aws", NOW.date())
M5 = OfferKey("aws", "us-east-1", "", "Linux/UNIX", "default", "m5.large")
OWNED = Reserved(
    "ri", "1", M5, OfferingClass.STANDARD, 3,
    NOW - timedelta(days=200), NOW + timedelta(hours=3650), D(400), D("0.01"), "USD", discounted=False,
)  # fmt: skip
BUYER = (Rival("on-demand", 0.1, every_hour=False), Rival("new 1y", 0.06, every_hour=True))


def sold(use: float, owned: Reserved = OWNED) -> Sale | Refusal:
    future = future_of(np.full(720, use), draw(720, 3650))
    return sale(owned, units=D(1), future=future, rate=0.1, rivals=BUYER, rules=RULES, now=NOW)


def test_idle_units_are_sold_below_what_a_new_term_costs() -> None:
    # ceiling 3650 x (0.06 - 0.01) = 182.50; asked 95 % = 173.375; after 12 %: 152.57
    assert buyer_ceiling(OWNED, BUYER, units=D(1), now=NOW) == (D("182.50"), "new 1y")
    advice = sold(1.0)
    assert isinstance(advice, Sale)
    assert (advice.ask.price, advice.ask.receives) == (D("173.3750"), D("152.570000"))
    # the used unit saves 365 and is kept; each idle one costs 36.50 to keep
    assert advice.quantity == 2
    assert advice.gain == pytest.approx(2 * (152.57 + 36.5))
    assert advice.gain_low == pytest.approx(advice.gain_high)
    assert advice.kept_value == pytest.approx(365 - 3 * 36.5)
    assert (advice.months, len(advice.schedule)) == (4, 4)
    assert advice.schedule[-1].price == D("173.3750") / 4
    assert [one.code for one in advice.conditions] == ["bank outside"]


def test_what_is_used_is_kept() -> None:
    advice = sold(3.0)
    assert isinstance(advice, Sale)
    assert (advice.quantity, advice.gain) == (0, 0.0)


def test_what_may_not_be_sold_says_why() -> None:
    assert sold(0.0, replace(OWNED, offering_class=OfferingClass.CONVERTIBLE)) == refuse("convertible")
    assert sold(0.0, replace(OWNED, hourly=None)) == refuse("hourly charge unknown")
    with pytest.raises(ValueError, match="rival"):
        buyer_ceiling(OWNED, (), units=D(1), now=NOW)
