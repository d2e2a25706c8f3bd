"""The on-demand entry is picked by its attributes, never by its position; 0 is no price."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from finops.providers.aws.offers import read_offer_csv, read_offer_json

LINUX = {
    "regionCode": "us-east-1",
    "location": "US East (N. Virginia)",
    "instanceType": "r5.large",
    "tenancy": "Shared",
    "operatingSystem": "Linux",
    "licenseModel": "No License required",
    "usagetype": "BoxUsage:r5.large",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
OTHERS: dict[str, dict[str, str]] = {
    "reservation": {"capacitystatus": "UnusedCapacityReservation", "usagetype": "UnusedBox:r5.large"},
    "dedicated": {"tenancy": "Dedicated", "usagetype": "DedicatedUsage:r5.large"},
    "host": {"tenancy": "Host", "usagetype": "HostBoxUsage:r5.large"},
    "sql": {"preInstalledSw": "SQL Ent"},
    "host usage": {"usagetype": "HostBoxUsage:r5.large"},
}


def offer(
    products: dict[str, dict[str, str]], prices: dict[str, str], currency: str = "USD"
) -> dict[str, Any]:
    return {
        "publicationDate": "2026-01-20T00:00:00Z",
        "products": {
            sku: {"sku": sku, "productFamily": "Compute Instance", "attributes": attributes}
            for sku, attributes in products.items()
        },
        "terms": {
            "OnDemand": {
                sku: {
                    f"{sku}.T": {
                        "effectiveDate": "2026-01-01T00:00:00Z",
                        "priceDimensions": {f"{sku}.T.D": {"unit": "Hrs", "pricePerUnit": {currency: price}}},
                    }
                }
                for sku, price in prices.items()
            }
        },
    }


@pytest.mark.parametrize(
    ("system", "model", "expected"),
    [
        ("Windows", "No License required", ("windows", "included")),
        ("Windows", "License Included", ("windows", "included")),
        ("Windows", "Bring your own license", ("windows", "byol")),
        ("RHEL", "License Included", ("rhel", "none")),
        ("SUSE", "No License required", ("suse", "none")),
        ("Linux", "No License required", ("linux", "none")),
    ],
)
def test_two_words_of_a_licence_that_is_in_the_price(
    system: str, model: str, expected: tuple[str, str]
) -> None:
    attributes = LINUX | {"operatingSystem": system, "licenseModel": model}
    ((_, one),) = read_offer_json(offer({"R5": attributes}, {"R5": "0.218"})).rows
    assert (one.key.operating_system, one.key.licence, one.price) == (*expected, Decimal("0.218"))


@pytest.mark.parametrize("first", ["R5", "ZERO"])
def test_the_shared_entry_wins_wherever_it_stands(first: str) -> None:
    # field case t2-06: r5.large has the entries 0.126 and 0.0000000000
    products = {"R5": LINUX, "ZERO": LINUX | OTHERS["reservation"]}
    order = [first, *(sku for sku in products if sku != first)]
    prices = {"R5": "0.1260000000", "ZERO": "0.0000000000"}
    reading = read_offer_json(offer(products, {sku: prices[sku] for sku in order}))
    ((_, found),) = reading.rows
    assert found.price == Decimal("0.126")
    assert found.key == (
        "aws",
        "us-east-1",
        "r5.large",
        "linux",
        "none",
        "shared",
        "USD",
        datetime(2026, 1, 20, tzinfo=UTC),
    )
    assert reading.ignored == {"capacity status UnusedCapacityReservation": 1}
    assert reading.refused == []
    assert round((1 - Decimal("0.031") / found.price) * 100, 1) == Decimal("75.4")


@pytest.mark.parametrize("other", sorted(OTHERS))
def test_other_kinds_of_hours_are_ignored_not_refused(other: str) -> None:
    reading = read_offer_json(offer({"X": LINUX | OTHERS[other]}, {"X": "9.9"}))
    assert (reading.rows, reading.refused, sum(reading.ignored.values())) == ([], [], 1)


@pytest.mark.parametrize(
    ("change", "price", "field"),
    [
        ({}, "0.0000000000", "PricePerUnit"),
        ({}, "-1", "PricePerUnit"),
        ({}, "NaN", "PricePerUnit"),
        ({}, "", "PricePerUnit"),
        ({}, "0.00000000001", "PricePerUnit"),
        ({"operatingSystem": "NA"}, "1", "Operating System"),
        ({"licenseModel": "NA"}, "1", "License Model"),
        ({"regionCode": "", "location": "AWS Region"}, "1", "Location"),
    ],
)
def test_what_is_no_price_is_refused_with_its_field(change: dict[str, str], price: str, field: str) -> None:
    reading = read_offer_json(offer({"X": LINUX | change}, {"X": price}))
    assert [(refused.row, refused.field) for refused in reading.refused] == [(1, field)]
    assert reading.rows == []


def test_regions_of_china_are_in_cny() -> None:
    china = LINUX | {"regionCode": "cn-north-1"}
    assert read_offer_json(offer({"X": china}, {"X": "1.2"})).refused[0].reason == (
        "AWS prices cn-north-1 in CNY, the file says USD"
    )
    assert read_offer_json(offer({"X": china}, {"X": "1.2"}, "CNY")).rows[0][1].key.currency == "CNY"


HEADER = (
    "SKU,OfferTermCode,RateCode,TermType,PriceDescription,EffectiveDate,Unit,PricePerUnit,Currency,"
    "Product Family,Location,Instance Type,Tenancy,Operating System,License Model,usageType,CapacityStatus,"
    "Pre Installed S/W\n"
)


def csv_row(sku: str, day: str, price: str, *, term: str = "OnDemand", name: str = "EU (Ireland)") -> str:
    return (
        f'{sku},T,R,{term},"a text, with a comma",{day},Hrs,{price},USD,Compute Instance,{name},c3.large,'
        "Shared,Linux,No License required,EU-BoxUsage:c3.large,Used,NA \n"
    )


def test_a_csv_with_preamble_and_a_short_row_is_read_by_its_header() -> None:
    lines = [
        '"FormatVersion","v1.0"\n',
        '"Publication Date","2021-02-03T04:05:06Z"\n',
        HEADER,
        "CUT SHORT\n",
        csv_row("A", "2021-02-01", "0.1200000000"),
        csv_row("B", "2021-02-01", "0", term="Reserved"),
    ]
    reading = read_offer_csv(lines)
    assert [(row, price.key.region, price.price) for row, price in reading.rows] == [
        (2, "eu-west-1", Decimal("0.12"))
    ]
    assert reading.rows[0][1].key.effective_from == datetime(2021, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert reading.ignored == {"record without a term": 1, "term Reserved": 1}


def test_slashed_dates_are_told_apart_by_the_file_or_refused() -> None:
    known = read_offer_csv([HEADER, csv_row("A", "01/05/2017", "1"), csv_row("B", "30/04/2015", "1")])
    assert known.rows[0][1].key.effective_from == datetime(2017, 5, 1, tzinfo=UTC)
    unknown = read_offer_csv([HEADER, csv_row("A", "01/05/2017", "1")])
    assert [refused.field for refused in unknown.refused] == ["EffectiveDate"]


def test_a_file_without_the_header_is_refused_whole() -> None:
    reading = read_offer_csv(["a,b\n", "1,2\n"])
    assert [refused.row for refused in reading.refused] == [None]
