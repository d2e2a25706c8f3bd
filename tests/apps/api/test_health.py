"""What runs and what does not: liveness, readiness and the health report."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from apps.api import health
from apps.api.heartbeat import beat, worker_beat
from apps.api.models import Heartbeat
from apps.api.views import health as pages
from apps.ingest.models import Feed


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.api.heartbeat._last", {})
    monkeypatch.setattr(pages, "_kept", {"until": 0.0})
    # The tests' transaction lives on this connection.
    monkeypatch.setattr("apps.api.heartbeat.connection.close", lambda: None)


def states(report: dict) -> dict[str, str]:
    return {check["name"]: check["state"] for check in report["checks"]}


def test_healthz_asks_nobody(django_assert_num_queries: Callable, db: None) -> None:
    with django_assert_num_queries(0):
        response = Client().get("/healthz")
    assert (response.status_code, response.json()) == (200, {"state": "ok"})
    assert Client().post("/healthz").status_code == 405


@pytest.mark.django_db
def test_the_report_names_each_part_and_the_command_exits_1_when_one_failed() -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("health", "--json", stdout=out)
    assert ended.value.code == 1
    found = json.loads(out.getvalue())
    assert sorted(found) == ["at", "checks", "state", "version"]
    assert found["state"] == "failed"
    assert {name: state for name, state in states(found).items() if name not in {"disk", "lake"}} == {
        "database": "ok",
        "cache": "ok",
        "broker": "ok",
        "worker": "failed",
        "beat": "failed",
        "feeds": "ok",
    }


@pytest.mark.django_db
def test_heartbeats_are_rows_of_the_databases_time_and_grow_old() -> None:
    worker_beat()
    beat("beat")
    now = timezone.now()
    assert states(health.report(now, ("worker", "beat"))) == {"worker": "ok", "beat": "ok"}
    before = Heartbeat.objects.get(name="worker").at
    Heartbeat.objects.filter(name="worker").update(at=Now() - timedelta(hours=1))
    worker_beat()
    assert Heartbeat.objects.get(name="worker").at < before
    assert states(health.report(now, ("worker", "beat"))) == {"worker": "failed", "beat": "ok"}


@pytest.mark.django_db
def test_a_feed_is_late_after_two_of_its_intervals() -> None:
    now = datetime(2026, 3, 6, 9, tzinfo=UTC)
    feed = Feed.objects.create(
        name="AWS", provider="aws", regions=["us-east-1"], interval=timedelta(hours=1), state="ok"
    )
    for age, state in ((120, "ok"), (121, "late")):
        Feed.objects.filter(pk=feed.pk).update(last_success_at=now - timedelta(minutes=age))
        assert states(health.report(now, ("feeds",))) == {"feeds": state}
    Feed.objects.filter(pk=feed.pk).update(state="off")
    assert states(health.report(now, ("feeds",))) == {"feeds": "ok"}


@pytest.mark.django_db
def test_readyz_is_503_without_the_lake_and_shows_no_details(monkeypatch: pytest.MonkeyPatch) -> None:
    response = Client().get("/readyz")
    assert response.status_code == 200
    assert set(response.json()) == {"ready", "checks"}

    def broken(now: datetime) -> None:
        raise OSError("s3://key:CANARY@bucket is away")

    monkeypatch.setitem(health.CHECKS, "lake", broken)
    assert Client().get("/readyz").status_code == 200  # kept for five seconds
    monkeypatch.setattr(pages, "_kept", {"until": 0.0})
    response = Client().get("/readyz")
    assert (response.status_code, response.json()["checks"]["lake"]) == (503, "failed")
    assert "CANARY" not in response.content.decode()
    report = health.report(timezone.now(), ("lake",))
    assert report["checks"][0]["detail"] == "OSError: s3://key:[redacted]@bucket is away"
