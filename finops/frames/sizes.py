"""Sizes in normalised units. Grain: one row per provider and size (`data/normalisation_factors.csv`, dated).

Kinds of row: `size`, the factor of a size name; `type`, the factor of one type whose size name has none of
its own (bare metal); `inflexible`, a family whose Reserved Instances never apply to another size.
"""

from __future__ import annotations

import csv
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).parent / "data" / "normalisation_factors.csv"


class SizeTable(NamedTuple):
    """Factors of one provider, the families that stay out, and when and where that was read."""

    provider: str
    by_size: dict[str, Decimal]
    by_type: dict[str, Decimal]
    inflexible: frozenset[str]
    as_of: date
    source: str

    def factor(self, instance_type: str) -> Decimal | None:
        """Normalised units of one instance; None where the table has none.

        >>> size_table("aws").factor("m4.xlarge"), size_table("aws").factor("i3.metal")
        (Decimal('8'), Decimal('128'))
        """
        known = self.by_type.get(instance_type)
        return self.by_size.get(size_of(instance_type)) if known is None else known


def family_of(instance_type: str) -> str:
    """`m5` of `m5.large`; the whole text where it has no dot."""
    return instance_type.partition(".")[0]


def size_of(instance_type: str) -> str:
    """`large` of `m5.large`; an empty text where it has no dot."""
    return instance_type.partition(".")[2]


@cache
def size_table(provider: str) -> SizeTable:
    """The table of a provider; empty (nothing is flexible) for one that has no rows."""
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        rows = [row for row in csv.DictReader(handle) if row["provider"] == provider]
    return SizeTable(
        provider=provider,
        by_size={row["name"]: Decimal(row["factor"]) for row in rows if row["kind"] == "size"},
        by_type={row["name"]: Decimal(row["factor"]) for row in rows if row["kind"] == "type"},
        inflexible=frozenset(row["name"] for row in rows if row["kind"] == "inflexible"),
        as_of=max((date.fromisoformat(row["as_of"]) for row in rows), default=date.min),
        source=rows[0]["source"] if rows else "",
    )
