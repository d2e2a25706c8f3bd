"""Storing which days' reads are known and how a bucket was read; run inside the import's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from apps.accounts.models import Organisation
from apps.storage.models import Bucket, ReadDay, ReadSpan, TakenFile

_ROWS_PER_INSERT = 5_000
# A log has no line of a day on which nothing was asked of the bucket. A longer silence is a hole in the log.
QUIET_DAYS = 7
# Delivery of logs lags; a listing this many days after the log's last day is still judged by it.
LOG_LAG = timedelta(days=7)
Span = tuple[date, date]


def spans_of(days: Iterable[date]) -> list[Span]:
    """Stretches of days with no silence of more than `QUIET_DAYS`.

    >>> [(a.day, b.day) for a, b in spans_of([date(2026, 1, 1), date(2026, 1, 5), date(2026, 1, 28)])]
    [(1, 5), (28, 28)]
    """
    return _joined([(day, day) for day in days], QUIET_DAYS)


def spans_merged(spans: Iterable[Span]) -> list[Span]:
    """Stretches that overlap or follow each other within the same silence become one."""
    return _joined(list(spans), QUIET_DAYS)


def _joined(spans: list[Span], quiet: int) -> list[Span]:
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + timedelta(days=quiet):
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def known_spans(bucket: Bucket | None) -> list[Span]:
    """What is stored of a bucket."""
    if bucket is None:
        return []
    return list(ReadSpan.objects.filter(bucket=bucket).values_list("first_day", "last_day"))


def span_for(spans: Sequence[Span], listed_on: date) -> Span | None:
    """The stretch that a listing's idle times rest on; None where none reaches near enough to it."""
    fitting = [s for s in spans if s[0] <= listed_on and s[1] >= listed_on - LOG_LAG]
    return max(fitting, default=None)


def spans_replace(bucket: Bucket, spans: Sequence[Span]) -> None:
    """The bucket's spans are these."""
    ReadSpan.objects.filter(bucket=bucket).delete()
    ReadSpan.objects.bulk_create(
        ReadSpan(bucket=bucket, first_day=first, last_day=last) for first, last in spans
    )


def read_days_replace(bucket: Bucket, rows: Sequence[tuple[Any, ...]]) -> None:
    """(prefix, day, idle from, to, age from, to, read, requests, bytes, object-days) each."""
    ReadDay.objects.filter(bucket=bucket).delete()
    ReadDay.objects.bulk_create(
        (
            ReadDay(
                bucket=bucket, prefix=row[0][:1024], day=row[1], idle_from=row[2], idle_to=row[3],
                age_from=row[4], age_to=row[5], reads=row[6], requests=row[7], bytes=row[8],
                exposure=row[9],
            )
            for row in rows
        ),
        batch_size=_ROWS_PER_INSERT,
    )  # fmt: skip


def files_taken(organisation: Organisation | None, hashes: Iterable[str]) -> dict[str, int]:
    """Rows by SHA-256 of those of these files that were taken over before."""
    taken = TakenFile.objects.filter(organisation=organisation, sha256__in=list(hashes))
    return dict(taken.values_list("sha256", "rows"))


def files_keep(organisation: Organisation | None, kind: str, rows_of: dict[str, int], *, run_id: int) -> None:
    """Remember what was taken over."""
    TakenFile.objects.bulk_create(
        TakenFile(organisation=organisation, sha256=sha, kind=kind, rows=rows, run_id=run_id)
        for sha, rows in rows_of.items()
    )
