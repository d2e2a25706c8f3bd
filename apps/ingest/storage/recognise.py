"""What each file is: by its manifest, its header or its first line, never by its name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from apps.ingest.storage.sources import AUTO, File, Found, ListingSource, RowsSource, StorageOptions
from finops.providers.aws import storage_inventory, storage_lens
from finops.providers.aws.storage_inventory import Manifest, parse_manifest
from finops.providers.aws.storage_logs import is_access_log
from finops.providers.aws.storage_trail import is_trail
from finops.providers.files.archives import UnreadableError
from finops.providers.files.storage_files import Table, md5_of, open_table, sha256_of, start_of, whole_text
from finops.providers.files.storage_reads import COLUMNS as READS_COLUMNS
from finops.providers.storage import Kind, StorageFileError, nearest_kind
from finops.providers.storage.kinds import plain

# A manifest names some thousand files, a CloudTrail file holds a few minutes of events.
_MOST_DOCUMENT = 256 << 20
_CHECKSUM, _SYMLINK = "manifest.checksum", "symlink.txt"
_LENS_SCHEMA, _LENS_FILES = "reportSchema", "reportFiles"
# What makes up each kind of table, as alternatives per column.
TABLES: dict[Kind, list[tuple[str, ...]]] = {
    Kind.STORAGE_LENS: [storage_lens.COLUMNS[n] for n in ("day", "bucket", "metric", "value")],
    Kind.INVENTORY: [storage_inventory.COLUMNS[n] for n in storage_inventory.REQUIRED],
    Kind.READS: [
        (*READS_COLUMNS["key"], *READS_COLUMNS["group"]),
        READS_COLUMNS["day"],
        (*READS_COLUMNS["bytes"], *READS_COLUMNS["requests"]),
    ],
}


@dataclass
class Recogniser:
    """Sorts the files of one run. `folder` takes what had to be unpacked."""

    options: StorageOptions
    folder: Path
    found: Found

    def sort(self, files: Sequence[File]) -> Found:
        """Manifests first: the files they name are theirs."""
        self.found.files = len(files)
        claimed: set[Path] = set()
        manifests: list[tuple[File, dict[str, Any]]] = []
        for file in files:
            document = self._document(file)
            if storage_inventory.is_manifest(document) or _is_lens_manifest(document):
                manifests.append((file, document or {}))
                claimed.add(file.path)
        for file, document in manifests:
            self._manifest(file, document, files, claimed)
        rest = [f for f in files if f.path not in claimed]
        for file in rest:
            if PurePosixPath(file.name).name in (_CHECKSUM, _SYMLINK):
                self.found.ignored["manifest checksums and links"] += 1
            elif manifests and self._is_data_of(file, manifests):
                # The data folder keeps the files of every listing; those of others come with their manifest.
                self.found.ignored["files that no manifest names"] += 1
            else:
                self._alone(file)
        return self.found

    def _document(self, file: File) -> dict[str, Any] | None:
        try:
            start = start_of(file.path).lstrip(b"\xef\xbb\xbf \t\r\n")
            if not start.startswith(b"{") or b'"Records"' in start[:200]:
                return None
            document = orjson.loads(whole_text(file.path, _MOST_DOCUMENT).lstrip(b"\xef\xbb\xbf"))
        except (UnreadableError, orjson.JSONDecodeError):
            return None
        return document if isinstance(document, dict) else None

    def _is_data_of(self, file: File, manifests: Sequence[tuple[File, dict[str, Any]]]) -> bool:
        """Whether a file lies in the folder whose files a manifest names."""
        parent = PurePosixPath(file.name).parent.name
        keys = [entry.get("key", "") for _, document in manifests for entry in _entries(document)]
        return bool(parent) and any(PurePosixPath(key).parent.name == parent for key in keys)

    def _manifest(
        self, file: File, document: dict[str, Any], files: Sequence[File], claimed: set[Path]
    ) -> None:
        try:
            if _is_lens_manifest(document):
                for key, md5 in _lens_files(document):
                    one, _digest = _named(key, None, md5, files)
                    sha = sha256_of(one.path)
                    claimed.add(one.path)
                    self._lens(one, sha, str(document[_LENS_SCHEMA]))
                return
            data = whole_text(file.path, _MOST_DOCUMENT).lstrip(b"\xef\xbb\xbf")
            manifest = parse_manifest(data)
            self._checksum(file, files)
            self.found.listings.append(self._listing(file, manifest, files, claimed))
        except (StorageFileError, UnreadableError) as error:
            row, field = getattr(error, "row", None), getattr(error, "field", "")
            self.found.refuse(file.name, str(error), row=row, field=field)
            # Half of a listing is no listing: its files are not read on their own.
            claimed |= {f.path for f in files for e in _entries(document) if _matches(f, e.get("key", ""))}

    def _checksum(self, file: File, files: Sequence[File]) -> None:
        beside = str(PurePosixPath(file.name).with_name(_CHECKSUM))
        told = next((f for f in files if f.name == beside), None)
        if told is None:
            return
        wanted = whole_text(told.path, 1 << 16).decode("ascii", "replace").strip().casefold()
        if wanted and wanted != md5_of(file.path):
            raise StorageFileError(f"the manifest's MD5 is not the one in {beside}", field="MD5checksum")

    def _listing(
        self, file: File, manifest: Manifest, files: Sequence[File], claimed: set[Path]
    ) -> ListingSource:
        tables, hashes = [], []
        for entry in manifest.files:
            one, sha = _named(entry.key, entry.size, entry.md5, files)
            claimed.add(one.path)
            hashes.append(sha)
            if manifest.form == "CSV":
                table = Table(one.path, manifest.columns, "csv")
            else:
                table = open_table(one.path, self.folder)
                storage_inventory.require(table.names)
            tables.append((one, table))
        forms = {table.form for _, table in tables}
        if len(forms) > 1 or len({table.names for _, table in tables}) > 1:
            raise StorageFileError("the files of the manifest have different columns", field="files")
        names = tables[0][1].names if tables else manifest.columns
        return ListingSource(
            file.name, manifest.bucket, manifest.created, tuple(tables), names, _joined(hashes)
        )

    def _alone(self, file: File) -> None:
        try:
            self._one(file, sha256_of(file.path))
        except (StorageFileError, UnreadableError) as error:
            told = str(error).removeprefix("no bill: ")
            row, field = getattr(error, "row", None), getattr(error, "field", "")
            self.found.refuse(file.name, told, row=row, field=field)

    def _one(self, file: File, sha: str) -> None:
        start = start_of(file.path)
        if not start:
            raise StorageFileError("the file is empty")
        text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
        asked = self.options.kind
        if text.startswith(b"{"):
            document = whole_text(file.path, _MOST_DOCUMENT)
            if not is_trail(_parsed(document)):
                raise StorageFileError(
                    "JSON of no known kind: the nearest is cloudtrail, which has a list Records of events"
                )
            self._expect(Kind.CLOUDTRAIL)
            self.found.rows.append(RowsSource(Kind.CLOUDTRAIL, file, sha))
            return
        first = text.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")
        if is_access_log(first) or asked == Kind.ACCESS_LOG:
            self._expect(Kind.ACCESS_LOG)
            table = Table(file.path, ("line",), "lines")
            self.found.rows.append(RowsSource(Kind.ACCESS_LOG, file, sha, table))
            return
        table = open_table(file.path, self.folder)
        kind = self._table_kind(table.names)
        if kind is Kind.INVENTORY:
            self._table_listing(file, table, sha)
        else:
            self.found.rows.append(RowsSource(kind, file, sha, table))

    def _expect(self, kind: Kind) -> None:
        if self.options.kind not in (AUTO, kind):
            raise StorageFileError(f"this is {kind}, not {self.options.kind}")

    def _table_kind(self, names: Sequence[str]) -> Kind:
        have = {plain(name) for name in names}

        def fits(kind: Kind) -> bool:
            return all(have & {plain(name) for name in group} for group in TABLES[kind])

        asked = self.options.kind
        if asked != AUTO:
            kind = Kind(asked)
            wanted = {kind: TABLES[kind]} if kind in TABLES else None
            if wanted is None or not fits(kind):
                lacks = nearest_kind(names, wanted)[1] if wanted else "its form"
                raise StorageFileError(f"no {kind}: it lacks {lacks}", field=lacks.split(",")[0])
            return kind
        kind = next((kind for kind in TABLES if fits(kind)), None)  # type: ignore[assignment]
        if kind is None:
            nearest, lacks = nearest_kind(names, TABLES)
            raise StorageFileError(
                f"no known kind: the nearest is {nearest}, which also has {lacks}. A CSV inventory has no "
                "header: give its manifest.json too"
            )
        return kind

    def _lens(self, file: File, sha: str, schema: str) -> None:
        table = open_table(file.path, self.folder)
        if nearest_kind(table.names, {Kind.STORAGE_LENS: TABLES[Kind.STORAGE_LENS]})[1]:
            # Without a header the manifest's schema names the columns.
            table = Table(file.path, tuple(name.strip() for name in schema.split(",")), "csv")
        missing = nearest_kind(table.names, {Kind.STORAGE_LENS: TABLES[Kind.STORAGE_LENS]})[1]
        if missing:
            raise StorageFileError(f"{file.name}: no storage-lens: it lacks {missing}", field=_LENS_SCHEMA)
        self.found.rows.append(RowsSource(Kind.STORAGE_LENS, file, sha, table))

    def _table_listing(self, file: File, table: Table, sha: str) -> None:
        columns = storage_inventory.require(table.names)
        if "bucket" not in columns and not self.options.bucket:
            raise StorageFileError("no column names the bucket: say which one it is", field="Bucket")
        listed_at = self.options.listed_at
        if listed_at is None:
            listed_at = datetime.fromtimestamp(file.path.stat().st_mtime, UTC).replace(microsecond=0)
            self.found.assumed["listed_at"] = f"{file.name}: the time of the file, {listed_at.isoformat()}"
        bucket = "" if "bucket" in columns else self.options.bucket
        self.found.listings.append(
            ListingSource(file.name, bucket, listed_at, ((file, table),), table.names, sha)
        )


def _parsed(data: bytes) -> Any:
    try:
        return orjson.loads(data.lstrip(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise StorageFileError(f"cut short or no JSON: {error}") from error


def _is_lens_manifest(document: Any) -> bool:
    return isinstance(document, dict) and _LENS_SCHEMA in document and _LENS_FILES in document


def _entries(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = document.get("files", document.get(_LENS_FILES))
    return [e for e in given if isinstance(e, dict)] if isinstance(given, list) else []


def _lens_files(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = [(str(e.get("key", "")), str(e.get("md5Checksum", ""))) for e in _entries(document)]
    if not found or not all(key for key, _ in found):
        raise StorageFileError("the manifest names no files", field=_LENS_FILES)
    return found


def _matches(file: File, key: str) -> int:
    """How many parts of the path, from its end, are those of the key; 0 when the name itself is another."""
    ours, theirs = PurePosixPath(file.name).parts[::-1], PurePosixPath(key).parts[::-1]
    same = 0
    for mine, its in zip(ours, theirs, strict=False):
        if mine != its:
            break
        same += 1
    return same


def _named(key: str, size: int | None, md5: str, files: Sequence[File]) -> tuple[File, str]:
    """(the file that a manifest names, a digest of it). Raises StorageFileError where it is not there or is
    another.
    """
    candidates = [(same, file) for file in files if (same := _matches(file, key))]
    if not candidates:
        raise StorageFileError(
            f"{key}: the manifest names this file and it is not there (give the folder that holds both)",
            field="files",
        )
    most = max(same for same, _ in candidates)
    reasons = []
    for file in (file for same, file in candidates if same == most):
        if size is not None and file.path.stat().st_size != size:
            reasons.append(f"{file.name}: {file.path.stat().st_size} bytes, the manifest says {size}")
        elif md5 and (found := md5_of(file.path)) != md5.casefold():
            reasons.append(f"{file.name}: its MD5 is {found}, the manifest's {md5}: another or damaged file")
        else:
            # The MD5 that was just proven stands for the content; without one it is read for a digest.
            return file, md5.casefold() or sha256_of(file.path)
    raise StorageFileError("; ".join(reasons), field="MD5checksum")


def _joined(hashes: Iterable[str]) -> str:
    """One digest for the files of a listing."""
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()
