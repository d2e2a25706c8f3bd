"""Sums of bills that stand ready: narrow files beside the lake that a question reads instead of its lines.

For the line files of one partition (a report's month) there is one folder, named by those files:
`<warehouse>/.sums/<hash>/facts.json` and a Parquet file a level. Data files of the lake never change, so the
sums never do either: nothing has to be kept in step. They can be thrown away at any time; questions then read
the lake's own tables until they are made anew (bill_sums_build.py).

Levels group by fewer and fewer columns; each carries the same money:

- `usage`: day, usage type and what the daily roll-up groups by
- `day`: the same without usage type
- `resource`: resource and usage type without day
- `month`: without all three

A tag key or cost category is a column of its own (a map has to be searched in every row), named by the hash
of the key because DuckDB's names know no case. Amounts stand in 64 bits where all of a file fit exactly, else
in the 128 bits of the lake: sums of the former take half the time.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from finops.frames.focus import BASES
from finops.lake.bill_tables import DAILY_DIMENSIONS

FOLDER = ".sums"
FACTS = "facts.json"
# Part of every folder's name: a change of layout or meaning makes all sums anew.
VERSION = 2
DAY, USAGE_TYPE, RESOURCE = "x_day", "x_usage_type", "resource_id"
QUANTITY = "x_quantity"
MEASURES: tuple[str, ...] = (*dict.fromkeys(BASES.values()), QUANTITY)
# Of the roll-up's columns those that no question names, and those that are taken apart.
_LEFT_OUT = {DAY, "provider_name", "publisher_name", "sub_account_name", "charge_class", "x_unit"}
_MAPS = {"tags", "x_cost_categories"}
PLAIN_DIMENSIONS: tuple[str, ...] = tuple(c for c in DAILY_DIMENSIONS if c not in _LEFT_OUT | _MAPS)
# Coarsest last. What each groups by beside month, delivery, plain dimensions, unit, tags and categories.
LEVELS: dict[str, tuple[str, ...]] = {
    "usage": (DAY, USAGE_TYPE),
    "resource": (USAGE_TYPE, RESOURCE),
    "day": (DAY,),
    "month": (),
}
# Units as codes: NULL where there is no quantity to name one for, MIXED where there is one without a unit.
UNIT, MIXED, UNIT_PREFIX = "unit_code", "-", "u"
KEPT_FACTS = 2048


@dataclass(frozen=True)
class LevelFacts:
    """One file: `types` are the decimals of its measures; `units` and `currencies` all that it holds, None
    where they are many; `missing` has the measures that some line has no value of."""

    path: str
    bytes: int
    rows: int
    types: Mapping[str, str]
    currencies: tuple[str | None, ...] | None
    units: tuple[str | None, ...] | None
    missing: frozenset[str]


@dataclass(frozen=True)
class PartitionSums:
    """The sums of one partition. `tags` and `categories` are the keys with a column, `dropped_…` those whose
    lines are too few for one; any other key is in no line."""

    levels: Mapping[str, LevelFacts]
    tags: frozenset[str]
    categories: frozenset[str]
    dropped_tags: frozenset[str]
    dropped_categories: frozenset[str]


def partition_of(path: str) -> tuple[str, str]:
    """(report, month) of a data file of a table of bills, from its folders."""
    found = dict(part.split("=", 1) for part in path.split("/") if "=" in part)
    return unquote(found["x_report"]), unquote(found["x_month"])


def by_partition(files: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Data files by report and month."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in files:
        found[partition_of(path)].append(path)
    return dict(found)


def key_of(files: Sequence[str]) -> str:
    """The folder's name: by the files' own names, which are random, so that a lake may move."""
    names = sorted(os.path.basename(file) for file in files)
    return hashlib.sha256(json.dumps([VERSION, *names]).encode()).hexdigest()[:40]


def column_of(kind: str, key: str) -> str:
    """The column of a tag key (`tag`) or cost category (`category`)."""
    return f"{kind}_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


_facts: dict[str, PartitionSums] = {}
_facts_lock = threading.Lock()


def sums_of(warehouse: Path, files: Sequence[str]) -> PartitionSums | None:
    """The sums made of these line files; None where there are none (or not whole)."""
    folder = os.path.join(warehouse, FOLDER, key_of(files))
    with _facts_lock:
        found = _facts.get(folder)
    if found is not None and all(os.path.exists(one.path) for one in found.levels.values()):
        return found
    found = _read(folder)
    with _facts_lock:
        _facts.pop(folder, None)
        if found is not None:
            _facts[folder] = found
        while len(_facts) > KEPT_FACTS:
            _facts.pop(next(iter(_facts)))
    return found


def _read(folder: str) -> PartitionSums | None:
    try:
        with open(os.path.join(folder, FACTS), encoding="utf-8") as handle:
            raw = json.load(handle)
        levels = {}
        for name, one in raw["levels"].items():
            path = os.path.join(folder, f"{name}.parquet")
            if os.path.getsize(path) != one["bytes"]:
                return None
            levels[name] = LevelFacts(
                path, one["bytes"], one["rows"], one["types"],
                None if one["currencies"] is None else tuple(one["currencies"]),
                None if one["units"] is None else tuple(one["units"]),
                frozenset(one["missing"]),
            )  # fmt: skip
        found = PartitionSums(
            levels, *(frozenset(raw[k]) for k in ("tags", "categories", "dropped_tags", "dropped_categories"))
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found
