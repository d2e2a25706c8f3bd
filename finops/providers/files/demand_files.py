"""Demand by the hour from a file: a column of hourly values, or a trace of jobs.

Forms, told by the header: `instances` (one row an hour, in order, with or without other columns);
`arrival_time, length, cpus` in hours (the Alibaba PAI trace as GAIA delivers it); `timestamp, duration,
num_gpus` with ISO 8601 times (UTC where they carry no offset) and seconds (the Philly trace as
ElasticFlow delivers it). A job counts for the part of each hour in which it runs; the trace ends with
the hour of the last arrival, later hours of running jobs are cut, because jobs that arrived by then are
missing there.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import numpy as np

from finops.providers.files.archives import NOTHING, Entry, UnreadableError, Walk

Floats = np.ndarray
# A file of 64 MB holds two million jobs or a thousand years of hours.
MAX_BYTES = 64 * 1024 * 1024
Job = tuple[float, float, float]
Reader = Callable[[Mapping[str, str]], Job]


class DemandFileError(UnreadableError):
    """The file says no demand: the row (1-based data record, None: the whole file), the column, and why."""

    def __init__(self, reason: str, *, row: int | None = None, column: str = "") -> None:
        place = f"row {row}, {column}: " if row is not None else ""
        super().__init__(f"{place}{reason}")
        self.row = row
        self.column = column


def demand_of(path: str) -> Floats:
    """Units in use in each hour, the first hour first. Raises UnreadableError (DemandFileError for its
    rows).
    """
    return read_demand(text_of(path))


def text_of(path: str) -> str:
    """The text of the one file at `path`. Raises UnreadableError."""
    texts = [_bytes_of(entry) for entry in Walk(path).entries()]
    if len(texts) != 1:
        raise DemandFileError(f"one file is needed, {len(texts)} are there")
    try:
        return texts[0].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DemandFileError("no text in UTF-8") from None


def _bytes_of(entry: Entry) -> bytes:
    if entry.refused is not None or entry.stream is None:
        raise DemandFileError(entry.refused or NOTHING)
    data = entry.stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise DemandFileError(f"larger than {MAX_BYTES >> 20} MiB")
    return bytes(data)


def read_demand(text: str) -> Floats:
    """As `demand_of`, of a CSV's text.

    >>> read_demand("arrival_time,length,cpus\\n0.5,1.0,2\\n1.0,0.25,1\\n").tolist()
    [1.0, 1.25]
    """
    table = csv.DictReader(io.StringIO(text, newline=""))
    header = [name.strip().casefold() for name in table.fieldnames or []]
    table.fieldnames = header
    if "instances" in header:
        return _hourly([_number(row, "instances", n) for n, row in enumerate(table, start=1)])
    for columns, reader in TRACES.items():
        if set(columns) <= set(header):
            return _busy([job_row(reader, row, n) for n, row in enumerate(table, start=1)])
    known = "; ".join(", ".join(columns) for columns in (("instances",), *TRACES))
    raise DemandFileError(f"no header of a known form ({known})")


def _hourly(values: list[float]) -> Floats:
    if not values:
        raise DemandFileError("no rows")
    return np.array(values)


def _number(row: Mapping[str, str], column: str, number: int) -> float:
    try:
        value = float((row[column] or "").strip())
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise DemandFileError(f"no number from 0: {(row[column] or '')[:40]!r}", row=number, column=column)
    return value


def job_row(reader: Reader, row: Mapping[str, str], number: int) -> Job:
    """(arrival in hours, hours, units) of a row. Raises DemandFileError."""
    return reader({**row, "": str(number)})


def _in_hours(row: Mapping[str, str]) -> Job:
    number = int(row[""])
    return (
        _number(row, "arrival_time", number),
        _number(row, "length", number),
        _number(row, "cpus", number),
    )


def _in_seconds(row: Mapping[str, str]) -> Job:
    number = int(row[""])
    try:
        at = datetime.fromisoformat((row["timestamp"] or "").strip())
    except ValueError:
        raise DemandFileError(
            f"no time: {(row['timestamp'] or '')[:40]!r}", row=number, column="timestamp"
        ) from None
    aware = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return (
        aware.timestamp() / 3600,
        _number(row, "duration", number) / 3600,
        _number(row, "num_gpus", number),
    )


TRACES: dict[tuple[str, str, str], Reader] = {
    ("arrival_time", "length", "cpus"): _in_hours,
    ("timestamp", "duration", "num_gpus"): _in_seconds,
}


def _busy(jobs: list[Job]) -> Floats:
    """Mean units in use in each hour from the first arrival (its whole hour) to the last."""
    if not jobs:
        raise DemandFileError("no jobs")
    arrived, lasted, units = np.array(jobs).T
    arrived = arrived - math.floor(arrived.min())
    hours = math.floor(arrived.max()) + 1
    change = np.zeros(hours + 1)
    for moment, step in ((arrived, units), (arrived + lasted, -units)):
        inside = moment < hours
        hour = np.floor(moment[inside]).astype(np.int64)
        late = moment[inside] - hour
        np.add.at(change, hour, step[inside] * (1.0 - late))
        np.add.at(change, hour + 1, step[inside] * late)
    busy: Floats = np.maximum(np.cumsum(change[:hours]), 0.0)
    return np.round(busy, 9)
