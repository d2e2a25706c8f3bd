"""Reads of stored objects from CSV files: bytes by object and day, or cumulative bytes by snapshot.

Forms, told by the header: an object (`object`, `key`, `dataset` or `dandiset`), a day (`date` or `day`) and
bytes (`bytes`, `bytes_read` or `bytes_sent`); or `snapshot_date`, `cumulative_bytes_sent` and any columns
that together name the object. Cumulative counts fall at times in real files: a fall is no read and is
counted.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from finops.providers.files.archives import NOTHING, Entry, UnreadableError, Walk

MAX_BYTES = 1 << 30
MAX_TOLD = 100
_OBJECTS = ("object", "key", "dataset", "dandiset")
_DAYS = ("date", "day")
_BYTES = ("bytes", "bytes_read", "bytes_sent")
_SNAPSHOT, _CUMULATIVE = "snapshot_date", "cumulative_bytes_sent"


@dataclass(frozen=True)
class RejectedRead:
    """A row that tells no read: file, 1-based data record, column, reason."""

    file: str
    row: int
    field: str
    reason: str


@dataclass
class ReadDays:
    """`frame`: key, day (datetime64), bytes (float); a row per object and day. `falls`: counts that fell."""

    frame: pd.DataFrame
    rows_read: int = 0
    rejected: int = 0
    falls: int = 0
    rejections: list[RejectedRead] = field(default_factory=list)


def read_days(paths: Sequence[str]) -> ReadDays:
    """All files of the paths together. Raises UnreadableError for a file of no known form."""
    found = ReadDays(pd.DataFrame({"key": [], "day": [], "bytes": []}))
    frames = []
    for path in paths:
        for entry in Walk(path).entries():
            frames.append(_read(entry, found))
    if not frames:
        raise UnreadableError("no file to read")
    frame = pd.concat(frames, ignore_index=True)
    found.frame = frame.groupby(["key", "day"])["bytes"].sum().reset_index()
    return found


def _read(entry: Entry, found: ReadDays) -> pd.DataFrame:
    if entry.refused is not None or entry.stream is None:
        raise UnreadableError(f"{entry.name}: {entry.refused or NOTHING}")
    data = entry.stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableError(f"{entry.name}: larger than {MAX_BYTES >> 20} MiB")
    try:
        table = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UnreadableError(f"{entry.name}: not a CSV file in UTF-8: {error}") from None
    table.columns = [str(name).strip().casefold() for name in table.columns]
    if {_SNAPSHOT, _CUMULATIVE} <= set(table.columns):
        return _cumulative(table, entry.name, found)
    names = [next((n for n in wanted if n in table.columns), None) for wanted in (_OBJECTS, _DAYS, _BYTES)]
    if None in names:
        known = "; ".join(", ".join(wanted) for wanted in (_OBJECTS, _DAYS, _BYTES))
        raise UnreadableError(f"{entry.name}: no column for each of object, day and bytes ({known})")
    key, day, count = (str(name) for name in names)
    return _typed(table, entry.name, found, key=table[key], day=day, count=count)


def _typed(
    table: pd.DataFrame, file: str, found: ReadDays, *, key: pd.Series[str], day: str, count: str
) -> pd.DataFrame:
    days = pd.to_datetime(table[day], format="%Y-%m-%d", errors="coerce")
    counts = pd.to_numeric(table[count], errors="coerce")
    bad_count = counts.isna() | (counts < 0) | ~counts.abs().lt(float("inf"))
    bad = days.isna() | bad_count | (key == "")
    found.rows_read += len(table)
    found.rejected += int(bad.sum())
    for place in bad[bad].index[: max(0, MAX_TOLD - len(found.rejections))]:
        column = day if pd.isna(days[place]) else count if bad_count[place] else "object"
        cell = str(table[column][place])[:40] if column in table else ""
        reason = {day: "not a day like 2025-05-13", count: "not a number from 0"}.get(column, "no object")
        found.rejections.append(RejectedRead(file, int(place) + 1, column, f"{reason}: {cell!r}"))
    good = ~bad
    return pd.DataFrame({"key": key[good], "day": days[good], "bytes": counts[good].astype(float)})


def _cumulative(table: pd.DataFrame, file: str, found: ReadDays) -> pd.DataFrame:
    names = [name for name in table.columns if name not in (_SNAPSHOT, _CUMULATIVE)]
    if not names:
        raise UnreadableError(f"{file}: no column names the object")
    key = table[names].agg("\x1f".join, axis=1)
    typed = _typed(table, file, found, key=key, day=_SNAPSHOT, count=_CUMULATIVE)
    typed = typed.sort_values(["key", "day"], kind="stable").drop_duplicates(["key", "day"], keep="last")
    grown = typed.groupby("key")["bytes"].diff()
    found.falls += int((grown < 0).sum())
    return typed.assign(bytes=grown.clip(lower=0).fillna(0.0))
