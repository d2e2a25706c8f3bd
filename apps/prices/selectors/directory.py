"""What has Spot prices: regions, zones, types and product texts of one provider, by snapshot.

A series that was seen at one instant only has no known range. Its names are in the table of change points,
which takes ten times as long to go through, so that is done only for a name that has no known range.
"""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.expressions import EqualTo

from finops.lake import SPOT_CHANGES, SPOT_KNOWN, facts

_COLUMNS = "region, zone_key, zone, instance_type, product"
_LAST = {SPOT_CHANGES: '"at"', SPOT_KNOWN: "known_to"}
KEPT = 8


@dataclass(frozen=True)
class Directory:
    """`zones`: region -> zone key -> name it was last delivered under; `newest_us`: end of the known time."""

    regions: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    products: frozenset[str] = frozenset()
    zones: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    newest_us: int | None = None

    def zone_key(self, asked: str, regions: Iterable[str]) -> tuple[str, str] | None:
        """(region, zone key) of a zone name, a zone id or a key "account:name"; None where it is unknown."""
        for region in regions:
            zones = self.zones.get(region, {})
            if asked in zones:
                return region, asked
            named = sorted(key for key, name in zones.items() if asked in (name, key.partition(":")[2]))
            if named:
                return region, named[0]
        return None

    def zone_names(self, regions: Iterable[str]) -> list[str]:
        """Names and ids that may be asked for in these regions."""
        known = {word for region in regions for pair in self.zones.get(region, {}).items() for word in pair}
        return sorted(known - {""})

    def has(self, words: Iterable[str]) -> bool:
        """Whether each word is a region, a type, or a zone's name, id or key."""
        named = {*self.regions, *self.types, *self.zone_names(self.regions)}
        named |= {key.partition(":")[2] for zones in self.zones.values() for key in zones}
        return all(word.strip() in named for word in words if word.strip())


_kept: dict[tuple[Any, ...], Directory] = {}
_lock = threading.Lock()


def directory(
    *, provider: str, snapshots: Mapping[str, int] | None = None, naming: Iterable[str] = ()
) -> Directory:
    """The directory of a provider; an empty one when nothing was loaded.

    `naming`: regions, types and zones of a question. Where one of them has no known range, the series that
    were seen at one instant only are in the directory too.
    """
    chosen = dict(facts.current_snapshots() if snapshots is None else snapshots)
    found = _directory(provider, chosen, [SPOT_KNOWN])
    return found if found.has(naming) else _directory(provider, chosen, [SPOT_CHANGES, SPOT_KNOWN])


def _directory(provider: str, snapshots: Mapping[str, int], tables: Sequence[str]) -> Directory:
    """From these tables; the last one says the names of zones."""
    tables = [table for table in tables if table in snapshots]
    if not tables:
        return Directory()
    key = (os.getpid(), facts.lake().warehouse, *((table, snapshots[table]) for table in tables), provider)
    with _lock:
        if key in _kept:
            return _kept[key]
    of_provider = EqualTo("provider", provider)  # type: ignore[call-arg, arg-type]
    con = facts.lake().connect(snapshots, filters=dict.fromkeys(tables, of_provider))
    try:
        rows = [row for table in tables for row in con.execute(_series(table)).fetchall()]
    finally:
        con.close()
    zones: dict[str, dict[str, str]] = {}
    for region, zone_key, zone, _, _, _ in rows:
        zones.setdefault(region, {})[zone_key] = zone or zone_key
    found = Directory(
        regions=frozenset(zones),
        types=frozenset(row[3] for row in rows),
        products=frozenset(row[4] for row in rows),
        zones=zones,
        newest_us=max((row[5] for row in rows), default=None),
    )
    with _lock:
        while len(_kept) >= KEPT:
            _kept.pop(next(iter(_kept)))
        _kept[key] = found
    return found


def _series(table: str) -> str:
    # The names of columns and tables are constants of this project.
    return f"SELECT {_COLUMNS}, max(epoch_us({_LAST[table]})) FROM {table} GROUP BY ALL ORDER BY ALL"  # noqa: S608


def nearest(word: str, known: Iterable[str], *, count: int = 3) -> list[str]:
    """The known words that look most like `word`, best first; the first few by name when none does."""
    names = sorted(known)
    alike = difflib.get_close_matches(word, names, n=count, cutoff=0.5)
    return alike or names[:count]
