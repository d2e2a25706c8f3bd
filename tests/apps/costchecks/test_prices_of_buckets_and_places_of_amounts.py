"""Buckets have the organisation's own prices; amounts of a document have places that can be read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from apps.accounts.models import Organisation
from apps.costchecks.document import amount_text, range_document
from apps.costchecks.services.prices import check_prices, hourly
from apps.prices.models import ListPrice
from apps.storage.models import StoragePriceRow
from finops.engine.checks.pricing import Price, PriceKey
from finops.frames.cost_items import MACHINE, Range, Sku

AT = datetime(2026, 11, 30, tzinfo=UTC)
BUCKET: list[PriceKey] = [
    (Sku("s3", "us-east-1", "STANDARD", detail), "on-demand") for detail in ("storage", "put", "get")
]
STORAGE, PUT, GET = BUCKET
SERVER: PriceKey = (Sku(MACHINE, "us-east-1", "m5.large", "Linux/UNIX"), "on-demand")


def own(
    price: str, *, currency: str = "USD", item: str = "per_gib_month", on: date = date(2026, 1, 1)
) -> None:
    StoragePriceRow.objects.create(
        organisation=Organisation.default(), provider="aws", region="us-east-1", storage_class="STANDARD",
        item=item, on=on, price=Decimal(price), currency=currency, source="contract 7",
    )  # fmt: skip


def prices(*more: PriceKey) -> dict[PriceKey, Price]:
    return check_prices([*BUCKET, *more], at=AT, organisation=Organisation.default())[0]


@pytest.mark.django_db
def test_the_own_price_that_holds_on_the_day_counts_and_has_no_bands() -> None:
    before = prices()
    assert before[STORAGE].cost(Range.of(60000)) == Range.of(Decimal("1371.20"))
    own("0.0195")
    own("0.0190", on=date(2026, 6, 1))
    own("0.0100", on=date(2027, 1, 1))
    found = prices()
    assert (found[STORAGE].source, found[STORAGE].listed_on) == ("contract 7", "2026-06-01")
    assert found[STORAGE].cost(Range.of(60000)) == Range.of(Decimal("1140.00"))
    assert (found[PUT], found[GET]) == (before[PUT], before[GET])


@pytest.mark.django_db
def test_prices_of_another_organisation_are_not_used() -> None:
    own("0.0195")
    other = Organisation.objects.create(name="Other", slug="other")
    found, _ = check_prices(BUCKET, at=AT, organisation=other)
    assert found[STORAGE].source != "contract 7"


@pytest.mark.django_db
def test_currencies_are_never_mixed_and_what_is_left_out_is_counted() -> None:
    own("0.14", currency="CNY")
    assert set(prices()) == {STORAGE}  # the table's requests are in dollars
    for item in ("put_per_1000", "get_per_1000"):
        own("0.01", currency="CNY", item=item)
    assert {price.currency for price in prices().values()} == {"CNY"}
    ListPrice.objects.create(
        provider="aws", region="us-east-1", instance_type="m5.large", operating_system="linux",
        licence="none", tenancy="shared", currency="USD", effective_from=AT, price=Decimal("0.096"),
        source="test",
    )  # fmt: skip
    assert set(prices(SERVER)) == {SERVER}


def test_amounts_have_the_places_of_list_prices() -> None:
    plan = {"cost_low": "1.00000001", "cost": "1.2", "cost_high": None}
    found = hourly(plan, Decimal(24) / 7)
    assert range_document(found.times(Range.of(730))) == {
        "low": "212.9166687958", "expected": "255.5", "high": "255.5",
    }  # fmt: skip
    assert range_document(hourly(plan, Decimal(24))) == {
        "low": "0.0416666671", "expected": "0.05", "high": "0.05",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0.00000000005", "0"),
        ("0.00000000015", "0.0000000002"),
        ("1E+2", "100"),
        ("1.5", "1.5"),
        ("-0.1", "-0.1"),
    ],
)
def test_only_what_is_longer_is_rounded(amount: str, text: str) -> None:
    assert amount_text(Decimal(amount)) == text
    assert amount_text(None) is None
