"""Storing list prices and interruption bands: bulk, repeatable, all or nothing.

A repeat of a stored row is a duplicate. A row whose key is stored with another value is a conflict: the
stored one stays and the conflict names both. Two values for one key inside one delivery leave the key out
altogether: which of the two came first in the file says nothing about which is right.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction

from apps.catalog.services import instance_types_store
from finops.frames.instance_types import InstanceTypeFacts
from finops.frames.interruption import InterruptionBand
from finops.frames.list_prices import SHARED, ListPrice, ListPriceKey
from finops.frames.products import operating_system, usual_licence
from finops.frames.reserved_terms import ReservedTerm, ReservedTermKey
from finops.frames.savings_plans import PlanPriceKey
from finops.providers.aws.interruption import band_of_label

# "list" in ASCII: two imports of list prices or bands take turns, so ids grow in the order of commits.
_STORE_LOCK = 0x6C697374
# 20,000 rows of nine texts are about 2 MB a statement.
_BATCH = 20_000


class Placed(NamedTuple):
    """A row with the place it came from."""

    file: str
    row: int
    value: Any


class Conflict(NamedTuple):
    """A row that was left out because its key has another value."""

    file: str
    row: int
    reason: str


@dataclass
class StoreResult:
    """Every row given is stored, a duplicate or a conflict."""

    stored: int = 0
    duplicates: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    keys: int = 0


def list_prices_store(*, rows: Sequence[Placed], source: str) -> StoreResult:
    """Store `ListPrice` rows; runs in the caller's transaction or its own."""
    return _store(
        rows,
        key_of=lambda price: price.key,
        value_of=lambda price: price.price,
        words_of=lambda price: f"{price.price} {price.key.currency}",
        table="prices_listprice",
        key_columns=(
            ("provider", "text"),
            ("region", "text"),
            ("instance_type", "text"),
            ("operating_system", "text"),
            ("licence", "text"),
            ("tenancy", "text"),
            ("currency", "text"),
            ("effective_from", "timestamptz"),
        ),
        value_columns=(("price", "numeric(18,10)"),),
        cells_of=_price_cells,
        source=source,
    )


def reserved_terms_store(*, rows: Sequence[Placed], source: str) -> StoreResult:
    """Store `ReservedTerm` rows; runs in the caller's transaction or its own."""
    return _store(
        rows,
        key_of=lambda term: term.key,
        value_of=lambda term: (term.fixed, term.hourly),
        words_of=lambda term: f"{term.fixed} and {term.hourly} an hour, {term.key.currency}",
        table="prices_reservedprice",
        key_columns=(
            *((name, "text") for name in ReservedTermKey._fields[:8]),
            ("term_months", "smallint"),
            ("currency", "text"),
            ("effective_from", "timestamptz"),
        ),
        value_columns=(("fixed", "numeric(18,6)"), ("hourly", "numeric(18,10)")),
        cells_of=lambda term: (
            *term.key[:10],
            term.key.effective_from.isoformat(),
            term.fixed,
            term.hourly,
        ),
        source=source,
    )


def plan_prices_store(*, rows: Sequence[Placed], source: str) -> StoreResult:
    """Store `PlanPrice` rows; runs in the caller's transaction or its own."""
    return _store(
        rows,
        key_of=lambda rate: rate.key,
        value_of=lambda rate: rate.hourly,
        words_of=lambda rate: f"{rate.hourly} {rate.key.currency}",
        table="prices_savingsplanprice",
        key_columns=(
            *((name, "text") for name in PlanPriceKey._fields[:9]),
            ("term_months", "smallint"),
            ("currency", "text"),
            ("effective_from", "timestamptz"),
        ),
        value_columns=(("hourly", "numeric(18,10)"), ("offering", "text")),
        cells_of=lambda rate: (
            *rate.key[:11],
            rate.key.effective_from.isoformat(),
            rate.hourly,
            rate.offering,
        ),
        source=source,
    )


def interruption_bands_store(*, rows: Sequence[Placed], source: str) -> StoreResult:
    """Store `InterruptionBand` rows; runs in the caller's transaction or its own."""
    return _store(
        rows,
        key_of=lambda band: band[:5],
        value_of=lambda band: band[5:],
        words_of=lambda band: f"{band.label}, saving {band.saving_share}",
        table="prices_interruptionband",
        key_columns=(
            ("provider", "text"),
            ("region", "text"),
            ("instance_type", "text"),
            ("operating_system", "text"),
            ("as_of", "date"),
        ),
        value_columns=(
            ("low", "numeric(6,4)"),
            ("high", "numeric(6,4)"),
            ("label", "text"),
            ("saving_share", "numeric(6,4)"),
        ),
        cells_of=_band_cells,
        source=source,
    )


def _price_cells(price: ListPrice) -> Iterable[Any]:
    return (*price.key[:7], price.key.effective_from.isoformat(), price.price)


def _band_cells(band: InterruptionBand) -> Iterable[Any]:
    return (
        *band[:4],
        band.as_of.isoformat(),
        band.low,
        band.high,
        band.label,
        band.saving_share,
    )


def _store(
    rows: Sequence[Placed],
    *,
    key_of: Callable[[Any], Hashable],
    value_of: Callable[[Any], Any],
    words_of: Callable[[Any], str],
    table: str,
    key_columns: tuple[tuple[str, str], ...],
    value_columns: tuple[tuple[str, str], ...],
    cells_of: Callable[[Any], Iterable[Any]],
    source: str,
) -> StoreResult:
    kept, result = _sift(rows, key_of=key_of, value_of=value_of, words_of=words_of)
    result.keys = len({tuple(key)[:-1] for key in kept})  # type: ignore[arg-type]
    if not kept:
        return result
    placed = list(kept.values())
    columns = (*key_columns, *value_columns)
    names = ", ".join(name for name, _ in columns)
    same_key = " AND ".join(f"incoming.{name} = stored.{name}" for name, _ in key_columns)
    differs = " OR ".join(f"incoming.{name} IS DISTINCT FROM stored.{name}" for name, _ in value_columns)
    shown = " || ' ' || ".join(f"coalesce(stored.{name}::text, '')" for name, _ in value_columns)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_STORE_LOCK])
        definitions = ", ".join(f"{name} {kind}" for name, kind in columns)
        cursor.execute("DROP TABLE IF EXISTS incoming")
        cursor.execute(f"CREATE TEMP TABLE incoming (place integer, {definitions}) ON COMMIT DROP")
        _fill(cursor, columns, [list(cells_of(item.value)) for item in placed])
        cursor.execute(
            f"SELECT place, {differs}, {shown} FROM incoming JOIN {table} AS stored ON {same_key}"  # noqa: S608
        )
        for place, other, stored in cursor.fetchall():
            item = placed[place]
            if other:
                told = f"{words_of(item.value)} here, {stored.strip()} already stored for the same key"
                result.conflicts.append(Conflict(item.file, item.row, told))
            else:
                result.duplicates += 1
        cursor.execute(
            f"INSERT INTO {table} ({names}, source) SELECT {names}, %s FROM incoming "  # noqa: S608
            "ORDER BY place ON CONFLICT DO NOTHING",
            [source[-1000:]],
        )
        result.stored = cursor.rowcount
        cursor.execute("DROP TABLE incoming")
    result.conflicts.sort()
    return result


def _sift(
    rows: Sequence[Placed],
    *,
    key_of: Callable[[Any], Hashable],
    value_of: Callable[[Any], Any],
    words_of: Callable[[Any], str],
) -> tuple[dict[Hashable, Placed], StoreResult]:
    """One row per key; keys with two values are left out with all their rows."""
    result = StoreResult()
    firsts: dict[Hashable, Placed] = {}
    doubtful: dict[Hashable, set[str]] = {}
    for item in rows:
        first = firsts.setdefault(key_of(item.value), item)
        if value_of(first.value) != value_of(item.value):
            words = doubtful.setdefault(key_of(item.value), {words_of(first.value)})
            words.add(words_of(item.value))
    kept: dict[Hashable, Placed] = {}
    for item in rows:
        key = key_of(item.value)
        if key in doubtful:
            told = " and ".join(sorted(doubtful[key]))
            reason = f"several prices for the same key in one delivery: {told}"
            result.conflicts.append(Conflict(item.file, item.row, reason))
        elif firsts[key] is item:
            kept[key] = item
        else:
            result.duplicates += 1
    return kept, result


def _fill(cursor: Any, columns: tuple[tuple[str, str], ...], rows: Sequence[Sequence[Any]]) -> None:
    """Arrays through `unnest`: one statement a batch, the same with either PostgreSQL driver."""
    names = ", ".join(name for name, _ in columns)
    casts = ", ".join(f"{name}::{kind}" for name, kind in columns)
    arrays = ", ".join("%s::text[]" for _ in columns)
    for first in range(0, len(rows), _BATCH):
        batch = rows[first : first + _BATCH]
        cells = [[None if row[i] is None else str(row[i]) for row in batch] for i in range(len(columns))]
        cursor.execute(
            f"INSERT INTO incoming (place, {names}) SELECT place - 1 + %s, {casts} "  # noqa: S608
            f"FROM unnest({arrays}) WITH ORDINALITY AS given ({names}, place)",
            [first, *cells],
        )


@transaction.atomic
def demo_reference_load() -> dict[str, int]:
    """Load the reference data of the demo (`fixtures/reference`, sources in fixtures/README.md); a repeat
    changes nothing.

    Returns how many rows each table had added.
    """
    folder = Path(settings.BASE_DIR) / "fixtures" / "reference"
    stored = {"list_prices": 0, "reserved_terms": 0, "interruption_bands": 0}
    for source, prices in _by_source(folder / "aws_on_demand_prices.csv", _demo_price):
        stored["list_prices"] += list_prices_store(rows=prices, source=source).stored
    for source, terms in _by_source(folder / "aws_reserved_terms_2018-11.csv", _demo_term):
        stored["reserved_terms"] += reserved_terms_store(rows=terms, source=source).stored
    for source, bands in _by_source(folder / "aws_interruption_bands_2025-06.csv", _demo_band):
        stored["interruption_bands"] += interruption_bands_store(rows=bands, source=source).stored
    new = 0
    for source, facts in _by_source(folder / "aws_instance_types.csv", _demo_facts):
        new += instance_types_store(facts=[item.value for item in facts], source=source, replace=False).new
    return {**stored, "instance_types": new}


def _by_source(file: Path, row_of: Callable[[dict[str, str]], Any]) -> Iterator[tuple[str, list[Placed]]]:
    grouped: dict[str, list[Placed]] = defaultdict(list)
    with file.open(newline="", encoding="utf-8") as handle:
        for number, row in enumerate(csv.DictReader(handle), start=1):
            grouped[row["source"]].append(Placed(file.name, number, row_of(row)))
    yield from grouped.items()


def _demo_price(row: dict[str, str]) -> ListPrice:
    system = operating_system(row["operating_system"])
    listed = datetime.fromisoformat(row["effective_from"]).replace(tzinfo=UTC)
    key = ListPriceKey(
        "aws",
        row["region"],
        row["instance_type"],
        system,
        usual_licence(system),
        SHARED,
        row["currency"],
        listed,
    )
    return ListPrice(key, Decimal(row["price"]))


def _demo_term(row: dict[str, str]) -> ReservedTerm:
    system = operating_system(row["operating_system"])
    key = ReservedTermKey(
        "aws",
        row["region"],
        row["instance_type"],
        system,
        usual_licence(system),
        SHARED,
        row["offering_class"],
        row["payment"],
        int(row["term_months"]),
        row["currency"],
        datetime.fromisoformat(row["effective_from"]).replace(tzinfo=UTC),
    )
    return ReservedTerm(key, Decimal(row["fixed"]), Decimal(row["hourly"]))


def _demo_band(row: dict[str, str]) -> InterruptionBand:
    limits = band_of_label(row["label"])
    if limits is None:
        raise ValueError(f"no band: {row['label']}")
    return InterruptionBand(
        provider="aws",
        region=row["region"],
        instance_type=row["instance_type"],
        operating_system=operating_system(row["operating_system"]),
        as_of=date.fromisoformat(row["as_of"]),
        low=limits[0],
        high=limits[1],
        label=row["label"],
        saving_share=Decimal(row["saving_pct"]) / 100,
    )


def _demo_facts(row: dict[str, str]) -> InstanceTypeFacts:
    return InstanceTypeFacts(
        provider="aws",
        instance_type=row["instance_type"],
        vcpus=int(row["vcpus"]),
        memory_mib=int(row["memory_mib"]),
        architectures=tuple(row["architectures"].split(" ")),
        gpu_manufacturer=row["gpu_manufacturer"],
        gpu_name=row["gpu_name"],
        gpu_count=int(row["gpu_count"]),
        gpu_memory_mib=int(row["gpu_memory_mib"]) if row["gpu_memory_mib"] else None,
        accelerator_manufacturer=row["accelerator_manufacturer"],
        accelerator_name=row["accelerator_name"],
        accelerator_count=int(row["accelerator_count"]),
        bare_metal=row["bare_metal"] == "true",
        hypervisor=row["hypervisor"],
        network_mbps=int(row["network_mbps"]) if row["network_mbps"] else None,
    )
