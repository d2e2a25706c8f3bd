"""Grid intensity of cloud regions. Grain: one row per provider, region and source (`data/region_carbon.csv`,
with the sources); grams of CO2 equivalent per kWh of electricity, before PUE. Sources are never mixed.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parent / "data" / "region_carbon.csv"
# What a policy may name: who publishes the factors.
PUBLISHERS = ("cloud-carbon-footprint", "codecarbon")


@dataclass(frozen=True, slots=True)
class RegionCarbon:
    """One factor. `later`: it is dated after the day that was asked for."""

    g_per_kwh: Decimal
    publisher: str
    as_of: date
    source: str
    later: bool = False


@cache
def _rows() -> dict[tuple[str, str], tuple[RegionCarbon, ...]]:
    found: dict[tuple[str, str], list[RegionCarbon]] = {}
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(line for line in handle if not line.startswith("#")):
            one = RegionCarbon(
                g_per_kwh=Decimal(row["g_per_kwh"]),
                publisher=row["source"].partition(" @")[0],
                as_of=date.fromisoformat(row["as_of"]),
                source=row["source"],
            )
            found.setdefault((row["provider"], row["region"]), []).append(one)
    return {key: tuple(sorted(rows, key=lambda one: one.as_of)) for key, rows in found.items()}


def region_carbon(provider: str, region: str, on: date) -> tuple[RegionCarbon, ...]:
    """The factor of each publisher: its newest at or before a day, else its nearest later one, marked; () for
    a region that nobody has a factor for.
    """
    rows = _rows().get((provider, region), ())
    found = []
    for publisher in PUBLISHERS:
        own = [one for one in rows if one.publisher == publisher]
        earlier = [one for one in own if one.as_of <= on]
        if earlier:
            found.append(earlier[-1])
        elif own:
            first = own[0]
            found.append(RegionCarbon(first.g_per_kwh, publisher, first.as_of, first.source, later=True))
    return tuple(found)
