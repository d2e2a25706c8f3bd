"""What each line of an AWS bill adds to cash, amortised, net, list and quantity: a table, as data.

The table is `finops/providers/data/aws_contributions.csv`; its head tells the words. A combination that no
row matches refuses the delivery: it is never summed by default.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from finops.text.sql import quote

MEASURES = ("billed", "effective", "net", "net_effective", "list", "contracted", "quantity")
WORDS = ("charge_category", "charge_class", "charge_frequency")
ANY = "*"
_FILE = Path(__file__).parent.parent / "data" / "aws_contributions.csv"


@dataclass(frozen=True, slots=True)
class Contribution:
    """One row: its keys (`*` matches anything), the word of each measure, and FOCUS words of the charge."""

    line_item_type: str
    entity: str
    commitment: str
    measures: Mapping[str, str]
    words: Mapping[str, str]

    def matches(self, line_item_type: str, entity: str, commitment: str) -> bool:
        """Whether a line with these keys is this row's."""
        return (
            self.line_item_type == line_item_type
            and self.entity in {ANY, entity}
            and self.commitment in {ANY, commitment}
        )


@cache
def contributions() -> tuple[Contribution, ...]:
    """The table, in its order."""
    with _FILE.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(line for line in handle if not line.startswith("#")))
    return tuple(
        Contribution(
            line_item_type=row["line_item_type"],
            entity=row["entity"],
            commitment=row["commitment"],
            measures={measure: row[measure] for measure in MEASURES},
            words={word: row[word] for word in WORDS},
        )
        for row in rows
    )


def contribution_of(line_item_type: str, entity: str, commitment: str) -> Contribution | None:
    """The row of the table that counts for a line; None where there is none."""
    found = (c for c in contributions() if c.matches(line_item_type, entity, commitment))
    return next(found, None)


def number_sql(line_item_type: str, entity: str, commitment: str) -> str:
    """SQL giving the number of the row that counts for a line (its place in the table), null where none."""
    cases = []
    for number, row in enumerate(contributions()):
        conditions = [f"{line_item_type} = {quote(row.line_item_type)}"]
        if row.entity != ANY:
            conditions.append(f"{entity} = {quote(row.entity)}")
        if row.commitment != ANY:
            conditions.append(f"{commitment} = {quote(row.commitment)}")
        cases.append(f"WHEN {' AND '.join(conditions)} THEN {number}")
    return f"CASE {' '.join(cases)} END"


def measure_sql(measure: str, number: str, formulas: Mapping[str, str]) -> str:
    """SQL of a measure: `number` is SQL of the row's number, `formulas` the SQL behind each word."""
    return _by_number(number, [(row.measures[measure], formulas) for row in contributions()])


def word_sql(word: str, number: str) -> str:
    """SQL of a FOCUS word of the charge; null where the table says nothing."""
    texts = {
        row.words[word]: quote(row.words[word]) if row.words[word] else "NULL" for row in contributions()
    }
    return _by_number(number, [(row.words[word], texts) for row in contributions()])


def _by_number(number: str, words: list[tuple[str, Mapping[str, str]]]) -> str:
    """One branch a distinct formula: the same formula is evaluated once for all its rows."""
    places: dict[str, list[str]] = {}
    for place, (word, meanings) in enumerate(words):
        places.setdefault(meanings[word], []).append(str(place))
    cases = " ".join(f"WHEN {number} IN ({', '.join(rows)}) THEN {sql}" for sql, rows in places.items())
    return f"CASE {cases} END"
