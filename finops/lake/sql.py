"""Iceberg row filters as DuckDB SQL, so that one expression prunes files and selects rows."""

from __future__ import annotations

from decimal import Decimal
from functools import singledispatch
from typing import Any

from pyiceberg import expressions as ex
from pyiceberg.expressions.visitors import bind
from pyiceberg.schema import Schema
from pyiceberg.types import TimestamptzType

from finops.lake.errors import LakeError
from finops.text.sql import name, quote

__all__ = ["name", "quote", "row_filter_sql"]

_COMPARE = {
    ex.BoundEqualTo: "=",
    ex.BoundNotEqualTo: "<>",
    ex.BoundLessThan: "<",
    ex.BoundLessThanOrEqual: "<=",
    ex.BoundGreaterThan: ">",
    ex.BoundGreaterThanOrEqual: ">=",
}


def row_filter_sql(expression: ex.BooleanExpression, schema: Schema) -> str:
    """The WHERE condition of an Iceberg expression. Raises LakeError for a kind that is not used here."""
    return _render(bind(schema, expression, case_sensitive=True))


def _value(literal: Any, kind: object) -> str:
    value = literal.value
    if isinstance(kind, TimestamptzType):
        return f"make_timestamptz({int(value)})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return str(value)
    return quote(str(value))


@singledispatch
def _render(expression: Any) -> str:
    raise LakeError(f"no SQL for the filter {expression!r}")


@_render.register
def _(expression: ex.AlwaysTrue) -> str:
    return "true"


@_render.register
def _(expression: ex.AlwaysFalse) -> str:
    return "false"


@_render.register
def _(expression: ex.And) -> str:
    return f"({_render(expression.left)} AND {_render(expression.right)})"


@_render.register
def _(expression: ex.Or) -> str:
    return f"({_render(expression.left)} OR {_render(expression.right)})"


@_render.register
def _(expression: ex.Not) -> str:
    return f"(NOT {_render(expression.child)})"


@_render.register
def _(expression: ex.BoundLiteralPredicate) -> str:
    field = expression.term.ref().field
    return f"{name(field.name)} {_COMPARE[type(expression)]} {_value(expression.literal, field.field_type)}"


@_render.register
def _(expression: ex.BoundSetPredicate) -> str:
    field = expression.term.ref().field
    # A set has no order of its own; sorted text keeps the SQL, and so a cache key made of it, the same.
    values = ", ".join(sorted(_value(literal, field.field_type) for literal in expression.literals))
    word = "IN" if isinstance(expression, ex.BoundIn) else "NOT IN"
    return f"{name(field.name)} {word} ({values})"
