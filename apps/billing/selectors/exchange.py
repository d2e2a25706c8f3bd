"""Exchange rates: what was entered, and amounts in another currency."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from django.db.models import Q, QuerySet

from apps.accounts.models import Organisation
from apps.billing.models import ExchangeRate
from finops.engine import exchange
from finops.engine.exchange import MAX_AGE_DAYS, Converted, NoRateError, Rate
from finops.text.csv_cells import Column

__all__ = ["Converted", "NoRateError", "Rate", "convert", "exchange_rates_of", "rates_between"]

EXCHANGE_COLUMNS = (
    Column("date", "date"),
    Column("base", "base"),
    Column("quote", "quote"),
    Column("rate", "rate", "number"),
    Column("both_ways", "both_ways"),
    Column("source", "source"),
)


def exchange_rates_of(organisation: Organisation | None) -> QuerySet[ExchangeRate]:
    """The organisation's rates, newest first within a pair; None is the default organisation."""
    return ExchangeRate.objects.filter(organisation=organisation or Organisation.default())


def rates_between(*, organisation: Organisation | None, currencies: Iterable[str], to: str) -> list[Rate]:
    """Every rate, in either direction, that can turn one of `currencies` into `to`: read once, used often."""
    others = sorted(set(currencies) - {to})
    rows = exchange_rates_of(organisation).filter(
        Q(base__in=others, quote=to) | Q(base=to, quote__in=others, both_ways=True)
    )
    return [Rate(row.base, row.quote, row.on, row.rate, row.source, row.both_ways, row.pk) for row in rows]


def convert(
    amount: Decimal,
    currency: str,
    to: str,
    *,
    on: date,
    organisation: Organisation | None,
    max_age_days: int = MAX_AGE_DAYS,
    rates: Iterable[Rate] | None = None,
) -> Converted:
    """The amount in `to` at the rate in force on the day, with that rate. Raises NoRateError.

    `rates`: those of `rates_between`, so that a page of amounts asks the database once.
    """
    if rates is None:
        rates = rates_between(organisation=organisation, currencies=[currency], to=to)
    return exchange.convert(amount, currency, to, on=on, rates=rates, max_age_days=max_age_days)


def exchange_lines(rows: Iterable[ExchangeRate]) -> Iterable[dict[str, object]]:
    """Rows for EXCHANGE_COLUMNS."""
    for row in rows:
        yield {
            "date": row.on.isoformat(),
            "base": row.base,
            "quote": row.quote,
            "rate": row.rate.normalize(),
            "both_ways": "yes" if row.both_ways else "no",
            "source": row.source,
        }
