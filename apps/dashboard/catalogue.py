"""What can be chosen on the pages: types, regions and products with known prices, by snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from apps.dashboard.caching import DAY, cache_key, kept
from apps.ingest.selectors import lake
from finops.lake import SPOT_CHANGES, SPOT_KNOWN

# A single observation is known for no length of time: a place or type of nothing else answers no question.
_CHOICES = (
    "SELECT provider, region, instance_type, product, count(*), count(DISTINCT zone_key) "  # noqa: S608
    f"FROM {SPOT_CHANGES} SEMI JOIN {SPOT_KNOWN} USING (provider, region, instance_type) GROUP BY ALL"
)
# Regions end at different minutes: the common end is the last instant at which each of them has a price.
_RANGE = (
    "WITH ends AS (SELECT provider, region, max(known_to) AS last, min(known_from) AS first "  # noqa: S608
    f"FROM {SPOT_KNOWN} GROUP BY ALL) SELECT min(first), max(last), "
    "min(last) FILTER (last > (SELECT max(last) FROM ends) - INTERVAL 24 HOUR) FROM ends"
)


@dataclass(frozen=True)
class Choices:
    """Distinct (provider, region, type, product, changes, zones) rows of the loaded history.

    `known`: first and last instant with a price, and the last one common to all regions.
    """

    rows: tuple[tuple[str, str, str, str, int, int], ...]
    known: tuple[datetime, datetime, datetime] | None = None

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
        """The type whose price changes most often in a zone; ties by name, so the page stays the same."""
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
    """The choices of this state of the lake; one connection for both, which is most of their cost."""
    if not snapshots:
        return Choices(())

    def read() -> Choices:
        con = lake().connect(snapshots)
        try:
            rows = tuple(tuple(row) for row in con.execute(_CHOICES).fetchall())
            known = con.execute(_RANGE).fetchone()
        finally:
            con.close()
        if known is None or known[2] is None:
            return Choices(rows)
        first, last, common = (moment.astimezone(UTC) for moment in known)
        return Choices(rows, (first, last, common))

    return kept(cache_key("choices", snapshots), read, DAY, Choices)
