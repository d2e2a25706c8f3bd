"""The file that goes with a mail by choice: the week's table as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apps.reports.selectors.week import WeekSpend
from finops.text.csv_cells import Column, csv_lines

COLUMNS = (
    Column("week", "week"),
    Column("from", "from"),
    Column("to", "to (excluded)"),
    Column("service", "service"),
    Column("cost", "cost", "number"),
    Column("cost_before", "cost_before", "number"),
    Column("change", "change", "number"),
    Column("currency", "currency"),
    Column("basis", "basis"),
)


def csv_of(spend: WeekSpend, basis: str) -> bytes:
    """Every service with its exact cost, not only those that the mail shows."""
    return "".join(csv_lines(COLUMNS, _rows(spend, basis))).encode()


def _rows(spend: WeekSpend, basis: str) -> Iterator[dict[str, Any]]:
    if spend.compared is None:
        return
    after = spend.compared.after
    for one in spend.currencies:
        for part in one.drivers:
            yield {
                "week": spend.week.label,
                "from": after.start.isoformat(),
                "to": after.end.isoformat(),
                "service": part.key[0] or "",
                "cost": part.change.after,
                "cost_before": part.change.before,
                "change": part.change.delta,
                "currency": one.currency,
                "basis": basis,
            }
