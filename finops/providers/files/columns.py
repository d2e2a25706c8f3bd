"""Which column is what: a table of known names, and nothing beyond it.

A column is found by its name, letters and digits only, whatever the case: "Spot Price", "SpotPrice" and
"spot_price" are one name. Two columns of one meaning, or a meaning without a column, refuse the file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from finops.providers.facts import FACTS
from finops.providers.files.archives import UnreadableError
from finops.providers.spot_rows import SpotContext

KNOWN: dict[str, tuple[str, ...]] = {
    "at": ("Timestamp", "Time", "At", "Date", "DateTime", "changed_at", "committed_at"),
    "price": ("SpotPrice", "Price", "usd_hour_spot", "spot_price_usd", "price_usd", "usd_per_hour"),
    "zone": ("AvailabilityZone", "Zone", "AZ", "az_name"),
    "zone_id": ("AvailabilityZoneId", "zone_id", "az_id"),
    "instance_type": ("InstanceType", "Type", "machine_type", "vm_size", "armSkuName"),
    "product": ("ProductDescription", "Product", "operating_system"),
    "region": ("Region", "region_code", "armRegionName"),
    "currency": ("Currency", "currency_code"),
    "account": ("Account", "account_id"),
    "unit": ("Unit", "unit_of_measure"),
    "tier": ("InstanceTier",),
}
# Names that mean something in files of one provider only.
_OF_PROVIDER = {"azure": {"productname": "product"}}
# Names that say in which currency their numbers are.
CURRENCY_OF = {"usdhourspot": "USD", "spotpriceusd": "USD", "priceusd": "USD", "usdperhour": "USD"}
_LABELS = {
    "at": "time",
    "price": "price",
    "zone": "zone",
    "instance_type": "instance type",
    "product": "product",
    "region": "region",
}


def plain(name: str) -> str:
    """The name as it is compared: lower-case letters and digits."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_FIELD_OF = {plain(name): meaning for meaning, names in KNOWN.items() for name in names}


@dataclass(frozen=True)
class Mapped:
    """`columns`: field to the source's column. `currency`: what a column's name says, None when none does."""

    columns: Mapping[str, str] = field(default_factory=dict)
    currency: str | None = None


def recognised(names: Sequence[str]) -> int:
    """How many of the names are known: tells a header from a line of something else."""
    return sum(plain(name) in _FIELD_OF for name in names)


def match(names: Sequence[str], context: SpotContext) -> Mapped:
    """Map the names of a table or of JSON keys. Raises UnreadableError naming what is missing or double."""
    columns: dict[str, str] = {}
    currency = None
    for name in names:
        meaning = _FIELD_OF.get(plain(name))
        if meaning is None:
            continue
        if meaning in columns:
            raise UnreadableError(f"two columns for the {meaning}: {columns[meaning]!r} and {name!r}")
        columns[meaning] = name
        currency = CURRENCY_OF.get(plain(name), currency)
    for name in names:
        meaning = _OF_PROVIDER.get(context.provider, {}).get(plain(name))
        if meaning is not None:
            columns.setdefault(meaning, name)
    missing = [meaning for meaning in _required(context) if meaning not in columns]
    if "zone" in missing and "zone_id" in columns:
        missing.remove("zone")
    if missing:
        raise UnreadableError(_explain(missing, names, columns))
    return Mapped(columns, currency)


def _required(context: SpotContext) -> list[str]:
    needed = ["at", "price", "instance_type"]
    if FACTS[context.provider].zoned:
        needed.append("zone")
    elif not context.region:
        needed.append("region")
    if not context.product:
        needed.append("product")
    return needed


def _explain(missing: Sequence[str], names: Sequence[str], found: Mapping[str, str]) -> str:
    parts = []
    others = {plain(name): name for name in names if name not in found.values()}
    for meaning in missing:
        known = [plain(name) for name in KNOWN[meaning]]
        near = [
            others[close]
            for name in known
            for close in difflib.get_close_matches(name, list(others), n=1, cutoff=0.75)
        ]
        hint = f"; {near[0]!r} is near but not a known name" if near else ""
        if meaning in ("region", "product"):
            hint += "; or say it of the whole file"
        parts.append(f"{_LABELS[meaning]} (known: {', '.join(KNOWN[meaning])}{hint})")
    return f"no price data: no column for {'; '.join(parts)}"
