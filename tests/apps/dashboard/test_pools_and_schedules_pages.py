"""Pages of pools, devices and stop schedules: what they say, who may change, keys shown once."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import Role
from apps.catalog.models import Device, Pool
from apps.launches.models import StopSchedule
from tests.support.launches import target
from tests.support.own_machines import machines, schedules

pytestmark = pytest.mark.django_db


def signed_in(role: Role, organisation: Organisation | None = None) -> Client:
    organisation = organisation or Organisation.default()
    user = User.objects.create_user(f"{role}@{organisation.slug}.example", "pw")
    Membership.objects.create(user=user, organisation=organisation, role=role)
    client = Client()
    client.force_login(user)
    return client


def text(client: Client, address: str) -> str:
    content = client.get(address).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", content).split())


def test_pools_are_compared_and_the_losers_say_why() -> None:
    machines(Organisation.default())
    client = signed_in(Role.ENGINEER)
    assert "Work is cheapest in Office machines Shanghai: 0.0967 USD an hour" in text(
        client, "/launches/pools/"
    )
    told = text(client, "/launches/pools/?hours=4&units=2&deadline_hours=6&checkpoint_minutes=2")
    assert "GPU rack takes it: 0.4910 USD an hour of work" in told
    assert "It never has so many units for one job." in told
    assert "It would do, but costs more." in told
    assert "enter" in text(client, "/launches/pools/?hours=x").lower()


def test_devices_say_whether_they_are_there() -> None:
    machines(Organisation.default())
    told = text(signed_in(Role.VIEWER), "/launches/pools/")
    for word in ("Idle", "Silent", "Never asked", "Nightly training", "40 %"):
        assert word in told
    assert "Register a device" not in told


def test_a_key_is_shown_once_and_kept_as_its_hash() -> None:
    machines(Organisation.default())
    client = signed_in(Role.ENGINEER)
    pool = Pool.objects.get(name__startswith="Office")
    answer = client.post("/launches/devices/keep/", {"pool": pool.pk, "name": "pc-9", "idle_minutes": 15})
    key = re.search(r"opd_[a-z2-7]{10}_[0-9a-f]{64}", answer.content.decode())
    assert key is not None
    assert answer["Cache-Control"] == "no-store"
    assert key[0] not in client.get("/launches/pools/").content.decode()
    again = client.post("/launches/devices/keep/", {"pool": pool.pk, "name": "pc-9", "idle_minutes": 15})
    assert again.status_code == 422
    made = Device.objects.get(name="pc-9")
    assert client.post(f"/launches/devices/{made.pk}/revoke/").status_code == 302
    made.refresh_from_db()
    assert made.revoked_at is not None


def test_a_pool_that_is_wrong_is_refused_beside_its_field() -> None:
    client = signed_in(Role.ENGINEER)
    body = {"name": "rack", "kind": "own", "currency": "USD", "speed": "1", "window": "20:00"}
    answer = client.post("/launches/pools/keep/", body)
    assert answer.status_code == 422
    assert Pool.objects.count() == 0
    good = {**body, "window": "", "power": "0.1", "wear": "0.2"}
    assert client.post("/launches/pools/keep/", good).status_code == 302
    assert str(Pool.objects.get().hourly) == "0.300000"
    assert signed_in(Role.VIEWER).post("/launches/pools/keep/", good).status_code == 403


@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        ({"zone": "Mars"}, "zone", "There is no such time zone: write it like Europe/Berlin."),
        ({"days": "funday"}, "days", "Write days such as mon-fri, or sat,sun."),
        ({"start": "", "stop": ""}, "start",
         "Write a time from which they are on, one from which they are off, or both."),
        ({"stop": "25:00"}, "stop", "Write times of day such as 08:00 or 19:30."),
        ({"region": "mars"}, "region", "A region such as us-east-1."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_schedule_s_clock_is_said_beside_its_field(
    wrong: dict[str, str], field: str, words: str
) -> None:
    target()
    body = {
        "name": "Office", "target": "cloud", "region": "us-east-1", "tag_key": "Env", "tag_value": "dev",
        "start": "08:00", "stop": "18:00", "days": "mon-fri", "zone": "Europe/Berlin", "holidays": "",
    }  # fmt: skip
    answer = signed_in(Role.ENGINEER).post("/launches/schedules/keep/", body | wrong)
    assert (answer.status_code, answer.context["form"].errors) == (422, {field: [words]})


def test_work_of_no_hours_is_told_without_powers_of_ten() -> None:
    page = text(signed_in(Role.VIEWER), "/launches/pools/?hours=0&units=1")
    assert "Write a number above 0, up to 100000." in page


def test_a_schedule_is_asked_for_approved_paused_and_ended() -> None:
    target()
    engineer, finance = signed_in(Role.ENGINEER), signed_in(Role.FINANCE)
    body = {
        "name": "Office", "target": "cloud", "region": "us-east-1", "tag_key": "Env", "tag_value": "dev",
        "start": "08:00", "stop": "18:00", "days": "mon-fri", "zone": "Europe/Berlin",
        "holidays": "2026-12-25, 2027-01-01",
    }  # fmt: skip
    assert engineer.post("/launches/schedules/keep/", {**body, "holidays": "Easter"}).status_code == 422
    assert StopSchedule.objects.count() == 0
    assert engineer.post("/launches/schedules/keep/", body).status_code == 302
    row = StopSchedule.objects.get()
    assert len(row.holidays) == 2
    place = f"/launches/schedules/{row.pk}"
    assert "1 schedule waits for approval" in text(engineer, "/launches/schedules/")
    assert engineer.post(f"{place}/approve/").status_code == 403
    for client, verb, state in (
        (finance, "approve", "approved"),
        (engineer, "pause", "paused"),
        (engineer, "resume", "approved"),
        (engineer, "cancel", "cancelled"),
    ):
        assert client.post(f"{place}/{verb}/").status_code == 302
        row.refresh_from_db()
        assert row.state == state
    assert engineer.post(f"{place}/resume/").status_code == 409


def test_due_times_are_shown_with_what_came_of_them() -> None:
    row = schedules(Organisation.default(), target())
    told = text(signed_in(Role.VIEWER), f"/launches/schedules/{row.pk}/")
    for words in ("on 55.0 hours a week", "Missed", "Its window is over.", "i-0a1b2c3d4e5f60718"):
        assert words in told


def test_another_organisation_sees_none_of_it() -> None:
    other = Organisation.objects.create(name="B", slug="b")
    row = schedules(Organisation.default(), target())
    found = machines(Organisation.default())
    client = signed_in(Role.ADMIN, other)
    assert "GPU rack" not in text(client, "/launches/pools/")
    assert client.get(f"/launches/schedules/{row.pk}/").status_code == 404
    assert client.post(f"/launches/devices/{found['devices'][0].pk}/revoke/").status_code == 404
