"""Reading negotiated rates."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.billing.models import NegotiatedRateRow
from finops.engine.rates import NegotiatedRate
from finops.text.csv_cells import Column

RATE_COLUMNS = (
    Column("provider", "provider"),
    Column("service", "service"),
    Column("sku", "sku"),
    Column("product", "product"),
    Column("region", "region"),
    Column("percent", "percent", "number"),
    Column("price", "price", "number"),
    Column("currency", "currency"),
    Column("valid_from", "valid_from"),
    Column("valid_until", "valid_until"),
    Column("source", "source"),
)


def rates_of(organisation: Organisation | None) -> QuerySet[NegotiatedRateRow]:
    """The organisation's rows in the order of what they are for; None is the default organisation."""
    return NegotiatedRateRow.objects.filter(organisation=organisation or Organisation.default())


def rate_of(row: NegotiatedRateRow) -> NegotiatedRate:
    """The row as the engine reads it."""
    return NegotiatedRate(
        id=row.pk,
        provider=row.provider,
        service=row.service,
        sku=row.sku,
        product=row.product,
        region=row.region,
        percent=row.percent,
        price=row.price,
        currency=row.currency,
        valid_from=row.valid_from,
        valid_until=row.valid_until,
        source=row.source,
    )


def rate_lines(rows: Iterable[NegotiatedRateRow]) -> Iterable[dict[str, object]]:
    """Rows for RATE_COLUMNS; decimals without trailing zeros."""
    for row in rows:
        yield {
            column.key: plain(value) if column.kind == "number" else value
            for column in RATE_COLUMNS
            for value in (getattr(row, column.key),)
        }


def plain(value: object) -> str | None:
    """`12.500000` as `12.5`; None stays None."""
    if value is None:
        return None
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
