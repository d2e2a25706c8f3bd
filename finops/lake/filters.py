"""Row filters for the lake; PyIceberg's own classes are typed for their serialised form, not for use."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import reduce
from typing import Any

from pyiceberg import expressions as ex

_kinds: Any = ex


def equals(column: str, value: str | int | datetime) -> ex.BooleanExpression:
    """Rows whose column has this value."""
    found: ex.BooleanExpression = _kinds.EqualTo(column, _literal(value))
    return found


def one_of(column: str, values: Iterable[str]) -> ex.BooleanExpression:
    """Rows whose column has one of these values; no value, no row."""
    found: ex.BooleanExpression = _kinds.In(column, sorted(set(values)))
    return found


def before(column: str, moment: datetime) -> ex.BooleanExpression:
    """Rows earlier than an aware moment."""
    found: ex.BooleanExpression = _kinds.LessThan(column, _literal(moment))
    return found


def at_or_after(column: str, moment: datetime) -> ex.BooleanExpression:
    """Rows at or after an aware moment."""
    found: ex.BooleanExpression = _kinds.GreaterThanOrEqual(column, _literal(moment))
    return found


def all_of(first: ex.BooleanExpression, *others: ex.BooleanExpression) -> ex.BooleanExpression:
    """Rows that every filter takes."""
    return reduce(lambda left, right: _kinds.And(left, right), others, first)


def any_of(first: ex.BooleanExpression, *others: ex.BooleanExpression) -> ex.BooleanExpression:
    """Rows that some filter takes."""
    return reduce(lambda left, right: _kinds.Or(left, right), others, first)


def _literal(value: str | int | datetime) -> str | int:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"a time without a time zone: {value!r}")
        return value.isoformat()
    return value
