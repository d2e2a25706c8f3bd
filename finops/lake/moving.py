"""A lake in another folder: Iceberg's files and the catalog name every file by its whole path.

Three kinds of files name others: `*.metadata.json` (the table's folder, its older metadata, manifest lists),
manifest lists (manifests with their lengths) and manifests (data files). Manifests are rewritten before the
lists, whose lengths follow. Data files name nothing and stay as they are. Each file is written beside the old
one and put in its place; the same run a second time changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from pyiceberg.avro.file import AvroFile, AvroOutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import Record
from pyiceberg.types import StructType
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from finops.lake.errors import LakeError
from finops.lake.lake import CATALOG_SCHEMA, _catalog_url

# Field ids of the Iceberg format.
FILE_PATH, REFERENCED_FILE, MANIFEST_PATH, MANIFEST_LENGTH = 100, 143, 500, 501
_PATHS = {FILE_PATH, REFERENCED_FILE, MANIFEST_PATH}
_OF_AVRO = ("avro.schema", "avro.codec")
Moved = Callable[[str], str]


def moved_from(old: str, new: str) -> Moved:
    """What turns a path below `old` into the one below `new`; another text stays as it is."""

    def moved(path: str) -> str:
        scheme, bare = ("file://", path[7:]) if path.startswith("file://") else ("", path)
        return f"{scheme}{new}{bare[len(old) :]}" if bare == old or bare.startswith(f"{old}/") else path

    return moved


def relocate_files(warehouse: Path, *, old: str) -> int:
    """Make the files below `warehouse`, copied from the folder `old`, name each other where they are now.

    Returns the number of files that were rewritten. Raises LakeError for one that cannot be read.
    """
    new = str(warehouse.resolve())
    moved = moved_from(old.rstrip("/"), new)
    folders = sorted(path for path in warehouse.resolve().rglob("metadata") if path.is_dir())
    lists: list[Path] = []
    manifests: list[Path] = []
    tables: list[Path] = []
    for folder in folders:
        tables += sorted(folder.glob("*.metadata.json"))
        for path in sorted(folder.glob("*.avro")):
            (lists if path.name.startswith("snap-") else manifests).append(path)
    for path in (*manifests, *lists):
        _rewrite_avro(path, moved)
    for path in tables:
        _rewrite_json(path, moved)
    return len(manifests) + len(lists) + len(tables)


def relocate_catalog(database_url: str, *, old: str, new: str) -> None:
    """Make the catalog's rows name the metadata files below `new`, in one transaction."""
    engine = create_engine(_catalog_url(database_url), poolclass=NullPool)
    where = {"old": old.rstrip("/"), "below": f"{old.rstrip('/')}/", "new": new.rstrip("/")}
    with engine.begin() as connection:
        for table, column in (
            ("iceberg_tables", "metadata_location"),
            ("iceberg_tables", "previous_metadata_location"),
            ("iceberg_namespace_properties", "property_value"),
        ):
            found = f"to_regclass('{CATALOG_SCHEMA}.{table}')"
            if connection.execute(text(f"SELECT {found}")).scalar() is None:
                continue
            connection.execute(
                text(
                    f"UPDATE {CATALOG_SCHEMA}.{table} "
                    f"SET {column} = :new || substr({column}, length(:old) + 1) "
                    f"WHERE starts_with({column}, :below)"
                ),
                where,
            )
    engine.dispose()


def _rewrite_json(path: Path, moved: Moved) -> None:
    def inside(value: Any) -> Any:
        if isinstance(value, str):
            return moved(value)
        if isinstance(value, list):
            return [inside(one) for one in value]
        return {k: inside(v) for k, v in value.items()} if isinstance(value, dict) else value

    try:
        given = json.loads(path.read_bytes())
    except ValueError as error:
        raise LakeError(f"{path} is no metadata of a table: {error}") from error
    _put(path, lambda beside: beside.write_text(json.dumps(inside(given))))


def _rewrite_avro(path: Path, moved: Moved) -> None:
    io = PyArrowFileIO()
    try:
        with AvroFile[Record](io.new_input(str(path))) as file:
            records = list(file)
            header, schema = file.header, file.schema
    except (ValueError, EOFError, KeyError, IndexError) as error:
        raise LakeError(f"{path} is no list of files of a table: {error}") from error
    for record in records:
        _move_record(record, schema.as_struct(), moved)

    def write(beside: Path) -> None:
        with AvroOutputFile[Record](
            io.new_output(str(beside)),
            file_schema=schema,
            schema_name=str(json.loads(header.meta["avro.schema"])["name"]),
            metadata={
                **{key: value for key, value in header.meta.items() if key not in _OF_AVRO},
                "avro.codec": header.meta.get("avro.codec", "null"),
            },
        ) as out:
            out.write_block(records)

    _put(path, write)


def _move_record(record: Record, kind: StructType, moved: Moved) -> None:
    place = {field.field_id: i for i, field in enumerate(kind.fields)}
    for i, field in enumerate(kind.fields):
        value = record[i]
        if field.field_id in _PATHS and isinstance(value, str):
            record[i] = moved(value)
        elif isinstance(field.field_type, StructType) and value is not None:
            _move_record(cast(Record, value), field.field_type, moved)
    if MANIFEST_LENGTH in place and os.path.exists(record[place[MANIFEST_PATH]]):
        record[place[MANIFEST_LENGTH]] = os.path.getsize(record[place[MANIFEST_PATH]])


def _put(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside and replace, so that a file is whole or as it was."""
    beside = path.with_name(f"{path.name}.moving")
    try:
        write(beside)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
