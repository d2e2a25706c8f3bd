"""Writing an organisation's storage prices; each change leaves a row in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.billing.services.cells import currency_cell, day_cell, decimal_cell, word_cell
from apps.billing.services.keyed_rows import CHANGED, STORED, KeyedTable, row_remove, row_set, rows_clean
from apps.storage.models import StoragePriceRow
from finops.frames.storage_prices import class_names, items_of
from finops.text.small_tables import read_table

REQUIRED = ("provider", "region", "class", "item", "price", "currency", "valid_from", "source")
_FIELDS = {"class": "storage_class", "valid_from": "on"}
# Rules of a class may begin after its prices are entered: what is asked is that it is known at all.
_EVER = date.max


@dataclass(frozen=True)
class StoragePricesImported:
    """Rows of a file: read = stored + changed + duplicates + empty (no price: a line of the template)."""

    read: int
    stored: int
    changed: int
    duplicates: int
    empty: int


def storage_price_set(*, organisation: Organisation, actor: Actor, **given: Any) -> StoragePriceRow:
    """Enter the price of an item from a day on (the columns of the import); another one of that day is
    corrected. Raises ValidationError by field.
    """
    row: StoragePriceRow = row_set(_TABLE, organisation, actor, storage_price_clean(given))[0]
    return row


def storage_price_remove(*, row: StoragePriceRow, actor: Actor) -> bool:
    """Take out a price; False when somebody else has done it already."""
    return row_remove(_TABLE.name, _facts, row, actor)


def storage_prices_import(
    *, organisation: Organisation, actor: Actor, content: bytes, file: str
) -> StoragePricesImported:
    """Enter the prices of a CSV, all or none; lines without a price are passed over. Raises TableError: also
    for two prices of one item and day.
    """
    rows = read_table(content, file=file, required=REQUIRED, optional=())
    priced = [row for row in rows if str(row.cells.get("price") or "").strip()]
    cleaned = rows_clean(
        priced, file=file, clean=lambda row: storage_price_clean(row.cells), key=_TABLE.key,
        clash=("price", _("Another row has this item and day.")),
    )  # fmt: skip
    with transaction.atomic():
        states = [row_set(_TABLE, organisation, actor, fields)[1] for fields in cleaned]
    stored, changed = states.count(STORED), states.count(CHANGED)
    return StoragePricesImported(
        len(rows), stored, changed, len(priced) - stored - changed, len(rows) - len(priced)
    )


def storage_price_clean(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row from texts or values. Raises ValidationError by field."""
    errors: dict[str, str] = {}
    fields: dict[str, Any] = {}

    def take(name: str, read: Any, **options: Any) -> None:
        try:
            fields[_FIELDS.get(name, name)] = read(given.get(name), **options)
        except ValueError as error:
            errors[name] = str(error)

    take("provider", word_cell, most=20, needed=True)
    take("region", word_cell, most=40, needed=True)
    take("class", word_cell, most=40, needed=True)
    take("item", word_cell, most=60, needed=True)
    take("price", decimal_cell, needed=True)
    take("currency", currency_cell)
    take("valid_from", day_cell, needed=True)
    take("source", word_cell, most=300, needed=True)
    if fields.get("price") is not None and fields["price"] < 0:
        errors["price"] = _("A price is not below zero.")
    errors = _unknown(fields) | errors
    if errors:
        raise ValidationError(errors)
    return fields


def _unknown(fields: Mapping[str, Any]) -> dict[str, str]:
    """What names nothing that the rules know; the nearest field only."""
    if "provider" not in fields:
        return {}
    names = class_names(fields["provider"], _EVER)
    if not names:
        return {"provider": _("No storage classes are known of it: write aws, alibaba or tencent.")}
    if "storage_class" not in fields:
        return {}
    items = items_of(fields["provider"], fields["storage_class"], _EVER)
    if not items:
        return {"class": _("Not one of %(names)s.") % {"names": ", ".join(names)}}
    if "item" in fields and fields["item"] not in items:
        return {"item": _("This class asks for %(names)s.") % {"names": ", ".join(items)}}
    return {}


def _facts(row: StoragePriceRow) -> dict[str, Any]:
    return {
        "place": f"{row.provider} {row.region}",
        "class": row.storage_class,
        "item": row.item,
        "on": row.on.isoformat(),
        "price": row.price_text,
        "currency": row.currency,
        "source": row.source,
    }


_TABLE = KeyedTable(
    "storage_price",
    StoragePriceRow,
    ("provider", "region", "storage_class", "item", "on"),
    ("price", "currency", "source"),
    _facts,
    {},
)
