"""Saved workloads: kept whole, once by name, told apart by organisation, turned into turns and questions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, Team, User
from apps.accounts.services import api_key_create
from apps.workloads.models import Workload
from apps.workloads.selectors import workload_occurrences, workload_question
from apps.workloads.services import workload_remove, workload_save
from finops.engine.workload import WorkloadError

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FIELDS: dict[str, Any] = {
    "hours": 4.0, "types": ["p3.2xlarge"], "regions": ["us-east-1"], "home_zone": "us-east-1b",
    "product": "Linux/UNIX", "slack_hours": 6.0,
}  # fmt: skip
NIGHTLY = {**FIELDS, "repeat": "daily", "done_by": "08:00", "timezone": "Europe/Berlin"}


def save(name: str = "training", fields: dict[str, Any] = FIELDS, **changes: Any) -> Workload:
    return workload_save(
        **{
            "organisation": Organisation.default(),
            "actor": Actor.system("test"),
            "name": name,
            "fields": fields,
            "now": NOW,
            **changes,
        }
    )


def person(role: str) -> Client:
    user = User.objects.create_user(f"{role}@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=Organisation.default(), role=role)
    client = Client()
    client.force_login(user)
    return client


def send(client: Client, method: str, address: str, body: dict[str, Any] | None = None) -> Any:
    words = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
    return getattr(client, method)(f"/api/v1/{address}", **words)


def test_a_workload_becomes_the_question_that_it_was_saved_from() -> None:
    question = workload_question(save())
    assert {k: question[k] for k in FIELDS} == FIELDS
    assert set(question) - set(FIELDS) == {
        "provider", "count", "interruptible", "splittable", "restart_minutes"
    }  # fmt: skip


def test_every_night_keeps_its_clock_time_over_the_change_of_the_clock() -> None:
    turns = workload_occurrences(
        save(fields=NIGHTLY), after=datetime(2026, 3, 28, 4, 0, 1, tzinfo=UTC), count=3
    )
    # Berlin is UTC+1 until 29 March 2026, then UTC+2; at 04:00:01 the turn due at 07:00 UTC is too late.
    assert [(t.day.isoformat(), t.due.hour, t.latest_start.hour) for t in turns] == [
        ("2026-03-29", 6, 2), ("2026-03-30", 6, 2), ("2026-03-31", 6, 2)
    ]  # fmt: skip
    first = workload_occurrences(save("b", NIGHTLY), after=datetime(2026, 3, 28, 3, tzinfo=UTC), count=1)
    assert (first[0].due.hour, first[0].earliest.isoformat()) == (7, "2026-03-27T21:00:00+00:00")
    assert workload_occurrences(save("c"), after=NOW) == []
    weekly = workload_occurrences(save("d", {**NIGHTLY, "repeat": "mon"}), after=NOW, count=100)
    assert (len(weekly), {t.day.weekday() for t in weekly}) == (100, {0})


def test_a_name_is_used_once_in_an_organisation_whatever_its_case() -> None:
    save("Nightly  training")
    with pytest.raises(ValidationError, match="in use"):
        save("nightly training")
    other = Organisation.objects.create(name="Other", slug="other")
    save("nightly training", organisation=other)
    assert Workload.objects.count() == 2
    assert AuditEntry.objects.filter(action="workload.create").count() == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"hours": 0}, "hours"),
        ({"types": []}, "types"),
        ({"gpu": "V100"}, "types"),
        ({"slack_hours": 1.0, "deadline": datetime(2026, 4, 1, tzinfo=UTC)}, "slack_hours"),
        ({"done_by": "08:00"}, "repeat"),
        ({"repeat": "daily", "done_by": "25:00"}, "done_by"),
        ({"repeat": "someday", "done_by": "08:00"}, "repeat"),
        ({"repeat": "daily", "done_by": "08:00", "timezone": "Mars/Base"}, "timezone"),
        ({"interruptible": False, "splittable": True}, "splittable"),
        ({"data_gib": 5.0}, "data_region"),
        ({"data_gib": float("nan"), "data_region": "us-east-1"}, "data_gib"),
    ],
)
def test_what_cannot_be_judged_is_not_saved(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(WorkloadError) as refused:
        save(fields={**FIELDS, **changes})
    assert refused.value.field == field
    assert (Workload.objects.count(), AuditEntry.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        "hours = 'NaN'", "hours = 0", "count = 0", "types = '{}'", "gpu = 'V100'", "regions = '{}'",
        "slack_hours = NULL", "deadline = now()", "interruptible = false, splittable = true",
        "data_gib = 1", "data_gib = 'NaN', data_region = 'x'", "discount_pct = 100", "name = ' '",
        "done_by = '08:00'", "repeat = 'daily', done_by = '99:00', timezone = 'UTC'",
    ],
)  # fmt: skip
def test_the_database_refuses_what_no_service_would_write(wrong: str) -> None:
    save()
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE workloads_workload SET {wrong}")


def test_a_team_of_another_organisation_is_refused_by_service_and_database() -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    team = Team.objects.create(organisation=other, name="Data", slug="data")
    with pytest.raises(ValidationError, match="no such team"):
        save(team=team)
    kept = save()
    with pytest.raises(IntegrityError, match="own organisation"), transaction.atomic():
        Workload.objects.filter(pk=kept.pk).update(team=team)


def test_a_change_replaces_the_whole_and_removal_happens_once() -> None:
    kept = save(fields={**NIGHTLY, "count": 3})
    changed = save("evening", {**FIELDS, "hours": 2.0}, workload=kept)
    assert (changed.pk, changed.name, changed.hours, changed.count, changed.repeat) == (
        kept.pk, "evening", 2.0, 1, ""
    )  # fmt: skip
    assert changed.updated_at > changed.created_at or changed.updated_at == changed.created_at
    assert workload_remove(workload=changed, actor=Actor.system("test")) is True
    assert workload_remove(workload=kept, actor=Actor.system("test")) is False
    entries = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(entries) == ["workload.create", "workload.change", "workload.remove"]
    assert AuditEntry.objects.get(action="workload.change").before["count"] == 3


def test_engineers_save_and_viewers_and_finance_only_read() -> None:
    engineer, body = person("engineer"), {**NIGHTLY, "name": "nightly"}
    made = send(engineer, "post", "workloads", body)
    assert (made.status_code, made.json()["owner"]) == (201, "engineer@example.test")
    address = f"workloads/{made.json()['id']}"
    for role in ("viewer", "finance"):
        reader = person(role)
        assert send(reader, "post", "workloads", {**body, "name": role}).status_code == 403
        assert send(reader, "put", address, body).status_code == 403
        assert send(reader, "delete", address).status_code == 403
        assert send(reader, "get", address).json() == made.json()
    turns = send(engineer, "get", f"{address}/occurrences?after=2026-03-28T00:00:00Z&count=2").json()
    assert (turns["timezone"], [t["due"] for t in turns["occurrences"]]) == (
        "Europe/Berlin", ["2026-03-28T07:00:00Z", "2026-03-29T06:00:00Z"],
    )  # fmt: skip
    changed = send(engineer, "put", address, {**FIELDS, "name": "nightly", "hours": 2})
    assert (changed.status_code, changed.json()["hours"], changed.json()["repeat"]) == (200, 2.0, "")
    assert send(engineer, "get", "workloads").json()["count"] == 1
    assert send(engineer, "delete", address).status_code == 204
    assert send(engineer, "get", address).status_code == 404


def test_wrong_input_is_named_and_another_organisation_sees_nothing() -> None:
    engineer = person("engineer")
    assert send(engineer, "post", "workloads", {**FIELDS, "name": "a", "colour": 1}).status_code == 400
    assert (
        send(engineer, "post", "workloads", {**FIELDS, "name": "a", "at": "2026-01-01T00:00:00Z"}).json()[
            "error"
        ]["fields"][0]["code"]
        == "unknown"
    )
    huge = send(engineer, "post", "workloads", {**FIELDS, "name": "a", "count": 2**40})
    assert (huge.status_code, huge.json()["error"]["fields"][0]["field"]) == (400, "count")
    assert send(engineer, "post", "workloads", {**FIELDS, "name": "a", "hours": -1}).status_code == 400
    send(engineer, "post", "workloads", {**FIELDS, "name": "a"})
    again = send(engineer, "post", "workloads", {**FIELDS, "name": "A"})
    assert (again.status_code, again.json()["error"]["fields"][0]["field"]) == (400, "name")
    nobody = send(engineer, "post", "workloads", {**FIELDS, "name": "b", "team": "nobody"})
    assert (nobody.status_code, nobody.json()["error"]["fields"][0]["field"]) == (400, "team")
    elsewhere = save(organisation=Organisation.objects.create(name="Other", slug="other"))
    for tail in ("", "/advice", "/occurrences"):
        assert send(engineer, "get", f"workloads/{elsewhere.pk}{tail}").status_code == 404
    assert send(engineer, "delete", f"workloads/{elsewhere.pk}").status_code == 404
    assert Workload.objects.count() == 2


def test_a_key_of_a_program_reads_and_writes_by_its_scopes() -> None:
    def key(*scopes: str) -> Client:
        _key, token = api_key_create(
            organisation=Organisation.default(), actor=Actor.system("test"), name="program",
            scopes=scopes, now=timezone.now(),
        )  # fmt: skip
        return Client(headers={"Authorization": f"Bearer {token}"})

    assert send(key("read:workloads"), "post", "workloads", {**FIELDS, "name": "a"}).status_code == 403
    made = send(key("write:workloads"), "post", "workloads", {**FIELDS, "name": "a"})
    assert (made.status_code, made.json()["owner"]) == (201, None)
    assert send(key("read:workloads"), "get", "workloads").json()["count"] == 1


@pytest.mark.django_db(transaction=True)
def test_the_migrations_go_back_and_forth() -> None:
    call_command("migrate", "workloads", "zero", verbosity=0)
    call_command("migrate", verbosity=0)  # what is built on it too
    assert Workload.objects.count() == 0
