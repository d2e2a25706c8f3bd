"""Feeds of storage files through the real boto3: what is fetched, what is loaded, what comes again."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from tenacity import wait_none

from apps.ingest.models import Feed, FeedDelivery, FeedKind, FeedState, RunState
from apps.ingest.services.collecting import feed_collect
from apps.ingest.services.storage_feeds import LOGS, storage_feed_create
from apps.storage.models import Listing
from apps.storage.selectors import histogram_of
from finops.providers.base import TransientError
from tests.support.aws_server import FakeAws, fake_aws
from tests.support.lake import fresh_lake
from tests.support.storage_files import LISTED, SCHEMA, csv_bytes, log_line, row

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Iterator[FakeAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    monkeypatch.setattr("finops.providers.aws.client.BACK_OFF", wait_none())
    settings.OFFPEAK_HOME = tmp_path / "home"
    with fresh_lake(settings, tmp_path / "lake"), fake_aws() as server:
        settings.AWS_ENDPOINT_URL = server.url
        yield server


def feed() -> Feed:
    return storage_feed_create(name="s", bucket="acme-bills", prefix="meta", region="us-east-1")


def deliver(aws: FakeAws, *keys: str, at: datetime = LISTED, missing: bool = False) -> None:
    """A listing of these keys."""
    content = gzip.compress(csv_bytes([row(key) for key in keys]), mtime=0)
    name = f"meta/inv/data/all/data/{hashlib.sha256(content).hexdigest()[:8]}.csv.gz"
    if not missing:
        aws.put(name, content, at=at)
    manifest = {
        "sourceBucket": "data", "fileFormat": "CSV", "fileSchema": SCHEMA,
        "creationTimestamp": str(int(at.timestamp() * 1000)),
        "files": [
            {
                "key": name, "size": len(content),
                "MD5checksum": hashlib.md5(content, usedforsecurity=False).hexdigest(),
            }
        ],
    }  # fmt: skip
    aws.put(f"meta/inv/data/all/{at:%Y-%m-%dT%H-%MZ}/manifest.json", json.dumps(manifest), at=at)


def states(feed: Feed) -> tuple[Any, ...]:
    feed.refresh_from_db()
    return feed.state, feed.last_error


def test_the_newest_listing_and_all_logs_come_once(aws: FakeAws) -> None:
    deliver(aws, "old", at=LISTED - timedelta(days=1))
    deliver(aws, "a", "b")
    aws.put("meta/logs/2026-11-28-01", log_line("a", "27/Nov/2026"), at=LISTED)
    aws.put("meta/logs/2026-11-28-02", log_line("b", "28/Nov/2026"), at=LISTED)
    made = feed()
    runs = feed_collect(feed=made, now=NOW)
    assert [(run.state, run.stored) for run in runs] == [("finished", 2), ("finished", 2)]
    assert [(x.bucket.name, x.objects_count) for x in Listing.objects.all()] == [("data", 2)]
    assert sorted(c.idle_from or 0 for c in histogram_of()) == [0, 1]
    assert states(made) == (FeedState.OK, "")
    asked = len(aws.asked("GetObject"))
    assert feed_collect(feed=made, now=NOW) == []
    assert len(aws.asked("GetObject")) == asked
    assert FeedDelivery.objects.get(report=LOGS).objects_fetched.count() == 2


def test_later_logs_change_the_bands_of_the_listing(aws: FakeAws) -> None:
    deliver(aws, "a")
    made = feed()
    feed_collect(feed=made, now=NOW)
    assert [c.idle_from for c in histogram_of()] == [None]
    aws.put("meta/logs/1", log_line("a", "27/Nov/2026"), at=LISTED + timedelta(hours=2))
    [run] = feed_collect(feed=made, now=NOW)
    assert (run.state, run.stored) == ("finished", 1)
    assert [c.idle_from for c in histogram_of()] == [0]


def test_a_listing_that_is_not_complete_is_tried_again(aws: FakeAws) -> None:
    deliver(aws, "a", missing=True)
    made = feed()
    with pytest.raises(TransientError, match="which is not in acme-bills"):
        feed_collect(feed=made, now=NOW)
    assert states(made)[0] == FeedState.FAILING
    deliver(aws, "a")
    [run] = feed_collect(feed=made, now=NOW)
    assert run.state == RunState.FINISHED
    assert states(made) == (FeedState.OK, "")


def test_files_of_no_kind_are_refused_once(aws: FakeAws) -> None:
    aws.put("meta/readme.txt", "hello, world\n", at=LISTED)
    made = feed()
    [run] = feed_collect(feed=made, now=NOW)
    assert run.state == RunState.REFUSED
    assert states(made)[0] == FeedState.FAILING
    assert feed_collect(feed=made, now=NOW) == []
    assert states(made) == (FeedState.OK, "")


def test_the_verb_adds_a_feed_and_a_wrong_one_is_told() -> None:
    call_command("add_feed", "x", "--storage", "--bucket", "acme-bills", "--regions", "us-east-1")
    assert Feed.objects.get().kind == FeedKind.STORAGE
    with pytest.raises(CommandError, match="needs --bucket"):
        call_command("add_feed", "y", "--storage", "--regions", "us-east-1")
    with pytest.raises(ValidationError):
        storage_feed_create(name="z", bucket="A", prefix="", region="us-east-1")
