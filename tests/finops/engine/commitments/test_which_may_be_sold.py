"""Every refusal of a resale names its rule; the rules are dated."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.resale import Seller, conditions, sale_refusal
from finops.engine.commitments.terms import counted_end, whole_months
from finops.frames.commitments import Reserved
from finops.frames.offers import OfferingClass, OfferKey
from finops.frames.resale import resale_rules

NOW = datetime(2026, 5, 15, tzinfo=UTC)
KEY = OfferKey("aws", "us-east-1", "", "Linux/UNIX", "default", "m5.large")
RULES = resale_rules("aws", NOW.date())
assert RULES is not None


def reserved(
    cls: OfferingClass = OfferingClass.STANDARD,
    age: int = 200,
    left: int = 165,
    state: str = "active",
    **more: object,
) -> Reserved:
    one = Reserved(
        "r", "1", KEY, cls, 1, NOW - timedelta(days=age), NOW + timedelta(days=left),
        Decimal(100), Decimal(0), "USD", state,
    )  # fmt: skip
    return replace(one, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "owned", "expected"),
    [
        ("S1", reserved(), None),
        ("C1", reserved(OfferingClass.CONVERTIBLE), refuse("convertible")),
        ("S2", reserved(age=12, left=353), refuse("younger than the minimum hold", days=30)),
        ("S3", reserved(age=345, left=20), refuse("less than one month left", months=1)),
        ("S4", reserved(age=40, left=325, state="payment-pending"), refuse("not paid yet")),
        ("S5", reserved(age=100, left=265, listing="active"), refuse("already listed")),
        ("class not told", reserved(OfferingClass.UNKNOWN), refuse("unknown class")),
        ("retired", reserved(state="retired"), refuse("not active", state="retired")),
        ("discounted", reserved(discounted=True), refuse("bought at a discount")),
        ("no price was paid once", reserved(age=12, left=353, fixed=Decimal(0)), None),
        (
            "government",
            reserved(key=replace(KEY, region="us-gov-west-1")),
            refuse("region without resale", region="us-gov-west-1"),
        ),
    ],
)
def test_a_refusal_names_its_rule(name: str, owned: Reserved, expected: Refusal | None) -> None:
    assert sale_refusal(owned, RULES, now=NOW) == expected, name


def test_whole_months_are_rounded_down() -> None:
    assert whole_months(NOW, reserved().end) == 5


def test_the_seller_is_looked_at_too() -> None:
    assert sale_refusal(reserved(), RULES, now=NOW, seller=Seller(bank_country="DE")) == refuse(
        "bank outside", country="US"
    )
    assert sale_refusal(reserved(), RULES, now=NOW, seller=Seller("US", "AISPL")) == refuse(
        "seller barred", entity="AISPL"
    )
    opted = Seller("US", opt_in_regions=frozenset({"us-east-1"}))
    assert sale_refusal(reserved(), RULES, now=NOW, seller=opted) == refuse(
        "opt-in region", region="us-east-1"
    )


def test_what_could_not_be_checked_is_a_condition() -> None:
    assert conditions(reserved(), RULES) == (
        refuse("bank outside", country="US"),
        refuse("bought at a discount"),
    )
    assert conditions(reserved(discounted=False), RULES, Seller("US")) == ()


def test_discounted_purchases_could_be_sold_until_january_2024() -> None:
    before, after = resale_rules("aws", date(2024, 1, 15)), resale_rules("aws", date(2024, 1, 16))
    assert before is not None
    assert after is not None
    assert (before.discounted_barred, after.discounted_barred) == (False, True)
    assert sale_refusal(reserved(discounted=True), before, now=NOW) is None


def test_a_provider_without_a_market_refuses() -> None:
    assert resale_rules("gcp", NOW.date()) is None
    assert sale_refusal(reserved(), None, now=NOW) == refuse("no market", provider="aws")


def test_a_term_of_years_of_365_days_has_its_months_whole() -> None:
    """94,608,000 s from 15 August 2025 end on 14 August 2028, as 2028 has a leap day: 36 months all the same,
    9 of them used. A provider that names the last second takes no month off either; other ends stay.
    """
    start = datetime(2025, 8, 15, tzinfo=UTC)
    assert whole_months(NOW, counted_end(start, start + timedelta(seconds=94_608_000))) == 27
    year = datetime(2026, 8, 15, tzinfo=UTC)
    assert counted_end(start, year - timedelta(seconds=1)) == year
    assert counted_end(start, year) == year
    odd = start + timedelta(days=240)
    assert counted_end(start, odd) == odd
    assert counted_end(odd, start) == start
