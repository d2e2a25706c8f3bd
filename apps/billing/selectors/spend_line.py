"""One line of a bill with all its columns: as FOCUS has them, its tags, and the cells as delivered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import Organisation
from apps.billing.models import Delivery
from apps.billing.selectors.deliveries import deliveries_visible
from apps.billing.selectors.spend_reading import connect
from finops.engine.spend import Window, next_month
from finops.frames.focus import FOCUS_COLUMNS, LINE_COLUMNS, Kind
from finops.lake import BILL_LINES, facts

_MAPS = {column.name for column in LINE_COLUMNS if column.kind is Kind.MAP}
_FOCUS = {column.name for column in FOCUS_COLUMNS}


@dataclass(frozen=True)
class WholeLine:
    """`focus` and `ours`: (column, value) of those that hold one; `maps`: tags, cost categories and
    `x_source_columns` by column, None where the line was stored without (not: where it is empty).
    """

    delivery: Delivery
    focus: list[tuple[str, Any]]
    ours: list[tuple[str, Any]]
    maps: dict[str, dict[str, str] | None]


def spend_line(
    *,
    organisation: Organisation | None,
    delivery: int,
    file: str,
    row: int,
    snapshots: Mapping[str, int] | None = None,
) -> WholeLine | None:
    """The line of a file's row (1-based); None where there is none, or for another organisation's."""
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    rows = deliveries_visible(organisation=organisation).filter(pk=delivery)
    given = rows.first()
    if given is None or BILL_LINES not in found:
        return None
    names = [column.name for column in LINE_COLUMNS]
    window = Window(given.billing_period, next_month(given.billing_period))
    with connect(window, found, [str(given.report_id)], BILL_LINES, names) as con:
        line = con.execute(
            f"SELECT {', '.join(names)} FROM {BILL_LINES} "
            "WHERE x_delivery = $delivery AND x_file = $file AND x_row = $row LIMIT 1",
            {"delivery": delivery, "file": file, "row": row},
        ).fetchone()
    if line is None:
        return None
    values = dict(zip(names, line, strict=True))
    held = [(name, value) for name, value in values.items() if value is not None and name not in _MAPS]
    return WholeLine(
        delivery=given,
        focus=[(name, value) for name, value in held if name in _FOCUS],
        ours=[(name, value) for name, value in held if name not in _FOCUS],
        maps={name: values[name] for name in names if name in _MAPS},
    )
