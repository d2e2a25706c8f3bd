"""What is on offer, read from saved answers, from the live API by the real boto3, and from tables of
terms.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import boto3
import pytest
from tenacity import wait_none

from finops.frames.offers import OfferingClass, OfferKey, OfferKind
from finops.providers.aws.offer_files import offers_of
from finops.providers.aws.reserved_offers import offering_pages, read_offerings
from finops.providers.aws.reserved_terms import once
from finops.providers.base import PermanentError
from tests.support.ec2_server import recorded_aws

NOW = datetime(2026, 5, 1, tzinfo=UTC)
D = Decimal


def offering(**more: Any) -> dict[str, Any]:
    """An offering as the API gives it; made up."""
    return {
        "ReservedInstancesOfferingId": "o-1", "InstanceType": "m5.large",
        "ProductDescription": "Linux/UNIX (Amazon VPC)",
        "Duration": 21024000, "FixedPrice": 120.5, "UsagePrice": 0.0, "CurrencyCode": "USD",
        "InstanceTenancy": "default", "OfferingClass": "standard", "OfferingType": "Partial Upfront",
        "Marketplace": True, "AvailabilityZone": "us-east-1a", "Scope": "Availability Zone",
        "PricingDetails": [{"Price": 140.0, "Count": 1}, {"Price": 120.5, "Count": 3}],
        "RecurringCharges": [{"Amount": 0.031, "Frequency": "Hourly"}], **more,
    }  # fmt: skip


def read(*offerings: Any, **more: Any) -> Any:
    return read_offerings({"ReservedInstancesOfferings": list(offerings)}, seen_at=NOW, **more)


def test_a_listing_of_two_prices_is_two_offers() -> None:
    reading = read(offering())
    assert reading.refused == []
    one, two = (offer for _, offer in reading.rows)
    assert one.key == OfferKey("aws", "us-east-1", "us-east-1a", "Linux/UNIX", "default", "m5.large")
    assert (one.kind, one.offering_class, one.payment) == (
        OfferKind.SECOND_HAND, OfferingClass.STANDARD, "partial-upfront",
    )  # fmt: skip
    # 21,024,000 s are 5840 h
    assert (one.duration_hours, one.hourly) == (D(5840), D("0.031"))
    assert [(o.fixed, o.count) for o in (one, two)] == [(D("120.5"), 3), (D("140.0"), 1)]
    assert one.total == D("120.5") + D("0.031") * 5840


def test_an_offer_that_costs_nothing_has_no_price_that_was_told() -> None:
    nothing = {"FixedPrice": 0.0, "PricingDetails": [{"Price": 0.0, "Count": 2}]}
    reading = read(
        offering(**nothing, RecurringCharges=[{"Amount": 0.0, "Frequency": "Hourly"}]),
        offering(**nothing, ReservedInstancesOfferingId="o-2"),
    )
    assert reading.refused == [(1, "fixed", "fixed and hourly price are both 0")]
    assert [(row, one.fixed, one.hourly) for row, one in reading.rows] == [(2, D(0), D("0.031"))]


def test_a_new_regional_offer_is_not_limited() -> None:
    reading = read(
        offering(
            Marketplace=False, AvailabilityZone=None, Duration=31536000, PricingDetails=[], OfferingClass=None
        ),
        region="eu-west-1",
    )
    offer = reading.rows[0][1]
    assert (offer.kind, offer.key.region, offer.key.zone) == (OfferKind.NEW, "eu-west-1", "")
    assert (offer.count, offer.duration_hours, offer.offering_class) == (None, D(8760), OfferingClass.UNKNOWN)


@pytest.mark.parametrize(
    ("wrong", "field", "reason"),
    [
        ({"AvailabilityZone": None}, "AvailabilityZone", "no region: name it with --region"),
        ({"ProductDescription": "BeOS"}, "ProductDescription", "not known: 'BeOS'"),
        ({"Duration": "long"}, "Duration", "no number"),
        ({"FixedPrice": None}, "FixedPrice", "no number"),
        (
            {"RecurringCharges": [{"Amount": 1, "Frequency": "Daily"}]},
            "RecurringCharges",
            "a frequency other than Hourly, or no amount",
        ),
        ({"PricingDetails": [{"Price": 1}]}, "PricingDetails", "a price or count that is no number"),
        ({"CurrencyCode": ""}, "currency", "currency is empty"),
        ({"ReservedInstancesOfferingId": ""}, "offering", "offering id is empty"),
    ],
)
def test_one_bad_offering_is_one_refusal(wrong: dict[str, Any], field: str, reason: str) -> None:
    reading = read(offering(**wrong), offering())
    assert [tuple(one) for one in reading.refused] == [(1, field, reason)]
    assert [row for row, _ in reading.rows] == [2, 2]


def test_saved_pages_one_after_another_are_one_look() -> None:
    pages = [
        {"ReservedInstancesOfferings": [offering()], "NextToken": "x"},
        {"ReservedInstancesOfferings": [1]},
    ]
    for data in (json.dumps(pages), "\n".join(map(json.dumps, pages))):
        reading = offers_of("pages.json", data.encode(), seen_at=NOW)
        assert len(reading.rows) == 2
        assert [tuple(one) for one in reading.refused] == [(2, "", "no object")]
    assert offers_of("x.json", b"{}", seen_at=NOW).refused[0].reason.startswith("JSON, but not")
    assert offers_of("x.csv", b"a,b\n1,2\n", seen_at=NOW).refused[0].reason.startswith("nothing on offer")


TABLE = (
    "instance_type,region,os,term,effective_usd_per_hour\n"
    "m5.large,us-east-1,linux,ondemand,0.096\n"
    "m5.large,us-east-1,linux,yrTerm1Standard.allUpfront,0.057192\n"
    "m5.large,us-east-1,linux,yrTerm1Standard.partialUpfront,0.058224\n"
    "m5.large,us-east-1,mswin,yrTerm3Convertible.noUpfront,0.141\n"
    "m5.large,us-east-1,plan9,yrTerm3Convertible.noUpfront,0.141\n"
)


def test_a_table_of_terms_tells_upfront_prices_in_whole_dollars() -> None:
    reading = offers_of("made_up_2018-11-29.csv", TABLE.encode(), seen_at=NOW)
    terms = [term for _, term in reading.rows]
    assert [(t.fixed, t.hourly, t.key.term_months) for t in terms] == [
        (D(501), D(0), 12),
        (D(0), D("0.141"), 36),
    ]
    assert [(t.key.operating_system, t.key.licence, t.key.offering_class, t.key.payment) for t in terms] == [
        ("linux", "none", "standard", "all-upfront"),
        ("windows", "included", "convertible", "no-upfront"),
    ]
    assert [tuple(one) for one in reading.refused] == [(5, "os", "not known: 'plan9'")]
    assert dict(reading.ignored) == {"on-demand price": 1, "partial upfront: its parts are not told": 1}
    assert "no date" in offers_of("made_up.csv", TABLE.encode(), seen_at=NOW).refused[0].reason


def test_a_price_that_rounding_cannot_make_whole_keeps_its_cents() -> None:
    assert once(D("0.002169"), 26280) == D(57)
    assert once(D("0.0571"), 8760) == D("500.20")


def page(token: str, *names: str) -> bytes:
    items = "".join(
        f"<item><reservedInstancesOfferingId>{name}</reservedInstancesOfferingId><instanceType>m5.large</instanceType>"
        "<availabilityZone>us-east-1a</availabilityZone><duration>21024000</duration><fixedPrice>120.5</fixedPrice>"
        "<usagePrice>0.0</usagePrice><productDescription>Linux/UNIX</productDescription>"
        "<instanceTenancy>default</instanceTenancy><currencyCode>USD</currencyCode>"
        "<offeringType>All Upfront</offeringType><recurringCharges/><marketplace>true</marketplace>"
        "<pricingDetailsSet><item><price>120.5</price><count>2</count></item></pricingDetailsSet>"
        "<offeringClass>standard</offeringClass></item>"
        for name in names
    )
    return (
        '<DescribeReservedInstancesOfferingsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
        f"<reservedInstancesOfferingsSet>{items}</reservedInstancesOfferingsSet>"
        f"<nextToken>{token}</nextToken></DescribeReservedInstancesOfferingsResponse>"
    ).encode()


def client(url: str) -> Any:
    return boto3.client(
        "ec2", region_name="us-east-1", endpoint_url=url, aws_access_key_id="x", aws_secret_access_key="x"
    )


def test_boto3_reads_every_page_with_the_marketplace() -> None:
    with recorded_aws() as aws:
        aws.answer("DescribeReservedInstancesOfferings", page("t1", "a"), page("t2"), page("", "b"))
        pages = list(
            offering_pages(
                client(aws.url),
                region="us-east-1",
                filters={"instance-type": ["m5.large"]},
                back_off=wait_none(),
            )
        )
        asked = aws.asked("DescribeReservedInstancesOfferings")
    offers = [offer for one in pages for _, offer in read_offerings(one, seen_at=NOW).rows]
    assert [(o.offer, o.fixed, o.count) for o in offers] == [("a", D("120.5"), 2), ("b", D("120.5"), 2)]
    assert [one.get("NextToken") for one in asked] == [None, "t1", "t2"]
    assert {(one["IncludeMarketplace"], one["Filter.1.Value.1"]) for one in asked} == {("true", "m5.large")}


def test_a_repeated_page_token_ends_it() -> None:
    with recorded_aws() as aws:
        aws.answer("DescribeReservedInstancesOfferings", page("t1", "a"))
        with pytest.raises(PermanentError, match="repeats a page token"):
            list(offering_pages(client(aws.url), region="us-east-1", back_off=wait_none()))
