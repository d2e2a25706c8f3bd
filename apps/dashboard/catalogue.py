"""What can be chosen on the pages: types, regions and products with known prices, by snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.cache import cache

from apps.dashboard.freshness import snapshot_key
from apps.ingest.selectors import lake
from finops.lake import SPOT_KNOWN

_CHOICES = (
    "SELECT provider, region, instance_type, product, count(DISTINCT zone_key) AS zones, "  # noqa: S608
    f"max(known_to) FROM {SPOT_KNOWN} GROUP BY ALL"
)


@dataclass(frozen=True)
class Choices:
    """Distinct (provider, region, type, product, zones) rows of the loaded history."""

    rows: tuple[tuple[str, str, str, str, int], ...]

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
        """The type known in most zones; ties by name, so that the first page is always the same."""
        zones: dict[str, int] = {}
        for _, _, kind, _, count in self.rows:
            zones[kind] = zones.get(kind, 0) + count
        return min(zones, key=lambda kind: (-zones[kind], kind)) if zones else ""

    def default_product(self) -> str:
        """Linux where it is loaded."""
        products = self.products
        return "Linux/UNIX" if "Linux/UNIX" in products else (products[0] if products else "")


def choices(snapshots: dict[str, int]) -> Choices:
    """The choices of this state of the lake."""
    if not snapshots:
        return Choices(())
    key = f"face:choices:{snapshot_key(snapshots)}"
    rows = cache.get(key)
    if rows is None:
        con = lake().connect(snapshots)
        try:
            rows = tuple(tuple(row[:5]) for row in con.execute(_CHOICES).fetchall())
        finally:
            con.close()
        cache.set(key, rows, 24 * 3600)
    return Choices(rows)
