"""/metrics: closed without a token, and its numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Organisation
from apps.api.models import Heartbeat
from apps.api.views import metrics
from apps.ingest.models import Feed, FeedKind

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_it_is_closed_without_the_token(settings: Any) -> None:
    assert Client().get("/metrics").status_code == 404
    settings.METRICS_TOKEN = "m-CANARY"
    assert Client().get("/metrics").status_code == 401
    assert Client(headers={"Authorization": "Bearer x"}).get("/metrics").status_code == 401
    assert Client(headers={"Authorization": "Bearer m-CANARYü"}).get("/metrics").status_code == 401


def test_numbers_have_their_unit_and_labels_are_escaped(
    settings: Any, monkeypatch: pytest.MonkeyPatch, organisation: Organisation
) -> None:
    settings.METRICS_TOKEN = "m-CANARY"
    monkeypatch.setattr(metrics.timezone, "now", lambda: NOW)
    Heartbeat.objects.create(name="worker", at=NOW - timedelta(seconds=42))
    Feed.objects.create(
        organisation=organisation, name='a "b"', provider="aws", kind=FeedKind.BILLS, regions=["us-east-1"],
        bucket="b", interval=timedelta(hours=6), last_success_at=NOW - timedelta(hours=1),
    )  # fmt: skip
    answer = Client(headers={"Authorization": "Bearer m-CANARY"}).get("/metrics")
    lines = answer.content.decode().splitlines()
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert 'offpeak_heartbeat_age_seconds{name="worker"} 42' in lines
    assert "offpeak_launch_lateness_seconds 0" in lines
    (feed,) = (line for line in lines if line.startswith("offpeak_feed_age_seconds{"))
    assert r'name="a \"b\""' in feed
    assert feed.endswith(" 3600")
    assert 'offpeak_check_state{check="database"} 0' in lines
    assert any(line.startswith("offpeak_queue_tasks ") for line in lines)
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) == 9
    assert "CANARY" not in answer.content.decode()
