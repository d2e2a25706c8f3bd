"""Machines with our tags that no live launch answers to: told with their cost, ended where they are ours."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from apps.launches.models import Attempt, LaunchTarget, Stray
from finops.frames.launches import OWNER, Machine


def stray_seen(target: LaunchTarget, machine: Machine, *, ended: bool, now: datetime) -> Stray:
    """Keep what was seen; the price of an hour is that of the launch call, where we know it."""
    price, currency = _price_of(machine)
    row, _made = Stray.objects.update_or_create(
        target=target,
        machine=machine.id,
        defaults={
            "region": machine.region,
            "instance_type": machine.instance_type,
            "tags": dict(machine.tags),
            "launched_at": machine.launched_at,
            "seen_at": now,
            "ours": machine.tags.get(OWNER) == target.owner,
            "price": price,
            "currency": currency,
            **({"ended_at": now, "ended_by_us": True} if ended else {}),
        },
        create_defaults={
            "region": machine.region,
            "instance_type": machine.instance_type,
            "tags": dict(machine.tags),
            "launched_at": machine.launched_at,
            "first_seen_at": now,
            "seen_at": now,
            "ours": machine.tags.get(OWNER) == target.owner,
            "price": price,
            "currency": currency,
            "ended_at": now if ended else None,
            "ended_by_us": ended,
        },
    )
    return row


def stray_gone(target: LaunchTarget, machine: Machine, now: datetime) -> None:
    """A stray that was told is seen ended."""
    Stray.objects.filter(target=target, machine=machine.id, ended_at__isnull=True).update(
        ended_at=now, seen_at=now
    )


def _price_of(machine: Machine) -> tuple[Decimal | None, str]:
    """What an hour of it costs as far as an attempt of ours knows the same type and region."""
    known = (
        Attempt.objects.filter(
            instance_type=machine.instance_type, region=machine.region, price__isnull=False
        )
        .exclude(instance_type="")
        .order_by("-pk")
        .first()
    )
    return (None, "") if known is None else (known.price, known.currency)
