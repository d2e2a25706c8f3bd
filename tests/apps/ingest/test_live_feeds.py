"""Live feeds into the lake through the real boto3: what is asked, what is stored, what a failure leaves
behind.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from tenacity import wait_none

from apps.catalog.selectors import zone_ids
from apps.ingest import selectors, tasks
from apps.ingest.models import Feed, FeedState, IngestRun, RunState
from apps.ingest.services import live
from finops.beat import SCHEDULE
from finops.celery import app
from finops.providers.base import TransientError
from tests.support.ec2_server import RecordedAws, recorded_aws

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
PAGES = ("spot_page_1.xml", "spot_page_2_empty.xml", "spot_page_3.xml")


@pytest.fixture(scope="module", autouse=True)
def lake_closed() -> Iterator[None]:
    yield
    for lake in selectors._lakes.values():
        lake.close()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[RecordedAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    monkeypatch.setattr("finops.providers.aws.spot.BACK_OFF", wait_none())
    with recorded_aws() as server:
        server.answer("DescribeSpotPriceHistory", *PAGES)
        settings.AWS_ENDPOINT_URL = server.url
        yield server


def feed(**given: Any) -> Feed:
    return live.feed_create(
        **{"name": "prices", "regions": ["us-east-1"], "interval": timedelta(minutes=15), **given}
    )


def lake_rows() -> list[tuple[str, str, str, str]]:
    with selectors.lake().connect(selectors.current_snapshots()) as con:
        return [
            (zone, kind, at.astimezone(UTC).isoformat(), str(price))
            for zone, kind, at, price in con.execute(
                'SELECT zone_key, instance_type, "at", price FROM prices.spot_changes ORDER BY "at", zone_key'
            ).fetchall()
        ]


def test_a_collection_stores_each_change_once_and_knows_the_range_it_asked_for(aws: RecordedAws) -> None:
    (run,) = live.feed_collect(feed=feed(), now=NOW)
    assert (run.state, run.rows_read, run.stored, run.duplicates, run.rejected) == ("finished", 6, 6, 0, 0)
    assert run.known == {"us-east-1": ["2025-12-02T12:00:00Z", "2026-03-02T12:00:00Z"]}
    assert lake_rows()[0] == ("use1-az4", "c5.xlarge", "2026-02-27T18:30:00+00:00", "0.0699000000")
    assert zone_ids(account_id="111122223333")["us-east-1b"] == "use1-az6"
    stored = Feed.objects.get()
    assert (stored.state, stored.last_error) == (FeedState.OK, "")


def test_the_next_collection_asks_from_a_little_before_the_last_and_stores_no_repeat(
    aws: RecordedAws,
) -> None:
    asked = feed()
    live.feed_collect(feed=asked, now=NOW)
    before = lake_rows()
    aws.answer("DescribeSpotPriceHistory", "spot_page_nothing_new.xml")
    (run,) = live.feed_collect(feed=asked, now=NOW + timedelta(minutes=15))
    assert (run.rows_read, run.stored, run.duplicates) == (2, 0, 2)
    request = aws.asked("DescribeSpotPriceHistory")[-1]
    assert (request["StartTime"], request["EndTime"]) == ("2026-03-02T11:45:00Z", "2026-03-02T12:15:00Z")
    assert lake_rows() == before
    assert run.known_to == NOW + timedelta(minutes=15)


def test_other_types_are_asked_from_the_beginning(aws: RecordedAws) -> None:
    asked = feed(instance_types=["p3.2xlarge"])
    live.feed_collect(feed=asked, now=NOW)
    asked.instance_types = ["p3.2xlarge", "c5.xlarge"]
    asked.save()
    aws.answer("DescribeSpotPriceHistory", *PAGES)
    live.feed_collect(feed=asked, now=NOW)
    assert {request["StartTime"] for request in aws.asked("DescribeSpotPriceHistory")} == {
        "2025-12-02T12:00:00Z"
    }


def test_a_token_that_expires_between_pages_stores_nothing_and_the_next_collection_asks_again(
    aws: RecordedAws,
) -> None:
    asked = feed()
    aws.answer("DescribeSpotPriceHistory", "spot_page_1.xml", "faulty_expired.xml")
    assert live.feed_collect(feed=asked, now=NOW) == []
    run, stored = IngestRun.objects.get(), Feed.objects.get()
    assert (run.state, run.stored, run.snapshots) == (RunState.FAILED, 0, {})
    assert "expired while reading Spot prices of us-east-1, page 2" in run.error
    assert (stored.state, stored.last_success_at, stored.last_error) == (FeedState.FAILING, None, run.error)
    assert selectors.current_snapshots() == {}
    aws.answer("DescribeSpotPriceHistory", *PAGES)
    (again,) = live.feed_collect(feed=asked, now=NOW + timedelta(minutes=1))
    assert again.stored == 6
    assert Feed.objects.get().state == FeedState.OK


def test_a_region_that_fails_does_not_keep_another_from_being_collected(aws: RecordedAws) -> None:
    aws.answer("DescribeSpotPriceHistory", "faulty_denied.xml", *PAGES)
    (run,) = live.feed_collect(feed=feed(regions=["us-east-1", "us-east-1"]), now=NOW)
    assert run.stored == 6
    assert Feed.objects.get().state == FeedState.FAILING


def test_throttling_without_end_is_raised_for_the_task_to_try_again(aws: RecordedAws) -> None:
    aws.answer("DescribeSpotPriceHistory", "faulty_throttled.xml")
    asked = feed()
    with pytest.raises(TransientError, match="limits the rate of calls"):
        live.feed_collect(feed=asked, now=NOW)
    run, stored = IngestRun.objects.get(), Feed.objects.get()
    assert (run.state, run.stored, run.snapshots, stored.state) == (RunState.FAILED, 0, {}, FeedState.FAILING)
    assert run.error == stored.last_error
    assert run.error.endswith("page 1. AWS says RequestLimitExceeded: Request limit exceeded.")
    # Asked again and again, with waits between, before it was given up.
    assert len(aws.asked("DescribeSpotPriceHistory")) > 3
    aws.answer("DescribeSpotPriceHistory", *PAGES)
    (again,) = live.feed_collect(feed=asked, now=NOW + timedelta(minutes=1))
    assert (again.stored, Feed.objects.get().state) == (6, FeedState.OK)


def test_credentials_of_another_account_are_refused(aws: RecordedAws) -> None:
    live.feed_collect(feed=feed(account="999999999999"), now=NOW)
    assert Feed.objects.get().last_error == (
        "The credentials belong to account 111122223333, the feed is set up for 999999999999: "
        "correct one of them."
    )


def test_a_due_feed_is_claimed_once_even_by_two_at_the_same_time() -> None:
    due, off = feed(), feed(name="off")
    Feed.objects.filter(pk=off.pk).update(state=FeedState.OFF)
    claimed: list[int] = []
    barrier = threading.Barrier(2)

    def claim() -> None:
        barrier.wait()
        claimed.extend(live.feeds_due_claim())
        connection.close()

    threads = [threading.Thread(target=claim) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert claimed == [due.pk]
    assert live.feeds_due_claim() == []
    Feed.objects.update(last_try_at=timezone.now() - timedelta(minutes=16))
    assert live.feeds_due_claim() == [due.pk]


def test_the_same_collection_twice_at_once_leaves_each_change_once(aws: RecordedAws) -> None:
    asked = feed()
    live.feed_collect(feed=asked, now=NOW)
    before = lake_rows()
    errors: list[BaseException] = []

    def collect() -> None:
        try:
            live.feed_collect(feed=asked, now=NOW)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    aws.answer("DescribeSpotPriceHistory", "spot_page_nothing_new.xml")
    threads = [threading.Thread(target=collect) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert lake_rows() == before


def test_a_feed_is_added_and_collected_from_the_command_line(aws: RecordedAws) -> None:
    call_command("add_feed", "gpus", "--regions", "us-east-1", "--types", "p3.2xlarge", stdout=io.StringIO())
    out = io.StringIO()
    call_command("collect_feed", "gpus", "--json", stdout=out)
    document = json.loads(out.getvalue())
    assert (document["state"], document["error"]) == ("ok", None)
    assert [run["stored"] for run in document["runs"]] == [6]
    aws.answer("DescribeSpotPriceHistory", "faulty_wrong_credentials.xml")
    with pytest.raises(SystemExit) as end:
        call_command("collect_feed", "gpus", "--json", stdout=io.StringIO())
    assert end.value.code == 1


def test_beat_hands_out_each_due_feed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SCHEDULE["every-minute-collect-due-price-feeds"]
    assert entry["options"]["expires"] < entry["schedule"]
    handed: list[int] = []
    monkeypatch.setattr(tasks.feed_collect, "delay", handed.append)
    due = feed()
    app.tasks[entry["task"]]()
    app.tasks[entry["task"]]()
    assert handed == [due.pk]
