"""Names and texts inside a SQL statement for DuckDB."""

from __future__ import annotations


def quote(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def name(text: str) -> str:
    """A SQL identifier."""
    return '"' + text.replace('"', '""') + '"'
