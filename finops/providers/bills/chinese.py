"""What bills of Chinese clouds share: headers in two languages, the bill's own clock, words for currencies.

Times come without an offset, in China time, and a bill's days and months are days and months there. They are
kept as written and taken as UTC: so a month adds up to its invoice, and an instant is eight hours later than
it was. A month counts for more here than an instant: the finest of these bills is hourly.
"""

from __future__ import annotations

import unicodedata

from finops.providers.bills.kind import Given
from finops.text.sql import quote

_ZONED = "TIMESTAMP WITH TIME ZONE"
_CURRENCIES = {"人民币": "CNY", "RMB": "CNY", "元": "CNY", "美元": "USD"}


def wide(header: str) -> str:
    """Letters and digits of any script, in lower case: `现金支付（元）` is `现金支付元`."""
    folded = unicodedata.normalize("NFKC", header).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


def moment(given: Given, *names: str) -> str:
    """A time of the bill's own clock, year first with dashes or slashes; anything else rejects its row."""
    place = given.place(*names)
    if place is None:
        return f"CAST(NULL AS {_ZONED})"
    text = f"nullif({given.raw(place)}, '')"
    alias = f"t{place}"
    if alias not in given.typed:
        cleaned = f"replace({text}, '/', '-')"
        year_first = f"regexp_matches({text}, '^[0-9]{{4}}[-/][0-9]{{1,2}}[-/][0-9]{{1,2}}($|[ T])')"
        plain = f"TRY_CAST({cleaned} || '' AS TIMESTAMP) AT TIME ZONE 'UTC'"
        given.typed[alias] = f"CASE WHEN {year_first} THEN {plain} END"
        bad = f"{alias} IS NULL AND {text} IS NOT NULL"
        given.reject_where(bad, given.headers[place].name, "not a time with the year first")
    return alias


def month(given: Given, *names: str) -> str:
    """The first of a month written `2026-03`, `2026/03`, `202603` or as a whole date, as a TIMESTAMP."""
    place = given.place(*names)
    if place is None:
        return "CAST(NULL AS TIMESTAMP)"
    text = f"nullif({given.raw(place)}, '')"
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


def month_end(start: str) -> str:
    """The moment at which the month that begins at the TIMESTAMP `start` is over."""
    return f"({start} + INTERVAL 1 MONTH) AT TIME ZONE 'UTC'"
