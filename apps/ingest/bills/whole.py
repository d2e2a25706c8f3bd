"""Whether the files of a delivery are all of it: part numbers in names, lists beside them, the last line.

Exports come in parts: `report-00001.csv`, `report-2.csv.gz` (AWS), `part_0_0001.csv` (Azure),
`export-000000000000.csv` (BigQuery), `part-00000-….parquet` (Spark, Athena). A manifest among the files says
what belongs together. Without it a part that has others before it, between it or beside it in its folder is
not taken for the whole, and what cannot be known is said: a first part alone may be all there is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.ingest.bills.gather import Bundle, read_manifest
from apps.ingest.bills.staged import BillRefusedError, Staged
from finops.providers.aws.bill_manifests import Manifest, is_manifest
from finops.providers.base import PermanentError

_ENDING = r"(?:\.snappy)?\.(?:csv|tsv|txt|parquet)(?:\.(?:gz|zip|xz|zst|bz2))?"
# AWS packs its exports; a plain text of such a name is somebody's own (mar-10.csv).
_PACKED_ENDING = r"(?:(?:\.snappy)?\.parquet|\.csv\.(?:gz|zip)|\.zip)"
# (pattern with `stem` and `part`, number of the first part). A dash and digits behind digits are a date.
_PATTERNS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(rf"(?i)(?P<stem>part-)(?P<part>0\d{{4}})(?:[-.].*)?{_ENDING}"), 0),
    (re.compile(rf"(?i)(?P<stem>.+)-(?P<part>0\d{{4}}){_ENDING}"), 1),
    (re.compile(rf"(?i)(?P<stem>.*?)(?P<part>0{{6}}\d{{6}}){_ENDING}"), 0),
    (re.compile(rf"(?i)(?P<stem>part)_(?P<part>\d{{1,4}})_\d{{4}}{_ENDING}"), 0),
    (re.compile(rf"(?i)(?P<stem>.*[^\d])-(?P<part>[1-9]\d{{0,2}}){_PACKED_ENDING}"), 1),
)
_SHOWN = 5
OPTION = "say --whole where these files are the whole bill"


@dataclass(frozen=True)
class _Part:
    """One file by its name: of which delivery, which part, and the number of the first one."""

    stem: str
    number: int
    first: int
    name: str


def _part_of(name: str) -> _Part | None:
    for pattern, first in _PATTERNS:
        if found := pattern.fullmatch(name):
            return _Part(found["stem"], int(found["part"]), first, name)
    return None


def parts_missing(bundle: Bundle) -> str:
    """Why the files of a bundle without a manifest cannot be all of the delivery; "" when nothing says so."""
    if bundle.manifest:
        return ""
    return _unlisted(bundle.files) or _numbers_missing(bundle.files) or _beside(bundle.files)


def doubts(bundle: Bundle) -> list[dict[str, Any]]:
    """Notes on what is not known: whether a first part is all, whether a text without a line end was cut."""
    notes = []
    if not bundle.manifest and len(bundle.files) == 1:
        name = bundle.files[0][1].name
        part = _part_of(name)
        if part is not None and part.number == part.first:
            notes.append({"code": "one part", "file": name})
    notes += [{"code": "no line end", "file": shown} for shown, path in bundle.files if _is_open(path)]
    return notes


def rows_refuse(bundle: Bundle, staged: Sequence[Staged]) -> None:
    """Raises BillRefusedError where a file has other rows than its manifest counts."""
    read: dict[str, int] = defaultdict(int)
    for one in staged:
        for part in one.parts:
            read[part.file] += part.rows
    names = {shown for shown, _ in bundle.files}
    for name, rows in bundle.rows:
        if name in names and read[name] != rows:
            raise BillRefusedError(f"{name} has {read[name]} rows, and {bundle.manifest} counts {rows}")


def _numbers_missing(files: Iterable[tuple[str, Path]]) -> str:
    groups: dict[tuple[Path, str, int], list[_Part]] = defaultdict(list)
    for _, path in files:
        if part := _part_of(path.name):
            groups[path.parent, part.stem, part.first].append(part)
    for (_, _, first), parts in groups.items():
        there = {part.number for part in parts}
        missing = [str(number) for number in range(first, max(there)) if number not in there]
        if missing:
            last = max(parts, key=lambda part: part.number)
            listed = ", ".join(missing[:_SHOWN]) + (" …" if len(missing) > _SHOWN else "")
            word = "part is" if len(missing) == 1 else "parts are"
            return (
                f"{last.name} is part {last.number} of a delivery of which {word} missing: {listed}; {OPTION}"
            )
    return ""


def _beside(files: Sequence[tuple[str, Path]]) -> str:
    """Other parts in the folder of a part: somebody gave one file of several."""
    given = {path.resolve() for _, path in files}
    for _, path in files:
        part = _part_of(path.name)
        if part is None:
            continue
        others = sorted(
            other.name
            for other in path.parent.iterdir()
            if other.resolve() not in given and _same_delivery(part, _part_of(other.name))
        )
        if others:
            listed = ", ".join(others[:_SHOWN])
            return (
                f"{path.name} is one part of a delivery; its folder has more that were not given: {listed}; "
                f"{OPTION}"
            )
    return ""


def _same_delivery(one: _Part, other: _Part | None) -> bool:
    return other is not None and (one.stem, one.first) == (other.stem, other.first)


def _unlisted(files: Sequence[tuple[str, Path]]) -> str:
    """A manifest beside a file, or in the folder for manifests, that lists it with others not given."""
    names = {path.name for _, path in files}
    for _, path in files:
        for manifest_path, manifest in _manifests_of(path):
            listed = [key.rsplit("/", 1)[-1] for key in manifest.keys]
            absent = [name for name in listed if name not in names]
            if path.name in listed and absent:
                return (
                    f"{path.name} is one of {len(listed)} files that {manifest_path.name} lists; "
                    f"not given: {', '.join(absent[:_SHOWN])}; {OPTION}"
                )
    return ""


def _manifests_of(path: Path) -> Iterable[tuple[Path, Manifest]]:
    folders = [path.parent]
    parts = path.resolve().parts
    if "data" in parts:
        place = len(parts) - 1 - parts[::-1].index("data")
        folders.append(Path(*parts[:place], "metadata", *parts[place + 1 : -1]))
    for folder in folders:
        for found in sorted(folder.glob("*anifest.json")) if folder.is_dir() else []:
            if not is_manifest(found.name):
                continue
            try:
                yield found, read_manifest(found)[0]
            except (PermanentError, OSError):
                continue


def _is_open(path: Path) -> bool:
    """Whether a plain text file stops inside a line; packed files say themselves that they are whole."""
    with path.open("rb") as handle:
        head = handle.read(4)
        if handle.seek(0, 2) == 0 or head[:2] in {b"\x1f\x8b", b"BZ", b"PK"} or head in _PACKED:
            return False
        handle.seek(-2, 2) if handle.tell() > 1 else handle.seek(0)
        return b"\n" not in (end := handle.read(2)) and b"\r" not in end


_PACKED = {b"PAR1", b"(\xb5/\xfd", b"\xfd7zX"}
