"""Storing list prices and interruption bands: bulk, repeatable, all or nothing.

A repeat of a stored row is a duplicate. A row whose key is stored with another value is a conflict: the
stored one stays and the conflict names both. Two values for one key inside one delivery leave the key out
altogether: which of the two came first in the file says nothing about which is right.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection, transaction

from finops.frames.interruption import InterruptionBand
from finops.frames.list_prices import ListPrice

# "list" in ASCII: two imports of list prices or bands take turns, so ids grow in the order of commits.
_STORE_LOCK = 0x6C697374


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
        _or_null(band.high),
        band.label,
        _or_null(band.saving_share),
    )


def _or_null(value: object) -> object:
    return "\\N" if value is None else value


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
        cursor.cursor.copy_expert(
            f"COPY incoming (place, {names}) FROM STDIN WITH (FORMAT csv, NULL '\\N')",
            _as_csv([i, *cells_of(item.value)] for i, item in enumerate(placed)),
        )
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


def _as_csv(rows: Iterable[Sequence[Any]]) -> io.StringIO:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    buffer.seek(0)
    return buffer
