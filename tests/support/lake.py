"""A lake of a test's own: an empty catalog and an empty folder.

The catalog is not part of the test's transaction, so it is dropped before and after. Its empty tables are
made once for a database and then copied: making them takes longer than most tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.pool import NullPool

from apps.ingest import selectors
from finops.lake import Lake
from finops.lake.lake import CATALOG_SCHEMA

COPY = f"{CATALOG_SCHEMA}_copy"
# Of a database: the folder in which its copied tables were made, and their metadata files by path below it.
_made: dict[str, tuple[Path, dict[str, str]]] = {}


@contextmanager
def _database() -> Iterator[Connection]:
    url = make_url(selectors.database_url()).set(drivername="postgresql+psycopg2")
    with create_engine(url, poolclass=NullPool).begin() as connection:
        yield connection


def _drop_catalog() -> None:
    for opened in list(selectors._lakes.values()):
        opened.close()
    selectors._lakes.clear()
    with _database() as connection:
        connection.execute(text(f"DROP SCHEMA IF EXISTS {CATALOG_SCHEMA} CASCADE"))


def _tables(connection: Connection, schema: str) -> list[str]:
    rows = connection.execute(
        text("SELECT table_name FROM information_schema.tables WHERE table_schema = :schema"),
        {"schema": schema},
    )
    return [row[0] for row in rows]


def _copy(connection: Connection, source: str, target: str) -> None:
    connection.execute(text(f"DROP SCHEMA IF EXISTS {target} CASCADE"))
    connection.execute(text(f"CREATE SCHEMA {target}"))
    for table in _tables(connection, source):
        connection.execute(text(f"CREATE TABLE {target}.{table} (LIKE {source}.{table} INCLUDING ALL)"))
        connection.execute(text(f"INSERT INTO {target}.{table} SELECT * FROM {source}.{table}"))


def _empty_catalog(folder: Path) -> None:
    """The tables of an empty lake in `folder`."""
    database = selectors.database_url()
    if database not in _made:
        Lake.open(database, folder).close()
        files = {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*.metadata.json")}
        _made[database] = (folder.resolve(), files)
        with _database() as connection:
            _copy(connection, CATALOG_SCHEMA, COPY)
        return
    first, files = _made[database]
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content.replace(str(first), str(folder.resolve())))
    with _database() as connection:
        _copy(connection, COPY, CATALOG_SCHEMA)
        connection.execute(
            text(
                f"UPDATE {CATALOG_SCHEMA}.iceberg_tables "
                "SET metadata_location = replace(metadata_location, :first, :folder)"
            ),
            {"first": str(first), "folder": str(folder.resolve())},
        )


@contextmanager
def fresh_lake(settings: Any, folder: Path, *, tables: bool = True) -> Iterator[Path]:
    """Points the settings at `folder`; use it in a fixture after `db` or `transactional_db`.

    Without `tables` there is nothing at all, as before the first start.
    """
    settings.LAKE_WAREHOUSE = str(folder)
    _drop_catalog()
    if tables:
        _empty_catalog(folder)
    yield folder
    _drop_catalog()
