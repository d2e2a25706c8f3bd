"""Writing negotiated rates; each change leaves a row in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.billing.models import NegotiatedRateRow
from apps.billing.selectors.rates import rate_of
from apps.billing.services.cells import currency_cell, day_cell, decimal_cell, word_cell
from apps.billing.services.keyed_rows import mistakes_of, row_remove
from finops.engine.rates import NegotiatedRate, conflicts
from finops.text.small_tables import TableError, read_table

REQUIRED = ("provider", "valid_from", "source")
OPTIONAL = ("service", "sku", "product", "region", "percent", "price", "currency", "valid_until")
PROVIDERS = ("aws", "azure", "gcp", "alibaba", "tencent", "oci")
_MATCH = ("provider", "service", "sku", "product", "region", "percent", "price", "currency", "valid_from",
          "valid_until")  # fmt: skip


@dataclass(frozen=True)
class RatesImported:
    """Rows of a file: read = stored + duplicates."""

    read: int
    stored: int
    duplicates: int


def rate_add(*, organisation: Organisation, actor: Actor, **fields: Any) -> NegotiatedRateRow:
    """Add a row. Raises ValidationError by field: also where it would tie with a row that is there."""
    with transaction.atomic():
        _lock(organisation)
        return _add(organisation, actor, rate_clean(fields))


def rate_end(*, row: NegotiatedRateRow, actor: Actor, until: date) -> NegotiatedRateRow:
    """Let a row hold until a day (excluded). Raises ValidationError for a day not after its first."""
    with transaction.atomic():
        found = NegotiatedRateRow.objects.select_for_update().get(pk=row.pk)
        if until <= found.valid_from:
            raise ValidationError({"valid_until": _("The end must lie after the first day.")})
        if found.valid_until is not None and until > found.valid_until:
            raise ValidationError({"valid_until": _("It ends before that day already. Add a new row.")})
        before = rate_facts(found)
        found.valid_until = until
        found.save(update_fields=["valid_until"])
        audit_record(
            organisation=found.organisation,
            actor=actor,
            action="negotiated_rate.end",
            target=found,
            before=before,
            after=rate_facts(found),
        )
    return found


def rate_remove(*, row: NegotiatedRateRow, actor: Actor) -> bool:
    """Take out a row that was entered by mistake; False when somebody else has done it already."""
    return row_remove("negotiated_rate", rate_facts, row, actor)


def rates_import(*, organisation: Organisation, actor: Actor, content: bytes, file: str) -> RatesImported:
    """Add the rows of a CSV, all or none; a row that is there already is a duplicate. Raises TableError."""
    rows = read_table(content, file=file, required=REQUIRED, optional=OPTIONAL)
    cleaned, mistakes = [], []
    for row in rows:
        try:
            cleaned.append((row, rate_clean(row.cells)))
        except ValidationError as error:
            mistakes += mistakes_of(file, row, error)
    if mistakes:
        raise TableError(mistakes)
    stored = 0
    with transaction.atomic():
        _lock(organisation)
        for row, fields in cleaned:
            there = NegotiatedRateRow.objects.filter(
                organisation=organisation, **{name: fields[name] for name in _MATCH}
            )
            if there.exists():
                continue
            try:
                _add(organisation, actor, fields)
            except ValidationError as error:
                mistakes += mistakes_of(file, row, error)
            stored += 1
        if mistakes:
            raise TableError(mistakes)
    return RatesImported(len(rows), stored, len(rows) - stored)


def rate_clean(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row from texts or values. Raises ValidationError by field."""
    errors: dict[str, str] = {}
    fields: dict[str, Any] = {}

    def take(name: str, read: Any, **options: Any) -> None:
        try:
            fields[name] = read(given.get(name), **options)
        except ValueError as error:
            errors[name] = str(error)
            fields[name] = None

    take("provider", word_cell, most=20, needed=True)
    take("source", word_cell, most=300, needed=True)
    for name, most in (("service", 100), ("sku", 100), ("product", 100), ("region", 40)):
        take(name, word_cell, most=most)
    for name in ("percent", "price"):
        take(name, decimal_cell)
    take("valid_from", day_cell, needed=True)
    take("valid_until", day_cell)
    fields["currency"] = _currency(given.get("currency"), fields["price"], errors)
    fields["provider"] = (fields["provider"] or "").lower()
    _check(fields, errors)
    if errors:
        raise ValidationError(errors)
    return fields


def _currency(given: Any, price: Decimal | None, errors: dict[str, str]) -> str:
    text = str(given or "").strip()
    if not text:
        if price is not None:
            errors["currency"] = _("Name the currency of the price.")
        return ""
    if price is None:
        errors["currency"] = _("A percentage has no currency. Leave it empty.")
        return ""
    try:
        return currency_cell(text)
    except ValueError as error:
        errors["currency"] = str(error)
        return ""


def _check(fields: dict[str, Any], errors: dict[str, str]) -> None:
    percent, price = fields["percent"], fields["price"]
    if fields["provider"] not in PROVIDERS and "provider" not in errors:
        errors["provider"] = _("Known providers: %(known)s.") % {"known": ", ".join(PROVIDERS)}
    if not {"percent", "price"} & errors.keys():
        if (percent is None) == (price is None):
            errors["percent"] = _("Give a percentage or a price, one of both.")
        elif percent is not None and not 0 <= percent <= 100:
            errors["percent"] = _("Write a number from 0 to 100.")
        elif percent is not None and percent != round(percent, 6):
            errors["percent"] = _("At most six decimals.")
        elif price is not None and price < 0:
            errors["price"] = _("A price is not negative.")
        elif price is not None and (not fields["sku"] or not fields["product"]):
            missing = "sku" if not fields["sku"] else "product"
            errors[missing] = _(
                "A price belongs to one SKU and product: name both. A percentage may be wider."
            )
    start, end = fields["valid_from"], fields["valid_until"]
    if start and end and end <= start:
        errors["valid_until"] = _("The end must lie after the first day.")


def _add(organisation: Organisation, actor: Actor, fields: dict[str, Any]) -> NegotiatedRateRow:
    new = NegotiatedRate(id=0, **fields)
    others = [rate_of(row) for row in NegotiatedRateRow.objects.filter(organisation=organisation)]
    if tied := conflicts(new, others):
        raise ValidationError(
            {
                "sku": _(
                    "Equally specific as row %(id)s (%(source)s) on some of the same days. End that row or "
                    "make one of them more specific."
                )
                % {"id": tied[0].id, "source": tied[0].source}
            }
        )
    row = NegotiatedRateRow.objects.create(organisation=organisation, **fields)
    audit_record(
        organisation=organisation,
        actor=actor,
        action="negotiated_rate.add",
        target=row,
        after=rate_facts(row),
    )
    return row


def rate_facts(row: NegotiatedRateRow) -> dict[str, Any]:
    """What a row says, for the audit trail."""
    return {name: getattr(row, name) for name in (*_MATCH, "source") if getattr(row, name) not in (None, "")}


def _lock(organisation: Organisation) -> None:
    """Two writers at once must not add two rows that tie."""
    Organisation.objects.select_for_update().get(pk=organisation.pk)


__all__ = ["RatesImported", "rate_add", "rate_clean", "rate_end", "rate_remove", "rates_import"]
