"""Fixtures of the ingest tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.ingest import selectors, services
from apps.ingest.models import IngestRun
from tests.support.lake import fresh_lake

MOMENT = "'%Y-%m-%dT%H:%M:%SZ'"


@pytest.fixture
def lake_folder(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    """An empty lake."""
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


@pytest.fixture
def load(lake_folder: Path, tmp_path: Path) -> Callable[..., IngestRun]:
    """Imports a text or bytes as a file, or a path as it is."""

    def run(content: str | bytes | Path, name: str = "prices.json", **options: Any) -> IngestRun:
        if isinstance(content, Path):
            path = content
        else:
            path = tmp_path / "in" / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        provider = options.pop("provider", "aws")
        return services.prices_import(
            source=str(path), provider=provider, options=services.ImportOptions(**options)
        )

    return run


def changes() -> list[tuple[str, str, str, str, str, Decimal]]:
    """(zone key, type, product, time, currency, price) as readers see them, sorted."""
    with selectors.lake().connect(selectors.current_snapshots()) as con:
        return con.execute(
            f'SELECT zone_key, instance_type, product, strftime("at", {MOMENT}), currency, price '
            "FROM prices.spot_changes ORDER BY ALL"
        ).fetchall()


def known() -> list[tuple[str, str, str, str, str]]:
    """(zone key, type, product, from, to) of the known ranges, sorted."""
    with selectors.lake().connect(selectors.current_snapshots()) as con:
        return con.execute(
            f"SELECT zone_key, instance_type, product, strftime(known_from, {MOMENT}), "
            f"strftime(known_to, {MOMENT}) FROM prices.spot_known ORDER BY ALL"
        ).fetchall()
