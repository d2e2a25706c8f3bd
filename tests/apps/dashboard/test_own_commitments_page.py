"""The page of own commitments: the number in the sentence, what ends, exports, who may do what, states."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import AuditEntry, Organisation
from apps.billing.models import OwnedCommitment
from apps.dashboard.figures.idle import idle_map
from apps.ingest.models import Feed, FeedKind
from apps.recommendations.services.commitments_alerts import commitments_alert
from tests.apps.dashboard.test_spend_pages import h1
from tests.finops.providers.aws.test_own_commitments import reservation
from tests.support.bill_lake import put_bill
from tests.support.own_commitments import START, fee, line, plan_fee, plan_use, reserved_use

SignIn = Callable[..., Client]
ADDRESS = "/deals/commitments/"
NOV = date(2018, 11, 1)
LATER = datetime(2018, 12, 2, 9, tzinfo=UTC)


@pytest.fixture
def bill(empty_lake: Path) -> Iterator[None]:
    """A t2.micro used by night only, in all 360 of 720 h, and an hour of m5.large on demand."""
    used = [
        reserved_use(h, "t2.micro", "1", "0.5", effective_cost="0.0083", list_cost="0.0116")
        for h in range(720)
        if h % 24 < 12
    ]
    put_bill([fee("t2.micro", "720", "360", "2.988"), *used, line(719, "m5.large", "1")], period=NOV)
    with time_machine.travel(LATER, tick=False):
        yield


def page(client: Client, **query: str) -> Any:
    return client.get(ADDRESS, query)


def test_before_anything_is_known_it_says_what_to_do(sign_in: SignIn, empty_lake: Path) -> None:
    response = page(sign_in("viewer"))
    assert (response.status_code, h1(response)) == (200, "No commitment is known yet.")
    assert "Load a bill" in response.content.decode()


def test_bills_without_commitments_say_so(sign_in: SignIn, empty_lake: Path) -> None:
    put_bill([line(h, "m5.large", "1") for h in range(24)], period=NOV)
    text = page(sign_in("viewer")).content.decode()
    assert "The bills name no reservation and no savings plan." in text


def test_the_sentence_and_the_figures(sign_in: SignIn, bill: None) -> None:
    response = page(sign_in("viewer"))
    text = response.content.decode()
    assert h1(response) == "Commitments were 50.0\u202f% used in Nov 2018; what stood idle cost $2.99."
    assert "Against on-demand prices they lost $1.80 in Nov 2018, idle hours counted." in text
    assert "Hours that nothing used are 50.0\u202f% of what commitments cost" in text
    assert "Most stands idle on Mon at 12:00" in text
    assert "1 × t2.micro Linux/UNIX" in text
    assert "360 of 720 h idle" in text
    assert "254 days, 6,105 h" in text
    assert "Answers are for" not in text


def test_the_ladder_and_the_alerts_are_of_the_moment_asked(sign_in: SignIn, bill: None) -> None:
    end = datetime(2019, 8, 13, 18, 14, 1, tzinfo=UTC)
    at = end - timedelta(days=20)
    commitments_alert(organisation=Organisation.default(), now=at)
    with time_machine.travel(end + timedelta(days=90), tick=False):
        client = sign_in("viewer")
        text = page(client, at=at.isoformat()).content.decode()
        assert "Answers are for 24 Jul 2019 18:14 UTC." in text
        assert "7 to 30 days" in text
        assert "ends on 13 Aug 2019, in 20 d: $1.83 less a month." in text
        # Bills and looks ended long ago: the page answers for the end of the newest bill.
        assert "Answers are for 1 Dec 2018 00:00 UTC." in page(client).content.decode()
        for odd in ("yesterday", "9999-12-31T23:59:59-23:00", "1900-01-01"):
            assert page(client, at=odd).status_code == 200


def test_another_month_stays_in_the_address(sign_in: SignIn, empty_lake: Path) -> None:
    october = fee("t2.micro", "744", "372", "6.1752", billed_cost="6.1752")
    october["charge_period_start"] = datetime(2018, 10, 1, tzinfo=UTC)
    october["charge_period_end"] = datetime(2018, 10, 31, 23, 59, 59, tzinfo=UTC)
    put_bill([october, {**line(-1, "m5.large", "1"), "x_day": date(2018, 10, 31)}], period=date(2018, 10, 1))
    put_bill([fee("t2.micro", "720", "360", "2.988"), line(719, "m5.large", "1")], period=NOV)
    with time_machine.travel(LATER, tick=False):
        client = sign_in("viewer")
        assert "0.0\u202f% used in Oct 2018" in h1(page(client, month="2018-10"))
        for odd in ("2018-13", "2017-01", "x"):
            assert "in Nov 2018" in h1(page(client, month=odd))


def test_an_old_bill_is_said_to_be_late(sign_in: SignIn, bill: None) -> None:
    with time_machine.travel(LATER + timedelta(days=90), tick=False):
        OwnedCommitment.objects.create(
            provider="aws", commitment="r-2", kind="reserved", count=1, currency="USD", start=START,
            end=LATER + timedelta(days=400), state="active", first_seen_at=LATER, seen_at=LATER,
            instance_type="m5.large", region="us-east-1", source="test",
        )  # fmt: skip
        text = page(sign_in("viewer")).content.decode()
    assert "The newest bill reaches 1 Dec 2018" in text


def test_both_exports(sign_in: SignIn, bill: None) -> None:
    client = sign_in("viewer")
    response = page(client, format="csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert [(row["type"], row["idle_hours"], row["idle_cost"], row["end"]) for row in rows] == [
        ("t2.micro", "360", "2.988", "2019-08-13T18:14:01Z")
    ]
    hours = page(client, format="hours")
    found = list(csv.DictReader(io.StringIO(b"".join(hours.streaming_content).decode())))
    assert len(found) == 720
    assert (found[12]["hour"], found[12]["used"], found[12]["idle"]) == (
        "2018-11-01T12:00:00Z", "0.0", "1.0",
    )  # fmt: skip
    assert sum(float(row["idle_cost"]) for row in found) == pytest.approx(2.988)


def file(document: Any) -> SimpleUploadedFile:
    return SimpleUploadedFile("ri.json", json.dumps(document).encode())


def test_finance_loads_a_file_and_a_viewer_may_not(sign_in: SignIn, bill: None) -> None:
    finance = sign_in("finance")
    good = {"file": file({"ReservedInstances": [reservation(InstanceCount=2)]}), "region": "us-east-1"}
    assert finance.post(f"{ADDRESS}file/", good)["Location"] == ADDRESS
    text = page(finance).content.decode()
    assert "ri.json: 1 kept, 0 as they were, 0 rejected." in text
    assert "quantity: the bill says 1, the provider&#x27;s interface 2" in text
    assert AuditEntry.objects.filter(action="commitments.load").count() == 1
    viewer = sign_in("viewer")
    assert viewer.post(f"{ADDRESS}file/", {"file": file({})}).status_code == 403
    assert "Load an answer of the provider" not in page(viewer).content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"file": {"ReservedDBInstances": []}}, "databases (RDS)"),
        ({"file": {"ReservedInstances": [reservation()]}, "account": "12"}, "Enter a valid value"),
        ({}, "This field is required."),
        ({"file": {"ReservedInstances": [reservation(ReservedInstancesId="x")]}}, "no region"),
    ],
)
def test_a_wrong_file_is_said_and_nothing_is_kept(
    sign_in: SignIn, bill: None, given: dict[str, Any], said: str
) -> None:
    body = {**given, **({"file": file(given["file"])} if "file" in given else {})}
    response = sign_in("finance").post(f"{ADDRESS}file/", body)
    assert (response.status_code, said in response.content.decode()) == (422, True)
    assert OwnedCommitment.objects.count() == 0


def test_an_engineer_makes_a_feed_once(sign_in: SignIn, bill: None) -> None:
    engineer = sign_in("engineer")
    form = {"name": "own", "regions": "us-east-1, eu-west-1", "minutes": "60"}
    assert engineer.post(f"{ADDRESS}feeds/", form).status_code == 302
    feed = Feed.objects.get()
    assert (feed.kind, feed.regions, feed.interval) == (
        FeedKind.COMMITMENTS, ["us-east-1", "eu-west-1"], timedelta(hours=1),
    )  # fmt: skip
    again = engineer.post(f"{ADDRESS}feeds/", form)
    assert (again.status_code, "There is a feed of this name already." in again.content.decode()) == (
        422, True,
    )  # fmt: skip
    assert sign_in("finance").post(f"{ADDRESS}feeds/", form).status_code == 403
    assert Feed.objects.count() == 1


def test_savings_plans_and_chinese(sign_in: SignIn, empty_lake: Path) -> None:
    put_bill(
        [
            *(plan_fee(h, "0.5") for h in range(720)),
            *(plan_use(h, "m5.large", "10", "1", "1.25") for h in range(720)),
        ],
        period=NOV,
    )
    with time_machine.travel(LATER, tick=False):
        client = sign_in("viewer")
        text = page(client).content.decode()
        assert "Compute savings plan $1.50/h" in text
        assert "any region" in text
        client.cookies.load({"django_language": "zh-hans"})
        chinese = client.get(ADDRESS, headers={"accept-language": "zh-hans"})
    assert "闲置" in chinese.content.decode()


def test_another_organisation_sees_nothing(sign_in: SignIn, empty_lake: Path) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    put_bill([fee("t2.micro", "720", "360", "5.976")], period=NOV, organisation=other)
    assert h1(page(sign_in("viewer"))) == "No commitment is known yet."


def test_the_page_asks_the_database_the_same_for_many(sign_in: SignIn, bill: None) -> None:
    client = sign_in("viewer")
    page(client)
    with CaptureQueriesContext(
        connection,
    ) as first:
        page(client)
    assert len(first) <= 16


def test_deals_leads_here_and_a_week_has_168_hours(sign_in: SignIn, bill: None) -> None:
    assert sign_in("viewer").get("/deals/").status_code in (200, 302)
    with pytest.raises(ValueError, match="168"):
        idle_map([0.0], ["Mon"], ["x"])
