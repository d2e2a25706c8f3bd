"""New terms of offer files with all payment options, and rates of savings plans; documents are made up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from finops.providers.aws.offer_files import offers_of, terms_of

NOW = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
D = Decimal
ATTRIBUTES = {
    "regionCode": "us-east-1", "instanceType": "m5.large", "tenancy": "Shared", "operatingSystem": "Linux",
    "licenseModel": "No License required", "usagetype": "BoxUsage:m5.large", "preInstalledSw": "NA",
    "capacitystatus": "Used",
}  # fmt: skip


def term(option: str, once: str | None, hourly: str | None, **more: str) -> dict[str, Any]:
    dimensions = {}
    if once is not None:
        dimensions["a"] = {"unit": "Quantity", "pricePerUnit": {"USD": once}}
    if hourly is not None:
        dimensions["b"] = {"unit": "Hrs", "pricePerUnit": {"USD": hourly}}
    return {
        "effectiveDate": "2026-04-01T00:00:00Z",
        "termAttributes": {
            "LeaseContractLength": "1yr", "OfferingClass": "standard", "PurchaseOption": option, **more,
        },
        "priceDimensions": dimensions,
    }  # fmt: skip


def offer_file(*terms: dict[str, Any], attributes: dict[str, str] | None = None) -> bytes:
    return json.dumps(
        {
            "publicationDate": "2026-04-20T00:00:00Z",
            "products": {"S": {"productFamily": "Compute Instance", "attributes": attributes or ATTRIBUTES}},
            "terms": {"Reserved": {"S": {str(i): one for i, one in enumerate(terms)}}},
        }
    ).encode()


def test_all_payment_options_of_an_offer_file() -> None:
    data = offer_file(
        term("All Upfront", "501", "0.0000000000"),
        term("Partial Upfront", "255", "0.029"),
        term("No Upfront", None, "0.062", LeaseContractLength="3 yr", OfferingClass="convertible"),
    )
    reading = terms_of("offer.json", data)
    assert reading.refused == []
    assert [
        (t.key.payment, t.key.term_months, t.key.offering_class, t.fixed, t.hourly) for _, t in reading.rows
    ] == [
        ("all-upfront", 12, "standard", D(501), D(0)),
        ("partial-upfront", 12, "standard", D(255), D("0.029")),
        ("no-upfront", 36, "convertible", D(0), D("0.062")),
    ]
    assert reading.rows[0][1].key.effective_from == datetime(2026, 4, 20, tzinfo=UTC)
    assert offers_of("offer.json", data, seen_at=NOW).rows == reading.rows


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (term("Some Upfront", "1", "1"), "PurchaseOption"),
        (term("All Upfront", "1", "0", LeaseContractLength="2yr"), "LeaseContractLength"),
        (term("All Upfront", "1", "0", OfferingClass="golden"), "OfferingClass"),
        (term("No Upfront", None, "0"), "PricePerUnit"),
        (term("No Upfront", None, "dear"), "PricePerUnit"),
    ],
)
def test_a_term_that_is_none_is_refused_with_its_field(wrong: dict[str, Any], field: str) -> None:
    reading = terms_of("offer.json", offer_file(wrong))
    assert ([r.field for r in reading.refused], [r.row for r in reading.refused]) == ([field], [1])
    assert reading.rows == []


def test_terms_of_a_csv_are_joined_from_their_records() -> None:
    header = (
        "SKU,OfferTermCode,TermType,EffectiveDate,Unit,PricePerUnit,Currency,LeaseContractLength,"
        "PurchaseOption,OfferingClass,Product Family,Location,Instance Type,Tenancy,Operating System,"
        "License Model,usageType,CapacityStatus,Pre Installed S/W\n"
    )
    common = (
        "1yr,Partial Upfront,standard,Compute Instance,EU (Ireland),c5.large,{},Linux,No License required,"
        "EU-BoxUsage:c5.large,Used,NA\n"
    )
    lines = [header.replace("TermType,", "TermType,PriceDescription,")]
    for sku, unit, price, tenancy in (
        ("A", "Quantity", "210", "Shared"),
        ("B", "Quantity", "1", "Dedicated"),
        ("A", "Hrs", "0.024", "Shared"),
    ):  # fmt: skip
        lines.append(f"{sku},T,Reserved,x,2026-03-01,{unit},{price},USD,{common.format(tenancy)}")
    text = '"Publication Date","2026-02-03T00:00:00Z"\n' + "".join(lines)
    reading = offers_of("index.csv", text.encode(), seen_at=NOW)
    ((row, found),) = reading.rows
    assert (row, found.fixed, found.hourly) == (1, D(210), D("0.024"))
    assert found.key.region == "eu-west-1"
    assert reading.ignored == {"reserved: tenancy Dedicated": 1}


def rate(**more: Any) -> dict[str, Any]:
    properties = {
        "region": "us-east-1", "instanceType": "m5.large", "productDescription": "Linux/UNIX",
        "tenancy": "shared",
    } | more.pop("properties", {})  # fmt: skip
    return {
        "savingsPlanOffering": {
            "offeringId": "o-1", "paymentOption": "No Upfront", "planType": "EC2Instance",
            "durationSeconds": 31536000, "currency": "USD",
        } | more.pop("offering", {}),
        "rate": "0.06", "unit": "Hrs", "productType": "EC2", "serviceCode": "AmazonEC2",
        "usageType": "BoxUsage:m5.large", "operation": "RunInstances",
        "properties": [{"name": name, "value": value} for name, value in properties.items()], **more,
    }  # fmt: skip


def rates(*found: Any) -> Any:
    return offers_of("rates.json", json.dumps({"searchResults": list(found)}).encode(), seen_at=NOW)


def test_rates_of_the_api_are_dated_by_the_day_they_were_asked() -> None:
    reading = rates(
        rate(),
        rate(offering={"planType": "Compute", "durationSeconds": 94608000, "paymentOption": "All Upfront"}),
        rate(productType="Fargate"),
        rate(usageType="UnusedBox:m5.large"),
        {"offeringId": "o-2", "planType": "Compute"},
    )
    assert reading.refused == []
    one, two = (found for _, found in reading.rows)
    assert one.key[1:10] == (
        "ec2-instance", "us-east-1", "m5", "m5.large", "linux", "none", "shared", "no-upfront", 12,
    )  # fmt: skip
    assert (one.hourly, one.offering, one.key.effective_from) == (
        D("0.06"), "o-1", datetime(2026, 5, 1, tzinfo=UTC),
    )  # fmt: skip
    assert (two.key.plan, two.key.family, two.key.payment, two.key.term_months) == (
        "compute", "", "all-upfront", 36,
    )  # fmt: skip
    assert reading.ignored == {
        "rate of Fargate": 1, "usage that is not BoxUsage": 1, "offering without rates": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (rate(rate="0"), "rate"),
        (rate(offering={"currency": ""}), "currency"),
        (rate(offering={"planType": "Golden"}), "planType"),
        (rate(offering={"durationSeconds": 1}), "durationSeconds"),
        (rate(offering={"paymentOption": "Later"}), "paymentOption"),
        (rate(properties={"productDescription": "BeOS"}), "productDescription"),
        (rate(properties={"region": "moon"}), "region"),
    ],
)
def test_a_rate_that_is_none_is_refused_with_its_field(wrong: dict[str, Any], field: str) -> None:
    reading = rates(wrong)
    assert ([r.field for r in reading.refused], reading.rows) == ([field], [])


def plan_list(currency: str = "USD") -> dict[str, Any]:
    def one(usage: str, price: str, **more: str) -> dict[str, Any]:
        return {
            "discountedServiceCode": "AmazonEC2", "discountedUsageType": usage,
            "discountedOperation": "RunInstances",
            "discountedRate": {"price": price, "currency": currency}, **more,
        }  # fmt: skip

    common = {"purchaseOption": "All Upfront", "purchaseTerm": "1yr"}
    return {
        "publicationDate": "2026-03-03T10:00:00Z",
        "products": [
            {"sku": "I", "productFamily": "EC2InstanceSavingsPlans", "attributes": common | {
                "location": "EU (Ireland)", "instanceType": "c5"}},
            {"sku": "C", "productFamily": "ComputeSavingsPlans", "attributes": common | {"location": "Any"}},
        ],
        "terms": {"savingsPlan": [
            {"sku": "I", "rates": [
                one("EU-BoxUsage:c5.large", "0.05"), one("EU-DedicatedUsage:c5.large", "9"),
            ]},
            {"sku": "C", "rates": [
                one("EU-BoxUsage:c5.large", "0.06"), one("XXX-BoxUsage:c5.large", "0.06"),
                one("EU-BoxUsage:c5.large", "0.15", discountedOperation="RunInstances:0002"),
                {"discountedServiceCode": "AWSLambda"},
            ]},
        ]},
    }  # fmt: skip


def test_a_price_list_tells_regions_by_prefixes_that_its_family_plans_name() -> None:
    reading = offers_of("index.json", json.dumps(plan_list()).encode(), seen_at=NOW)
    assert [(row, p.key.plan, p.key.region, p.key.operating_system, p.hourly) for row, p in reading.rows] == [
        (1, "ec2-instance", "eu-west-1", "linux", D("0.05")),
        (3, "compute", "eu-west-1", "linux", D("0.06")),
        (5, "compute", "eu-west-1", "windows", D("0.15")),
    ]
    assert [(r.row, r.field) for r in reading.refused] == [(4, "discountedUsageType")]
    assert reading.ignored == {"usage that is not BoxUsage": 1, "rate of AWSLambda": 1}
    without = offers_of("index.json", json.dumps(plan_list("")).encode(), seen_at=NOW)
    assert without.rows == []
    assert {r.field for r in without.refused} == {"currency", "discountedUsageType"}


TABLE = "offer,instance_type,platform,zone,fixed_price,hourly,currency,months_left,class,count\n"


def table(*rows: str, head: str = TABLE) -> Any:
    return offers_of("mine.csv", (head + "".join(rows)).encode(), seen_at=NOW)


def test_a_table_of_offers_says_what_it_assumed() -> None:
    reading = table("a,m5.large,Linux/UNIX,us-east-1a,240,0.010,usd,8,standard,3\n")
    ((_, one),) = reading.rows
    assert (one.key.region, one.key.zone, one.key.tenancy) == ("us-east-1", "us-east-1a", "default")
    assert (one.duration_hours, one.total, one.count) == (D(5840), D("298.40"), 3)
    assert (one.payment, one.offering_class, one.currency) == ("partial-upfront", "standard", "USD")
    assert reading.assumed == {"tenancy": "default", "kind": "second-hand"}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (",m5.large,Linux/UNIX,us-east-1a,1,0,USD,8,,1\n", "offer"),
        ("a,,Linux/UNIX,us-east-1a,1,0,USD,8,,1\n", "instance_type"),
        ("a,m5.large,Amiga,us-east-1a,1,0,USD,8,,1\n", "platform"),
        ("a,m5.large,Linux/UNIX,,1,0,USD,8,,1\n", "region"),
        ("a,m5.large,Linux/UNIX,us-east-1a,-1,0,USD,8,,1\n", "fixed_price"),
        ("a,m5.large,Linux/UNIX,us-east-1a,1,,USD,8,,1\n", "hourly"),
        ("a,m5.large,Linux/UNIX,us-east-1a,1,0,,8,,1\n", "currency"),
        ("a,m5.large,Linux/UNIX,us-east-1a,1,0,USD,0,,1\n", "months_left"),
        ("a,m5.large,Linux/UNIX,us-east-1a,1,0,USD,,,1\n", "months_left"),
        ("a,m5.large,Linux/UNIX,us-east-1a,1,0,USD,8,golden,1\n", "class"),
        ("a,m5.large,Linux/UNIX,us-east-1a,1,0,USD,8,,1.5\n", "count"),
        ("a,m5.large,Linux/UNIX,us-east-1a,1,0,USD,8,,0\n", "count"),
    ],
)
def test_a_row_that_is_no_offer_is_refused_with_its_field(row: str, field: str) -> None:
    reading = table("good,m5.large,Linux/UNIX,us-east-1a,1,0,USD,8,,1\n", row)
    assert ([r.row for r in reading.refused], [r.field for r in reading.refused]) == ([2], [field])
    assert len(reading.rows) == 1


def test_a_table_without_an_hourly_charge_or_a_term_is_refused_whole() -> None:
    no_hourly = "offer,instance_type,platform,region,fixed_price,currency,hours_left\n"
    assert table("a,m5.large,Linux/UNIX,us-east-1,1,USD,8\n", head=no_hourly).refused[0].field == "hourly"
    no_left = "offer,instance_type,platform,region,fixed_price,hourly,currency\n"
    assert table("a,m5.large,Linux/UNIX,us-east-1,1,0,USD\n", head=no_left).refused[0].field == "hours_left"
    ends = "offer,instance_type,platform,region,fixed_price,hourly,currency,ends_at,class\n"
    found = table("a,m5.large,Linux/UNIX,us-east-1,1,0,USD,2026-05-02T09:30:00Z,\n", head=ends)
    assert (found.rows[0][1].duration_hours, found.rows[0][1].offering_class) == (D(24), "unknown")
