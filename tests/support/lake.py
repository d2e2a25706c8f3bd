"""A lake of a test's own: an empty catalog and an empty folder.

The catalog is not part of the test's transaction, so it is dropped before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from apps.ingest import selectors
from finops.lake.lake import CATALOG_SCHEMA


def _drop_catalog() -> None:
    for opened in list(selectors._lakes.values()):
        opened.close()
    selectors._lakes.clear()
    url = make_url(selectors.database_url()).set(drivername="postgresql+psycopg2")
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA IF EXISTS {CATALOG_SCHEMA} CASCADE"))


@contextmanager
def fresh_lake(settings: Any, folder: Path) -> Iterator[Path]:
    """Points the settings at `folder`; use it in a fixture after `db` or `transactional_db`."""
    settings.LAKE_WAREHOUSE = str(folder)
    _drop_catalog()
    yield folder
    _drop_catalog()
