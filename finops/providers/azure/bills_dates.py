"""In which order an Azure export writes day and month: decided once for the whole file, by what it shows.

Azure's own exports have the month first; somebody's spreadsheet or a portal in another language has the day
first. One wrong guess moves money into other months, so a file that shows neither is refused with the option
that decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from finops.providers.bills import DAY_FIRST, MONTH_FIRST, Given, UnclearError
from finops.providers.bills.kind import instant_of

SLASHED = r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"
FORMATS = {MONTH_FIRST: "%m/%d/%Y", DAY_FIRST: "%d/%m/%Y"}
OTHER = {MONTH_FIRST: DAY_FIRST, DAY_FIRST: MONTH_FIRST}
_START = "BillingPeriodStartDate"
_END = "BillingPeriodEndDate"


def word_of(given: Given, place: int) -> str:
    """SQL of the date without its time of day."""
    return f"split_part(nullif(trim({given.raw(place)}), ''), ' ', 1)"


def order_of(given: Given, dates: Sequence[str], *, german: bool) -> tuple[str, bool]:
    """(DAY_FIRST or MONTH_FIRST, whether the file has dates with slashes). Raises UnclearError.

    In this order: what somebody said; a first or second number over 12 anywhere; which reading puts every
    date into its own billing period; a German header. Without rows to look at it is Azure's own order.
    """
    place = given.place(*dates)
    told = given.ask(_evidence(given, dates)) if place is not None else None
    if told is None:
        return given.dates or MONTH_FIRST, False
    any_slash, over_first, over_second, unclear, example, by_month, by_day = told
    if given.dates or not any_slash:
        return given.dates or MONTH_FIRST, bool(any_slash)
    field = given.header(*dates)
    if over_first and over_second:
        raise UnclearError(
            field, f"dates with the day first ({over_first}) and with the month first ({over_second})"
        )
    if over_first or over_second:
        return (DAY_FIRST if over_first else MONTH_FIRST), True
    if not unclear:
        return MONTH_FIRST, True
    if by_month is not None and by_month != by_day:
        return (MONTH_FIRST if by_month else DAY_FIRST), True
    if german:
        return DAY_FIRST, True
    raise UnclearError(
        field,
        f"{example} can have the day or the month first, and no date of the file tells which: "
        f"say --dates {MONTH_FIRST} or --dates {DAY_FIRST}",
    )


def _evidence(given: Given, dates: Sequence[str]) -> str:
    """Aggregates: any slashed date, an example over 12 in first and in second place, any that could be both,
    an example of these, whether all dates lie in their billing period read either way (null without one).
    """
    places = [p for p in (given.place(*dates), given.place(_START), given.place(_END)) if p is not None]
    slashed, first, second, both, shown = [], [], [], [], []
    for place in dict.fromkeys(places):
        word = word_of(given, place)
        is_slashed = f"regexp_full_match({word}, '{SLASHED}')"
        one, two = (f"TRY_CAST(split_part({word}, '/', {n}) AS INTEGER)" for n in (1, 2))
        mixed = f"{is_slashed} AND {one} <= 12 AND {two} <= 12 AND {one} <> {two}"
        slashed.append(f"coalesce(bool_or({is_slashed}), false)")
        first.append(f"min({word}) FILTER ({is_slashed} AND {one} > 12)")
        second.append(f"min({word}) FILTER ({is_slashed} AND {two} > 12)")
        both.append(f"coalesce(bool_or({mixed}), false)")
        shown.append(f"min({word}) FILTER ({mixed})")
    fits = [_in_period(given, dates, order) for order in (MONTH_FIRST, DAY_FIRST)]
    return ", ".join(
        [
            " OR ".join(slashed),
            f"coalesce({', '.join(first)})",
            f"coalesce({', '.join(second)})",
            " OR ".join(both),
            f"coalesce({', '.join(shown)})",
            *fits,
        ]
    )


def _in_period(given: Given, dates: Sequence[str], order: str) -> str:
    day, start = given.place(*dates), given.place(_START)
    if day is None or start is None:
        return "NULL"
    at, begin = read_sql(given, day, order), read_sql(given, start, order)
    word = word_of(given, start)
    inside = f"coalesce({at} >= {begin} AND {at} < {begin} + INTERVAL 1 MONTH, false)"
    return f"bool_and({inside}) FILTER ({word} IS NOT NULL AND {word_of(given, day)} IS NOT NULL)"


def read_sql(given: Given, place: int, order: str) -> str:
    """SQL of a date's midnight in UTC, null for what is none."""
    word, text = word_of(given, place), f"nullif(trim({given.raw(place)}), '')"
    slashed = f"TRY_STRPTIME({word}, '{FORMATS[order]}') AT TIME ZONE 'UTC'"
    return (
        f"CASE WHEN regexp_full_match({word}, '{SLASHED}') THEN {slashed}"
        f" WHEN regexp_matches({text}, '^[0-9]{{4}}-') THEN {instant_of(text)} END"
    )
