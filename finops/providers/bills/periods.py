"""The two periods of a line: an end never lies before its start, and what is of the whole bill is dated so.

Charges that are no use (tax, fees, credits, refunds, adjustments) may come without dates of their own: they
are of the bill as a whole. FOCUS has no null there ("the charge period for a non-usage charge with time
boundaries should match the duration of eligibility", glossary of 1.2), so they take the billing period as
their charge period, and `x_undated` of the line names the column that was blank. Use without a date stays an
error: nobody knows on which day it was.

A period that ends when it starts is one moment and is taken: its money counts.
"""

from __future__ import annotations

from finops.providers.bills.kind import NULL, BillKind, Given, Lines
from finops.text.sql import quote

BACKWARDS = "ends before it starts"


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
    next_month = f"(({begun}) AT TIME ZONE 'UTC' + INTERVAL 1 MONTH) AT TIME ZONE 'UTC'"
    over = f"coalesce({columns.get('billing_period_end', NULL)}, {next_month})"
    columns["charge_period_start"] = f"CASE WHEN {undated} THEN {begun} ELSE {start} END"
    columns["charge_period_end"] = f"CASE WHEN {undated} THEN {over} ELSE {end} END"
    columns["x_undated"] = f"CASE WHEN {undated} THEN {quote(given.header(*kind.starts))} END"
