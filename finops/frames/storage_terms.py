"""All that a provider's storage classes ask for on a day: prices, tiers, moves, limits of rules."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path

from finops.frames.storage_classes import STANDARD, StorageClass, Tier, lifecycle_moves
from finops.frames.storage_prices import StoragePrice, priced_classes

_LIMITS = Path(__file__).parent / "data" / "storage_lifecycle.csv"


@dataclass(frozen=True)
class StorageTerms:
    """`tiers`: the automatic tiers of a class, by class. `moves`: (from, to) pairs of lifecycle rules.
    `least_days`: days after the writing before which a rule may not move into the class. `single_zone`:
    classes whose bytes lie in one zone. `missing`: classes that are left out, with the items that have no
    price.
    """

    provider: str
    region: str
    on: date
    classes: Mapping[str, StorageClass]
    tiers: Mapping[str, tuple[Tier, ...]]
    moves: frozenset[tuple[str, str]]
    least_days: Mapping[str, int]
    single_zone: frozenset[str]
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def standard(self) -> StorageClass:
        """The class that others are compared with, and in which part of an archive's overhead lies."""
        return self.classes[_standard(self.classes)]

    @property
    def currency(self) -> str:
        """Of all prices."""
        return self.standard.currency


def storage_terms(
    provider: str, region: str, on: date, prices: Iterable[StoragePrice] = ()
) -> StorageTerms | None:
    """The terms of a day; None where neither the tables nor `prices` know what the standard class costs in
    the region.
    """
    found = priced_classes(provider, region, on, prices)
    classes = found.classes
    if not _standard(classes):
        return None
    limits = [
        row
        for row in _limits()
        if row["provider"] == provider and date.fromisoformat(row["valid_from"]) <= on
    ]
    return StorageTerms(
        provider=provider,
        region=region,
        on=on,
        classes=classes,
        tiers=found.tiers,
        moves=frozenset(pair for pair in lifecycle_moves(provider) if classes.keys() >= set(pair)),
        least_days={row["class"]: int(row["least_days"]) for row in limits},
        single_zone=frozenset(row["class"] for row in limits if row["single_zone"] == "1"),
        missing=found.missing,
    )


@cache
def _limits() -> tuple[dict[str, str], ...]:
    with _LIMITS.open(newline="", encoding="utf-8") as handle:
        return tuple(csv.DictReader(line for line in handle if not line.startswith("#")))


def _standard(classes: Mapping[str, StorageClass]) -> str:
    """The name of the standard class as the provider spells it; "" where there is none."""
    return next((name for name in classes if name.upper() == STANDARD), "")
