"""An empty lake and the default organisation for tests of bills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from apps.accounts.models import Organisation
from tests.support.lake import fresh_lake


@pytest.fixture(autouse=True)
def _fresh_cache() -> None:
    cache.clear()


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def empty_lake(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder
