"""Jobs one by one from a trace: when they came, how long they ran, how many units they had.

The forms are those of `demand_files`: `arrival_time, length, cpus` in hours (PAI) and `timestamp, duration,
num_gpus` with ISO 8601 times and seconds (Philly). Jobs without a unit or without time are left out and
counted; times are hours from the first arrival.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from finops.providers.files.demand_files import TRACES, DemandFileError, job_row, text_of

MOST_JOBS = 1_000_000


@dataclass(frozen=True)
class JobTrace:
    """`jobs`: (hours from the first arrival, hours of run time, units) in order of arrival.

    `began`: the first arrival, None where the file has no dates.
    """

    jobs: tuple[tuple[float, float, int], ...]
    left_out: int
    began: datetime | None


def jobs_of(path: str) -> JobTrace:
    """The jobs of a file (xz, gz, zip or plain). Raises UnreadableError, of a row with its column."""
    return read_jobs(text_of(path))


def read_jobs(text: str) -> JobTrace:
    """As `jobs_of`, of a CSV's text.

    >>> read_jobs("arrival_time,length,cpus\\n2.5,1.0,2\\n1.0,0.25,1\\n").jobs
    ((0.0, 0.25, 1), (1.5, 1.0, 2))
    """
    table = csv.DictReader(io.StringIO(text, newline=""))
    header = [name.strip().casefold() for name in table.fieldnames or []]
    table.fieldnames = header
    for columns, reader in TRACES.items():
        if set(columns) <= set(header):
            rows = [job_row(reader, row, number) for number, row in enumerate(table, start=1)]
            return _trace(rows, columns[2], dated=columns[0] == "timestamp")
    known = "; ".join(", ".join(columns) for columns in TRACES)
    raise DemandFileError(f"no header of a known form ({known})")


def _trace(rows: list[tuple[float, float, float]], column: str, *, dated: bool) -> JobTrace:
    if len(rows) > MOST_JOBS:
        raise DemandFileError(f"more than {MOST_JOBS} jobs")
    for number, (_, _, units) in enumerate(rows, start=1):
        if units != int(units) or units > 1_000_000:
            raise DemandFileError(f"no whole number of units: {units:g}", row=number, column=column)
    kept = sorted((at, hours, int(units)) for at, hours, units in rows if hours > 0 and units > 0)
    if not kept:
        raise DemandFileError("no jobs")
    first = kept[0][0]
    began = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=first) if dated else None
    jobs = tuple((at - first, hours, units) for at, hours, units in kept)
    return JobTrace(jobs, len(rows) - len(kept), began)
