"""Feeds of bills through the real boto3: what is fetched, what is loaded, what a kill or a refusal leaves."""

from __future__ import annotations

import gzip
import io
import json
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection
from tenacity import wait_none

from apps.billing.models import Delivery, DeliveryState
from apps.ingest import locks, tasks
from apps.ingest.models import Feed, FeedDelivery, FeedKind, FeedObject, FeedState, FetchState, IngestRun
from apps.ingest.services import bill_feeds, live
from apps.ingest.services.collecting import feed_collect
from finops.providers.base import TransientError
from tests.support.aws_server import FakeAws, Fault, fake_aws
from tests.support.lake import fresh_lake

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
HEADER = (
    "BillingAccountId,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,"
    "ChargeCategory,BilledCost,EffectiveCost,ListCost,ContractedCost,ServiceName,ProviderName,SubAccountId"
)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Iterator[FakeAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    monkeypatch.setattr("finops.providers.aws.client.BACK_OFF", wait_none())
    settings.OFFPEAK_HOME = tmp_path / "home"
    with fresh_lake(settings, tmp_path / "lake"), fake_aws() as server:
        settings.AWS_ENDPOINT_URL = server.url
        server.answers["GetCostAndUsage"] = [totals("2026-11-01", "2026-12-01")]
        yield server


def rows(month: str, *costs: str) -> str:
    period = f"{month}-01T00:00:00Z,2099-01-01T00:00:00Z"
    lines = [
        f"111122223333,USD,{period},{month}-0{i}T00:00:00Z,{month}-0{i}T01:00:00Z,Usage,{c},{c},{c},{c},"
        "AWS Glue,AWS,444455556666"
        for i, c in enumerate(costs, start=1)
    ]
    return "\n".join([HEADER, *lines, ""])


def deliver(aws: FakeAws, month: str, *parts: str, hour: int = 6) -> None:
    """An export that is replaced in place, a file a part."""
    names = []
    at = datetime(2026, 12, 1, hour, tzinfo=UTC)
    for number, part in enumerate(parts, start=1):
        key = f"cur/focus/data/BILLING_PERIOD={month}/focus-0000{number}.csv.gz"
        aws.put(key, gzip.compress(part.encode(), mtime=0), at=at)
        names.append(f"s3://{aws.bucket}/{key}")
    document = {"exportName": "focus", "dataFiles": names, "executionId": f"run-{hour}"}
    aws.put(f"cur/focus/metadata/BILLING_PERIOD={month}/focus-Manifest.json", document, at=at)


def totals(*days: str) -> dict[str, Any]:
    metrics = {
        name: {"Amount": "7.50", "Unit": "USD"}
        for name in ("UnblendedCost", "AmortizedCost", "NetUnblendedCost", "NetAmortizedCost")
    }
    return {
        "ResultsByTime": [
            {
                "TimePeriod": {"Start": day, "End": day},
                "Estimated": True,
                "Groups": [{"Keys": ["AWS Glue", "444455556666"], "Metrics": metrics}],
            }
            for day in days
        ]
    }


def feed(**given: Any) -> Feed:
    base = {"name": "bills", "bucket": "acme-bills", "prefix": "cur", "region": "us-east-1"}
    return bill_feeds.bill_feed_create(**{**base, **given})


def current() -> list[tuple[str, str, str, bool]]:
    """(period, kind, billed in USD, stopgap) of what counts now."""
    found = Delivery.objects.filter(state=DeliveryState.CURRENT).order_by("billing_period")
    return [
        (f"{d.billing_period:%Y-%m}", d.kind, str(Decimal(d.totals["USD"]["billed"]).normalize()), d.stopgap)
        for d in found
    ]


def fetched(aws: FakeAws) -> list[str]:
    return [given["Key"].rpartition("/")[2] for given in aws.asked("GetObject")]


def test_every_period_is_loaded_once_and_what_is_loaded_is_not_fetched_again(aws: FakeAws) -> None:
    deliver(aws, "2026-10", rows("2026-10", "1.10", "2.20"))
    deliver(aws, "2026-11", rows("2026-11", "5"), rows("2026-11", "0.25"))
    asked = feed()
    runs = feed_collect(feed=asked, now=NOW)
    assert [(run.state, run.feed_id, run.stored) for run in runs] == [
        ("finished", asked.pk, 2),
        ("finished", asked.pk, 2),
    ]
    assert current() == [("2026-10", "focus", "3.3", False), ("2026-11", "focus", "5.25", False)]
    stored = Feed.objects.get()
    assert (stored.state, stored.last_error, stored.paid_requests) == (FeedState.OK, "", 0)
    assert FeedObject.objects.count() == 5
    assert {row.state for row in FeedDelivery.objects.all()} == {FetchState.LOADED}
    assert not list(Path(bill_feeds.settings.OFFPEAK_HOME, "bills").rglob("*.gz"))
    before = len(aws.asked("GetObject"))
    assert feed_collect(feed=asked, now=NOW + timedelta(hours=6)) == []
    assert len(aws.asked("GetObject")) == before
    assert IngestRun.objects.count() == 2


def test_only_the_period_that_changed_is_read_and_replaced_whole(aws: FakeAws) -> None:
    deliver(aws, "2026-10", rows("2026-10", "1"))
    deliver(aws, "2026-11", rows("2026-11", "5"))
    asked = feed()
    feed_collect(feed=asked, now=NOW)
    aws.requests.clear()
    deliver(aws, "2026-11", rows("2026-11", "5", "0.5"), hour=18)
    (run,) = feed_collect(feed=asked, now=NOW)
    assert run.stored == 2
    assert current() == [("2026-10", "focus", "1", False), ("2026-11", "focus", "5.5", False)]
    assert not any("2026-10" in given["Key"] for given in aws.asked("GetObject"))
    assert Delivery.objects.filter(state=DeliveryState.SUPERSEDED).count() == 1


def test_a_collection_that_was_killed_goes_on_with_what_is_missing(aws: FakeAws, monkeypatch: Any) -> None:
    deliver(aws, "2026-11", rows("2026-11", "5"), rows("2026-11", "0.25"))
    asked = feed()
    fetch, done = bill_feeds.fetch, []

    def killed(*given: Any) -> str:
        if done:
            raise SystemExit(137)
        done.append(1)
        return fetch(*given)

    monkeypatch.setattr(bill_feeds, "fetch", killed)
    with pytest.raises(SystemExit):
        feed_collect(feed=asked, now=NOW)
    assert (Delivery.objects.count(), IngestRun.objects.count()) == (0, 0)
    assert FeedDelivery.objects.get().state == FetchState.FETCHING
    monkeypatch.setattr(bill_feeds, "fetch", fetch)
    feed_collect(feed=asked, now=NOW)
    assert current() == [("2026-11", "focus", "5.25", False)]
    assert fetched(aws).count("focus-00001.csv.gz") == 1
    assert fetched(aws).count("focus-00002.csv.gz") == 1


def test_a_file_that_was_spoilt_on_disk_is_fetched_again(aws: FakeAws, monkeypatch: Any) -> None:
    deliver(aws, "2026-11", rows("2026-11", "5"))
    asked = feed()
    monkeypatch.setattr(bill_feeds, "bill_import", lambda **_: (_ for _ in ()).throw(SystemExit(137)))
    with pytest.raises(SystemExit):
        feed_collect(feed=asked, now=NOW)
    (path,) = Path(bill_feeds.settings.OFFPEAK_HOME, "bills").rglob("*.csv.gz")
    path.write_bytes(b"x" * path.stat().st_size)
    monkeypatch.undo()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    feed_collect(feed=asked, now=NOW)
    assert current() == [("2026-11", "focus", "5", False)]
    assert fetched(aws).count("focus-00001.csv.gz") == 2


def test_a_refused_delivery_keeps_the_old_one_and_waits_for_a_newer(aws: FakeAws) -> None:
    deliver(aws, "2026-11", rows("2026-11", "5"))
    asked = feed()
    feed_collect(feed=asked, now=NOW)
    deliver(aws, "2026-11", rows("2026-11", "five"), hour=12)
    (run,) = feed_collect(feed=asked, now=NOW)
    assert run.state == "refused"
    assert current() == [("2026-11", "focus", "5", False)]
    row, stored = FeedDelivery.objects.get(), Feed.objects.get()
    assert (row.state, stored.state) == (FetchState.REFUSED, FeedState.FAILING)
    assert "five" in stored.last_error
    assert feed_collect(feed=asked, now=NOW) == []
    # Nothing new came, and what is there is refused still.
    stored.refresh_from_db()
    assert (stored.state, "five" in stored.last_error) == (FeedState.FAILING, True)
    assert [run.state for run in feed_collect(feed=asked, now=NOW, again=True)] == ["refused"]
    deliver(aws, "2026-11", rows("2026-11", "6"), hour=18)
    feed_collect(feed=asked, now=NOW)
    assert current() == [("2026-11", "focus", "6", False)]
    assert Feed.objects.get().state == FeedState.OK


def test_one_delivery_that_cannot_be_read_does_not_keep_the_others_out(aws: FakeAws) -> None:
    deliver(aws, "2026-10", rows("2026-10", "1"))
    deliver(aws, "2026-11", rows("2026-11", "5"))
    del aws.objects["cur/focus/data/BILLING_PERIOD=2026-11/focus-00001.csv.gz"]
    asked = feed()
    with pytest.raises(TransientError, match="the delivery is not complete"):
        feed_collect(feed=asked, now=NOW)
    assert current() == [("2026-10", "focus", "1", False)]
    assert Feed.objects.get().state == FeedState.FAILING
    assert FeedDelivery.objects.get(billing_period=date(2026, 11, 1)).state == FetchState.FAILED


def test_a_refused_role_marks_the_feed_and_is_not_tried_again_and_again(aws: FakeAws) -> None:
    aws.always["ListObjectsV2"] = Fault(403, "AccessDenied", "no")
    asked = feed()
    assert feed_collect(feed=asked, now=NOW) == []
    stored = Feed.objects.get()
    assert (stored.state, stored.last_success_at) == (FeedState.FAILING, None)
    assert "needs s3:ListBucket on arn:aws:s3:::acme-bills" in stored.last_error


def test_two_collections_at_once_load_one_time(aws: FakeAws) -> None:
    deliver(aws, "2026-11", rows("2026-11", "5"))
    asked = feed()

    def other() -> None:
        with locks.feed_lock(asked.pk) as ours:
            held.append(ours)
            started.set()
            done.wait(20)
        connection.close()

    held: list[bool] = []
    started, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=other)
    thread.start()
    started.wait(20)
    assert feed_collect(feed=asked, now=NOW) == []
    done.set()
    thread.join(20)
    assert (held, IngestRun.objects.count()) == ([True], 0)
    assert len(feed_collect(feed=asked, now=NOW)) == 1


def test_daily_totals_stand_in_until_the_first_export_and_never_beside_it(aws: FakeAws) -> None:
    asked = feed(cost_explorer=True)
    runs = feed_collect(feed=asked, now=NOW)
    assert [run.state for run in runs] == ["finished", "finished"]
    assert current() == [
        ("2026-11", "aws-cost-explorer", "7.5", True),
        ("2026-12", "aws-cost-explorer", "7.5", True),
    ]
    assert aws.asked("GetCostAndUsage")[0]["TimePeriod"] == {"Start": "2026-11-01", "End": "2026-12-02"}
    feed_collect(feed=asked, now=NOW + timedelta(hours=6))
    assert Feed.objects.get().paid_requests == 1
    deliver(aws, "2026-11", rows("2026-11", "5"))
    feed_collect(feed=asked, now=NOW + timedelta(hours=12))
    assert current() == [
        ("2026-11", "focus", "5", False),
        ("2026-12", "aws-cost-explorer", "7.5", True),
    ]
    feed_collect(feed=asked, now=NOW + timedelta(hours=25))
    assert aws.asked("GetCostAndUsage")[-1]["TimePeriod"]["Start"] == "2026-12-01"
    assert [kind for _month, kind, _sum, _gap in current()] == ["focus", "aws-cost-explorer"]
    deliver(aws, "2026-12", rows("2026-12", "1"))
    feed_collect(feed=asked, now=NOW + timedelta(hours=50))
    assert [kind for _month, kind, _sum, _gap in current()] == ["focus", "focus"]
    feed_collect(feed=asked, now=NOW + timedelta(hours=75))
    assert Feed.objects.get().paid_requests == len(aws.asked("GetCostAndUsage")) == 2


def test_paid_requests_are_counted_also_when_the_answer_was_no_use(aws: FakeAws) -> None:
    aws.always["GetCostAndUsage"] = Fault(400, "AccessDeniedException", "no")
    asked = feed(cost_explorer=True)
    assert feed_collect(feed=asked, now=NOW) == []
    stored = Feed.objects.get()
    assert (stored.paid_requests, stored.state) == (1, FeedState.FAILING)
    assert "ce:GetCostAndUsage" in stored.last_error


def test_beat_hands_out_feeds_of_bills_and_of_prices(aws: FakeAws) -> None:
    deliver(aws, "2026-11", rows("2026-11", "5"))
    mine = feed()
    prices = live.feed_create(name="prices", regions=["us-east-1"], interval=timedelta(minutes=15))
    assert sorted(live.feeds_due_claim()) == sorted([mine.pk, prices.pk])
    assert live.feeds_due_claim() == []
    tasks.feed_collect(mine.pk)
    assert current() == [("2026-11", "focus", "5", False)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bucket", "Acme"), ("prefix", "a*"), ("region", "moon"), ("role_arn", "111122223333"),
        ("role_arn", "arn:aws:iam::1:role/x"), ("external_id", "a b"), ("account", "1"),
    ],
)  # fmt: skip
def test_a_wrong_feed_names_its_field(aws: FakeAws, field: str, value: str) -> None:
    with pytest.raises(ValidationError) as told:
        feed(**{field: value})
    assert list(told.value.message_dict) == [field]
    assert not Feed.objects.exists()


def verb(*words: str) -> tuple[int, Any]:
    out = io.StringIO()
    try:
        call_command(*words, "--json", stdout=out, stderr=io.StringIO())
    except SystemExit as ended:
        return int(str(ended.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


def test_the_commands_set_up_collect_and_check(aws: FakeAws) -> None:
    deliver(aws, "2026-11", rows("2026-11", "5"))
    aws.answers["ListAccounts"] = [{"Accounts": []}]
    words = ("--bucket", "acme-bills", "--prefix", "cur", "--regions", "us-east-1")
    assert verb("add_feed", "bills", *words)[1]["kind"] == FeedKind.BILLS
    assert Feed.objects.get().interval == timedelta(hours=6)
    code, checked = verb("check_permissions")
    assert (code, checked["all_needed_allowed"], checked["paid_requests"]) == (0, True, 0)
    assert {found["action"]: found["verdict"] for found in checked["actions"]} == {
        "s3:ListBucket": "allowed",
        "s3:GetObject": "allowed",
        "organizations:ListAccounts": "allowed",
        "ce:GetCostAndUsage": "unknown",
    }
    code, document = verb("collect_feed", "bills")
    assert (code, document["state"]) == (0, "ok")
    assert document["deliveries"] == [
        {
            "report": "cur/focus",
            "billing_period": "2026-11",
            "delivered_at": "2026-12-01T06:00:00Z",
            "state": "loaded",
            "error": None,
        }
    ]
    aws.answers["ListAccounts"] = [{"Accounts": [{"Id": "444455556666", "Name": "Lab"}]}]
    assert verb("name_accounts", "bills") == (0, {"new": 1, "renamed": 0, "same": 0, "kept": 0})
    aws.always["ListObjectsV2"] = Fault(403, "AccessDenied", "no")
    code, checked = verb("check_permissions", *words)
    assert (code, checked["actions"][0]["verdict"]) == (1, "denied")
    assert "no bills by S3" in checked["actions"][0]["dark"]
    with pytest.raises(CommandError, match="--bucket: Not the name of a bucket"):
        call_command("add_feed", "x", "--bucket", "Acme", "--regions", "us-east-1")
    out = io.StringIO()
    call_command("check_permissions", "--print-policy", *words[:4], stdout=out)
    assert json.loads(out.getvalue())["Statement"][1]["Resource"] == ["arn:aws:s3:::acme-bills/cur/*"]
