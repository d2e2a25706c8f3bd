"""What is loaded, region by region, worked out from the lake: for the roll-up, and where that is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import duckdb

from finops.lake import SPOT_CHANGES, SPOT_KNOWN

# By zone first and then by product: half the time of a count of distinct zones.
_CHOICES = f"""
    SELECT provider, region, instance_type, product, CAST(sum(changes) AS BIGINT), count(*)
    FROM (SELECT provider, region, instance_type, product, zone_key, count(*) AS changes
        FROM {SPOT_CHANGES} GROUP BY ALL)
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608
_KNOWN = f"""
    SELECT provider, region, count(*), list_sort(list(DISTINCT instance_type)), min(a), max(b),
        CAST(sum(gaps) AS BIGINT)
    FROM (SELECT provider, region, zone_key, instance_type, product, currency, min(known_from) AS a,
        max(known_to) AS b, count(*) - 1 AS gaps FROM {SPOT_KNOWN} GROUP BY ALL)
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608


@dataclass(frozen=True)
class Choice:
    """A type and product of a region: price changes and zones; `known`: the type has a known range.

    A single observation is known for no length of time: a type of nothing else answers no question.
    """

    instance_type: str
    product: str
    changes: int
    zones: int
    known: bool


@dataclass(frozen=True)
class Loaded:
    """One region; the fields are those of `LoadedRegion`."""

    provider: str
    region: str
    series: int = 0
    types: int = 0
    gaps: int = 0
    known_from: datetime | None = None
    known_to: datetime | None = None
    choices: tuple[Choice, ...] = field(default=(), repr=False)


def read_loaded(con: duckdb.DuckDBPyConnection) -> list[Loaded]:
    """All regions behind the views of the price tables on `con`, by provider and name."""
    known = {(provider, region): rest for provider, region, *rest in con.execute(_KNOWN).fetchall()}
    choices: dict[tuple[str, str], list[Choice]] = {place: [] for place in known}
    types = {place: set(names) for place, (_, names, *_) in known.items()}
    for provider, region, *row in con.execute(_CHOICES).fetchall():
        place = provider, region
        kind, product, changes, zones = row
        known_type = kind in types.get(place, ())
        choices.setdefault(place, []).append(Choice(kind, product, changes, zones, known_type))
    return [_loaded(place, known.get(place), rows) for place, rows in sorted(choices.items())]


def _loaded(place: tuple[str, str], known: list[Any] | None, choices: list[Choice]) -> Loaded:
    if known is None:
        return Loaded(*place, choices=tuple(choices))
    series, names, start, end, gaps = known
    return Loaded(
        *place, series, len(names), gaps, start.astimezone(UTC), end.astimezone(UTC), tuple(choices)
    )
