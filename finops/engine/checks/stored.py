"""Another storage class for a bucket: the advice on its listing, else a class priced on the stated use.

A bucket that was listed has its own advice (`finops.engine.storage.advise`): the saving over twelve months of
the prefixes that should move, divided by twelve. One that is new is priced by `finops.engine.storage.bill`
for the objects, GiB and reads that the usage file states, each read of a whole object:

    monthly(standard) + puts - (monthly(class) + puts + early deletion)

Objects live objects / puts months on average. What is deleted before the class's least days is billed to
their end: stored GiB become the greater of the GiB and the GiB written a month x least days / (365 / 12).
Classes whose reads wait, that lie in one zone or whose price depends on when each object is read are not
offered: a plan does not say whether that may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, Decimal

from finops.engine.checks.alternatives import Alternative, Evidence, NotOffered, Way
from finops.engine.checks.pricing import band_change
from finops.engine.storage.bill import KIB_PER_GIB, Cell, monthly
from finops.frames.cost_items import Range, Resource, Stored
from finops.frames.storage_classes import StorageClass, price_bands, storage_classes

PROVIDER = "aws"
DAYS_PER_MONTH = Decimal(365) / 12
ZERO, THOUSAND = Decimal(0), Decimal(1000)


@dataclass(frozen=True, slots=True)
class ListedBucket:
    """What the advice on a bucket's listing says: the saving a month of what should move, None where it could
    not be judged, with its reason; `prefixes` that move, `objects` listed.
    """

    saving: Range | None
    currency: str
    prefixes: int
    objects: int
    as_of: str
    reason: str = ""


@dataclass(frozen=True)
class StorageFacts:
    """Classes of a region that a plan may choose, with the standard one; listed buckets by name."""

    classes: Mapping[str, Mapping[str, StorageClass]]
    listed: Mapping[str, ListedBucket]


def buckets_of(resources: Iterable[Resource]) -> list[tuple[str, Stored]]:
    """(region, what is stored) of the buckets after the change."""
    return [
        (one.after.region, one.after.stored)
        for one in resources
        if one.after is not None and one.after.stored is not None
    ]


def stored(resources: Iterable[Resource], facts: StorageFacts) -> Iterator[Way]:
    """An answer for each bucket."""
    for one in resources:
        if one.after is None or one.after.stored is None:
            continue
        held = one.after.stored
        found = facts.listed.get(held.name) if held.name else None
        if found is not None:
            yield _listed(one.address, held, found)
        else:
            yield _new(one.address, held, facts.classes.get(one.after.region) or {}, one.after.region)


def _listed(address: str, held: Stored, found: ListedBucket) -> Way:
    told = (("bucket", held.name),)
    if found.saving is None:
        return NotOffered("storage class", address, False, "blocked", (*told, ("why", found.reason)))
    if not found.prefixes:
        return NotOffered("storage class", address, True, "nothing to move", told)
    evidence = Evidence(
        "storage advice on the listing", found.as_of, found.objects, "objects", "storage",
        (("bucket", held.name),), (("prefixes", str(found.prefixes)),),
    )  # fmt: skip
    instead = f"lifecycle rules of {found.prefixes} prefixes"
    return Alternative(
        "storage class", address, instead, held.storage_class, found.saving, evidence, found.currency
    )


def _new(address: str, held: Stored, classes: Mapping[str, StorageClass], region: str) -> Way:
    missing = [
        name
        for name, value in (
            ("storage_gib", held.gib), ("objects", held.objects), ("put_requests", held.puts),
            ("get_requests", held.gets),
        )
        if value is None
    ]  # fmt: skip
    if missing:
        return NotOffered("storage class", address, False, "usage missing", (("names", ", ".join(missing)),))
    standard = classes.get("STANDARD")
    start = classes.get(held.storage_class)
    if standard is None or start is None:
        return NotOffered("storage class", address, False, "no class price")
    best: tuple[Range, StorageClass] | None = None
    for name in sorted(classes):
        to = classes[name]
        if name == start.name:
            continue
        ends = [
            _month(held, end, start, standard, region) - _month(held, end, to, standard, region)
            for end in _CASES
        ]
        saving = Range(min(ends), ends[1], max(ends))
        if best is None or saving.expected > best[0].expected:
            best = (saving, to)
    if best is None or best[0].expected <= 0:
        return NotOffered("storage class", address, True, "no class cheaper")
    saving, to = best
    objects = held.objects.expected if held.objects is not None else ZERO
    evidence = Evidence(
        to.source, to.valid_from.isoformat(), int(objects), "objects", "storage-prices", (),
        (("least_days", str(to.min_days)),) if to.min_days else (),
    )  # fmt: skip
    return Alternative("storage class", address, to.name, start.name, saving, evidence, to.currency)


_CASES = ("low", "expected", "high")


def _beyond(gib: Decimal, where: StorageClass, region: str) -> Decimal:
    """What the bands of a listed price take off; an own price has none."""
    listed = storage_classes(PROVIDER, region, date.max).get(where.name)
    if listed is None or listed.per_gib_month != where.per_gib_month:
        return ZERO
    bands, _end = price_bands(PROVIDER, region, where.name, date.max)
    return band_change(gib, where.per_gib_month, bands)


def _month(held: Stored, case: str, where: StorageClass, standard: StorageClass, region: str) -> Decimal:
    gib, count, puts, gets = (
        ZERO if value is None else getattr(value, case)
        for value in (held.gib, held.objects, held.puts, held.gets)
    )
    objects = int(count.to_integral_value(ROUND_CEILING))
    if not objects:
        return ZERO
    kib = gib * KIB_PER_GIB / objects
    cell = Cell(objects, kib, gets)
    written = puts * max(kib, where.min_billable_kib) / KIB_PER_GIB * where.min_days / DAYS_PER_MONTH
    early = max(ZERO, written - max(kib, where.min_billable_kib) * objects / KIB_PER_GIB)
    return (
        monthly([cell], where, standard).total
        + _beyond(gib, where, region)
        + puts / THOUSAND * where.put_per_1000
        + early * where.per_gib_month
    )
