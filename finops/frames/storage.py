"""What lies in buckets and how it is read, in bands: the vocabulary of storage advice.

Sizes are bytes, 1 GiB = 2**30 bytes; ages and idle times are whole days before the listing's time; days are
UTC dates. Bands are half-open, [from, to); `to` is None where a band has no upper end. What is not known is
None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

KIB, MIB, GIB = 2**10, 2**20, 2**30
# Lower ends. Smallest sizes and overheads of the classes (8, 32, 40, 64 and 128 KiB) are ends of bands, so no
# band holds objects on both sides of one; a mean of 1 GiB objects is as good as each of them.
SIZE_EDGES: tuple[int, ...] = (
    0, 1, 8 * KIB, 32 * KIB, 40 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, MIB, 16 * MIB, 128 * MIB, GIB,
    5 * GIB, 50 * GIB,
)  # fmt: skip
AGE_EDGES: tuple[int, ...] = (0, 1, 7, 14, 30, 60, 90, 180, 365, 730)
# Finer where reads follow each other: the hazard of the next read falls fastest in the first days.
IDLE_EDGES: tuple[int, ...] = (0, 1, 2, 4, 7, 14, 30, 60, 90, 180, 365, 730)

NO_PREFIX = ""
OTHER_PREFIX = "(other)"
# The prefixes of a bucket that have rows of their own, by bytes; the rest are `OTHER_PREFIX`.
PREFIXES_KEPT = 50

CURRENT, NONCURRENT, INCOMPLETE = "current", "noncurrent", "incomplete"
STATES: tuple[str, ...] = (CURRENT, NONCURRENT, INCOMPLETE)


@dataclass(frozen=True, slots=True)
class StorageCell:
    """Grain: one row per bucket, prefix, class, tier, state, size band, age band and idle band of a listing.

    `prefix`: the first level of the path with its slash, "" for keys without one. `storage_class` in the
    provider's spelling of its listing API; `tier`: the access tier inside Intelligent-Tiering, else "".
    `age_*`: days since last modified; both None where the source tells no times. `idle_*`: days since the
    last read, since the writing where there was none and the logs reach back to it; both None where no log
    covers the bucket. An object older than the log and not read in it is idle for the log's span or longer:
    `idle_from` is that span and `idle_to` None. Unfinished uploads come from a report of totals: their size
    and age bands are open.
    """

    provider: str
    region: str
    account: str
    bucket: str
    prefix: str
    storage_class: str
    tier: str
    state: str
    size_from: int
    size_to: int | None
    age_from: int | None
    age_to: int | None
    idle_from: int | None
    idle_to: int | None
    objects: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ReadsCell:
    """Grain: one row per bucket, prefix, day, idle band and age band, bands as on the morning of that day.

    `exposure`: objects that were there that day with this idle time and age (object-days), `reads`: how many
    of them were read, `requests`: how often, `bytes`: bytes sent, None where the source tells none. Idle
    bands are None while nothing is known of an object's last read: before its first read of the log, unless
    it was written within the log. Age bands are None for objects that no listing holds.
    """

    bucket: str
    prefix: str
    day: date
    idle_from: int | None
    idle_to: int | None
    age_from: int | None
    age_to: int | None
    reads: int
    requests: int
    bytes: int | None
    exposure: int


@dataclass(frozen=True, slots=True)
class ReadsHistory:
    """The reads of one bucket. `first_day` to `last_day`, both included: what the logs cover."""

    bucket: str
    first_day: date
    last_day: date
    cells: tuple[ReadsCell, ...]


@dataclass(frozen=True, slots=True)
class StorageCharge:
    """A part of a bucket's bill that is not stored bytes: kind is "requests", "retrieval", "monitoring",
    "early-delete", "transfer" or "other"; quantity in `unit` as billed.
    """

    kind: str
    storage_class: str
    usage_type: str
    quantity: Decimal
    unit: str
    cost: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class BucketCoverage:
    """Bytes listed against bytes billed, for one bucket (or, where the bill names no buckets, its region).

    `listed`: bytes per (class, state); a state that no source holds is not in it. `billed_gib_months`:
    GiB-months per class of the days [`billed_from`, `billed_to`), `billed_gib`: their mean over those days,
    which is what compares with a listing; None and {} without a bill. `gap_bytes` is billed less listed,
    `gap_share` that over billed. `missing`: what the listing does not hold: "noncurrent", "incomplete",
    "class X", "bucket B". `versioning`: "Enabled", "Suspended", "Off", None where nothing told it. `blocked`:
    no advice may be given, and `reason` says why ("" otherwise); `reason_code` is one of "no-listing",
    "no-bill", "gap", "unit", "rate" or "". `scope` is "bucket" or "region".
    """

    provider: str
    region: str
    account: str
    bucket: str
    listed_at: datetime | None
    log_from: date | None
    log_to: date | None
    listed: Mapping[tuple[str, str], int]
    billed_gib_months: Mapping[str, Decimal]
    billed_gib: Mapping[str, Decimal]
    billed_cost: Mapping[str, Decimal]
    currency: str
    billed_from: date | None
    billed_to: date | None
    gap_bytes: int | None
    gap_share: Decimal | None
    missing: tuple[str, ...]
    versioning: str | None
    blocked: bool
    reason: str
    reason_code: str = ""
    scope: str = "bucket"
    charges: tuple[StorageCharge, ...] = field(default=())


def band(value: int, edges: tuple[int, ...]) -> tuple[int, int | None]:
    """The band that holds a value.

    >>> band(45, AGE_EDGES)
    (30, 60)
    >>> band(800, AGE_EDGES)
    (730, None)
    """
    if value < edges[0]:
        raise ValueError(f"{value} lies under the first band")
    at = max(i for i, edge in enumerate(edges) if edge <= value)
    return edges[at], edges[at + 1] if at + 1 < len(edges) else None
