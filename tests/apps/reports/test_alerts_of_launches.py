"""Launches that fail and machines that are taken back together, as the launcher's own services write them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.launches.models import Attempt
from apps.launches.services.interruptions import attempt_noticed
from apps.launches.services.outcomes import attempt_ended
from apps.reports.models import Alert, AlertDelivery, Channel
from apps.reports.services.alerts import alert_snooze, alerts_collect, alerts_deliver
from apps.reports.services.channels import channel_save
from finops.frames.launches import Notice, NoticeKind
from tests.apps.reports.conftest import TEST
from tests.support.launches import launch, plan, target

NOW = datetime(2026, 5, 21, 12, 50, tzinfo=UTC)
Make = Callable[..., Channel]


@pytest.fixture
def channel(organisation: Organisation) -> Make:
    def make(**fields: Any) -> Channel:
        given = {"name": "Ops", "kind": "mail", "emails": ["ada@example.test"], **fields}
        return channel_save(organisation=organisation, actor=TEST, fields=given, now=NOW)[0]

    return make


def running(count: int, organisation: Organisation | None = None) -> list[Attempt]:
    """Machines of one plan in us-east-1 that run since an hour."""
    made = plan(target(organisation), count=count, name="Nightly <b>")
    common: dict[str, Any] = {
        "market": "spot", "parameters": {}, "tags": {}, "region": "us-east-1", "number": 1,
        "prepared_at": NOW, "started_at": NOW - timedelta(hours=1), "state": "running",
    }  # fmt: skip
    return [
        Attempt.objects.create(
            launch=launch(made, part=part, state="running", due_at=NOW - timedelta(hours=1)),
            token=f"{made.pk}-{part}", machine=f"i-{made.pk}-{part}", **common,
        )
        for part in range(1, count + 1)
    ]  # fmt: skip


def tell(organisation: Organisation, now: datetime = NOW) -> int:
    alerts_collect(organisation=organisation, now=now)
    return alerts_deliver(now=now, clock=lambda: now)


def noticed(attempts: list[Attempt]) -> None:
    for one in attempts:
        notice = Notice(NoticeKind.INTERRUPTION, one.machine, NOW + timedelta(minutes=2))
        assert attempt_noticed(one, notice, NOW)


def test_three_notices_in_a_region_are_one_storm_and_two_are_none(
    organisation: Organisation, channel: Make, mailoutbox: list[Any]
) -> None:
    channel()
    attempts = running(3)
    noticed(attempts[:2])
    # Two machines of somebody else in the same region make no third.
    other = Organisation.objects.create(slug="other", name="Other")
    noticed(running(2, other))
    assert tell(organisation) == 0
    noticed(attempts[2:])
    assert [tell(organisation, NOW + timedelta(minutes=minutes)) for minutes in (1, 5, 20)] == [1, 0, 0]
    # Their ends a little later are the same storm.
    for one in attempts:
        assert attempt_ended(one, "interrupted", NOW + timedelta(minutes=2)) == "interrupted"
    assert tell(organisation, NOW + timedelta(minutes=25)) == 0
    assert [mail.message()["Subject"] for mail in mailoutbox] == [
        "3 machines in us-east-1 were taken back within an hour"
    ]


def test_a_failed_launch_is_told_once_after_the_quiet_hours(
    organisation: Organisation, channel: Make, mailoutbox: list[Any]
) -> None:
    channel(quiet_from=14 * 60, quiet_to=16 * 60, time_zone="Europe/Berlin", causes=["launch"])
    [attempt] = running(1)
    assert attempt_ended(attempt, "failed", NOW, message="exit 137 password=hunter2") == "failed"
    assert [tell(organisation, NOW + timedelta(minutes=minutes)) for minutes in (0, 30)] == [0, 0]
    assert AlertDelivery.objects.get().next_try_at == datetime(2026, 5, 21, 14, tzinfo=UTC)
    assert [tell(organisation, NOW + timedelta(minutes=minutes)) for minutes in (71, 130)] == [1, 0]
    [mail] = mailoutbox
    assert mail.message()["Subject"].startswith("The launch Nightly <b> of ")
    assert mail.message()["Subject"].endswith(" failed")
    body = mail.message().get_content()
    assert "exit 137" in body
    assert "hunter2" not in body


def test_a_snoozed_failure_says_nothing_until_then(
    organisation: Organisation, channel: Make, mailoutbox: list[Any]
) -> None:
    channel()
    [attempt] = running(1)
    attempt_ended(attempt, "failed", NOW, message="exit 1")
    alerts_collect(organisation=organisation, now=NOW)
    alert_snooze(
        alert=Alert.objects.get(), actor=TEST, until=NOW + timedelta(hours=3), reason="known", now=NOW
    )
    later = NOW + timedelta(hours=2)
    assert (alerts_deliver(now=later, clock=lambda: later), mailoutbox) == (0, [])
