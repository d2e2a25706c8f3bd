"""What a Reserved Instance applies to.

Zonal: one type in one zone. Regional: any zone of the region; and any size of the family, by normalised
units, where platform is Linux/UNIX, tenancy is default and the family is not one of those that stay out
(`finops.frames.sizes`). Bare metal has factors of its own in that table; a size without a factor is matched
by its name only. Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html (as of the
table's date).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from finops.frames.offers import OfferKey
from finops.frames.sizes import SizeTable, family_of

FLEXIBLE_PLATFORM = "Linux/UNIX"
DEFAULT_TENANCY = "default"


@dataclass(frozen=True, slots=True)
class Pool:
    """Use that is interchangeable to a commitment: in normalised units of a family where `flexible`, else in
    instances of one type. `zone` empty: all zones of the region.
    """

    provider: str
    region: str
    zone: str
    platform: str
    tenancy: str
    name: str
    flexible: bool


def is_flexible(key: OfferKey, sizes: SizeTable) -> bool:
    """Whether a commitment of this key applies to every size of its family."""
    return (
        not key.zone
        and key.platform == FLEXIBLE_PLATFORM
        and key.tenancy == DEFAULT_TENANCY
        and family_of(key.instance_type) not in sizes.inflexible
        and sizes.factor(key.instance_type) is not None
    )


def pool_of(key: OfferKey, sizes: SizeTable) -> Pool:
    """The pool that a commitment of this key draws on."""
    flexible = is_flexible(key, sizes)
    name = family_of(key.instance_type) if flexible else key.instance_type
    return Pool(key.provider, key.region, key.zone, key.platform, key.tenancy, name, flexible)


def units_of(key: OfferKey, sizes: SizeTable) -> Decimal:
    """Units that one instance of this key counts in its pool: its factor where sizes are flexible, else 1."""
    factor = sizes.factor(key.instance_type) if is_flexible(key, sizes) else None
    return Decimal(1) if factor is None else factor


def applies(pool: Pool, use: OfferKey, sizes: SizeTable) -> bool:
    """Whether use of this key (with its zone) draws on the pool."""
    if (pool.provider, pool.region, pool.platform, pool.tenancy) != (
        use.provider,
        use.region,
        use.platform,
        use.tenancy,
    ):
        return False
    if pool.zone and pool.zone != use.zone:
        return False
    if pool.flexible:
        return family_of(use.instance_type) == pool.name and sizes.factor(use.instance_type) is not None
    return use.instance_type == pool.name
