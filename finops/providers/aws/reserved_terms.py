"""New Reserved Instance terms from tables with one effective price an hour for each term.

Quirks of LeanerCloud's export (instance_type, region, os, term, effective_usd_per_hour): the term is
`yrTerm1Standard.allUpfront`; the price is the effective one, rounded to six decimals, so an upfront
price is that times the hours of the term, taken as whole dollars where rounding can have moved it no
further (AWS charges whole dollars); of a partial upfront price the parts are not told, so it is left
aside and counted. Licences as usual for the operating system; shared tenancy.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from finops.frames.list_prices import SHARED
from finops.frames.products import operating_system, usual_licence
from finops.frames.reserved_terms import ReservedTerm, ReservedTermKey
from finops.providers.aws.locations import currency_problem, region_code
from finops.providers.aws.offers import PROVIDER, decimal_price
from finops.providers.aws.reading import Reading, date_in_name

HOURS_PER_YEAR = 8760
_TERM = re.compile(r"^yrTerm([13])(Standard|Convertible)\.(allUpfront|partialUpfront|noUpfront)$")
_PRICE = "effective_usd_per_hour"
_HEADER = frozenset({"instance_type", "region", "os", "term", _PRICE})
_ROUNDING = Decimal("0.0000005")
_CENT = Decimal("0.01")
PAYMENTS = {"allUpfront": "all-upfront", "noUpfront": "no-upfront", "partialUpfront": "partial-upfront"}


def is_terms_table(header: Iterable[str]) -> bool:
    """Whether a header is that of such a table."""
    return {name.strip().casefold() for name in header} >= _HEADER


def read_terms_csv(
    lines: Iterable[str], *, name: str, listed_on: date | None = None
) -> Reading[ReservedTerm]:
    """Terms of a table; `listed_on` dates it, else the date in the file's name does."""
    table = csv.DictReader(iter(lines))
    table.fieldnames = [field.strip().casefold() for field in table.fieldnames or []]
    if not is_terms_table(table.fieldnames):
        return Reading.unreadable("no table of terms: no column for a term with its effective price")
    day = listed_on or date_in_name(name)
    if day is None:
        return Reading.unreadable("no date: the file's name has none; name it with --date")
    listed = datetime(day.year, day.month, day.day, tzinfo=UTC)
    reading: Reading[ReservedTerm] = Reading()
    for row, record in enumerate(table, start=1):
        term = _TERM.match((record["term"] or "").strip())
        if term is None:
            reading.ignored["on-demand price"] += 1
        elif term[3] == "partialUpfront":
            reading.ignored["partial upfront: its parts are not told"] += 1
        else:
            found = _term(record, term, listed)
            if isinstance(found, ReservedTerm):
                reading.rows.append((row, found))
            else:
                reading.refuse(row, *found)
    return reading


def _term(record: Mapping[str, str], term: re.Match[str], listed: datetime) -> ReservedTerm | tuple[str, str]:
    kind = (record["instance_type"] or "").strip()
    if "." not in kind:
        return "instance_type", f"no type: {kind!r}"
    region = region_code((record["region"] or "").strip())
    if not region:
        return "region", f"no known region: {record['region']!r}"
    system = operating_system((record["os"] or "").strip())
    if not system:
        return "os", f"not known: {record['os']!r}"
    price = decimal_price(record[_PRICE] or "")
    if isinstance(price, str):
        return _PRICE, price
    if problem := currency_problem(region, "USD"):
        return _PRICE, problem
    years = int(term[1])
    upfront = term[3] == "allUpfront"
    return ReservedTerm(
        ReservedTermKey(
            PROVIDER, region, kind, system, usual_licence(system), SHARED, term[2].casefold(),
            PAYMENTS[term[3]], 12 * years, "USD", listed,
        ),
        once(price, years * HOURS_PER_YEAR) if upfront else Decimal(0),
        Decimal(0) if upfront else price,
    )  # fmt: skip


def once(effective: Decimal, hours: int) -> Decimal:
    """The upfront price behind an effective one: whole where rounding allows it, else to the cent.

    >>> once(Decimal("0.057192"), 8760)
    Decimal('501')
    """
    price = effective * hours
    whole = price.to_integral_value()
    return whole if abs(price - whole) <= _ROUNDING * hours else price.quantize(_CENT)
