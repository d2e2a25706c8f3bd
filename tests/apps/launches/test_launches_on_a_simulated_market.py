"""A target of the simulated market: the whole way without an account; its machines outlive a process."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.launches.models import Launch, LaunchState
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from finops.providers.simulated.kept import settings_faults
from tests.support.launches import approved, launch, target

pytestmark = pytest.mark.django_db
MINUTES = timedelta(minutes=1)


def test_launched_interrupted_by_the_trace_and_resumed(settings: Any, tmp_path: Any) -> None:
    settings.OFFPEAK_HOME = tmp_path
    now = timezone.now()
    place = target(
        executor="simulated", account="",
        settings={"pools": {"use1-az1": "101", "us-east-1": "1"}, "gap_seconds": 600,
                  "begins": (now - MINUTES).isoformat(), "lose_answer": 0.5, "seed": 3},
    )  # fmt: skip
    one = launch(approved(place, due_at=now - MINUTES))
    state = launch_run(launch_id=one.pk, now=now)
    if state == LaunchState.UNKNOWN:
        assert reconcile_all(now=now + MINUTES)["adopted"] == 1
    one.refresh_from_db()
    assert one.state == LaunchState.RUNNING
    assert reconcile_all(now=now + 5 * MINUTES)["running"] == 1
    assert reconcile_all(now=now + 10 * MINUTES)["ended"] == 1
    one.refresh_from_db()
    assert one.state == LaunchState.INTERRUPTED
    Launch.objects.filter(pk=one.pk).update(next_at=timezone.now())
    launch_run(launch_id=one.pk, now=now + 20 * MINUTES)
    reconcile_all(now=now + 21 * MINUTES)
    one.refresh_from_db()
    assert one.state == LaunchState.RUNNING
    assert one.attempts.filter(state="running").count() == 1


def test_what_a_market_needs() -> None:
    good = {"pools": {"z": "01"}, "begins": "2026-01-01T00:00:00Z"}
    assert settings_faults(good) == {}
    for name, value in (
        ("pools", {}), ("pools", {"z": "012"}), ("pools", {"z": ""}), ("gap_seconds", 1),
        ("gap_seconds", True), ("lose_answer", 1), ("begins", "2026-01-01"), ("other", 1),
    ):  # fmt: skip
        assert list(settings_faults({**good, name: value})) == [name]
