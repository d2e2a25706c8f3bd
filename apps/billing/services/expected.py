"""Entering totals of invoices; the current deliveries that they speak of are compared at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.billing.models import Delivery, ExpectedTotal
from apps.billing.selectors.expected import deliveries_expected, expected_of
from apps.billing.services.cells import currency_cell, decimal_cell, word_cell
from apps.billing.services.keyed_rows import (
    CHANGED,
    STORED,
    KeyedTable,
    row_remove,
    row_set,
    rows_clean,
)
from finops.engine.reconciliation import reconcile
from finops.text.numbers import decimal_text
from finops.text.small_tables import read_table

REQUIRED = ("billing_period", "payer", "currency", "total")
OPTIONAL = ("report", "source")
_MONTH = re.compile(r"([0-9]{4})-?(0[1-9]|1[0-2])(-?01(-[0-9]{8})?)?")


@dataclass(frozen=True)
class ExpectedImported:
    """Rows of a file (read = stored + changed + duplicates), and deliveries that were compared with them."""

    read: int
    stored: int
    changed: int
    duplicates: int
    compared: int
    reconciled: int


def expected_total_set(*, organisation: Organisation, actor: Actor, **given: Any) -> ExpectedTotal:
    """Enter the total of a month (billing_period, payer, report, currency, total, source), or correct it.
    Raises ValidationError by field.
    """
    row: ExpectedTotal = row_set(_TABLE, organisation, actor, expected_clean(given))[0]
    _compare([row])
    return row


def expected_total_remove(*, row: ExpectedTotal, actor: Actor) -> bool:
    """Take out a total; False when somebody else has done it already."""
    return row_remove(_TABLE.name, _facts, row, actor, also=lambda: _compare([row]))


def expected_totals_import(
    *, organisation: Organisation, actor: Actor, content: bytes, file: str
) -> ExpectedImported:
    """Enter the totals of a CSV, all or none. Raises TableError: also for two totals of one month."""
    rows = read_table(content, file=file, required=REQUIRED, optional=OPTIONAL)
    cleaned = rows_clean(
        rows, file=file, key=_TABLE.key,
        clean=lambda row: expected_clean({**row.cells, "source": row.cells["source"] or file}),
        clash=("total", _("Another row has this month and currency.")),
    )  # fmt: skip
    with transaction.atomic():
        made = [row_set(_TABLE, organisation, actor, fields) for fields in cleaned]
        compared = _compare([row for row, _state in made])
    states = [state for _row, state in made]
    stored, changed = states.count(STORED), states.count(CHANGED)
    reconciled = sum(delivery.reconciled is True for delivery in compared)
    return ExpectedImported(
        len(rows), stored, changed, len(rows) - stored - changed, len(compared), reconciled
    )


def expected_clean(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row from texts or values. Raises ValidationError by field."""
    errors: dict[str, str] = {}
    fields: dict[str, Any] = {}

    def take(name: str, read: Any, **options: Any) -> None:
        try:
            fields[name] = read(given.get(name), **options)
        except ValueError as error:
            errors[name] = str(error)

    take("billing_period", month_cell)
    take("payer", word_cell, most=200, needed=True)
    take("report", word_cell, most=300)
    take("currency", currency_cell)
    take("total", decimal_cell, needed=True)
    take("source", word_cell, most=300, needed=True)
    if errors:
        raise ValidationError(errors)
    total = fields.pop("total")
    fields["amount"], fields["places"] = total, max(0, -int(total.as_tuple().exponent))
    return fields


def month_cell(value: Any) -> date:
    """The first of a month: 2026-03, 202603, 2026-03-01 or 20260301-20260401. Raises ValueError."""
    if isinstance(value, date):
        return value.replace(day=1)
    found = _MONTH.fullmatch(str(value or "").strip())
    if found is None:
        raise ValueError(_("Not a month like 2026-05."))
    return date(int(found[1]), int(found[2]), 1)


def _facts(row: ExpectedTotal) -> dict[str, Any]:
    return {
        "billing_period": f"{row.billing_period:%Y-%m}",
        "payer": row.payer,
        "report": row.report,
        "total": f"{row.total:f}",
        "currency": row.currency,
        "source": row.source,
    }


_TABLE = KeyedTable(
    "expected_total", ExpectedTotal, ("billing_period", "payer", "report", "currency"),
    ("amount", "places", "source"), _facts, {"set_at": Now()},
)  # fmt: skip


def _compare(rows: list[ExpectedTotal]) -> list[Delivery]:
    """Compare every delivery that one of the totals speaks of, with all totals that speak of it."""
    found = {delivery.pk: delivery for row in rows for delivery in deliveries_expected(row)}
    for delivery in found.values():
        expected = expected_of(delivery.report, delivery.billing_period)
        billed = {
            c: None if s["billed"] is None else Decimal(s["billed"]) for c, s in delivery.totals.items()
        }
        delivery.reconciled, difference = reconcile(billed, expected)
        delivery.expected = {c: f"{t:f}" for c, t in expected.items()} or None
        delivery.difference = (
            None if difference is None else {c: decimal_text(t) for c, t in difference.items()}
        )
        delivery.save(update_fields=["expected", "reconciled", "difference"])
    return list(found.values())
