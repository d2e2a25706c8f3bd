"""What changes between raising and sending: people, kinds of channels, hours of the clock, odd answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.launches.models import Attempt
from apps.reports import causes
from apps.reports.causes import Cause, Found, Told
from apps.reports.models import Alert, AlertDelivery, Channel
from apps.reports.services import outbound, sending
from apps.reports.services.alerts import alerts_collect, alerts_deliver
from apps.reports.services.channels import channel_save
from tests.apps.reports.conftest import TEST
from tests.support.launches import launch, plan, target

NOW = datetime(2026, 5, 21, 12, 50, tzinfo=UTC)
PEOPLE = ["ada@example.test", "bo@example.test"]
Make = Callable[..., Channel]


@pytest.fixture
def channel(organisation: Organisation) -> Make:
    def make(row: Channel | None = None, **fields: Any) -> Channel:
        given = {"name": "Ops", "kind": "mail", "emails": PEOPLE, **fields}
        return channel_save(organisation=organisation, actor=TEST, fields=given, now=NOW, channel=row)[0]

    return make


@pytest.fixture
def one_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    thing = Cause("thing", "Thing", lambda _o, _n: [Found("k", "p")], lambda _f: Told("Thing", "", ""))
    monkeypatch.setattr(causes, "_CAUSES", {"thing": thing})


def answers(monkeypatch: pytest.MonkeyPatch, *given: outbound.Answer) -> list[str]:
    posted: list[str] = []

    def post(url: str, body: bytes, headers: dict[str, str]) -> outbound.Answer:
        posted.append(url)
        return given[min(len(posted), len(given)) - 1]

    monkeypatch.setattr(outbound, "post", post)
    return posted


def deliver(now: datetime = NOW) -> int:
    return alerts_deliver(now=now, clock=lambda: now)


def test_who_was_taken_off_a_channel_is_not_told(
    organisation: Organisation, channel: Make, one_thing: None, mailoutbox: list[Any]
) -> None:
    row = channel()
    assert alerts_collect(organisation=organisation, now=NOW) == 1
    channel(row, emails=PEOPLE[1:])
    assert deliver() == 1
    assert [mail.to for mail in mailoutbox] == [PEOPLE[1:]]
    assert AlertDelivery.objects.get(email=PEOPLE[0]).state == "dropped"


def test_people_of_a_mail_channel_are_not_as_many_messages_to_its_webhook(
    organisation: Organisation, channel: Make, one_thing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = channel()
    alerts_collect(organisation=organisation, now=NOW)
    posted = answers(monkeypatch, outbound.Answer(200, ""))
    channel(row, kind="webhook", address="https://hook.example/x", emails=[])
    assert deliver() == 0
    assert posted == []
    assert set(AlertDelivery.objects.values_list("state", flat=True)) == {"dropped"}


def test_an_answer_that_no_database_keeps_is_tried_again(
    organisation: Organisation, channel: Make, one_thing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted = answers(monkeypatch, outbound.Answer(503, "a\x00b\x1b[31m"), outbound.Answer(200, ""))
    channel(kind="webhook", address="https://hook.example/x", emails=[])
    alerts_collect(organisation=organisation, now=NOW)
    assert deliver() == 0
    row = AlertDelivery.objects.get()
    assert (row.state, row.error) == ("waiting", "HTTP 503 ab[31m")
    assert deliver(NOW + timedelta(minutes=2)) == 1
    assert len(posted) == 2


def test_words_of_another_side_are_kept_without_secrets_and_controls() -> None:
    assert sending.words("550\r\n5.1.1\x00 key=SECRET1\x7f") == "550 5.1.1 key=[redacted]"
    assert len(sending.words("x" * 9000)) == 500


def test_a_storm_over_the_full_hour_is_one_alert(organisation: Organisation) -> None:
    made = plan(target(), count=4)
    common: dict[str, Any] = {
        "market": "spot", "parameters": {}, "tags": {}, "region": "us-east-1", "prepared_at": NOW,
        "started_at": NOW, "state": "ended", "ending": "interrupted", "number": 1,
    }  # fmt: skip
    for part in range(1, 4):
        Attempt.objects.create(
            launch=launch(made, part=part), token=f"t{part}", machine=f"i-{part}", ended_at=NOW, **common
        )
    raised = [
        alerts_collect(organisation=organisation, now=NOW + timedelta(minutes=minutes))
        for minutes in (1, 5, 11, 30, 59)
    ]
    assert raised == [1, 0, 0, 0, 0]
    assert Alert.objects.get().over_at is None
    assert alerts_collect(organisation=organisation, now=NOW + timedelta(minutes=61)) == 0
    assert Alert.objects.get().over_at is not None
