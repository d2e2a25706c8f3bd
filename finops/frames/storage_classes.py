"""Storage classes. Grain: one row per provider, region, class and day from which it holds
(`data/storage_classes.csv`, with the sources).

Prices are exact decimals in `currency` per GiB and month, per 1,000 requests
or objects, per GiB retrieved; sizes in KiB (1024 bytes). What a storage bill calls "GB-Mo" is a GiB-month.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parent / "data" / "storage_classes.csv"
STANDARD = "STANDARD"
INTELLIGENT = "INTELLIGENT_TIERING"
ZERO = Decimal(0)


@dataclass(frozen=True)
class StorageClass:
    """What one class asks for: see the module's text for units.

    `min_billable_kib`: a smaller object is billed as this size. `own_overhead_kib` is added to each object at
    this class's price, `standard_overhead_kib` at Standard's. `min_days`: less is billed to the end of it.
    `monitoring_per_1000` objects and month, for objects of `min_monitored_kib` and more. `instant` is false
    where a read must wait for a restore.
    """

    name: str
    per_gib_month: Decimal
    min_billable_kib: Decimal = ZERO
    own_overhead_kib: Decimal = ZERO
    standard_overhead_kib: Decimal = ZERO
    min_days: int = 0
    transition_in_per_1000: Decimal = ZERO
    put_per_1000: Decimal = ZERO
    get_per_1000: Decimal = ZERO
    retrieval_per_gib: Decimal = ZERO
    monitoring_per_1000: Decimal = ZERO
    min_monitored_kib: Decimal = ZERO
    instant: bool = True
    currency: str = "USD"
    valid_from: date = date(2006, 3, 14)
    source: str = "given"


# Columns of the table that are prices, with the item that an organisation's own table calls them by.
PRICE_COLUMNS = (
    "per_gib_month",
    "put_per_1000",
    "get_per_1000",
    "transition_in_per_1000",
    "retrieval_per_gib",
    "monitoring_per_1000",
)
ALWAYS = frozenset(PRICE_COLUMNS[:3])
UNKNOWN, EVERYWHERE = "?", "*"


@dataclass(frozen=True)
class ClassRow:
    """A row of the table. `needed`: the prices that the class asks for; `known`: the table has them all."""

    provider: str
    region: str
    storage_class: StorageClass
    needed: frozenset[str]
    known: bool


@cache
def class_rows() -> tuple[ClassRow, ...]:
    """The whole table, oldest rows first."""
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        lines = csv.DictReader(line for line in handle if not line.startswith("#"))
        rows = [_row(line) for line in lines]
    return tuple(sorted(rows, key=lambda row: row.storage_class.valid_from))


def _row(line: dict[str, str]) -> ClassRow:
    known = UNKNOWN not in line.values()
    asked = (name for name in PRICE_COLUMNS if line[name] == UNKNOWN or Decimal(line[name] or 0) > 0)
    return ClassRow(line["provider"], line["region"], _class(line), ALWAYS | frozenset(asked), known)


def _class(row: dict[str, str]) -> StorageClass:
    def number(name: str) -> Decimal:
        return Decimal(0 if row[name] in ("", UNKNOWN) else row[name])

    return StorageClass(
        name=row["class"],
        per_gib_month=number("per_gib_month"),
        min_billable_kib=number("min_billable_kib"),
        own_overhead_kib=number("own_overhead_kib"),
        standard_overhead_kib=number("standard_overhead_kib"),
        min_days=int(row["min_days"]),
        transition_in_per_1000=number("transition_in_per_1000"),
        put_per_1000=number("put_per_1000"),
        get_per_1000=number("get_per_1000"),
        retrieval_per_gib=number("retrieval_per_gib"),
        monitoring_per_1000=number("monitoring_per_1000"),
        min_monitored_kib=number("min_monitored_kib"),
        instant=row["instant"] == "1",
        currency=row["currency"],
        valid_from=date.fromisoformat(row["valid_from"]),
        source=row["source"],
    )


def storage_classes(provider: str, region: str, on: date) -> dict[str, StorageClass]:
    """The classes that exist on a day and whose prices the table has, by name; {} where it has none of the
    provider and region.
    """
    return {
        row.storage_class.name: row.storage_class
        for row in class_rows()
        if (row.provider, row.region) == (provider, region)
        and row.storage_class.valid_from <= on
        and row.known
    }


@dataclass(frozen=True)
class Tier:
    """A price inside a class from `after_idle_days` without a read on."""

    name: str
    after_idle_days: int
    per_gib_month: Decimal


@cache
def _lines(file: str) -> list[dict[str, str]]:
    with (_TABLE.parent / file).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(line for line in handle if not line.startswith("#")))


def first_band(provider: str, region: str, storage_class: str) -> Decimal | None:
    """GiB of a month for which the table's price of a class holds; None where it has one price."""
    for row in _lines("storage_first_bands.csv"):
        if (row["provider"], row["region"], row["class"]) == (provider, region, storage_class):
            return Decimal(row["up_to_gib"])
    return None


def price_bands(
    provider: str, region: str, storage_class: str, on: date
) -> tuple[tuple[tuple[Decimal, Decimal], ...], Decimal | None]:
    """(bands beyond the first as (from GiB, price per GiB and month), GiB up to which prices are known).

    Bands are marginal: what a GiB costs depends on how many lie below it, by the month and for all buckets of
    an account in a region. None where there is no end.
    """
    end = first_band(provider, region, storage_class)
    found: list[tuple[Decimal, Decimal]] = []
    for row in _lines("storage_price_bands.csv"):
        here = (row["provider"], row["region"], row["class"]) == (provider, region, storage_class)
        if here and date.fromisoformat(row["valid_from"]) <= on and Decimal(row["from_gib"]) == end:
            found.append((end, Decimal(row["per_gib_month"])))
            end = Decimal(row["to_gib"]) if row["to_gib"] else None
    return tuple(found), end


def tiers(
    provider: str, region: str, storage_class: str, on: date, *, opt_in: bool = False
) -> tuple[Tier, ...]:
    """The tiers of a class on a day, hottest first; () for a class of one price.

    `opt_in`: those too that hold only what a configuration sends there.
    """
    found = [
        Tier(row["tier"], int(row["after_idle_days"]), Decimal(row["per_gib_month"]))
        for row in _tier_rows(provider, storage_class, on)
        if row["region"] == region and (opt_in or row["opt_in"] == "0")
    ]
    return tuple(sorted(found, key=lambda tier: tier.after_idle_days))


def automatic_tiers(provider: str, storage_class: str, on: date) -> tuple[tuple[str, int], ...]:
    """(tier, days without a read) of a class in every region, hottest first."""
    rows = [row for row in _tier_rows(provider, storage_class, on) if row["opt_in"] == "0"]
    found = {row["tier"]: int(row["after_idle_days"]) for row in rows}
    return tuple(sorted(found.items(), key=lambda one: one[1]))


def _tier_rows(provider: str, storage_class: str, on: date) -> list[dict[str, str]]:
    return [
        row
        for row in _lines("storage_tiers.csv")
        if (row["provider"], row["class"]) == (provider, storage_class)
        and date.fromisoformat(row["valid_from"]) <= on
    ]


def lifecycle_moves(provider: str) -> frozenset[tuple[str, str]]:
    """The (from, to) pairs that a lifecycle rule can make."""
    rows = _lines("storage_moves.csv")
    return frozenset((row["from"], row["to"]) for row in rows if row["provider"] == provider)


@dataclass(frozen=True)
class Retrieval:
    """One way to restore an object: `per_1000` requests is None where the price is not known."""

    option: str
    per_gib: Decimal
    per_1000: Decimal | None
    hours_to: Decimal
    currency: str


def retrievals(provider: str, region: str, storage_class: str, on: date) -> tuple[Retrieval, ...]:
    """The ways to restore an object of a class on a day, fastest first; () where a read needs none."""
    found = [
        Retrieval(
            row["option"],
            Decimal(row["per_gib"]),
            Decimal(row["per_1000"]) if row["per_1000"] else None,
            Decimal(row["hours_to"]),
            row["currency"],
        )
        for row in _lines("storage_retrievals.csv")
        if (row["provider"], row["region"], row["class"]) == (provider, region, storage_class)
        and date.fromisoformat(row["valid_from"]) <= on
    ]
    return tuple(sorted(found, key=lambda one: one.hours_to))
