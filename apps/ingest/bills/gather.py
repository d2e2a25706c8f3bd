"""Which files of a path belong together as one delivery.

- A manifest is the list of what belongs together; nothing else in its folder counts, and a file that it
  names and that is not there refuses the delivery.
- Without a manifest the files of one folder whose names differ in numbers only belong together; an assembly
  in another folder is another delivery. A file given alone is a delivery.
- A delivery's time is that of the option, of its execution's folder, else of its newest file.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import orjson

from finops.providers.aws.bill_manifests import Manifest, is_manifest, parse_manifest
from finops.providers.azure.bill_manifests import Blob, azure_manifest, is_azure
from finops.providers.base import PermanentError
from finops.providers.files import UnreadableError

# What other clouds and tools call theirs; AWS puts the report's name in front.
_ANYBODYS = "manifest.json"
_DATA = re.compile(r"(?i)\.(csv|tsv|parquet|gz|zip|xz|zst|zstd|bz2)$")


@dataclass(frozen=True)
class Bundle:
    """Files of one delivery: (name to show, path). `refused` says why they cannot be one; `rows` are (name,
    data rows) as far as a manifest counts them.
    """

    files: tuple[tuple[str, Path], ...]
    delivered_at: datetime
    dated: bool = False
    report: str = ""
    assembly: str = ""
    period: date | None = None
    manifest: str = ""
    refused: str = ""
    rows: tuple[tuple[str, int], ...] = ()


def gather(paths: Sequence[str], *, delivered_at: datetime | None = None) -> list[Bundle]:
    """The deliveries behind files, folders and globs, oldest first. Raises UnreadableError for none."""
    found = [entry for path in paths for entry in _files(path)]
    files = list({path.resolve(): (shown, path) for shown, path in found}.values())
    bundles, claimed = _by_manifest(files)
    bundles += _by_name([f for f in files if f[1] not in claimed and not is_manifest(f[1].name)])
    if not bundles:
        raise UnreadableError("no bill here: no CSV, Parquet or packed file")
    if delivered_at is not None:
        bundles = [replace(b, delivered_at=delivered_at, dated=True) for b in bundles]
    return sorted(bundles, key=lambda b: (b.delivered_at, b.files[0][0] if b.files else ""))


def _files(path: str) -> list[tuple[str, Path]]:
    given = Path(path)
    if given.is_file():
        return [(given.name, given)]
    if given.is_dir():
        return [(str(f.relative_to(given)), f) for f in _below(given) if _DATA.search(f.name) or _said(f)]
    if any(sign in path for sign in "*?["):
        matches = [match for match in sorted(glob.glob(path, recursive=True)) if match != path]
        if matches:
            return [entry for match in matches for entry in _files(match)]
    raise UnreadableError("no such file, folder or pattern")


def _said(file: Path) -> bool:
    return is_manifest(file.name)


def _below(folder: Path) -> list[Path]:
    """Files below a folder, sorted; hidden ones and links are left out."""

    def stop(error: OSError) -> None:
        raise UnreadableError(f"folder {error.filename} cannot be read: {error.strerror}") from error

    found = []
    for root, folders, names in os.walk(folder, onerror=stop):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        found += [Path(root, n) for n in names if not n.startswith(".") and not Path(root, n).is_symlink()]
    return sorted(found)


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _newest(files: Iterable[tuple[str, Path]]) -> datetime:
    return max((_changed(path) for _, path in files), default=datetime.fromtimestamp(0, UTC))


def _by_manifest(files: Sequence[tuple[str, Path]]) -> tuple[list[Bundle], set[Path]]:
    """(deliveries of the manifests, files that are theirs or lie in what they rule)."""
    bundles: list[Bundle] = []
    claimed: set[Path] = set()
    taken: set[tuple[Path, ...]] = set()
    for shown, path in (f for f in files if is_manifest(f[1].name)):
        try:
            manifest, blobs = read_manifest(path)
        except (PermanentError, OSError) as error:
            # Parts of a delivery whose list is broken are not taken for whole ones.
            if path.name.lower() != _ANYBODYS or is_azure(_document(path)):
                claimed |= _ruled(path, files)
            bundles.append(Bundle((), _changed(path), manifest=shown, refused=f"{shown}: {error}"))
            continue
        bundle = _counted(_named(shown, path, manifest), blobs)
        claimed |= _ruled(path, files)
        key = tuple(sorted(p.resolve() for _, p in bundle.files))
        if key not in taken or bundle.refused:
            taken.add(key)
            bundles.append(bundle)
    return bundles, claimed


def read_manifest(path: Path) -> tuple[Manifest, tuple[Blob, ...]]:
    """A manifest of AWS or Azure, and its files' counts where it has some. Raises PermanentError, OSError."""
    document = _document(path)
    if not is_azure(document):
        return parse_manifest(path.read_bytes(), path.as_posix()), ()
    found = azure_manifest(document)
    keys = tuple(dict.fromkeys(blob.key for blob in found.blobs))
    return Manifest(keys, "", found.run, None, found.delivered_at), found.blobs


def _document(path: Path) -> Any:
    """The JSON of a file, None where it holds none."""
    try:
        return orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None


def _counted(bundle: Bundle, blobs: Sequence[Blob]) -> Bundle:
    """With the rows that the manifest counts; refused where a file is shorter or longer than it says."""
    paths = dict(bundle.files)
    wrong, rows = [], []
    for blob in blobs:
        name = blob.key.rsplit("/", 1)[-1]
        if name in paths and blob.size is not None and paths[name].stat().st_size != blob.size:
            wrong.append(f"{name} has {paths[name].stat().st_size} bytes, its manifest says {blob.size}")
        if blob.rows is not None:
            rows.append((name, blob.rows))
    return replace(bundle, rows=tuple(rows), refused=bundle.refused or "; ".join(wrong))


def _named(shown: str, path: Path, manifest: Manifest) -> Bundle:
    base = _base(path, manifest.keys)
    found, missing = [], []
    for key in manifest.keys:
        local = base[0] / "/".join(key.split("/")[base[1] :]) if base else None
        if local is not None and local.is_file():
            found.append((key.rsplit("/", 1)[-1], local))
        else:
            missing.append(key)
    refused = f"{len(missing)} of {len(manifest.keys)} listed files missing: {missing[0]}" if missing else ""
    written = manifest.delivered_at
    return Bundle(
        tuple(found),
        written or _newest([*found, (shown, path)]),
        dated=written is not None,
        report=manifest.report,
        assembly=manifest.assembly,
        period=manifest.period,
        manifest=shown,
        refused=refused,
    )


def _base(path: Path, keys: Sequence[str]) -> tuple[Path, int] | None:
    """The folder, and how many parts to cut from the keys, under which most of the keys lie."""
    best: tuple[int, int, Path] | None = None
    for folder in path.resolve().parents:
        for cut in range(len(keys[0].split("/"))):
            there = sum((folder / "/".join(k.split("/")[cut:])).is_file() for k in keys)
            if there and (best is None or (there, -cut) > best[:2]):
                best = (there, -cut, folder)
    return None if best is None else (best[2], -best[1])


def _ruled(path: Path, files: Sequence[tuple[str, Path]]) -> set[Path]:
    """Data files in the folders that the manifest speaks for."""
    folders = [path.parent]
    parts = list(path.parts)
    if "metadata" in parts:
        place = len(parts) - 1 - parts[::-1].index("metadata")
        folders.append(Path(*parts[:place], "data", *parts[place + 1 : -1]))
    return {file for _, file in files if any(folder in file.parents for folder in folders)}


def _by_name(files: Sequence[tuple[str, Path]]) -> list[Bundle]:
    together: dict[tuple[Path, str], list[tuple[str, Path]]] = {}
    for shown, path in files:
        together.setdefault((path.parent, re.sub(r"\d+", "#", path.name)), []).append((shown, path))
    return [
        Bundle(tuple(group), _newest(group), assembly=folder.name if len(together) > 1 else "")
        for (folder, _), group in together.items()
    ]
