"""Own commitments keep when they were seen and what changed; a feed looks through the real boto3."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from tenacity import wait_none

from apps.accounts.models import Organisation
from apps.billing.models import CommitmentChange, OwnedCommitment
from apps.ingest.models import Feed, FeedKind, FeedState, IngestRun
from apps.ingest.services import collecting, commitment_feeds
from finops.providers.base import TransientError
from tests.finops.providers.aws.test_own_commitments import PLAN_PAGES, reservation
from tests.support.bill_lake import put_bill
from tests.support.ec2_server import RECORDED, RecordedAws, recorded_aws
from tests.support.lake import fresh_lake

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, 9, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    with fresh_lake(settings, tmp_path / "lake"):
        yield


def look(folder: Path, at: str, *rows: Any, words: tuple[str, ...] = ("--region", "us-east-1")) -> Any:
    path = folder / "ri.json"
    path.write_text(json.dumps({"ReservedInstances": list(rows)}))
    out = io.StringIO()
    with contextlib.suppress(SystemExit):
        call_command(
            "import_commitments", str(path), "--seen-at", at, *words, "--json", stdout=out,
            stderr=io.StringIO(),
        )  # fmt: skip
    return json.loads(out.getvalue())["runs"][0]


def counts(run: dict[str, Any]) -> tuple[int, ...]:
    return tuple(run[name] for name in ("rows_read", "stored", "duplicates", "rejected", "replaced"))


def changes() -> list[tuple[str, str, str]]:
    return list(CommitmentChange.objects.order_by("field").values_list("field", "before", "after"))


def test_the_history_of_a_reservation(tmp_path: Path) -> None:
    assert counts(look(tmp_path, "2018-09-01T00:00:00Z", reservation())) == (1, 1, 0, 0, 0)
    again = look(tmp_path, "2018-09-01T00:00:00Z", reservation())
    assert counts(again) == (1, 0, 1, 0, 0)
    assert counts(look(tmp_path, "2018-09-02T00:00:00Z", reservation())) == (1, 1, 0, 0, 0)
    assert changes() == []
    retired = reservation(State="retired", End="2018-09-03T00:00:00+00:00")
    assert counts(look(tmp_path, "2018-09-04T00:00:00Z", retired)) == (1, 1, 0, 0, 1)
    assert changes() == [
        ("end", "2019-08-13T18:14:01Z", "2018-09-03T00:00:00Z"),
        ("state", "active", "retired"),
    ]
    # An older look comes late: it changes nothing.
    assert counts(look(tmp_path, "2018-09-01T12:00:00Z", reservation())) == (1, 0, 1, 0, 0)
    row = OwnedCommitment.objects.get()
    assert (row.state, row.first_seen_at.day, row.seen_at.day, row.gone_at) == ("retired", 1, 4, None)
    assert (row.hourly, row.fixed, row.region) == (Decimal("0.0083"), Decimal(0), "us-east-1")


def test_bad_rows_are_rejected_and_the_others_stored(tmp_path: Path) -> None:
    run = look(tmp_path, "2018-09-01T00:00:00Z", reservation(), reservation(InstanceCount="x"))
    assert counts(run) == (2, 1, 0, 1, 0)
    assert run["rejections"] == [
        {"file": "ri.json", "row": 2, "field": "InstanceCount", "reason": "no whole number"}
    ]


def test_a_region_comes_from_the_bill_or_an_earlier_look(tmp_path: Path) -> None:
    refused = look(tmp_path, "2018-09-01T00:00:00Z", reservation(), words=())
    assert (refused["state"], refused["rejections"][0]["field"]) == ("refused", "region")
    assert OwnedCommitment.objects.count() == 0
    arn = "arn:aws:ec2:eu-west-1:111122223333:reserved-instances/r-1"
    put_bill([{"billed_cost": "1", "commitment_discount_id": arn}], period=date(2018, 9, 1))
    look(tmp_path, "2018-09-01T00:00:00Z", reservation(), words=())
    assert OwnedCommitment.objects.get().region == "eu-west-1"
    look(tmp_path, "2018-09-02T00:00:00Z", reservation(State="retired"), words=())
    assert (OwnedCommitment.objects.get().region, changes()) == (
        "eu-west-1", [("state", "active", "retired")],
    )  # fmt: skip


def test_other_kinds_of_reservations_end_with_exit_code_three(tmp_path: Path) -> None:
    path = tmp_path / "rds.json"
    path.write_text('{"ReservedDBInstances": []}')
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("import_commitments", str(path), "--json", stdout=out, stderr=io.StringIO())
    assert ended.value.code == 3
    assert "RDS" in json.loads(out.getvalue())["runs"][0]["rejections"][0]["reason"]
    assert OwnedCommitment.objects.count() == 0


def test_one_id_is_each_organisations_own(tmp_path: Path) -> None:
    from apps.ingest.owned import commitments_import

    path = tmp_path / "us-east-1.json"
    path.write_text(json.dumps({"ReservedInstances": [reservation()]}))
    other = Organisation.objects.create(name="Other", slug="other")
    for organisation in (Organisation.default(), other, None):
        run = commitments_import(path=str(path), seen_at=NOW, organisation=organisation)
        assert (run.stored, run.duplicates) == (1, 0)
    assert OwnedCommitment.objects.count() == 3


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[RecordedAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    monkeypatch.setattr("finops.providers.aws.owned_live.BACK_OFF", wait_none())
    with recorded_aws() as server:
        server.answer("DescribeReservedInstances", "own_reserved_us-east-1.xml")
        server.answer("DescribeSavingsPlans", *((RECORDED / name).read_bytes() for name in PLAN_PAGES))
        settings.AWS_ENDPOINT_URL = server.url
        yield server


def feed(**given: Any) -> Feed:
    return commitment_feeds.commitment_feed_create(**{"name": "own", "regions": ["us-east-1"], **given})


def test_a_feed_looks_and_what_is_missed_is_gone(aws: RecordedAws) -> None:
    asked = feed()
    runs = collecting.feed_collect(feed=asked, now=NOW)
    assert [(r.source, r.kind, r.stored, r.rejected) for r in runs] == [
        ("own: DescribeReservedInstances us-east-1", "live", 3, 0),
        ("own: DescribeSavingsPlans", "live", 2, 0),
    ]
    asked.refresh_from_db()
    assert (asked.kind, asked.state, asked.last_error) == (FeedKind.COMMITMENTS, FeedState.OK, "")
    aws.answer("DescribeReservedInstances", "own_reserved_none.xml")
    aws.answer("DescribeSavingsPlans", (RECORDED / PLAN_PAGES[2]).read_bytes())
    collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=1))
    gone = OwnedCommitment.objects.filter(gone_at=NOW + timedelta(hours=1))
    assert sorted((row.kind, row.commitment[:4]) for row in gone) == [
        ("reserved", "2dbc"), ("reserved", "3a29"), ("reserved", "766c"), ("savings-plan", "aaaa"),
    ]  # fmt: skip
    # Back again: the row lives on, and its history says so.
    aws.answer("DescribeReservedInstances", "own_reserved_us-east-1.xml")
    collecting.feed_collect(feed=asked, now=NOW + timedelta(hours=2))
    assert OwnedCommitment.objects.filter(gone_at__isnull=True).count() == 4
    assert [field for field, _before, _after in changes()] == ["gone_at"] * 3


def test_a_refused_region_does_not_keep_the_plans_from_being_read(aws: RecordedAws) -> None:
    aws.answer("DescribeReservedInstances", "faulty_denied.xml")
    asked = feed()
    runs = collecting.feed_collect(feed=asked, now=NOW)
    assert [run.stored for run in runs] == [2]
    asked.refresh_from_db()
    assert (asked.state, "us-east-1" in asked.last_error) == (FeedState.FAILING, True)
    assert OwnedCommitment.objects.filter(kind="reserved").count() == 0


def test_a_failure_that_may_pass_is_raised_after_all_was_tried(aws: RecordedAws) -> None:
    aws.answer("DescribeReservedInstances", "faulty_unavailable.xml")
    with pytest.raises(TransientError):
        collecting.feed_collect(feed=feed(), now=NOW)
    assert [run.stored for run in IngestRun.objects.all()] == [2]


def test_credentials_of_another_account_are_refused(aws: RecordedAws) -> None:
    asked = feed(account="999999999999")
    assert collecting.feed_collect(feed=asked, now=NOW) == []
    asked.refresh_from_db()
    assert "999999999999" in asked.last_error
    assert OwnedCommitment.objects.count() == 0


def listings(folder: Path, at: str, *states: str, name: str = "r-1") -> Any:
    path = folder / "listings.json"
    rows = [{"ReservedInstancesListingId": "l", "ReservedInstancesId": name, "Status": s} for s in states]
    path.write_text(json.dumps({"ReservedInstancesListings": rows}))
    out = io.StringIO()
    with contextlib.suppress(SystemExit):
        call_command(
            "import_commitments", str(path), "--seen-at", at, "--json", stdout=out, stderr=io.StringIO()
        )
    return json.loads(out.getvalue())["runs"][0]


def test_listings_say_what_is_for_sale_already(tmp_path: Path) -> None:
    strange = listings(tmp_path, "2018-09-01T00:00:00Z", "active")
    assert counts(strange) == (1, 0, 0, 1, 0)
    assert strange["rejections"][0]["field"] == "ReservedInstancesId"
    look(tmp_path, "2018-09-01T00:00:00Z", reservation())
    assert counts(listings(tmp_path, "2018-09-01T00:00:00Z", "cancelled", "active")) == (2, 1, 1, 0, 0)
    assert OwnedCommitment.objects.get().listing == "active"
    # A later look at the reservations does not know of listings; an older look at those changes nothing.
    look(tmp_path, "2018-09-03T00:00:00Z", reservation())
    assert counts(listings(tmp_path, "2018-08-30T00:00:00Z", "closed")) == (1, 0, 1, 0, 0)
    assert OwnedCommitment.objects.get().listing == "active"
    assert counts(listings(tmp_path, "2018-09-02T00:00:00Z", "closed", "sold")) == (2, 1, 0, 1, 1)
    assert changes() == [("listing", "", "active"), ("listing", "active", "closed")]
