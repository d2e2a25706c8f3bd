"""Offers and own commitments no provider would answer: one refusal with its field, never a failure."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from finops.providers.aws.files import json_documents
from finops.providers.aws.owned_commitments import RESERVED, read_owned
from finops.providers.aws.reading import instant
from finops.providers.aws.reserved_offers import OFFERINGS, read_offerings

SEEN = datetime(2018, 11, 20, tzinfo=UTC)
COMMON: dict[str, Any] = {
    "FixedPrice": 100.0, "InstanceType": "c5.large", "ProductDescription": "Linux/UNIX", "UsagePrice": 0.0,
    "CurrencyCode": "USD", "InstanceTenancy": "default", "OfferingClass": "standard",
    "OfferingType": "All Upfront", "RecurringCharges": [],
}  # fmt: skip
OFFER = {
    **COMMON, "ReservedInstancesOfferingId": "a1", "AvailabilityZone": "us-east-1a", "Duration": 20_000_000,
    "Marketplace": True, "PricingDetails": [{"Count": 5, "Price": 100.0}],
}  # fmt: skip
OWN = {
    **COMMON, "ReservedInstancesId": "r1", "InstanceCount": 2, "State": "active",
    "Start": "2018-04-03T01:21:13Z", "End": "2019-04-03T01:21:12Z",
}  # fmt: skip


def test_the_rows_are_good_before_they_are_broken() -> None:
    offers = read_offerings({OFFERINGS: [OFFER]}, seen_at=SEEN)
    own = read_owned({RESERVED: [OWN]}, seen_at=SEEN, region="us-east-1")
    assert (len(offers.rows), offers.refused, len(own.rows), own.refused) == (1, [], 1, [])


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("InstanceType", "c5.\x00large", "instance_type"),
        ("AvailabilityZone", "us-east-1\x00", "zone"),
        ("ReservedInstancesOfferingId", "\x00", "offer"),
        ("ReservedInstancesOfferingId", "x" * 101, "offer"),
        ("CurrencyCode", "DOLLAR", "currency"),
        ("PricingDetails", [{"Count": 10**20, "Price": 1}], "count"),
        ("PricingDetails", [{"Count": 1.5, "Price": 1}], "PricingDetails"),
        ("PricingDetails", [{"Count": 1, "Price": 10**40}], "fixed"),
        ("PricingDetails", "x", "PricingDetails"),
        ("PricingDetails", [None], "PricingDetails"),
        ("RecurringCharges", "x", "RecurringCharges"),
        ("RecurringCharges", [None], "RecurringCharges"),
        ("Duration", 10**20, "duration_hours"),
    ],
)
def test_a_broken_offer_is_one_refusal(field: str, value: Any, told: str) -> None:
    found = read_offerings({OFFERINGS: [{**OFFER, field: value}, OFFER]}, seen_at=SEEN)
    assert [(one.row, one.field) for one in found.refused] == [(1, told)]
    assert len(found.rows) == 1


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("InstanceType", "x" * 61, "instance_type"),
        ("ReservedInstancesId", "\x00", "id"),
        ("ReservedInstancesId", "x" * 101, "id"),
        ("InstanceCount", 10**20, "count"),
        ("FixedPrice", "1e400", "fixed"),
        ("FixedPrice", 10**40, "fixed"),
        ("Start", "0001-01-01T00:00:00+14:00", "Start"),
        ("End", "9999-12-31T23:59:59-14:00", "End"),
    ],
)
def test_a_broken_commitment_is_one_refusal(field: str, value: Any, told: str) -> None:
    document = {RESERVED: [{**OWN, field: value}, OWN]}
    found = read_owned(document, seen_at=SEEN, region="us-east-1")
    assert [(one.row, one.field) for one in found.refused] == [(1, told)]
    assert len(found.rows) == 1


def test_brackets_without_end_are_no_document() -> None:
    assert json_documents(b"[" * 100_000) == ([], "brackets too deep at character 1")
    assert json_documents(json.dumps([1]).encode()) == ([[1]], "")


def test_a_time_outside_the_years_of_utc_is_none() -> None:
    assert instant("0001-01-01T00:00:00+14:00") is None
    assert instant("2018-11-20") == SEEN
