"""The two periods of a line: an end never lies before its start, and what is of the whole bill is dated so.

Charges that are no use (tax, fees, credits, refunds, adjustments) may come without dates of their own: they
are of the bill as a whole. FOCUS has no null there ("the charge period for a non-usage charge with time
boundaries should match the duration of eligibility", glossary of 1.2), so they take the billing period as
their charge period, and `x_undated` of the line names the column that was blank. Use without a date stays an
error: nobody knows on which day it was.

A period that ends when it starts is one moment and is taken: its money counts.

A month on a clock ahead of UTC begins on the day before in UTC: 2026-02-28T16:00Z to 2026-03-31T16:00Z is the
March of UTC+8. `billing_month` tells it from a period that is of February.
"""

from __future__ import annotations

from finops.providers.bills.kind import NULL, BillKind, Given, Lines
from finops.text.sql import quote

BACKWARDS = "ends before it starts"
# A little less than a day, so that a period which begins a whole day earlier is that month's own.
_A_DAY = "INTERVAL 86399999999 MICROSECOND"


def periods_checked(kind: BillKind, given: Given, lines: Lines) -> None:
    """Fills the charge period of undated charges and rejects rows whose periods run backwards."""
    columns = lines.columns
    if kind.starts:
        _dated(kind, given, columns)
    start, end = columns["charge_period_start"], columns.get("charge_period_end", NULL)
    if given.has(*kind.ends):
        given.reject_where(f"({end}) < ({start})", given.header(*kind.ends), BACKWARDS)
    if given.has(*kind.billing_ends):
        begun, over = columns["billing_period_start"], columns["billing_period_end"]
        given.reject_where(f"({over}) <= ({begun})", given.header(*kind.billing_ends), BACKWARDS)
    if given.has(*kind.term_ends):
        begun, over = columns["x_commitment_start"], columns["x_commitment_end"]
        given.reject_where(f"({over}) < ({begun})", given.header(*kind.term_ends), BACKWARDS)


def _is_use(columns: dict[str, str]) -> str:
    """A charge of no known category counts as use."""
    return f"coalesce(({columns.get('charge_category', NULL)}) = 'Usage', true)"


def _dated(kind: BillKind, given: Given, columns: dict[str, str]) -> None:
    start, end = columns["charge_period_start"], columns.get("charge_period_end", NULL)
    begun = columns["billing_period_start"]
    blank = f"{given.text(*kind.starts)} IS NULL"
    delivered_end = f"{given.text(*kind.ends)} IS NULL" if given.has(*kind.ends) else "true"
    undated = f"{blank} AND {delivered_end} AND NOT {_is_use(columns)} AND ({begun}) IS NOT NULL"
    given.reject_where(f"{blank} AND NOT ({undated})", given.header(*kind.starts), "blank")
    over = f"coalesce({columns.get('billing_period_end', NULL)}, {_month_after(begun)})"
    columns["charge_period_start"] = f"CASE WHEN {undated} THEN {begun} ELSE {start} END"
    columns["charge_period_end"] = f"CASE WHEN {undated} THEN {over} ELSE {end} END"
    columns["x_undated"] = f"CASE WHEN {undated} THEN {quote(given.header(*kind.starts))} END"


def billing_month(begun: str, over: str) -> str:
    """SQL of the first day of the month that a period from `begun` to `over` (may be null) is.

    It is the one in which the period begins, but the next one where it begins less than a day before that
    and its middle lies there.
    """
    begin, end = _timestamp(begun), f"coalesce({_timestamp(over)}, {_timestamp(begun)} + INTERVAL 1 MONTH)"
    begins_in, a_day_on = f"date_trunc('month', {begin})", f"date_trunc('month', {begin} + {_A_DAY})"
    in_next = f"{a_day_on} > {begins_in} AND {end} - {a_day_on} > {a_day_on} - {begin}"
    return f"CAST(CASE WHEN {in_next} THEN {a_day_on} ELSE {begins_in} END AS DATE)"


def _month_after(begun: str) -> str:
    """SQL of the moment a month later: the March of UTC+8, from 28 February 16:00, ends on 31 March 16:00."""
    begin = _timestamp(begun)
    ahead = f"greatest(date_trunc('month', {begin} + {_A_DAY}) - {begin}, INTERVAL 0 DAY)"
    return f"({begin} + {ahead} + INTERVAL 1 MONTH - {ahead}) AT TIME ZONE 'UTC'"


def _timestamp(moment: str) -> str:
    """SQL of a moment in UTC without a zone: a tenth of the time of AT TIME ZONE, which asks a calendar."""
    return f"make_timestamp(epoch_us({moment}))"
