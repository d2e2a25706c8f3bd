"""Negotiated rates on on-demand prices; Spot is not negotiable and never looked at here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from apps.accounts.models import Organisation
from apps.billing.selectors.rates import plain, rate_of, rates_of
from apps.catalog.selectors import texts_of_same_meaning
from finops.engine.plans import ListedPrice
from finops.engine.rates import (
    CurrencyMismatchError,
    NegotiatedRate,
    Priced,
    TieError,
    price_after,
    rate_for,
)
from finops.engine.workload import Workload, WorkloadError

# What instance hours are called on bills of each provider.
SERVICES = {"aws": "AmazonEC2"}
Listed = dict[tuple[str, str], ListedPrice]


def rates_on(organisation: Organisation | None, workload: Workload) -> list[NegotiatedRate]:
    """The organisation's rows of the workload's provider that hold at its decision time."""
    rows = rates_of(organisation).filter(provider=workload.provider).order_by("pk")
    return [rate for rate in map(rate_of, rows) if rate.holds_on(workload.at.date())]


def with_negotiated(
    listed: Listed, workload: Workload, rates: Sequence[NegotiatedRate]
) -> tuple[Listed, list[dict[str, object]]]:
    """(prices with what the contract makes of them, the rows that were used, for the evidence).

    A row in another currency than the list price is told and not used. Raises WorkloadError for a tie.
    """
    if not rates:
        return listed, []
    prices: Listed = {}
    used: dict[int, dict[str, object]] = {}
    for key, price in listed.items():
        prices[key] = price
        rate = _rate(key, workload, rates)
        if rate is None:
            continue
        told = used.setdefault(rate.id, _told(rate))
        try:
            negotiated = price_after(rate, Decimal(repr(price.per_hour)), price.currency)
        except CurrencyMismatchError as error:
            told["not_used"] = str(error)
            continue
        prices[key] = replace(price, negotiated=float(negotiated))
    return prices, [used[number] for number in sorted(used)]


def _rate(key: tuple[str, str], workload: Workload, rates: Sequence[NegotiatedRate]) -> NegotiatedRate | None:
    region, kind = key
    thing = Priced(
        provider=workload.provider,
        service=SERVICES.get(workload.provider, ""),
        region=region,
        on=workload.at.date(),
        skus=(kind, f"BoxUsage:{kind}"),
        products=tuple(dict.fromkeys((workload.product, *texts_of_same_meaning(workload.product)))),
    )
    try:
        return rate_for(rates, thing)
    except TieError as error:
        raise WorkloadError("discount_pct", str(error)) from error


def _told(rate: NegotiatedRate) -> dict[str, object]:
    row: Mapping[str, object] = {
        "service": rate.service,
        "sku": rate.sku,
        "product": rate.product,
        "region": rate.region,
        "percent": plain(rate.percent),
        "price": plain(rate.price),
        "currency": rate.currency,
        "valid_from": rate.valid_from.isoformat(),
        "valid_until": rate.valid_until.isoformat() if rate.valid_until else None,
    }
    return {"id": rate.id, **{k: v for k, v in row.items() if v not in ("", None)}, "source": rate.source}
