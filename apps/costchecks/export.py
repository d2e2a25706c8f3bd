"""A check's resources as CSV: exact numbers with a point, text that no spreadsheet runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from finops.redact import redact
from finops.text.csv_cells import Column, csv_lines

_TEXTS = ("address", "kind", "action", "summary", "region")


def check_csv(document: Mapping[str, Any]) -> Iterator[str]:
    """The header and one line a resource; an unknown or absent amount is an empty cell."""
    unit = document["currency"] or ""
    columns = [Column(name, name) for name in _TEXTS] + [
        Column(f"{side}_{case}", f"{side}_{case} ({unit} a month)", "number")
        for side in ("before", "after", "delta")
        for case in ("low", "expected", "high")
    ]
    return csv_lines(columns, (_row(one) for one in document["resources"]))


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {name: redact(one[name]) if one[name] else "" for name in _TEXTS}
    for side in ("before", "after", "delta"):
        if isinstance(one[side], dict):
            row |= {f"{side}_{case}": value for case, value in one[side].items()}
    return row
