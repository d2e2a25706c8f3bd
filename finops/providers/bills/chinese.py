"""What bills of Chinese clouds share: headers in two languages, the bill's own clock, words for currencies.

Times come without an offset, on the clock that `data/bill_clocks.csv` names for the provider; they become
instants, so that an hour of one cloud is the same hour as another's. The billing period is the month as the
bill writes it. What is charged by whole days or months keeps the day that the bill writes: 16 of its 24 hours
lie on that date in UTC too.
"""

from __future__ import annotations

import csv
import unicodedata
from functools import cache
from pathlib import Path

from finops.providers.bills.kind import NULL, ZONED, Given
from finops.text.sql import quote

_CLOCKS = Path(__file__).parent.parent / "data" / "bill_clocks.csv"
_CURRENCIES = {"人民币": "CNY", "RMB": "CNY", "元": "CNY", "美元": "USD"}
# Charged by the day, give or take the second that some bills leave out (23:59:59).
_WHOLE_DAY = "INTERVAL 23 HOUR + INTERVAL 59 MINUTE"
_OFFSET = r"[0-9](Z|[+-][0-9]{2}:?[0-9]{2})$"


@cache
def clock_of(provider: str) -> str:
    """The IANA zone of the times in a provider's bills. Raises KeyError for one that the table lacks."""
    with _CLOCKS.open(encoding="utf-8", newline="") as handle:
        return {row["provider"]: row["zone"] for row in csv.DictReader(handle)}[provider]


def wide(header: str) -> str:
    """Letters and digits of any script, in lower case: `现金支付（元）` is `现金支付元`."""
    folded = unicodedata.normalize("NFKC", header).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


def moment(given: Given, zone: str, *names: str) -> str:
    """A time of the bill's own clock, year first with dashes or slashes; anything else rejects its row.

    A time that says its offset is taken by its word.
    """
    place = given.place(*names)
    if place is None:
        return f"CAST({NULL} AS {ZONED})"
    text = f"nullif(trim({given.text(*names)}), '')"
    alias = f"t{place}"
    if alias not in given.typed:
        cleaned = f"replace({text}, '/', '-')"
        year_first = f"regexp_matches({text}, '^[0-9]{{4}}[-/][0-9]{{1,2}}[-/][0-9]{{1,2}}($|[ T])')"
        zoned = f"regexp_matches({text}, {quote(_OFFSET)}) AND contains({text}, ':')"
        plain = f"TRY_CAST({cleaned} || '' AS TIMESTAMP) AT TIME ZONE {quote(zone)}"
        given.typed[alias] = (
            f"CASE WHEN {year_first} AND {zoned} THEN TRY_CAST({cleaned} AS {ZONED}) "
            f"WHEN {year_first} THEN {plain} END"
        )
        bad = f"{alias} IS NULL AND {text} IS NOT NULL"
        given.reject_where(bad, given.headers[place].name, "not a time with the year first")
    return alias


def day_of(start: str, end: str, zone: str) -> str:
    """The line's day: the bill's own date of what lasts a day or longer, the UTC date of anything shorter."""
    whole = f"({end}) >= ({start}) + {_WHOLE_DAY}"
    local, utc = (f"CAST(({start}) AT TIME ZONE {quote(z)} AS DATE)" for z in (zone, "UTC"))
    return f"CASE WHEN {whole} THEN {local} ELSE {utc} END"


def month(given: Given, *names: str) -> str:
    """The first of a month written `2026-03`, `2026/03`, `202603` or as a whole date, as a TIMESTAMP."""
    place = given.place(*names)
    if place is None:
        return "CAST(NULL AS TIMESTAMP)"
    text = given.text(*names)
    alias = f"month{place}"
    if alias not in given.typed:
        digits = f"regexp_extract({text}, '^([0-9]{{4}})[-/]?([0-9]{{2}})([-/][0-9]{{1,2}}.*)?$', "
        given.typed[alias] = f"TRY_STRPTIME({digits}1) || {digits}2) || '01', '%Y%m%d')"
        bad = f"{alias} IS NULL AND {text} IS NOT NULL"
        given.reject_where(bad, given.headers[place].name, "not a month")
    return alias


def currency(text: str) -> str:
    """The code of a currency that is written as a word; any other text as it stands."""
    cases = " ".join(f"WHEN {quote(word)} THEN {quote(code)}" for word, code in _CURRENCIES.items())
    return f"CASE {text} {cases} ELSE {text} END"


def month_end(start: str, zone: str = "UTC") -> str:
    """The moment at which the month that begins at the TIMESTAMP `start` is over on a clock."""
    return f"({start} + INTERVAL 1 MONTH) AT TIME ZONE {quote(zone)}"
