"""What each kind of charge adds to every measure, as a table in a file.

Grain: one row per combination of key columns. A key cell holds the texts it stands for, separated by "|", or
"*" for anything; the first row that matches counts. A charge that no row matches has no number: its kind
refuses the delivery, for nothing is summed by default. Lines that start with "#" are comments.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from finops.text.sql import quote

ANY = "*"
_DATA = Path(__file__).parent.parent / "data"


class ChargeTable:
    """The rows of one file; `keys` are its key columns in the order in which they are compared."""

    def __init__(self, rows: Sequence[Mapping[str, str]], keys: Sequence[str]) -> None:
        self.rows = tuple(rows)
        self.keys = tuple(keys)

    def number_sql(self, keys: Mapping[str, str]) -> str:
        """SQL of the place of the row that counts, null for none. `keys` are SQL texts, never null."""
        cases = []
        for place, row in enumerate(self.rows):
            conditions = [
                f"{keys[key]} IN ({', '.join(quote(text) for text in row[key].split('|'))})"
                for key in self.keys
                if row[key] != ANY
            ]
            cases.append(f"WHEN {' AND '.join(conditions) or 'true'} THEN {place}")
        return f"CASE {' '.join(cases)} END"

    def measure_sql(self, column: str, number: str, formulas: Mapping[str, str]) -> str:
        """SQL of a measure: `formulas` is the SQL behind each word of the column."""
        return self._by_row(number, [formulas[row[column]] for row in self.rows])

    def word_sql(self, column: str, number: str) -> str:
        """SQL of a text of the table, null where the cell is empty."""
        return self._by_row(number, [quote(row[column]) if row[column] else "NULL" for row in self.rows])

    @staticmethod
    def _by_row(number: str, values: Sequence[str]) -> str:
        places: dict[str, list[str]] = {}
        for place, value in enumerate(values):
            places.setdefault(value, []).append(str(place))
        cases = " ".join(f"WHEN {number} IN ({', '.join(rows)}) THEN {sql}" for sql, rows in places.items())
        return f"CASE {cases} END"


@cache
def charge_table(name: str, keys: tuple[str, ...]) -> ChargeTable:
    """The table `finops/providers/data/<name>.csv`."""
    with (_DATA / f"{name}.csv").open(encoding="utf-8", newline="") as handle:
        return ChargeTable(list(csv.DictReader(line for line in handle if not line.startswith("#"))), keys)


@cache
def _categories() -> tuple[tuple[str, str, str], ...]:
    with (_DATA / "service_categories.csv").open(encoding="utf-8", newline="") as handle:
        rows = csv.DictReader(line for line in handle if not line.startswith("#"))
        return tuple((row["provider"], row["service"], row["category"]) for row in rows)


def category_sql(provider: str, *services: str) -> str:
    """SQL of the FOCUS service category of the first of these SQL texts that the table knows, else null."""
    known = [(service, category) for owner, service, category in _categories() if owner == provider]
    cases = [
        f"CASE lower({text}) "
        + " ".join(f"WHEN {quote(service.lower())} THEN {quote(category)}" for service, category in known)
        + " END"
        for text in services
        if text != "NULL"
    ]
    return f"coalesce({', '.join(cases)})" if cases else "CAST(NULL AS VARCHAR)"
