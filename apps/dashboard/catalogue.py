"""What can be chosen on the pages: types, regions and products with known prices, by snapshot."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.dashboard.caching import snapshot_key
from apps.ingest.loaded import Loaded
from apps.ingest.selectors import loaded_regions, price_snapshots

# A process keeps what it made of the newest states of the lake, for a state never changes.
KEPT_STATES = 4
_kept: dict[str, tuple[list[Loaded], Choices]] = {}
_lock = threading.Lock()
_LATE = timedelta(hours=24)


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
    """The choices of this state of the lake."""
    return _loaded(snapshots)[1]


def regions(snapshots: dict[str, int]) -> list[Loaded]:
    """What is loaded in this state of the lake, by provider and region."""
    return _loaded(snapshots)[0]


def _loaded(snapshots: dict[str, int]) -> tuple[list[Loaded], Choices]:
    key = snapshot_key(price_snapshots(snapshots))
    with _lock:
        found = _kept.get(key)
    if found is None:
        read = loaded_regions(snapshots)
        found = read, _choices(read)
        with _lock:
            _kept[key] = found
            while len(_kept) > KEPT_STATES:
                _kept.pop(next(iter(_kept)))
    return found


def forget() -> None:
    """Look again: for benchmarks and tests."""
    with _lock:
        _kept.clear()


def _choices(regions: list[Loaded]) -> Choices:
    rows = tuple(
        (r.provider, r.region, c.instance_type, c.product, c.changes, c.zones)
        for r in regions
        for c in r.choices
        if c.known
    )
    spans = [(r.known_from, r.known_to) for r in regions if r.known_from and r.known_to]
    if not spans:
        return Choices(rows)
    newest = max(end for _, end in spans)
    # Regions end at different minutes: the common end is the last instant at which each has a price.
    common = min(end for _, end in spans if end > newest - _LATE)
    return Choices(rows, (min(start for start, _ in spans), newest, common))
