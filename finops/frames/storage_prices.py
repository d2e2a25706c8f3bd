"""An organisation's own storage prices. Grain: one row per provider, region, class, item and first day.

Items are the price columns of `data/storage_classes.csv`, per GiB and month, per 1,000 requests or objects,
per GiB retrieved, and `tier:NAME` for a tier inside a class, per GiB and month. Rules (smallest sizes, least
days) are those of the class, the same in every region. A class whose prices are not all known is left out
with what is missing: nothing is taken as free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any

from finops.frames.storage_classes import (
    EVERYWHERE,
    PRICE_COLUMNS,
    ClassRow,
    StorageClass,
    Tier,
    automatic_tiers,
    class_rows,
    storage_classes,
    tiers,
)

TIER = "tier:"


@dataclass(frozen=True, slots=True)
class StoragePrice:
    """One price of one class from the day `on`; `currency` per unit of the item."""

    provider: str
    region: str
    storage_class: str
    item: str
    on: date
    price: Decimal
    currency: str
    source: str


@dataclass(frozen=True)
class PricedClasses:
    """Classes of a place with all their prices, tiers by class, and what keeps other classes out: items
    without a price, or `currency` where it is not that of the standard class.
    """

    classes: Mapping[str, StorageClass]
    tiers: Mapping[str, tuple[Tier, ...]]
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def class_names(provider: str, on: date) -> tuple[str, ...]:
    """Classes of a provider whose rules are known on a day, in the order of the table."""
    found = {row.storage_class.name: None for row in _rules(provider, on)}
    return tuple(found)


def items_of(provider: str, storage_class: str, on: date) -> tuple[str, ...]:
    """The items that a class asks a price for; () for a class that is not in the table."""
    rows = [row for row in _rules(provider, on) if row.storage_class.name == storage_class]
    if not rows:
        return ()
    named = [f"{TIER}{name}" for name, _days in automatic_tiers(provider, storage_class, on)]
    return (*(name for name in PRICE_COLUMNS if name in rows[-1].needed), *named)


def priced_classes(
    provider: str, region: str, on: date, prices: Iterable[StoragePrice] = ()
) -> PricedClasses:
    """The table's prices, and over them the organisation's own of the same place, the newest by `on`."""
    own: dict[str, dict[str, StoragePrice]] = {}
    for row in sorted(prices, key=lambda row: row.on):
        if (row.provider, row.region) == (provider, region) and row.on <= on:
            own.setdefault(row.storage_class, {})[row.item] = row
    listed = storage_classes(provider, region, on)
    classes: dict[str, StorageClass] = {}
    found_tiers: dict[str, tuple[Tier, ...]] = {}
    missing: dict[str, tuple[str, ...]] = {}
    for name in class_names(provider, on):
        mine = own.get(name, {})
        if name not in listed and not mine:
            continue
        lacking = _lacking(provider, region, name, on, mine)
        if lacking:
            missing[name] = lacking
            continue
        base = listed.get(name) or _rule(provider, region, name, on).storage_class
        classes[name] = _priced(base, mine)
        if steps := _tiers(provider, region, name, on, mine):
            found_tiers[name] = steps
    _one_currency(classes, found_tiers, missing)
    return PricedClasses(classes, found_tiers, missing)


def _rules(provider: str, on: date) -> list[ClassRow]:
    return [row for row in class_rows() if row.provider == provider and row.storage_class.valid_from <= on]


def _rule(provider: str, region: str, name: str, on: date) -> ClassRow:
    """The newest row of this region, else of every region, else of a region that is known."""
    rows = [row for row in _rules(provider, on) if row.storage_class.name == name]
    nearness = {EVERYWHERE: 1, region: 2}
    return max(reversed(rows), key=lambda row: nearness.get(row.region, 0))


def _lacking(
    provider: str, region: str, name: str, on: date, mine: Mapping[str, StoragePrice]
) -> tuple[str, ...]:
    """Items without a price; `currency` where they are not all in one."""
    listed = storage_classes(provider, region, on).get(name)
    steps = {f"{TIER}{tier.name}" for tier in tiers(provider, region, name, on)}
    lacking = [
        item
        for item in items_of(provider, name, on)
        if item not in mine and not (item in steps if item.startswith(TIER) else listed is not None)
    ]
    currencies = {row.currency for row in mine.values()}
    if listed is not None and len(mine) < len(items_of(provider, name, on)):
        currencies.add(listed.currency)
    return (*lacking, *(("currency",) if len(currencies) > 1 else ()))


def _priced(base: StorageClass, mine: Mapping[str, StoragePrice]) -> StorageClass:
    if not mine:
        return base
    given: dict[str, Any] = {item: row.price for item, row in mine.items() if item in PRICE_COLUMNS}
    newest = max(mine.values(), key=lambda row: row.on)
    return replace(base, **given, currency=newest.currency, valid_from=newest.on, source=newest.source)


def _tiers(
    provider: str, region: str, name: str, on: date, mine: Mapping[str, StoragePrice]
) -> tuple[Tier, ...]:
    listed = {tier.name: tier for tier in tiers(provider, region, name, on)}
    return tuple(
        Tier(
            tier, days, mine[f"{TIER}{tier}"].price if f"{TIER}{tier}" in mine else listed[tier].per_gib_month
        )
        for tier, days in automatic_tiers(provider, name, on)
    )


def _one_currency(
    classes: dict[str, StorageClass],
    found_tiers: dict[str, tuple[Tier, ...]],
    missing: dict[str, tuple[str, ...]],
) -> None:
    """Classes in another currency than the standard one's are not compared with it."""
    standard = next((one for name, one in classes.items() if name.upper() == "STANDARD"), None)
    for name, one in list(classes.items()):
        if standard is not None and one.currency != standard.currency:
            missing[name] = ("currency",)
            del classes[name]
            found_tiers.pop(name, None)
