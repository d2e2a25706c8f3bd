"""What can be chosen on the pages: types, regions and products with known prices, by snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.cache import cache

from apps.dashboard.caching import DAY, cache_key
from apps.ingest.selectors import lake
from finops.lake import SPOT_CHANGES

_CHOICES = f"SELECT provider, region, instance_type, product, count(*), count(DISTINCT zone_key) FROM {SPOT_CHANGES} GROUP BY ALL"  # noqa: S608


@dataclass(frozen=True)
class Choices:
    """Distinct (provider, region, type, product, changes, zones) rows of the loaded history."""

    rows: tuple[tuple[str, str, str, str, int, int], ...]

    @property
    def types(self) -> list[str]:
        """Every instance type, by name."""
        return sorted({row[2] for row in self.rows})

    def regions(self, instance_type: str | None = None) -> list[str]:
        """Regions (of that type), by name."""
        return sorted({row[1] for row in self.rows if instance_type in (None, row[2])})

    @property
    def products(self) -> list[str]:
        """Product texts without the VPC twin: both are one question."""
        return sorted({row[3].removesuffix(" (Amazon VPC)") for row in self.rows})

    def default_type(self) -> str:
        """The type whose price changes most often in a zone; ties by name: the first page is always the same."""
        changes: dict[str, int] = {}
        zones: dict[str, int] = {}
        for _, _, kind, _, count, places in self.rows:
            changes[kind] = changes.get(kind, 0) + count
            zones[kind] = zones.get(kind, 0) + places
        return min(changes, key=lambda kind: (-changes[kind] / zones[kind], kind)) if changes else ""

    def default_product(self) -> str:
        """Linux where it is loaded."""
        products = self.products
        return "Linux/UNIX" if "Linux/UNIX" in products else (products[0] if products else "")


def choices(snapshots: dict[str, int]) -> Choices:
    """The choices of this state of the lake."""
    if not snapshots:
        return Choices(())
    key = cache_key("choices-2", snapshots)
    rows = cache.get(key)
    if rows is None:
        con = lake().connect(snapshots)
        try:
            rows = tuple(tuple(row) for row in con.execute(_CHOICES).fetchall())
        finally:
            con.close()
        cache.set(key, rows, DAY)
    return Choices(rows)
