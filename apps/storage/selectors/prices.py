"""What storage costs an organisation: the shipped table, and over it what it knows itself."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.storage.models import StoragePriceRow
from finops.frames.storage_classes import class_rows
from finops.frames.storage_prices import (
    TIER,
    PricedClasses,
    StoragePrice,
    class_names,
    items_of,
    priced_classes,
)
from finops.frames.storage_terms import StorageTerms, storage_terms
from finops.text.csv_cells import Column

STORAGE_PRICE_COLUMNS = tuple(
    Column(name, name, "number" if name == "price" else "text")
    for name in ("provider", "region", "class", "item", "price", "currency", "valid_from", "source")
)


def storage_prices_of(organisation: Organisation | None) -> QuerySet[StoragePriceRow]:
    """The organisation's own prices, newest first within an item; None is the default organisation."""
    return StoragePriceRow.objects.filter(organisation=organisation or Organisation.default())


def own_prices(organisation: Organisation | None, provider: str, region: str) -> list[StoragePrice]:
    """The own prices of a place as the tables take them."""
    rows = storage_prices_of(organisation).filter(provider=provider, region=region)
    return [
        StoragePrice(
            row.provider, row.region, row.storage_class, row.item, row.on, row.price, row.currency, row.source
        )
        for row in rows
    ]


def terms_of(
    provider: str, region: str, on: date, *, organisation: Organisation | None
) -> StorageTerms | None:
    """`storage_terms` with the organisation's own prices."""
    return storage_terms(provider, region, on, own_prices(organisation, provider, region))


def providers_of() -> list[str]:
    """Providers whose storage classes are known."""
    return list(dict.fromkeys(sorted(row.provider for row in class_rows())))


def places_of(organisation: Organisation | None) -> list[tuple[str, str]]:
    """(provider, region) pairs with prices, shipped or own."""
    own = storage_prices_of(organisation).order_by().values_list("provider", "region").distinct()
    return sorted({(row.provider, row.region) for row in class_rows() if row.known} | set(own))


def prices_document(
    provider: str, region: str, on: date, *, organisation: Organisation | None
) -> dict[str, Any]:
    """Every item that the provider's classes ask a price for in a region, in the columns of the import: an
    empty price is not known. `classes`: those whose prices are whole, which advice can choose; `missing`: the
    others that have a price, with what they lack.
    """
    own = [row for row in own_prices(organisation, provider, region) if row.on <= on]
    found = priced_classes(provider, region, on, own)
    newest = {(row.storage_class, row.item): row for row in sorted(own, key=lambda row: row.on)}
    return {
        "provider": provider,
        "region": region,
        "on": on.isoformat(),
        "prices": [
            {"provider": provider, "region": region, "class": name, "item": item}
            | _line(newest.get((name, item)), found, name, item)
            for name in class_names(provider, on)
            for item in items_of(provider, name, on)
        ],
        "classes": list(found.classes),
        "missing": {name: list(items) for name, items in found.missing.items()},
    }


def _line(mine: StoragePrice | None, found: PricedClasses, name: str, item: str) -> dict[str, Any]:
    """`own`: the organisation's, not the shipped table's."""
    if mine is not None:
        return {
            "price": format(mine.price.normalize(), "f"),
            "currency": mine.currency,
            "valid_from": mine.on.isoformat(),
            "source": mine.source,
            "own": True,
        }
    listed = found.classes.get(name)
    if listed is None:
        return {"price": None, "currency": None, "valid_from": None, "source": None, "own": False}
    by_tier = {f"{TIER}{tier.name}": tier.per_gib_month for tier in found.tiers.get(name, ())}
    price = by_tier[item] if item in by_tier else getattr(listed, item)
    return {
        "price": format(price.normalize(), "f"),
        "currency": listed.currency,
        "valid_from": listed.valid_from.isoformat(),
        "source": listed.source,
        "own": False,
    }
