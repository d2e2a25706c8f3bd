"""On-demand prices from any CSV, its columns found by name.

Quirks of the tables met so far: karpenter's export (committed, region, instance_type, usd_per_hour) mixes
in regions of China, whose figures are CNY under a header that says USD; LeanerCloud's export
(instance_type, region, os, term, effective_usd_per_hour) holds Reserved terms beside on-demand and has its
date in the file's name only. A column is taken for what its header says. What no header says is not
guessed: without a currency, a price or a date the file is refused; without an operating system it is read
as Linux and the reading says so.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import NamedTuple

from finops.frames.list_prices import SHARED, ListPrice, ListPriceKey
from finops.frames.products import licence, operating_system, usual_licence
from finops.providers.aws.locations import currency_problem, region_code
from finops.providers.aws.offers import PROVIDER, decimal_price
from finops.providers.aws.reading import Reading, date_in_name, instant

_NAMES: dict[str, tuple[str, ...]] = {
    "instance_type": ("instance_type", "instancetype", "api_name", "apiname"),
    "region": ("region", "region_code", "regioncode", "location"),
    "system": (
        "os",
        "operating_system",
        "operatingsystem",
        "product",
        "product_description",
        "productdescription",
    ),
    "term": ("term", "term_type", "termtype"),
    "tenancy": ("tenancy",),
    "licence": ("licence", "license", "license_model", "licence_model"),
    "currency": ("currency", "currency_code"),
    "date": (
        "effective_from",
        "effective_date",
        "effectivedate",
        "list_date",
        "committed",
        "publication_date",
        "date",
    ),
}
_PRICE_NAMES = (
    "price",
    "price_per_hour",
    "per_hour",
    "on_demand",
    "ondemand",
    "on_demand_price",
    "hourly_price",
    "effective_per_hour",
)
_CURRENCIES = ("usd", "cny", "eur", "gbp", "jpy")
_ON_DEMAND = frozenset({"ondemand", "on_demand", "on-demand", "on demand", ""})


class _Columns(NamedTuple):
    """The header behind each meaning ("" = the table has no such column) and the currency that the price's
    header names.
    """

    by_meaning: Mapping[str, str]
    price: str
    price_currency: str


def _plain(header: str) -> str:
    return header.strip().casefold().replace(" ", "_").replace("-", "_").lstrip("\ufeff")


def _price_column(headers: Mapping[str, str]) -> tuple[str, str]:
    """(plain header, currency in it) of the price, or two empty texts."""
    for name in _PRICE_NAMES:
        if name in headers:
            return name, ""
    for plain in headers:
        parts = plain.split("_")
        for currency in _CURRENCIES:
            rest = "_".join(part for part in parts if part != currency)
            if currency in parts and rest in _PRICE_NAMES:
                return plain, currency.upper()
    return "", ""


def find_columns(header: list[str]) -> _Columns | str:
    """What each column means, or the reason why this is no table of on-demand prices."""
    headers = {_plain(name): name for name in header}
    by_meaning = {
        meaning: next((headers[name] for name in names if name in headers), "")
        for meaning, names in _NAMES.items()
    }
    price, currency = _price_column(headers)
    missing = [name for name in ("instance_type", "region") if not by_meaning[name]]
    if not price:
        missing.append("a price per hour")
    if missing:
        return f"no price table: no column for {' and '.join(missing).replace('_', ' ')}"
    if not currency and not by_meaning["currency"]:
        return "no column and no price header names the currency"
    return _Columns(by_meaning, headers[price], currency)


def read_price_csv(lines: Iterable[str], *, name: str, listed_on: date | None = None) -> Reading[ListPrice]:
    """Prices of a CSV; `listed_on` dates a table that has no date column, else the date in the file's name
    does.
    """
    table = csv.reader(iter(lines))
    header = next(table, None)
    if header is None:
        return Reading.unreadable("empty file")
    columns = find_columns(header)
    if isinstance(columns, str):
        return Reading.unreadable(columns)
    fallback = listed_on or date_in_name(name)
    if not columns.by_meaning["date"] and fallback is None:
        return Reading.unreadable(
            "no date: neither a column nor the file's name has one; name it with --date"
        )
    dated = datetime(fallback.year, fallback.month, fallback.day, tzinfo=UTC) if fallback else None
    reading: Reading[ListPrice] = Reading()
    if not columns.by_meaning["system"]:
        reading.assumed["operating_system"] = "linux"
    for row, cells in enumerate((cells for cells in table if cells), start=1):
        record = dict(zip(header, cells, strict=False))
        if other := _about_something_else(record, columns):
            reading.ignored[other] += 1
            continue
        found = _list_price(record, columns, dated)
        if isinstance(found, ListPrice):
            reading.rows.append((row, found))
        else:
            reading.refuse(row, *found)
    return reading


def _cell(record: Mapping[str, str], columns: _Columns, meaning: str) -> str:
    return record.get(columns.by_meaning[meaning], "").strip()


def _about_something_else(record: Mapping[str, str], columns: _Columns) -> str:
    if _cell(record, columns, "term").casefold() not in _ON_DEMAND:
        return "term other than on-demand"
    if (tenancy := _cell(record, columns, "tenancy").casefold()) not in {"", SHARED, "default"}:
        return f"tenancy {tenancy}"
    return ""


def _list_price(
    record: Mapping[str, str], columns: _Columns, dated: datetime | None
) -> ListPrice | tuple[str, str]:
    """The price, or (field, reason) why there is none."""
    header = columns.by_meaning
    instance_type = _cell(record, columns, "instance_type")
    if not instance_type:
        return header["instance_type"], "empty"
    region = region_code(_cell(record, columns, "region"))
    if not region:
        return header["region"], f"no known region: {_cell(record, columns, 'region')!r}"
    system = operating_system(_cell(record, columns, "system")) if header["system"] else "linux"
    if not system:
        return header["system"], f"not known: {_cell(record, columns, 'system')!r}"
    model = licence(_cell(record, columns, "licence"), system) if header["licence"] else usual_licence(system)
    if not model:
        return header["licence"], f"not known: {_cell(record, columns, 'licence')!r}"
    currency = _cell(record, columns, "currency").upper() or columns.price_currency
    if not currency:
        return header["currency"], "empty"
    price = decimal_price(record.get(columns.price, ""))
    if isinstance(price, str):
        return columns.price, price
    if problem := currency_problem(region, currency):
        return columns.price, problem
    effective = instant(_cell(record, columns, "date")) if header["date"] else dated
    if effective is None:
        return header["date"], f"no date: {_cell(record, columns, 'date')!r}"
    return ListPrice(
        ListPriceKey(PROVIDER, region, instance_type, system, model, SHARED, currency, effective), price
    )
