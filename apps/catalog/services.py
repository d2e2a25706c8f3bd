"""Storing what a cloud is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from apps.catalog.models import CloudAccount, InstanceType, Region, Zone
from finops.frames.instance_types import InstanceTypeFacts

# Rows of 20 columns: 500 a statement stay far below PostgreSQL's 65,535 parameters.
_BATCH = 500
_FACTS = tuple(name for name in InstanceTypeFacts._fields if name not in {"provider", "instance_type"})


@dataclass(frozen=True)
class FactsStored:
    """Every type given is new, changed or as it was."""

    new: int
    changed: int
    same: int


def instance_types_store(
    *, facts: Sequence[InstanceTypeFacts], source: str, replace: bool = True
) -> FactsStored:
    """Add types and, with `replace`, take over facts that differ.

    Of two entries for one type in a delivery the last one counts.
    """
    given = {(fact.provider, fact.instance_type): fact for fact in facts}
    with transaction.atomic():
        stored = {
            (row.provider, row.name): row
            for row in InstanceType.objects.select_for_update().filter(
                provider__in={key[0] for key in given}, name__in={key[1] for key in given}
            )
        }
        new, changed = [], []
        for key, fact in given.items():
            row = stored.get(key)
            if row is None:
                new.append(_set(InstanceType(provider=fact.provider, name=fact.instance_type), fact, source))
            elif replace and _differs(row, fact):
                changed.append(_set(row, fact, source))
        InstanceType.objects.bulk_create(new, batch_size=_BATCH)
        for row in changed:
            row.updated_at = Now()
        InstanceType.objects.bulk_update(changed, [*_FACTS, "source", "updated_at"], batch_size=_BATCH)
    return FactsStored(len(new), len(changed), len(facts) - len(new) - len(changed))


def _set(row: InstanceType, fact: InstanceTypeFacts, source: str) -> InstanceType:
    for name in _FACTS:
        value = getattr(fact, name)
        setattr(row, name, list(value) if name == "architectures" else value)
    row.source = source[-1000:]
    return row


def _differs(row: InstanceType, fact: InstanceTypeFacts) -> bool:
    return any(
        (tuple(getattr(row, name)) if name == "architectures" else getattr(row, name)) != getattr(fact, name)
        for name in _FACTS
    )


def zones_store(
    *,
    provider: str,
    account_id: str,
    region: str,
    region_name: str,
    zones: Mapping[str, str],
    seen_at: datetime,
) -> CloudAccount:
    """Remember how an account names the zones of a region (name -> id); zones no longer told stay as they
    were.
    """
    with transaction.atomic():
        account = CloudAccount.objects.get_or_create(provider=provider, account_id=account_id)[0]
        place = Region.objects.update_or_create(
            provider=provider, code=region, defaults={"name": region_name}
        )[0]
        rows = [
            Zone(account=account, region=place, name=name, zone_id=zone_id, seen_at=seen_at)
            for name, zone_id in sorted(zones.items())
        ]
        Zone.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["account", "name"],
            update_fields=["zone_id", "region", "seen_at"],
        )
    return account
