"""Reserved Instance terms of EC2 offer files (JSON and CSV): all payment options, both classes, one and
three years.

Quirks: a term is several records: a price of unit `Quantity` (paid once) and one of unit `Hrs`; an option
without one of them leaves the record out or has it at 0. `LeaseContractLength` is "1yr" or "1 yr", older
files have "1 Year". Upfront prices are whole amounts for the term, not an hour. Terms of other tenancies,
with software or of other products are counted as such.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from finops.frames.list_prices import SHARED
from finops.frames.reserved_terms import ReservedTerm, ReservedTermKey
from finops.providers.aws.locations import currency_problem
from finops.providers.aws.offers import (
    CSV_NAMES,
    PREAMBLE_LINES,
    PROVIDER,
    is_offer_header,
    other_than_shared_hours,
    place_of,
)
from finops.providers.aws.reading import Reading, instant
from finops.providers.aws.reserved_offers import PAYMENTS

RESERVED = "Reserved"
_CLASSES = frozenset({"standard", "convertible"})
_TERM_COLUMNS = ("SKU", "OfferTermCode", "TermType", "LeaseContractLength", "PurchaseOption", "OfferingClass")


@dataclass
class _Term:
    """What the records of one term say; `row` is that of the first one."""

    row: int
    family: str
    attributes: Mapping[str, str]
    length: str
    option: str
    offering_class: str
    effective: str
    currency: str = ""
    once: str | None = None
    hourly: str | None = None
    units: set[str] = field(default_factory=set)

    def add(self, unit: str, currency: str, price: str) -> None:
        """Take over one record."""
        self.currency = self.currency or currency
        if unit.casefold() == "quantity":
            self.once = price
        elif unit.casefold() in {"hrs", "hours", "hour"}:
            self.hourly = price
        else:
            self.units.add(unit)


def read_reserved_json(document: Mapping[str, Any]) -> Reading[ReservedTerm]:
    """Terms of an offer in JSON; `row` counts the terms in the order of the file."""
    published = instant(str(document.get("publicationDate", "")))
    return _reading(_json_terms(document), published)


def _json_terms(document: Mapping[str, Any]) -> Iterator[_Term]:
    products, row = document["products"], 0
    for sku, offers in ((document.get("terms") or {}).get(RESERVED) or {}).items():
        product = products.get(sku) or {}
        attributes = {k.casefold(): str(v) for k, v in (product.get("attributes") or {}).items()}
        for offer in offers.values():
            row += 1
            told = offer.get("termAttributes") or {}
            term = _Term(
                row, str(product.get("productFamily", "")), attributes,
                str(told.get("LeaseContractLength", "")), str(told.get("PurchaseOption", "")),
                str(told.get("OfferingClass", "")), str(offer.get("effectiveDate", "")),
            )  # fmt: skip
            for dimension in (offer.get("priceDimensions") or {}).values():
                for currency, price in (dimension.get("pricePerUnit") or {}).items():
                    term.add(str(dimension.get("unit", "")), currency, str(price))
            yield term


def read_reserved_csv(lines: Iterable[str]) -> Reading[ReservedTerm]:
    """Terms of an offer in CSV; `row` counts the data records, a term has that of its first one."""
    stream, published, header = iter(lines), None, ""
    for _ in range(PREAMBLE_LINES):
        line = next(stream, "")
        if is_offer_header(line):
            header = line
            break
        cells = next(csv.reader([line]), [])
        if len(cells) > 1 and cells[0].strip() == "Publication Date":
            published = instant(cells[1])
    columns = [name.strip() for name in next(csv.reader([header]), [])]
    if missing := [name for name in _TERM_COLUMNS if name not in columns]:
        return Reading.unreadable(f"no column {', '.join(missing)}", missing[0])
    return _reading(_csv_terms(columns, stream), published)


def _csv_terms(columns: list[str], lines: Iterable[str]) -> Iterator[_Term]:
    places = {name: place for place, name in enumerate(columns)}
    terms: dict[tuple[str, str], _Term] = {}
    for row, cells in enumerate((cells for cells in csv.reader(lines) if cells), start=1):

        def cell(name: str, cells: list[str] = cells) -> str:
            place = places.get(name, len(cells))
            return cells[place].strip() if place < len(cells) else ""

        if cell("TermType") != RESERVED:
            continue
        key = (cell("SKU"), cell("OfferTermCode"))
        if key not in terms:
            terms[key] = _Term(
                row, cell("Product Family"), {k.casefold(): cell(name) for k, name in CSV_NAMES.items()},
                cell("LeaseContractLength"), cell("PurchaseOption"), cell("OfferingClass"),
                cell("EffectiveDate"),
            )  # fmt: skip
        terms[key].add(cell("Unit"), cell("Currency"), cell("PricePerUnit"))
    yield from terms.values()


def _reading(terms: Iterable[_Term], published: datetime | None) -> Reading[ReservedTerm]:
    reading: Reading[ReservedTerm] = Reading()
    for term in terms:
        if other := other_than_shared_hours(term.family, term.attributes):
            reading.ignored[f"reserved: {other}"] += 1
            continue
        found = _reserved(term, published)
        if isinstance(found, ReservedTerm):
            reading.rows.append((term.row, found))
        else:
            reading.refuse(term.row, *found)
    return reading


def _reserved(term: _Term, published: datetime | None) -> ReservedTerm | tuple[str, str]:
    place = place_of(term.attributes)
    if len(place) == 2:
        return place
    years = {"1": 1, "3": 3}.get(term.length.strip()[:1])
    if years is None or not term.length.strip()[1:].strip().casefold().startswith(("yr", "year")):
        return "LeaseContractLength", f"neither one year nor three: {term.length!r}"
    if term.option not in PAYMENTS:
        return "PurchaseOption", f"not known: {term.option!r}"
    if term.offering_class.casefold() not in _CLASSES:
        return "OfferingClass", f"not known: {term.offering_class!r}"
    if term.units:
        return "Unit", f"neither once nor an hour: {sorted(term.units)[0]!r}"
    if not term.currency:
        return "Currency", "empty"
    if problem := currency_problem(place[0], term.currency):
        return "Currency", problem
    effective = instant(term.effective)
    dates = [date for date in (effective, published) if date is not None]
    if not dates:
        return "EffectiveDate", f"no date that can be told for sure: {term.effective!r}"
    fixed, hourly = _amount(term.once), _amount(term.hourly)
    if fixed is None or hourly is None or not fixed + hourly:
        return "PricePerUnit", f"no price: once {term.once!r}, an hour {term.hourly!r}"
    key = ReservedTermKey(
        PROVIDER, *place, SHARED, term.offering_class.casefold(), PAYMENTS[term.option], 12 * years,
        term.currency, max(dates),
    )  # fmt: skip
    return ReservedTerm(key, fixed, hourly)


def _amount(text: str | None) -> Decimal | None:
    """An amount; nothing where the record is left out; None where the text is none."""
    if text is None:
        return Decimal(0)
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    return value if value.is_finite() and value >= 0 else None
