"""What FOCUS 1.2 asks of its columns, as tables. Grain: a column, an allowed value, a rule between columns.

Source: FinOps Open Cost and Usage Specification 1.2 of 2025-05-30 (tag v1.2 of
FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec, folder specification/columns, CC BY 4.0): feature level, whether
nulls are allowed, data type, allowed values, and those requirements that one dataset can show to be kept or
broken. Left out are requirements on the provider ("when the provider supports ..."), on other datasets
(invoices, price lists, earlier periods) and on a commitment's whole term.

`when` of a rule joins terms with " and "; `then` is one term. A term:

    COLUMN is null            COLUMN is not null        COLUMN in A|B       COLUMN not in A|B

In `then` the column is the rule's own and is not written again; it may also say `after COLUMN`,
`equals COLUMN`, `product COLUMN COLUMN`, `child of COLUMN` (allowed values have a parent) and
`one per COLUMN`. A null is "not in" every list; `after`, `equals`, `product` and `child of` say nothing about
nulls.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

VERSION = "1.2"
VERSIONS = ("1.0", "1.1", "1.2")

_DATA = Path(__file__).parent / "data"
_TERM = re.compile(r"(\w+) (is null|is not null|in|not in)(?: (.+))?")

Level = Literal["mandatory", "conditional", "recommended"]
Type = Literal["text", "decimal", "instant", "json"]
Test = Literal["is null", "is not null", "in", "not in", "after", "equals", "product", "child of", "one per"]


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """One column. `format` is "values", "currency", "unit" or ""; `non_negative` holds for unit prices.

    `since` is the version that brought the column, without "-preview".
    """

    column: str
    level: Level
    nulls: bool
    type: Type
    format: str
    non_negative: bool
    since: str


@dataclass(frozen=True, slots=True)
class Term:
    """`column` `test` `words`: words are allowed values, or the other columns."""

    column: str
    test: Test
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrossRule:
    """Where all of `when` hold, `then` must hold."""

    rule: str
    column: str
    when: tuple[Term, ...]
    then: Term


def _rows(name: str) -> list[dict[str, str]]:
    with (_DATA / name).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


@cache
def columns() -> dict[str, ColumnRule]:
    """The 57 columns of FOCUS 1.2 by name."""
    return {
        row["column"]: ColumnRule(
            column=row["column"],
            level=row["level"],  # type: ignore[arg-type]
            nulls=row["nulls"] == "yes",
            type=row["type"],  # type: ignore[arg-type]
            format=row["format"],
            non_negative=row["minimum"] == "0",
            since=row["since"].partition("-")[0],
        )
        for row in _rows("focus_1_2_columns.csv")
    }


def columns_of(version: str) -> tuple[str, ...]:
    """Columns that a version has, in their order. Raises ValueError for a version that is not in VERSIONS."""
    if version not in VERSIONS:
        raise ValueError(f"FOCUS {version} is not one of {', '.join(VERSIONS)}")
    return tuple(name for name, rule in columns().items() if rule.since <= version)


@cache
def allowed_values() -> dict[str, dict[str, str]]:
    """Allowed values of a column, each with its parent ("" for none)."""
    found: dict[str, dict[str, str]] = {}
    for row in _rows("focus_1_2_values.csv"):
        found.setdefault(row["column"], {})[row["value"]] = row["parent"]
    return found


def _term(text: str) -> Term:
    found = _TERM.fullmatch(text)
    if found is None:
        raise ValueError(f"not a term: {text!r}")
    return Term(found[1], found[2], tuple(found[3].split("|")) if found[3] else ())  # type: ignore[arg-type]


def _then(column: str, text: str) -> Term:
    for test in ("after", "equals", "product", "child of", "one per"):
        if text.startswith(f"{test} "):
            return Term(column, test, tuple(text.removeprefix(f"{test} ").split()))
    return _term(f"{column} {text}")


@cache
def cross_rules() -> tuple[CrossRule, ...]:
    """Rules between columns, in the order of the file."""
    return tuple(
        CrossRule(
            rule=row["rule"],
            column=row["column"],
            when=tuple(_term(part) for part in row["when"].split(" and ")) if row["when"] else (),
            then=_then(row["column"], row["then"]),
        )
        for row in _rows("focus_1_2_rules.csv")
    )
