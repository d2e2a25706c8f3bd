"""On-demand prices from EC2 offer files (the price list's bulk files), JSON and CSV.

Quirks of the format (files of 2018-2026): - A type and region has dozens of entries: tenancies, capacity
reservations, hosts, preinstalled SQL Server, Reserved terms.
  Several cost 0.0000000000. The one meant is found by its attributes, never by its position.
- The CSV has a preamble of lines before its header; some rows are cut short; texts may carry a trailing
blank.
- Newer files name the region code, older ones only the location ("EU (Ireland)").
- `EffectiveDate` is ISO in today's files and with slashes in copies that went through a spreadsheet; day
and month
  are then told apart by the file as a whole or not at all.
Out comes one `ListPrice` per priced kind of shared-tenancy instance hour; SKUs of anything else are counted
as ignored.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any, NamedTuple

from finops.frames.list_prices import (
    PRICE_DECIMALS,
    PRICE_DIGITS,
    SHARED,
    ListPrice,
    ListPriceKey,
    price_problem,
)
from finops.frames.products import licence, operating_system
from finops.providers.aws.locations import currency_problem, region_code
from finops.providers.aws.reading import Reading, instant

PROVIDER = "aws"
_LAST_PLACE = Decimal(1).scaleb(-PRICE_DECIMALS)
PREAMBLE_LINES = 50
_BOX_USAGE = re.compile(r"^(?:[A-Z0-9]+-)?BoxUsage(?::|$)")
_SLASHED = re.compile(r"^(\d{1,2})/(\d{1,2})/(\d{4})$")
CSV_NAMES = {
    "RegionCode": "Region Code",
    "capacitystatus": "CapacityStatus",
    "instanceType": "Instance Type",
    "licenseModel": "License Model",
    "location": "Location",
    "operatingSystem": "Operating System",
    "preInstalledSw": "Pre Installed S/W",
    "tenancy": "Tenancy",
    "usagetype": "usageType",
}


class _Entry(NamedTuple):
    """One price of one SKU, in the words of the JSON offer."""

    row: int
    term: str
    family: str
    attributes: Mapping[str, str]
    unit: str
    effective: str
    currency: str
    price: str


def is_offer_json(document: Any) -> bool:
    """Whether parsed JSON looks like an offer file."""
    return isinstance(document, dict) and "products" in document and "terms" in document


def is_offer_header(line: str) -> bool:
    """Whether a line is the header of an offer CSV."""
    return line.lstrip('"').startswith("SKU") and "OfferTermCode" in line and "PricePerUnit" in line


def read_offer_json(document: Mapping[str, Any]) -> Reading[ListPrice]:
    """Prices of an offer in JSON; `row` counts the price dimensions in the order of the file."""
    if not isinstance(document.get("products"), Mapping):
        return Reading.unreadable("not an EC2 offer: products is no object", "products")
    published = instant(str(document.get("publicationDate", "")))
    return _read(_json_entries(document), published, _SlashedDates())


def read_offer_csv(lines: Iterable[str]) -> Reading[ListPrice]:
    """Prices of an offer in CSV; `row` counts the data records after the header."""
    stream = iter(lines)
    published: datetime | None = None
    header = ""
    for _ in range(PREAMBLE_LINES):
        line = next(stream, "")
        if is_offer_header(line):
            header = line
            break
        cells = next(csv.reader([line]), [])
        if len(cells) > 1 and cells[0].strip() == "Publication Date":
            published = instant(cells[1])
    if not header:
        return Reading.unreadable("no header with SKU, OfferTermCode and PricePerUnit in the first 50 lines")
    columns = [name.strip() for name in next(csv.reader([header]))]
    dates = _SlashedDates()
    return _read(_csv_entries(columns, stream, dates), published, dates)


def _json_entries(document: Mapping[str, Any]) -> Iterator[_Entry]:
    products = document["products"]
    row = 0
    for term, skus in (document.get("terms") or {}).items():
        for sku, offers in skus.items():
            product = products.get(sku) or {}
            for offer in offers.values():
                for dimension in (offer.get("priceDimensions") or {}).values():
                    for currency, price in (dimension.get("pricePerUnit") or {}).items():
                        row += 1
                        yield _Entry(
                            row=row,
                            term=term,
                            family=str(product.get("productFamily", "")),
                            attributes={
                                k.casefold(): v for k, v in (product.get("attributes") or {}).items()
                            },
                            unit=str(dimension.get("unit", "")),
                            effective=str(offer.get("effectiveDate", "")),
                            currency=currency,
                            price=str(price),
                        )


class _SlashedDates:
    """Which part of dates like 01/05/2017 is the day, judged by all of them together."""

    def __init__(self) -> None:
        self._first = 0
        self._second = 0

    def see(self, text: str) -> None:
        """Take one date into account."""
        if match := _SLASHED.match(text):
            self._first = max(self._first, int(match[1]))
            self._second = max(self._second, int(match[2]))

    @property
    def day_first(self) -> bool | None:
        """None when no date decides or two disagree."""
        return None if (self._first > 12) == (self._second > 12) else self._first > 12


def _csv_entries(columns: list[str], lines: Iterable[str], dates: _SlashedDates) -> Iterator[_Entry]:
    """Reads row by row: a region's offer has 300,000 rows of 90 columns, of which a few thousand matter."""
    places = {name: place for place, name in enumerate(columns)}

    def reader(name: str) -> Callable[[list[str]], str]:
        place = places.get(name, -1)
        return lambda cells: cells[place] if 0 <= place < len(cells) else ""

    term, family, unit, effective, currency, price = (
        reader(name)
        for name in ("TermType", "Product Family", "Unit", "EffectiveDate", "Currency", "PricePerUnit")
    )
    attributes = {key.casefold(): reader(name) for key, name in CSV_NAMES.items()}
    for row, cells in enumerate((cells for cells in csv.reader(lines) if cells), start=1):
        dates.see(effective(cells).strip())
        yield _Entry(
            row=row,
            term=term(cells),
            family=family(cells),
            attributes={name: read(cells) for name, read in attributes.items()},
            unit=unit(cells),
            effective=effective(cells),
            currency=currency(cells).strip(),
            price=price(cells),
        )


def _read(entries: Iterable[_Entry], published: datetime | None, dates: _SlashedDates) -> Reading[ListPrice]:
    reading: Reading[ListPrice] = Reading()
    meant: list[_Entry] = []
    for entry in entries:
        if other := _about_something_else(entry):
            reading.ignored[other] += 1
        else:
            meant.append(entry)
    for entry in meant:
        found = _list_price(entry, published, dates.day_first)
        if isinstance(found, ListPrice):
            reading.rows.append((entry.row, found))
        else:
            reading.refuse(entry.row, *found)
    return reading


def _about_something_else(entry: _Entry) -> str:
    """The kind of thing that is priced when it is no shared-tenancy on-demand instance hour, or an empty
    text.
    """
    if not entry.term:
        return "record without a term"
    if entry.term != "OnDemand":
        return f"term {entry.term}"
    return other_than_shared_hours(entry.family, entry.attributes)


def other_than_shared_hours(family: str, attributes: Mapping[str, str]) -> str:
    """What a product is when it is no instance hour of shared tenancy, or an empty text."""
    told = {
        name: str(attributes.get(name, "")).strip()
        for name in ("tenancy", "capacitystatus", "preinstalledsw", "usagetype")
    }
    if not family.startswith("Compute Instance"):
        return f"product family {family or 'unnamed'}"
    if told["tenancy"].casefold() != SHARED:
        return f"tenancy {told['tenancy'] or 'unnamed'}"
    if told["capacitystatus"] not in {"Used", ""}:
        return f"capacity status {told['capacitystatus']}"
    if told["preinstalledsw"] not in {"NA", ""}:
        return "preinstalled software"
    if told["usagetype"] and not _BOX_USAGE.match(told["usagetype"]):
        return "usage that is not BoxUsage"
    return ""


def _list_price(
    entry: _Entry, published: datetime | None, day_first: bool | None
) -> ListPrice | tuple[str, str]:
    """The price, or (field, reason) why there is none."""
    place = place_of(entry.attributes)
    if len(place) == 2:
        return place
    if entry.unit and entry.unit.strip().casefold() not in {"hrs", "hours", "hour"}:
        return "Unit", f"not per hour: {entry.unit!r}"
    if not entry.currency:
        return "Currency", "empty"
    if problem := currency_problem(place[0], entry.currency):
        return "Currency", problem
    effective = _effective(entry.effective, published, day_first)
    if effective is None:
        return "EffectiveDate", f"no date that can be told for sure: {entry.effective!r}"
    price = decimal_price(entry.price)
    if isinstance(price, str):
        return "PricePerUnit", price
    return ListPrice(ListPriceKey(PROVIDER, *place, SHARED, entry.currency, effective), price)


def place_of(attributes: Mapping[str, str]) -> tuple[str, str, str, str] | tuple[str, str]:
    """(region, instance type, operating system, licence) of a product, or (field, reason)."""
    told = {name: str(value).strip() for name, value in attributes.items()}
    region = region_code(told.get("regioncode", "")) or region_code(told.get("location", ""))
    if not region:
        return "Location", f"no known region: {told.get('location', '')!r}"
    system = operating_system(told.get("operatingsystem", ""))
    if not system:
        return "Operating System", f"not known: {told.get('operatingsystem', '')!r}"
    model = licence(told.get("licensemodel", ""), system)
    if not model:
        return "License Model", f"not known: {told.get('licensemodel', '')!r}"
    if not told.get("instancetype"):
        return "Instance Type", "empty"
    return region, told["instancetype"], system, model


def _effective(text: str, published: datetime | None, day_first: bool | None) -> datetime | None:
    """The later of publication and effective date: a price is known from the one and holds from the other."""
    text = text.strip()
    own = instant(text)
    if own is None and (match := _SLASHED.match(text)) and day_first is not None:
        day, month = (match[1], match[2]) if day_first else (match[2], match[1])
        try:
            own = datetime(int(match[3]), int(month), int(day), tzinfo=UTC)
        except ValueError:
            own = None
    dates = [date for date in (own, published) if date is not None]
    return max(dates, default=None)


def decimal_price(text: str) -> Decimal | str:
    """A price above zero, or the reason why the text is none; decimals beyond the last kept are rounded half
    to even, as with Spot prices.
    """
    try:
        price = Decimal(text.strip())
    except InvalidOperation:
        return f"not a number: {text!r}"
    if price.is_finite() and abs(price) < 10 ** (PRICE_DIGITS - PRICE_DECIMALS):
        kept = price.quantize(_LAST_PLACE, ROUND_HALF_EVEN)
        # One of which nothing would be left stays as it is and has its reason.
        price = price if kept in (price, 0) else kept
    return price_problem(price) or price
