"""What the Data page says of the loaded prices: range and gaps by region, and quality findings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from apps.dashboard import catalogue
from apps.dashboard.caching import DAY, cache_key, kept
from apps.prices.selectors import on_demand_prices
from apps.prices.selectors.books import loaded_book
from finops.engine.quality import Finding, check_quality
from finops.engine.series import to_us


@dataclass(frozen=True)
class RegionKnown:
    """Known range of one region; `gaps` counts unknown stretches inside its series."""

    provider: str
    region: str
    series: int
    types: int
    known_from: datetime
    known_to: datetime
    gaps: int


def regions_known(snapshots: dict[str, int]) -> list[RegionKnown]:
    """One row a region, by name."""
    return [
        RegionKnown(r.provider, r.region, r.series, r.types, r.known_from, r.known_to, r.gaps)
        for r in catalogue.regions(snapshots)
        if r.known_from and r.known_to
    ]


@dataclass(frozen=True)
class Flag:
    """A finding as the table shows it."""

    kind: str
    severity: str
    region: str
    zone: str
    instance_type: str
    product: str
    text: str
    blocked: bool


def quality_flags(snapshots: dict[str, int], regions: list[RegionKnown], language: str) -> list[Flag]:
    """Findings of every region at its own newest instant, blocked series first. Cached by snapshot."""
    if not snapshots:
        return []

    def judge() -> list[Flag]:
        found = [flag for known in regions for flag in _region_flags(known, snapshots)]
        return sorted(
            found, key=lambda f: (not f.blocked, f.severity != "error", f.region, f.instance_type, f.zone)
        )

    return kept(cache_key("quality", snapshots, language), judge, DAY, list[Flag])


def _region_flags(known: RegionKnown, snapshots: dict[str, int]) -> list[Flag]:
    loaded = loaded_book(provider=known.provider, regions=[known.region], snapshots=snapshots)
    lists: dict[tuple[str, str], float] = {}
    for product in {key.product for key in loaded.book.keys}:
        prices = on_demand_prices(
            provider=known.provider, region=known.region, product=product, at=known.known_to
        )
        lists |= {(kind, product): float(price.price) for kind, price in prices.items()}
    per_series = np.array([lists.get((k.instance_type, k.product), np.nan) for k in loaded.book.keys])
    findings = check_quality(loaded.book, now_us=to_us(known.known_to), list_prices=per_series)
    return [_flag(finding, loaded.zone_names) for finding in findings]


def _flag(finding: Finding, names: Any) -> Flag:
    key = finding.key
    return Flag(
        kind=finding.kind,
        severity=finding.severity,
        region=key.region,
        zone=names.get(key.zone, key.zone),
        instance_type=key.instance_type,
        product=key.product,
        text=_(finding.template) % finding.values,
        blocked=finding.blocks_home or finding.blocks_candidate,
    )
