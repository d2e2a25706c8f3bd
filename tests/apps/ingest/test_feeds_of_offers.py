"""A feed of commitments on offer asks through the real boto3, keeps when offers were seen and takes for gone
only what its question would have shown.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from tenacity import wait_none

from apps.billing.models import SeenOffer
from apps.ingest.models import Feed, FeedState, IngestRun
from apps.ingest.services import collecting
from apps.ingest.services.live import feeds_due_claim
from apps.ingest.services.offer_feeds import offer_feed_create
from finops.providers.base import TransientError
from tests.support.ec2_server import RecordedAws, recorded_aws

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, 9, tzinfo=UTC)


def item(name: str, price: str = "120.5", kind: str = "m5.large", zone: str = "us-east-1a") -> str:
    """One offering as EC2 writes it; made up."""
    return (
        f"<item><reservedInstancesOfferingId>{name}</reservedInstancesOfferingId><instanceType>{kind}"
        f"</instanceType><availabilityZone>{zone}</availabilityZone><duration>21024000</duration>"
        f"<fixedPrice>{price}</fixedPrice><usagePrice>0.0</usagePrice><productDescription>Linux/UNIX"
        "</productDescription><instanceTenancy>default</instanceTenancy><currencyCode>USD</currencyCode>"
        "<offeringType>All Upfront</offeringType><recurringCharges/><marketplace>true</marketplace>"
        "<offeringClass>standard</offeringClass><scope>Availability Zone</scope><pricingDetailsSet><item>"
        f"<price>{price}</price><count>2</count></item></pricingDetailsSet></item>"
    )


def page(*items: str, token: str = "") -> bytes:
    more = f"<nextToken>{token}</nextToken>" if token else ""
    return (
        '<DescribeReservedInstancesOfferingsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
        f"<requestId>r</requestId><reservedInstancesOfferingsSet>{''.join(items)}"
        f"</reservedInstancesOfferingsSet>{more}</DescribeReservedInstancesOfferingsResponse>"
    ).encode()


ACTION = "DescribeReservedInstancesOfferings"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[RecordedAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    monkeypatch.setattr("finops.providers.aws.reserved_offers.BACK_OFF", wait_none())
    with recorded_aws() as server:
        server.answer(ACTION, page(item("a"), token="2"), page(token="3"), page(item("b", zone="us-east-1b")))
        settings.AWS_ENDPOINT_URL = server.url
        yield server


def feed(**given: Any) -> Feed:
    return offer_feed_create(**{"name": "offers", "regions": ["us-east-1"], **given})


def gone() -> dict[str, bool]:
    return {row.offer: row.gone_at is not None for row in SeenOffer.objects.order_by("offer")}


def test_all_pages_are_read_and_what_a_later_look_misses_is_gone(aws: RecordedAws) -> None:
    asked = feed()
    assert feeds_due_claim() == [asked.pk]
    (run,) = collecting.feed_collect(feed=asked, now=NOW)
    assert (run.kind, run.stored, run.rejected) == ("live", 2, 0)
    assert run.source == "offers: DescribeReservedInstancesOfferings us-east-1"
    requests = aws.asked(ACTION)
    assert [request.get("NextToken") for request in requests] == [None, "2", "3"]
    assert {request["IncludeMarketplace"] for request in requests} == {"true"}
    aws.answer(ACTION, page(item("a", price="110")))
    collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=1))
    rows = SeenOffer.objects.order_by("offer", "fixed")
    assert [(r.offer, str(r.fixed), r.gone_at is None) for r in rows] == [
        ("a", "110.000000", True), ("a", "120.500000", False), ("b", "120.500000", False),
    ]  # fmt: skip
    asked.refresh_from_db()
    assert (asked.state, asked.last_error) == (FeedState.OK, "")


def test_filters_go_into_the_question_and_limit_what_may_be_gone(aws: RecordedAws) -> None:
    collecting.feed_collect(feed=feed(), now=NOW)
    asked = feed(
        name="narrow", instance_types=["m5.large"], products=["Linux/UNIX"],
        filters={
            "availability-zone": ["us-east-1b"], "OfferingClass": ["standard"], "MinDuration": ["86400"],
        },
    )  # fmt: skip
    aws.answer(ACTION, page())
    collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=1))
    request = aws.asked(ACTION)[-1]
    names = {request[f"Filter.{i}.Name"]: request[f"Filter.{i}.Value.1"] for i in (1, 2, 3)}
    assert names == {
        "availability-zone": "us-east-1b", "instance-type": "m5.large",
        "product-description": "Linux/UNIX (Amazon VPC)",
    }  # fmt: skip
    assert (request["OfferingClass"], request["MinDuration"]) == ("standard", "86400")
    # a length of time cannot be checked on a stored row: nothing is taken for gone
    assert gone() == {"a": False, "b": False}
    asked.filters.pop("MinDuration")
    asked.save()
    collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=2))
    assert gone() == {"a": False, "b": True}


def test_a_look_with_a_row_that_cannot_be_read_takes_nothing_for_gone(aws: RecordedAws) -> None:
    asked = feed()
    collecting.feed_collect(feed=asked, now=NOW)
    aws.answer(ACTION, page(item("a"), item("c", price="dear")))
    with pytest.raises(Exception):  # noqa: B017, PT011 - botocore itself refuses a price that is no number
        collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=1))
    aws.answer(ACTION, page(item("a"), item("c", kind="")))
    (run,) = collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=2))
    assert (run.stored, run.rejected) == (1, 1)
    assert gone() == {"a": False, "b": False}


def test_a_failure_keeps_what_was_seen(aws: RecordedAws) -> None:
    asked = feed()
    collecting.feed_collect(feed=asked, now=NOW)
    before = list(SeenOffer.objects.values())
    aws.answer(ACTION, page(item("a"), token="2"), "faulty_unavailable.xml")
    with pytest.raises(TransientError):
        collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=1))
    aws.answer(ACTION, "faulty_denied.xml")
    assert collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=2)) == []
    asked.refresh_from_db()
    assert (asked.state, "us-east-1" in asked.last_error) == (FeedState.FAILING, True)
    assert list(SeenOffer.objects.values()) == before
    assert IngestRun.objects.count() == 1


def test_credentials_of_another_account_are_refused(aws: RecordedAws) -> None:
    asked = feed(account="999999999999")
    assert collecting.feed_collect(feed=asked, now=NOW) == []
    assert SeenOffer.objects.count() == 0


def test_the_verb_makes_the_feed_and_refuses_what_the_question_has_not() -> None:
    out = io.StringIO()
    call_command(
        "add_feed", "market", "--offers", "--regions", "us-east-1,eu-west-1", "--types", "m5.large",
        "--filter", "marketplace=true", "--json", stdout=out,
    )  # fmt: skip
    made = Feed.objects.get(pk=json.loads(out.getvalue())["id"])
    assert (made.kind, made.filters, made.interval) == (
        "offers", {"marketplace": ["true"]}, timedelta(hours=1),
    )  # fmt: skip
    with pytest.raises(CommandError, match="colour"):
        call_command("add_feed", "two", "--offers", "--regions", "us-east-1", "--filter", "colour=red")
    with pytest.raises(ValidationError):
        feed(name="three", filters={"MinDuration": ["a year"]})
    assert Feed.objects.count() == 1
