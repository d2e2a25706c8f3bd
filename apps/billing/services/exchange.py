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
from apps.accounts.services import audit_record
from apps.billing.models import ExchangeRate
from apps.billing.services.cells import day_cell, decimal_cell, word_cell, yes_cell
from finops.frames.money import CurrencyError, currency_code
from finops.text.small_tables import Mistake, TableError, read_table

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
    row, _state = _set(organisation, actor, exchange_clean(given))
    return row


def exchange_rate_remove(*, row: ExchangeRate, actor: Actor) -> bool:
    """Take out a rate; False when somebody else has done it already."""
    with transaction.atomic():
        found = ExchangeRate.objects.select_for_update().filter(pk=row.pk).first()
        if found is None:
            return False
        audit_record(
            organisation=found.organisation,
            actor=actor,
            action="exchange_rate.remove",
            target=found,
            before=_facts(found),
        )
        found.delete()
    return True


def exchange_rates_import(
    *, organisation: Organisation, actor: Actor, content: bytes, file: str
) -> ExchangeImported:
    """Enter the rates of a CSV, all or none. Raises TableError: also for two rates of one pair and day."""
    rows = read_table(content, file=file, required=REQUIRED, optional=OPTIONAL)
    cleaned: dict[tuple[Any, ...], dict[str, Any]] = {}
    mistakes: list[Mistake] = []
    for row in rows:
        try:
            fields = exchange_clean(row.cells)
        except ValidationError as error:
            mistakes += [
                Mistake(file, row.number, name, " ".join(texts)) for name, texts in error.message_dict.items()
            ]
            continue
        key = (fields["base"], fields["quote"], fields["on"])
        if cleaned.setdefault(key, fields) != fields:
            mistakes.append(Mistake(file, row.number, "rate", _("Another row has this pair and day.")))
    if mistakes:
        raise TableError(mistakes)
    counts = {"stored": 0, "changed": 0, "same": 0}
    with transaction.atomic():
        for fields in cleaned.values():
            counts[_set(organisation, actor, fields)[1]] += 1
    duplicates = len(rows) - counts["stored"] - counts["changed"]
    return ExchangeImported(len(rows), counts["stored"], counts["changed"], duplicates)


def exchange_clean(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row from texts or values. Raises ValidationError by field."""
    errors: dict[str, str] = {}
    fields: dict[str, Any] = {}

    def take(name: str, read: Any, **options: Any) -> None:
        try:
            fields["on" if name == "date" else name] = read(given.get(name), **options)
        except (ValueError, CurrencyError) as error:
            errors[name] = str(error)

    take("date", day_cell, needed=True)
    take("base", _currency)
    take("quote", _currency)
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


def _currency(value: Any) -> str:
    try:
        return currency_code(str(value or ""))
    except CurrencyError:
        raise ValueError(_("Not a currency: write three letters, for example USD.")) from None


def _set(organisation: Organisation, actor: Actor, fields: dict[str, Any]) -> tuple[ExchangeRate, str]:
    """(the row, "stored" | "changed" | "same")."""
    key = {name: fields[name] for name in ("base", "quote", "on")}
    rest = {name: fields[name] for name in ("rate", "source", "both_ways")}
    with transaction.atomic():
        row, made = ExchangeRate.objects.select_for_update().get_or_create(
            organisation=organisation, **key, defaults=rest
        )
        before = None if made else _facts(row)
        if before is not None:
            for name, value in rest.items():
                setattr(row, name, value)
            if _facts(row) == before:
                return row, "same"
            row.save(update_fields=list(rest))
        audit_record(
            organisation=organisation,
            actor=actor,
            action="exchange_rate.set",
            target=row,
            before=before,
            after=_facts(row),
        )
    return row, "stored" if made else "changed"


def _facts(row: ExchangeRate) -> dict[str, Any]:
    return {
        "pair": f"{row.base}/{row.quote}",
        "on": row.on.isoformat(),
        "rate": format(row.rate.normalize(), "f"),
        "both_ways": row.both_ways,
        "source": row.source,
    }
