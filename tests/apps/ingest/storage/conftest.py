"""Fixtures of the imports about storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.ingest.models import IngestRun
from apps.ingest.storage.run import storage_import
from apps.ingest.storage.sources import StorageOptions
from tests.support.lake import fresh_lake


@pytest.fixture
def lake_folder(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    """An empty lake."""
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


@pytest.fixture
def load(lake_folder: Path) -> Callable[..., IngestRun]:
    """Imports paths as one run."""

    def run(*paths: Path, organisation: Any = None, **options: Any) -> IngestRun:
        return storage_import(
            paths=[str(path) for path in paths],
            options=StorageOptions(**options),
            organisation=organisation,
        )

    return run
