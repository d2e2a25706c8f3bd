"""Writing exchange rates; each change leaves a row in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.billing.models import ExchangeRate
from apps.billing.services.cells import currency_cell, day_cell, decimal_cell, word_cell, yes_cell
from apps.billing.services.keyed_rows import (
    CHANGED,
    STORED,
    KeyedTable,
    row_remove,
    row_set,
    rows_clean,
)
from finops.text.small_tables import read_table

REQUIRED = ("date", "base", "quote", "rate", "source")
OPTIONAL = ("both_ways",)


@dataclass(frozen=True)
class ExchangeImported:
    """Rows of a file: read = stored + changed + duplicates."""

    read: int
    stored: int
    changed: int
    duplicates: int


def exchange_rate_set(*, organisation: Organisation, actor: Actor, **given: Any) -> ExchangeRate:
    """Enter the rate of a pair and day (date, base, quote, rate, source, both_ways); another one of that day
    is corrected. Raises ValidationError by field.
    """
    row: ExchangeRate = row_set(_TABLE, organisation, actor, exchange_clean(given))[0]
    return row


def exchange_rate_remove(*, row: ExchangeRate, actor: Actor) -> bool:
    """Take out a rate; False when somebody else has done it already."""
    return row_remove(_TABLE.name, _facts, row, actor)


def exchange_rates_import(
    *, organisation: Organisation, actor: Actor, content: bytes, file: str
) -> ExchangeImported:
    """Enter the rates of a CSV, all or none. Raises TableError: also for two rates of one pair and day."""
    rows = read_table(content, file=file, required=REQUIRED, optional=OPTIONAL)
    cleaned = rows_clean(
        rows, file=file, clean=lambda row: exchange_clean(row.cells), key=_TABLE.key,
        clash=("rate", _("Another row has this pair and day.")),
    )  # fmt: skip
    with transaction.atomic():
        states = [row_set(_TABLE, organisation, actor, fields)[1] for fields in cleaned]
    stored, changed = states.count(STORED), states.count(CHANGED)
    return ExchangeImported(len(rows), stored, changed, len(rows) - stored - changed)


def exchange_clean(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row from texts or values. Raises ValidationError by field."""
    errors: dict[str, str] = {}
    fields: dict[str, Any] = {}

    def take(name: str, read: Any, **options: Any) -> None:
        try:
            fields["on" if name == "date" else name] = read(given.get(name), **options)
        except ValueError as error:
            errors[name] = str(error)

    take("date", day_cell, needed=True)
    take("base", currency_cell)
    take("quote", currency_cell)
    take("rate", decimal_cell, needed=True)
    take("source", word_cell, most=300, needed=True)
    take("both_ways", yes_cell)
    if fields.get("rate") is not None and fields["rate"] <= 0:
        errors["rate"] = _("A rate is above zero.")
    if "base" in fields and fields["base"] == fields.get("quote"):
        errors["quote"] = _("A rate is of two currencies.")
    if errors:
        raise ValidationError(errors)
    return fields


def _facts(row: ExchangeRate) -> dict[str, Any]:
    return {
        "pair": f"{row.base}/{row.quote}",
        "on": row.on.isoformat(),
        "rate": format(row.rate.normalize(), "f"),
        "both_ways": row.both_ways,
        "source": row.source,
    }


_TABLE = KeyedTable(
    "exchange_rate", ExchangeRate, ("base", "quote", "on"), ("rate", "source", "both_ways"), _facts, {}
)
