"""Fixtures of the tests of bills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from apps.ingest import selectors
from tests.support.lake import fresh_lake


@pytest.fixture
def lake_folder(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    """An empty lake."""
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


def lines(columns: str, where: str = "true", table: str = "billing.lines") -> Sequence[tuple[Any, ...]]:
    """Lines as readers see them, sorted."""
    with selectors.lake().connect(selectors.current_snapshots()) as con:
        return con.execute(f"SELECT {columns} FROM {table} WHERE {where} ORDER BY ALL").fetchall()
