"""Pools and devices of an organisation: named, changed, keys made and revoked; which pool work takes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.catalog.models import Device, Pool, PoolUse
from apps.launches.services.clock_words import clock_fault
from apps.launches.services.work import work_take_back
from finops.engine.calendar import ClockWindow
from finops.engine.launches.pool import PoolChoice, PoolWork, choose_pool
from finops.frames.money import CurrencyError, currency_code
from finops.frames.pools import PoolKind, PoolOffer

TOKEN = re.compile(r"opd_([a-z2-7]{10})_([0-9a-f]{64})")
_NO_HASH = "0" * 64
_MONEY = Decimal("0.000001")
POOL_FIELDS = (
    "kind", "provider", "region", "unit", "units", "largest", "machine", "power", "wear", "price", "currency",
    "speed", "speed_source", "interruptions_per_hour", "start_minutes", "window", "zone", "days", "queue",
    "active",
)  # fmt: skip


def window_checked(window: str, zone: str, days: str) -> None:
    """Raises ValidationError by field where these words are no window; all empty is always open."""
    if not window and not zone:
        return
    try:
        if "-" not in window:
            raise ValueError(f"not a time of day: {window!r}")
        ClockWindow.of(window, zone, days)
    except ValueError as error:
        # Both ends stand in one field.
        raise clock_fault(error, window=window or "-") from error


def pool_save(*, organisation: Organisation, actor: Actor, name: str, values: Mapping[str, Any]) -> Pool:
    """Add a pool or change what is given of it. Raises ValidationError by field."""
    words = " ".join(name.split())
    if not 1 <= len(words) <= 60:
        raise ValidationError({"name": _("Give it a name of at most 60 characters.")})
    with transaction.atomic():
        row = Pool.objects.select_for_update().filter(organisation=organisation, name=words).first()
        before = None if row is None else _facts(row)
        if row is None:
            row = Pool(organisation=organisation, name=words)
        for field, value in values.items():
            if field not in POOL_FIELDS:
                raise ValidationError({field: _("There is no such field.")})
            setattr(row, field, value)
        _check(row)
        row.full_clean(exclude=["organisation"])
        row.save()
        audit_record(
            organisation=organisation, actor=actor, action="pool.save", target=row, before=before,
            after=_facts(row),
        )  # fmt: skip
    return row


def _check(row: Pool) -> None:
    window_checked(row.window, row.zone, row.days)
    for field in ("power", "wear", "price"):
        if (value := getattr(row, field)) is not None:
            # Exact or not at all; an API value comes with trailing zeros.
            if not value.is_finite() or abs(value) >= 10**9 or value != (short := value.quantize(_MONEY)):
                raise ValidationError({field: _("At most 6 decimals.")})
            setattr(row, field, short)
    try:
        row.currency = currency_code(row.currency)
    except CurrencyError:
        raise ValidationError(
            {"currency": _("Not a currency: write three letters, for example USD.")}
        ) from None
    if row.kind in (PoolUse.SPOT, PoolUse.ON_DEMAND) and row.price is None:
        raise ValidationError({"price": _("What a unit costs an hour.")})
    if row.kind == PoolUse.OWN and (row.power is None or row.wear is None):
        raise ValidationError({"power": _("Own machines cost power and wear; zero is an answer.")})
    if row.kind == PoolUse.DEVICE and row.power is None:
        raise ValidationError({"power": _("What a unit costs an hour.")})
    if row.kind == PoolUse.DEVICE and row.wear is None:
        row.wear = Decimal(0)


def _facts(row: Pool) -> dict[str, Any]:
    return {"name": row.name, **{field: getattr(row, field) for field in POOL_FIELDS}}


def device_create(
    *, pool: Pool, actor: Actor, name: str, values: Mapping[str, Any] | None = None
) -> tuple[Device, str]:
    """A device and its key `opd_<prefix>_<secret>`, shown once. Raises ValidationError by field."""
    if pool.kind != PoolUse.DEVICE:
        raise ValidationError({"pool": _("Only a pool of idle devices has devices.")})
    words = " ".join(name.split())
    if not 1 <= len(words) <= 100:
        raise ValidationError({"name": _("Give it a name of at most 100 characters.")})
    prefix = base64.b32encode(secrets.token_bytes(8)).decode().lower()[:10]
    secret = secrets.token_hex(32)
    given = dict(values or {})
    row = Device(pool=pool, name=words, prefix=prefix, secret_hash=_hash(secret), **given)
    window_checked(row.window, row.zone, row.days)
    try:
        with transaction.atomic():
            row.save()
            audit_record(
                organisation=pool.organisation, actor=actor, action="device.create", target=row,
                after={"pool": pool.name, "name": row.name, "prefix": prefix},
            )  # fmt: skip
    except IntegrityError as error:
        raise ValidationError({"name": _("The pool has a device of this name.")}) from error
    return row, f"opd_{prefix}_{secret}"


def device_revoke(*, device: Device, actor: Actor, now: datetime) -> Device:
    """Its key opens nothing any more; what it had goes back to the queue when its lease ends."""
    with transaction.atomic():
        if Device.objects.filter(pk=device.pk, revoked_at=None).update(revoked_at=now):
            audit_record(
                organisation=device.pool.organisation, actor=actor, action="device.revoke", target=device
            )
        work_take_back(now=now, device=device)
    device.refresh_from_db()
    return device


def device_of_token(token: str) -> Device | None:
    """The device of a key; None for one that is malformed, unknown or wrong, which take the same time."""
    match = TOKEN.fullmatch(token)
    if match is None:
        return None
    device = Device.objects.select_related("pool__organisation").filter(prefix=match[1]).first()
    same = hmac.compare_digest(_hash(match[2]), device.secret_hash if device else _NO_HASH)
    return device if device is not None and same else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def offers_of_pools(organisation: Organisation) -> list[PoolOffer]:
    """Pools in use whose price is known, as the engine takes them."""
    return [
        PoolOffer(
            name=row.name, kind=PoolKind(row.kind), hourly=float(row.hourly), currency=row.currency,
            provider=row.provider, region=row.region, units=row.units, largest=row.largest,
            machine=row.machine, speed=row.speed, interruptions_per_hour=row.interruptions_per_hour,
            start_hours=row.start_minutes / 60, window=row.window, zone=row.zone, days=row.days,
        )
        for row in Pool.objects.filter(organisation=organisation, active=True)
        if row.hourly is not None
    ]  # fmt: skip


def pool_choices(*, organisation: Organisation, work: PoolWork, now: datetime) -> list[PoolChoice]:
    """Every pool for this work, the one to take first. Raises ValidationError for mixed currencies."""
    offers = offers_of_pools(organisation)
    if work.currency is None and len({one.currency for one in offers}) > 1:
        raise ValidationError({"currency": _("Pools cost in several currencies: say which one.")})
    return choose_pool(work, offers, now=now)
