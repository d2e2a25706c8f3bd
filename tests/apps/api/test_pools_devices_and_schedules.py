"""Pools, devices and stop schedules by REST: who may, whose they are, and what a device's key opens."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.catalog.models import Device, Pool
from apps.launches.models import StopSchedule, Work
from tests.support.launches import plan, target

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]
OWN = {"name": "rack", "kind": "own", "units": 8, "power": "0.066", "wear": "0.425", "currency": "usd"}
OFFICE = {
    "name": "office", "kind": "device", "power": "0.03", "currency": "USD", "speed": 0.5,
    "window": "00:00-24:00", "zone": "Asia/Shanghai",
}  # fmt: skip


def post(client: Client, address: str, body: dict[str, Any] | None = None) -> Any:
    return client.post(f"/api/v1/{address}", json.dumps(body or {}), content_type="application/json")


def get(client: Client, address: str) -> Any:
    return client.get(f"/api/v1/{address}").json()


def registered(client: Client) -> tuple[Client, int]:
    """A device's own client and its id."""
    pool = post(client, "pools", OFFICE).json()["id"]
    answer = post(client, f"pools/{pool}/devices", {"name": "pc-1", "idle_minutes": 5})
    assert answer.status_code == 201, answer.content
    document = answer.json()
    return Client(headers={"Authorization": f"Bearer {document['key']}"}), document["device"]["id"]


def test_pools_are_named_changed_and_compared(sign_in: Make) -> None:
    client = sign_in("engineer")
    made = post(client, "pools", OWN).json()
    assert (made["hourly"], made["cost_per_work"], made["currency"]) == ("0.491", "0.491", "USD")
    slow = post(client, "pools", OFFICE).json()
    assert (slow["hourly"], slow["cost_per_work"]) == ("0.03", "0.06")
    assert post(client, "pools", {"name": "rack", "speed": 2.0}).json()["cost_per_work"] == "0.2455"
    found = get(client, "pools/choose?hours=4&units=2&deadline_hours=10")
    assert [(one["pool"], one["why"], one["cost"]) for one in found["choices"]] == [
        ("office", "taken", "0.48"),
        ("rack", "dearer", "1.964"),
    ]
    assert [one["why"] for one in get(client, "pools/choose?hours=4&deadline_hours=5")["choices"]] == [
        "taken",
        "deadline",
    ]
    assert AuditEntry.objects.filter(action="pool.save").count() == 3
    assert post(sign_in("viewer"), "pools", OWN).status_code == 403


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"window": "20:00"}, "window"),
        ({"window": "20:00-08:00", "zone": "+8"}, "zone"),
        ({"currency": "dollar"}, "currency"),
        ({"kind": "spot"}, "price"),
        ({"power": None}, "power"),
        ({"colour": "red"}, "colour"),
    ],
    ids=["window", "zone", "currency", "price", "power", "unknown"],
)
def test_wrong_pools_are_refused_by_field_and_nothing_is_kept(
    sign_in: Make, changes: dict[str, Any], field: str
) -> None:
    body = {key: value for key, value in {**OWN, **changes}.items() if value is not None}
    answer = post(sign_in("engineer"), "pools", body)
    assert answer.status_code == 400
    assert [one["field"] for one in answer.json()["error"]["fields"]] == [field]
    assert Pool.objects.count() == 0


def test_a_device_takes_its_work_and_hands_in_the_result(sign_in: Make) -> None:
    engineer = sign_in("engineer")
    device, _ = registered(engineer)
    Work.objects.create(pool=Pool.objects.get(), token="t", document={"command": ["true"], "env": {"A": "1"}})
    assert post(device, "device/poll", {"idle_seconds": 10}).json()["why"] == "in_use"
    got = post(device, "device/poll", {"idle_seconds": 900}).json()["work"]
    assert (got["lease"], got["command"], got["env"], got["checkpoint"]) == (1, ["true"], {"A": "1"}, "")
    place = f"device/jobs/{got['id']}"
    told = {"lease": 1, "checkpoint": "step-3", "share": 0.5}
    assert post(device, f"{place}/checkpoint", told).json()["share"] == 0.5
    kept = post(device, f"{place}/renew", {"lease": 1, "idle_seconds": 0}).json()
    assert (kept["go_on"], kept["why"]) == (False, "in_use")
    over = {"lease": 1, "succeeded": True, "result": {"exit_code": 0}}
    assert [post(device, f"{place}/result", over).status_code for _ in range(2)] == [200, 200]
    late = post(device, f"{place}/renew", {"lease": 1, "idle_seconds": 900})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "lease_lost")
    [seen] = get(engineer, "own-work?state=done")["results"]
    assert (seen["device"], seen["share"], seen["result"]) == ("pc-1", 1.0, {"exit_code": 0})
    assert get(engineer, "devices")["results"][0]["idle_seconds"] == 900


def test_a_devices_key_opens_its_own_work_and_nothing_else(sign_in: Make) -> None:
    engineer = sign_in("engineer")
    device, number = registered(engineer)
    elsewhere = Pool.objects.create(
        organisation=Organisation.objects.create(name="B", slug="b"), name="x", kind="device", currency="USD"
    )
    other = Work.objects.create(pool=elsewhere, token="o", document={})
    answer = post(device, f"device/jobs/{other.pk}/result", {"lease": 1, "succeeded": True, "result": {}})
    assert answer.status_code == 404
    assert [device.get(f"/api/v1/{one}").status_code for one in ("pools", "me", "launches")] == [401] * 3
    wrong = Client(headers={"Authorization": f"Bearer opd_{'a' * 10}_{'0' * 64}"})
    assert post(wrong, "device/poll", {"idle_seconds": 900}).status_code == 401
    assert post(engineer, "device/poll", {"idle_seconds": 900}).status_code == 401
    assert post(engineer, f"devices/{number}/revoke").json()["revoked_at"] is not None
    assert post(device, "device/poll", {"idle_seconds": 900}).status_code == 401
    assert "secret" not in json.dumps(list(AuditEntry.objects.values("before", "after")), default=str)
    assert len(Device.objects.get().secret_hash) == 64


def test_a_schedule_is_asked_for_approved_and_paused(sign_in: Make) -> None:
    target()
    body = {
        "name": "Office", "target": "cloud", "region": "us-east-1", "tag_key": "Group", "tag_value": "office",
        "start": "19:00", "stop": "10:00", "zone": "Europe/Rome", "holidays": ["2026-12-25"],
    }  # fmt: skip
    engineer, finance = sign_in("engineer"), sign_in("finance")
    made = post(engineer, "stop-schedules", body)
    assert (made.status_code, made.json()["state"], made.json()["hours_a_week"]) == (201, "requested", 75.0)
    place = f"stop-schedules/{made.json()['id']}"
    assert post(engineer, f"{place}/approve").status_code == 403
    assert post(engineer, f"{place}/pause").status_code == 409
    approved = post(finance, f"{place}/approve").json()
    assert (approved["state"], approved["approved_by"]) == ("approved", "finance@example.test")
    assert post(engineer, f"{place}/pause").json()["state"] == "paused"
    assert post(engineer, f"{place}/cancel").json()["state"] == "cancelled"
    assert post(engineer, "stop-schedules", {**body, "target": "other"}).status_code == 400
    assert StopSchedule.objects.count() == 1


def test_the_preview_of_a_window_over_midnight(sign_in: Make) -> None:
    client = sign_in("viewer")
    rule = "stop-schedules/preview?start=19:00&stop=10:00&days=mon-fri&zone=Europe/Rome&at="
    # Rome is an hour ahead of UTC: Friday 19:00, Saturday 03:00, 10:00, Monday 09:00.
    probes = ["2026-03-06T18:00:00Z", "2026-03-07T02:00:00Z", "2026-03-07T09:00:00Z", "2026-03-09T08:00:00Z"]
    assert [get(client, rule + at)["on"] for at in probes] == [True, True, False, False]
    assert get(client, rule + probes[0])["hours_a_week"] == 75.0
    assert get(client, rule + probes[0])["next"][0] == {"at": "2026-03-07T09:00:00Z", "action": "stop"}
    assert client.get("/api/v1/stop-schedules/preview?zone=Europe/Rome").status_code == 400
    for at in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        assert client.get(f"/api/v1/{rule}{at}").status_code == 400


def test_a_plan_is_taken_elsewhere(sign_in: Make) -> None:
    made = plan()
    found = get(sign_in("viewer"), f"launch-plans/{made.pk}/exports")["exports"]
    assert [one["name"] for one in found] == ["aws-cli", "terraform", "karpenter", "kubernetes", "skypilot"]
    assert found[0]["text"].startswith("aws ec2 run-instances")
    assert (found[3]["text"], found[3]["reason"]) == (None, "The work names no container image.")
