"""Made-up pools, devices, work and schedules, as pages show them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.catalog.models import Device
from apps.launches.models import LaunchTarget, ScheduleTurn, StopSchedule, Work
from apps.launches.services.pools import device_create, pool_save
from apps.launches.services.schedules import schedule_request

ACTOR = Actor.system("test")


def machines(organisation: Organisation) -> dict[str, Any]:
    """Four pools, three devices (idle, silent, never seen), work in three states."""
    now = timezone.now()
    values: dict[str, dict[str, Any]] = {
        "GPU rack": {"kind": "own", "units": 8, "power": Decimal("0.066"), "wear": Decimal("0.425")},
        "Office machines Shanghai": {
            "kind": "device", "units": 40, "largest": 1, "power": Decimal("0.03"), "wear": Decimal("0.028"),
            "speed": 0.6, "window": "20:00-08:00", "zone": "Asia/Shanghai", "interruptions_per_hour": 0.02,
        },
        "Spot us-east-1": {
            "kind": "spot", "provider": "aws", "region": "us-east-1", "price": Decimal("0.9753"),
            "interruptions_per_hour": 0.2449, "start_minutes": 3.0,
        },
        "On demand us-east-1": {"kind": "on_demand", "price": Decimal("3.06"), "start_minutes": 3.0},
    }  # fmt: skip
    pools = {
        name: pool_save(
            organisation=organisation, actor=ACTOR, name=name, values={"currency": "USD", **given}
        )
        for name, given in values.items()
    }
    office = pools["Office machines Shanghai"]
    devices = [device_create(pool=office, actor=ACTOR, name=f"pc-{number}")[0] for number in (1, 2, 3)]
    Device.objects.filter(pk=devices[0].pk).update(seen_at=now, idle_seconds=5400)
    Device.objects.filter(pk=devices[1].pk).update(seen_at=now - timedelta(hours=3), idle_seconds=60)
    document = {"command": ["true"], "name": "Nightly training"}
    Work.objects.create(pool=office, token="w1", document=document)
    Work.objects.create(
        pool=office, token="w2", document=document, state="leased", lease=2, device=devices[0], share=0.4,
        lease_until=now + timedelta(minutes=2),
    )  # fmt: skip
    Work.objects.create(pool=pools["GPU rack"], token="w3", document=document, state="failed", ended_at=now)
    return {"pools": pools, "devices": devices}


def schedules(organisation: Organisation, target: LaunchTarget) -> StopSchedule:
    """One in force with three due times, one that waits."""
    now = timezone.now()
    common: dict[str, Any] = {
        "organisation": organisation, "actor": ACTOR, "target": target, "region": "us-east-1",
        "tag_key": "Environment", "zone": "Europe/Berlin", "now": now,
    }  # fmt: skip
    office = schedule_request(
        **common, name="Office hours", tag_value="development", start="08:00", stop="19:00"
    )
    schedule_request(**common, name="Off at night", tag_value="test", stop="20:00", days="every")
    StopSchedule.objects.filter(pk=office.pk).update(
        state="approved", approved_by="finance@example.com", approved_at=now, settled_until=now
    )
    for days, action, state, more in (
        (1, "stop", "done", {"machines": ["i-0a1b2c3d4e5f60718"], "left": {"i-0ff": "a Spot machine"}}),
        (2, "start", "missed", {"message": "Its window is over."}),
        (3, "stop", "failed", {"message": "No answer from AWS."}),
    ):
        ScheduleTurn.objects.create(
            schedule=office, action=action, state=state, due_at=now - timedelta(days=days), **more
        )
    office.refresh_from_db()
    return office
