"""Whether rows keep the FOCUS rules: two passes over a relation of DuckDB, one finding per broken rule.

The relation has FOCUS column names. Its columns are typed (lake, Parquet) or text (a CSV read as text, with
real nulls): the type is looked up, and text is held to the written forms of numbers, times and JSON. The
products of price and quantity are compared as doubles within a relative 1e-4, for sources round both factors.
A column that is not there breaks only its own presence rule: nothing is said about its cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from finops.frames.focus_rules import (
    VERSION,
    ColumnRule,
    CrossRule,
    Term,
    allowed_values,
    columns,
    columns_of,
    cross_rules,
)
from finops.frames.money import currencies

_PRODUCT_SLACK = 1e-4
_PRODUCT_LEAST = 1e-9
_NUMBER = r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE]-?[0-9]+)?"
_INSTANT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule: how many rows break it, and the least offending value as text ("null" for a null).

    `rows` is null for a column that is missing as a whole.
    """

    rule: str
    column: str
    rows: int | None
    example: str


@dataclass(frozen=True, slots=True)
class _Probe:
    rule: str
    column: str
    broken: str
    example: str


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _listed(words: tuple[str, ...] | frozenset[str] | dict[str, str]) -> str:
    return ", ".join(_quote(word) for word in sorted(words))


class _Probes:
    """The tests for the columns that a relation has; `types` maps their names to DuckDB types."""

    def __init__(self, types: dict[str, str], version: str) -> None:
        self.types = types
        self.asked = set(columns_of(version))

    def all(self) -> Iterator[_Probe]:
        """Tests of single columns, then of rules between columns."""
        for name, rule in columns().items():
            if name in self.types and name in self.asked:
                yield from self._column(rule)
        for cross in cross_rules():
            if cross.then.test != "one per" and self._present(cross):
                yield self._cross(cross)

    def groups(self) -> Iterator[CrossRule]:
        """Rules about groups of rows."""
        for cross in cross_rules():
            if cross.then.test == "one per" and self._present(cross):
                yield cross

    def _present(self, cross: CrossRule) -> bool:
        others = cross.then.words if cross.then.test not in {"in", "not in"} else ()
        return all(c in self.types and c in self.asked for c in (cross.column, *others))

    def _text(self, column: str) -> bool:
        return self.types[column] == "VARCHAR"

    def _value(self, column: str) -> str:
        """The column as it takes part in comparisons: null where a text does not read as its type."""
        if not self._text(column):
            return _name(column)
        kind = columns()[column].type
        if kind == "decimal":
            return f"TRY_CAST(nullif({_name(column)}, '') AS DOUBLE)"
        if kind == "instant":
            return f"TRY_CAST(nullif({_name(column)}, '') AS TIMESTAMP WITH TIME ZONE)"
        return _name(column)

    def _column(self, rule: ColumnRule) -> Iterator[_Probe]:
        name = _name(rule.column)
        example = f"CAST({name} AS VARCHAR)"
        if not rule.nulls:
            yield _Probe("not-null", rule.column, f"{name} IS NULL", "'null'")
        if self._text(rule.column):
            yield _Probe("no-empty-text", rule.column, f"trim({name}) = ''", "'\"\"'")
        wrong = self._wrong_type(rule, name)
        if wrong:
            yield _Probe(f"is-{rule.type}", rule.column, wrong, example)
        if rule.format == "values":
            values = _listed(allowed_values()[rule.column])
            yield _Probe("allowed-values", rule.column, f"{name} NOT IN ({values})", example)
        if rule.column == "BillingCurrency":
            yield _Probe("currency", rule.column, f"{name} NOT IN ({_listed(currencies())})", example)
        if rule.non_negative:
            yield _Probe("not-negative", rule.column, f"{self._value(rule.column)} < 0", example)

    def _wrong_type(self, rule: ColumnRule, name: str) -> str:
        """The condition of a cell of the wrong type, "" when the column's own type rules it out."""
        kind = self.types[rule.column]
        if rule.type == "decimal" and kind == "VARCHAR":
            return f"NOT regexp_full_match({name}, {_quote(_NUMBER)})"
        if rule.type == "decimal":
            numeric = kind.startswith("DECIMAL") or "INT" in kind
            return "" if numeric else f"{name} IS NOT NULL AND NOT coalesce(isfinite({name}), false)"
        if rule.type == "instant" and kind == "VARCHAR":
            return (
                f"NOT (regexp_full_match({name}, {_quote(_INSTANT)}) AND "
                f"{self._value(rule.column)} IS NOT NULL)"
            )
        if rule.type == "instant":
            return "" if kind.startswith("TIMESTAMP") else f"{name} IS NOT NULL"
        if rule.type == "json" and kind == "VARCHAR":
            nested = "['OBJECT', 'ARRAY']"
            keys = f"json_keys({name})"
            return (
                f"CASE WHEN {name} IS NULL THEN false WHEN NOT json_valid({name}) THEN true"
                f" WHEN json_type({name}) <> 'OBJECT' THEN true"
                f" ELSE len({keys}) <> len(list_distinct({keys}))"
                f" OR list_has_any(json_type({name}, '$.*'), {nested}) END"
            )
        if rule.type == "json":
            return "" if kind.startswith("MAP") else f"{name} IS NOT NULL"
        return "" if kind == "VARCHAR" else f"{name} IS NOT NULL"

    def _cross(self, cross: CrossRule) -> _Probe:
        when = " AND ".join(self._holds(term) for term in cross.when) or "true"
        then, example = self._then(cross)
        return _Probe(cross.rule, cross.column, f"({when}) AND NOT ({then})", example)

    def _holds(self, term: Term) -> str:
        """The condition of a term; a column that is not there is null in every row."""
        if term.column not in self.types:
            return "true" if term.test in {"is null", "not in"} else "false"
        name = _name(term.column)
        if term.test == "is null":
            return f"{name} IS NULL"
        if term.test == "is not null":
            return f"{name} IS NOT NULL"
        listed = f"coalesce({name} IN ({_listed(term.words)}), false)"
        return listed if term.test == "in" else f"NOT {listed}"

    def _then(self, cross: CrossRule) -> tuple[str, str]:
        """(the condition that must hold, the example's SQL)."""
        term, name = cross.then, _name(cross.column)
        shown = f"coalesce(CAST({name} AS VARCHAR), 'null')"
        if term.test in {"is null", "is not null", "in", "not in"}:
            return self._holds(term), shown
        own, others = self._value(cross.column), [self._value(word) for word in term.words]
        if term.test == "after":
            other = f"CAST({_name(term.words[0])} AS VARCHAR)"
            return f"coalesce({own} > {others[0]}, true)", f"{shown} || ' is not after ' || {other}"
        if term.test == "equals":
            other = f"CAST({_name(term.words[0])} AS VARCHAR)"
            return f"coalesce({own} = {others[0]}, true)", f"{shown} || ' is not ' || {other}"
        if term.test == "product":
            left, right = (f"CAST({other} AS DOUBLE)" for other in others)
            cost = f"CAST({own} AS DOUBLE)"
            off = f"abs({left} * {right} - {cost})"
            slack = f"greatest({_PRODUCT_LEAST}, {_PRODUCT_SLACK} * abs({cost}))"
            parts = " || ' x ' || ".join(f"CAST({_name(word)} AS VARCHAR)" for word in term.words)
            return f"coalesce({off} <= {slack}, true)", f"{parts} || ' is not ' || {shown}"
        parents = ", ".join(
            f"({_quote(parent)}, {_quote(value)})" for value, parent in allowed_values()[cross.column].items()
        )
        parent = _name(term.words[0])
        known = f"({parent}, {name}) IN ({parents})"
        return f"coalesce({known}, true)", f"{shown} || ' is not part of ' || {parent}"


def check_focus(con: duckdb.DuckDBPyConnection, relation: str, *, version: str = VERSION) -> list[Finding]:
    """The broken rules of `relation` (a view or table of `con`), [] when it keeps them all.

    A column that is not mandatory may be missing. Raises ValueError for an unknown version.
    """
    described = con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()  # noqa: S608 - a name of ours
    types = {row[0]: str(row[1]) for row in described}
    asked = columns_of(version)
    found = [
        Finding("present", name, None, "")
        for name in asked
        if columns()[name].level == "mandatory" and name not in types
    ]
    probes = _Probes(types, version)
    found += _broken_rows(con, relation, list(probes.all()))
    for cross in probes.groups():
        found += _broken_groups(con, relation, cross)
    return found


def _broken_rows(con: duckdb.DuckDBPyConnection, relation: str, probes: list[_Probe]) -> list[Finding]:
    """Counts of all probes in one pass; examples in a second one, of those that found something."""
    counts = _ask(con, relation, [f"count(*) FILTER (WHERE {p.broken})" for p in probes])
    broken = [(probe, rows) for probe, rows in zip(probes, counts, strict=True) if rows]
    examples = _ask(con, relation, [f"min({p.example}) FILTER (WHERE {p.broken})" for p, _ in broken])
    return [
        Finding(probe.rule, probe.column, rows, str(example))
        for (probe, rows), example in zip(broken, examples, strict=True)
    ]


def _ask(con: duckdb.DuckDBPyConnection, relation: str, aggregates: list[str]) -> tuple[Any, ...]:
    if not aggregates:
        return ()
    return con.execute(f"SELECT {', '.join(aggregates)} FROM {relation}").fetchall()[0]  # noqa: S608


def _broken_groups(con: duckdb.DuckDBPyConnection, relation: str, cross: CrossRule) -> list[Finding]:
    """`one per`: groups with more than one value of the rule's column, counted in rows."""
    own, group = _name(cross.column), _name(cross.then.words[0])
    row = con.execute(
        "SELECT CAST(sum(n) AS BIGINT), min(g || ': ' || few || ', ' || many) FROM ("  # noqa: S608 - names of ours
        f"SELECT CAST({group} AS VARCHAR) AS g, count(*) AS n, CAST(min({own}) AS VARCHAR) AS few,"
        f" CAST(max({own}) AS VARCHAR) AS many FROM {relation}"
        f" WHERE {group} <> '' AND {own} IS NOT NULL"
        f" GROUP BY {group} HAVING min({own}) <> max({own}))"
    ).fetchone()
    if row is None or not row[0]:
        return []
    return [Finding(cross.rule, cross.column, row[0], row[1])]
