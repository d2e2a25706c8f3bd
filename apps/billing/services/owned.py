"""Keeping own commitments as they are seen: one row each, and a row for every field that a later look
showed differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection, transaction

from apps.accounts.models import Organisation
from apps.billing.models import CommitmentChange, OwnedCommitment
from finops.frames.commitments import CommitmentKind
from finops.frames.owned import LISTING_STATES, Listed, Owned

# "owns" in ASCII: two looks take turns, so that neither takes the other's commitments for gone.
_LOCK = 0x6F776E73
_BATCH = 2000
# What may change between two looks; the others identify a commitment.
_WATCHED = (
    "account", "region", "zone", "platform", "tenancy", "instance_type", "plan", "family", "offering_class",
    "payment", "count", "commitment_per_hour", "fixed", "hourly", "currency", "start", "end", "state",
)  # fmt: skip
_PLACES = {"commitment_per_hour": 10, "fixed": 6, "hourly": 10}


class Look(NamedTuple):
    """A complete look: all commitments of a kind in an account and region (of plans: any region)."""

    provider: str
    account: str
    kind: CommitmentKind
    region: str
    at: datetime


@dataclass
class OwnedStored:
    """`new`: rows made; `refreshed`: seen again later; `same`: nothing new, or an older look; `changed`:
    of the refreshed, those that differed; `gone`: missed by a complete look.
    """

    new: int = 0
    refreshed: int = 0
    same: int = 0
    changed: int = 0
    gone: int = 0
    changes: list[CommitmentChange] = field(default_factory=list, repr=False)


@transaction.atomic
def commitments_store(
    *,
    owned: Sequence[Owned],
    organisation: Organisation | None,
    source: str,
    looks: Sequence[Look] = (),
) -> OwnedStored:
    """Store what a source showed. An older look never changes what a newer one showed; where a look does
    not tell account or region, what is known stays.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    result = OwnedStored()
    rows = {
        (row.provider, row.commitment): row
        for row in OwnedCommitment.objects.filter(
            organisation=organisation, commitment__in={one.id for one in owned}
        )
    }
    for one in sorted(owned, key=lambda o: o.seen_at):
        row = rows.get((one.provider, one.id))
        if row is None:
            rows[one.provider, one.id] = OwnedCommitment.objects.create(
                organisation=organisation,
                commitment=one.id,
                provider=one.provider,
                kind=one.kind,
                first_seen_at=one.seen_at,
                seen_at=one.seen_at,
                source=source[-1000:],
                **_values(one),
            )
            result.new += 1
        else:
            _see_again(row, one, source, result)
    CommitmentChange.objects.bulk_create(result.changes, batch_size=_BATCH, ignore_conflicts=True)
    for look in looks:
        result.gone += _miss(look, organisation, {one.id for one in owned})
    return result


@transaction.atomic
def listings_store(
    *, listed: Sequence[Listed], organisation: Organisation | None
) -> tuple[OwnedStored, frozenset[str]]:
    """Note which reservations are for sale; of several listings of one the state that says most counts. An
    older look changes nothing. Also the ids that no look at reservations has shown.
    """
    best: dict[tuple[str, str], Listed] = {}
    for one in sorted(listed, key=lambda o: (o.seen_at, -LISTING_STATES.index(o.state))):
        best[one.provider, one.id] = one
    rows = OwnedCommitment.objects.select_for_update().filter(
        organisation=organisation, commitment__in={one.id for one in best.values()}
    )
    known = {(row.provider, row.commitment): row for row in rows.order_by("pk")}
    result = OwnedStored()
    for key, one in best.items():
        row = known.get(key)
        if row is None:
            continue
        if row.listing_at is not None and row.listing_at >= one.seen_at:
            result.same += 1
            continue
        if row.listing != one.state:
            result.changed += bool(row.listing)
            result.changes.append(
                CommitmentChange(
                    commitment=row, field="listing", before=row.listing, after=one.state, seen_at=one.seen_at
                )
            )
        row.listing, row.listing_at = one.state, one.seen_at
        row.save(update_fields=["listing", "listing_at"])
        result.refreshed += 1
    CommitmentChange.objects.bulk_create(result.changes, batch_size=_BATCH, ignore_conflicts=True)
    return result, frozenset(name for provider, name in best if (provider, name) not in known)


def _see_again(row: OwnedCommitment, one: Owned, source: str, result: OwnedStored) -> None:
    if one.seen_at < row.seen_at:
        result.same += 1
        return
    told = {
        name: value
        for name, value in _values(one).items()
        if not (name in ("account", "region") and value == "")
    }
    different = {name: value for name, value in told.items() if getattr(row, name) != value}
    if not different and one.seen_at == row.seen_at and row.gone_at is None:
        result.same += 1
        return
    for name, value in different.items():
        result.changes.append(
            CommitmentChange(
                commitment=row,
                field=name,
                before=_text(getattr(row, name)),
                after=_text(value),
                seen_at=one.seen_at,
            )
        )
        setattr(row, name, value)
    if row.gone_at is not None:
        result.changes.append(
            CommitmentChange(
                commitment=row, field="gone_at", before=_text(row.gone_at), after="", seen_at=one.seen_at
            )
        )
        row.gone_at = None
    row.seen_at, row.source = one.seen_at, source[-1000:]
    row.save()
    result.refreshed += 1
    result.changed += bool(different)


def _values(one: Owned) -> dict[str, Any]:
    """The fields as the database keeps them, so that a repeat compares equal."""
    found = {name: getattr(one, name) for name in _WATCHED}
    for name, places in _PLACES.items():
        value = found[name]
        found[name] = None if value is None else value.quantize(Decimal(1).scaleb(-places))
    return found


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return format(value.normalize() + 0, "f")
    return "" if value is None else str(value)


def _miss(look: Look, organisation: Organisation | None, seen: set[str]) -> int:
    rows = OwnedCommitment.objects.filter(
        organisation=organisation,
        provider=look.provider,
        account=look.account,
        kind=look.kind,
        gone_at__isnull=True,
        seen_at__lt=look.at,
    ).exclude(commitment__in=seen)
    if look.kind is CommitmentKind.RESERVED:
        rows = rows.filter(region=look.region)
    return rows.update(gone_at=look.at)


def regions_known(
    ids: Sequence[str], *, organisation: Organisation | None, provider: str
) -> Mapping[str, str]:
    """Regions of commitments that earlier looks told, by short id."""
    rows = OwnedCommitment.objects.filter(
        organisation=organisation, provider=provider, commitment__in=set(ids)
    ).exclude(region="")
    return dict(rows.values_list("commitment", "region"))
