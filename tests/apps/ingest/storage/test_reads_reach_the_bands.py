"""Logs, trails and tables of reads: what counts, which days they cover, what they do to the bands."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from apps.ingest import selectors
from apps.ingest.models import IngestRun
from apps.ingest.storage import run as run_module
from apps.storage.models import Listing, ReadDay, ReadSpan, TakenFile
from apps.storage.selectors import histogram_of, reads_of
from finops.lake import STORAGE_READS
from tests.support.storage_files import listing, log_line, row

Load = Callable[..., IngestRun]


def counts(run: IngestRun) -> tuple[Any, ...]:
    assert run.rows_read == run.stored + run.duplicates + run.rejected
    return run.state, run.stored, run.duplicates, run.rejected


def idle() -> list[tuple[Any, ...]]:
    found = [(c.prefix, c.idle_from, c.idle_to, c.objects) for c in histogram_of()]
    return sorted(found, key=lambda one: (one[0], one[1] or 0))


def lake_rows() -> list[tuple[Any, ...]]:
    with selectors.lake().connect(selectors.current_snapshots()) as con:
        return con.execute(
            f"SELECT prefix, day, source, requests, bytes FROM {STORAGE_READS} ORDER BY ALL"
        ).fetchall()


def put(folder: Path, name: str, content: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


LOG = (
    log_line("logs/a", "10/Nov/2026", sent="60")
    + log_line("logs/a", "10/Nov/2026", status=206, sent="40")
    + log_line("logs/a", "27/Nov/2026")
    + log_line("logs/b", "12/Nov/2026", operation="REST.HEAD.OBJECT", sent="-")
    + log_line("logs/b", "12/Nov/2026", status=403, sent="243")
    + log_line("logs/b", "12/Nov/2026", operation="REST.PUT.OBJECT", sent="-")
    + log_line("top", "18/Nov/2026", operation="REST.COPY.OBJECT_GET")
    + log_line("-", "05/Nov/2026", operation="REST.GET.VERSIONING")
    + log_line("logs/b", "22/Nov/2026", operation="REST.PUT.OBJECT", sent="-")
)
ROWS = [
    row("logs/a", modified="2026-10-01T00:00:00Z"),
    row("logs/b", modified="2026-10-01T00:00:00Z"),
    row("top", modified="2026-11-15T00:00:00Z"),
]
# The log begins on the 5th, is quiet for less than a week at a time, and ends two days before the listing.
AFTER = [("", 7, 14, 1), ("logs/", 0, 1, 1), ("logs/", 22, None, 1)]


def test_a_log_and_a_listing_together_tell_idle_times(load: Load, tmp_path: Path) -> None:
    run = load(put(tmp_path / "log", "2026-11-28-00-00-00-ABC", LOG), listing(tmp_path / "in", ROWS))
    assert counts(run) == ("finished", 4 + 3, 0, 0)
    assert run.options["ignored"]["requests that read nothing"] == 5
    assert lake_rows() == [
        ("", date(2026, 11, 18), "access-log", 1, 100),
        ("logs/", date(2026, 11, 10), "access-log", 2, 100),
        ("logs/", date(2026, 11, 27), "access-log", 1, 100),
    ]
    assert list(ReadSpan.objects.values_list("first_day", "last_day")) == [
        (date(2026, 11, 5), date(2026, 11, 27))
    ]
    assert idle() == AFTER


def test_a_log_that_comes_after_the_listing_changes_its_bands(load: Load, tmp_path: Path) -> None:
    load(listing(tmp_path / "in", ROWS))
    assert idle() == [("", None, None, 1), ("logs/", None, None, 2)]
    load(put(tmp_path, "log.gz", gzip.compress(LOG.encode())))
    assert idle() == AFTER
    assert Listing.objects.get().log_from == date(2026, 11, 5)


def test_a_log_that_ends_long_before_the_listing_tells_nothing_of_it(load: Load, tmp_path: Path) -> None:
    load(listing(tmp_path / "in", ROWS), put(tmp_path, "log", log_line("logs/a", "10/Nov/2026")))
    assert idle() == [("", None, None, 1), ("logs/", None, None, 2)]
    found = reads_of("data")
    assert found is not None
    assert (found.first_day, found.last_day) == (date(2026, 11, 10), date(2026, 11, 10))


def test_reads_by_day_come_with_the_objects_that_could_have_been_read(load: Load, tmp_path: Path) -> None:
    load(listing(tmp_path / "in", ROWS), put(tmp_path, "log", LOG))
    found = reads_of("data")
    assert found is not None
    assert sum(c.reads for c in found.cells) == 3
    assert sum(c.requests for c in found.cells) == 4
    # Two objects on each of 23 days, one from the 15th on.
    assert sum(c.exposure for c in found.cells) == 2 * 23 + 13
    second = [c for c in found.cells if c.day == date(2026, 11, 27) and c.reads]
    assert [(c.idle_from, c.idle_to, c.age_from, c.reads, c.bytes, c.exposure) for c in second] == [
        (14, 30, 30, 1, 100, 1)
    ]


def test_the_same_log_again_is_a_duplicate_in_one_run_and_in_the_next(load: Load, tmp_path: Path) -> None:
    put(tmp_path / "log", "a", LOG)
    put(tmp_path / "log", "copy-of-a", LOG)
    first = load(tmp_path / "log")
    assert counts(first) == ("finished", 4, 0, 0)
    assert first.options["ignored"]["files that are there twice"] == 1
    assert counts(load(tmp_path / "log")) == ("finished", 0, 8, 0)
    assert len(lake_rows()) == 3
    assert TakenFile.objects.count() == 1


def test_broken_lines_are_named_and_the_others_count(load: Load, tmp_path: Path) -> None:
    bad = log_line("a") + "cut in the mid\n\n" + log_line("b", "40/Nov/2026")
    put(tmp_path / "log", "one", LOG)
    put(tmp_path / "log", "two", bad)
    run = load(tmp_path / "log")
    assert counts(run) == ("finished", 5, 0, 2)
    assert [(r.file, r.row, r.field, r.reason) for r in run.rejections.all()] == [
        ("two", 2, "line", "not a line of a server access log"),
        ("two", 4, "time", "not a time like 06/Feb/2019:00:00:38 +0000"),
    ]


def test_a_broken_file_among_logs_is_refused_alone(load: Load, tmp_path: Path) -> None:
    packed = gzip.compress((LOG * 400).encode())
    put(tmp_path / "log", "bad.gz", packed[: len(packed) // 2])
    put(tmp_path / "log", "good.gz", gzip.compress(LOG.encode()))
    run = load(tmp_path / "log")
    assert counts(run) == ("finished", 4, 0, 1)
    [told] = run.rejections.all()
    assert (told.file, told.row) == ("bad.gz", None)
    assert "gzip" in told.reason


def event(name: str, key: str, when: str = "2026-11-20T10:00:00Z", **more: Any) -> dict[str, Any]:
    return {
        "eventVersion": "1.11", "eventSource": "s3.amazonaws.com", "eventName": name, "eventTime": when,
        "requestParameters": {"bucketName": "data", "key": key},
        "additionalEventData": {"bytesTransferredOut": 512.0}, **more,
    }  # fmt: skip


def test_trails_count_reads_that_were_answered(load: Load, tmp_path: Path) -> None:
    records = [
        event("GetObject", "logs/a b"),
        event("GetObject", "logs/a b", errorCode="AccessDenied"),
        event("HeadObject", "logs/a b"),
        event("GetObject", "logs/c", when="2026-11-21 10:00"),
        {"eventSource": "ec2.amazonaws.com", "eventVersion": "1.11"},
    ]
    path = put(tmp_path, "trail.json.gz", gzip.compress(json.dumps({"Records": records}).encode()))
    run = load(path)
    assert counts(run) == ("finished", 1, 0, 1)
    assert [(r.row, r.field) for r in run.rejections.all()] == [(4, "eventTime")]
    assert lake_rows() == [("logs/", date(2026, 11, 20), "cloudtrail", 1, 512)]


def test_a_log_and_a_trail_of_one_day_are_the_same_reads(load: Load, tmp_path: Path) -> None:
    trail = json.dumps({"Records": [event("GetObject", "logs/a"), event("GetObject", "logs/a")]})
    log = log_line("logs/a", "20/Nov/2026") + log_line("logs/a", "21/Nov/2026")
    load(put(tmp_path, "t.json", trail), put(tmp_path, "l.log", log))
    days = ReadDay.objects.filter(reads__gt=0).values_list("day", "reads", "requests", "bytes")
    assert list(days) == [(date(2026, 11, 20), 1, 2, 1024), (date(2026, 11, 21), 1, 1, 100)]


def test_any_table_of_reads_is_taken(load: Load, tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "reads.csv",
        "dandiset,date,bytes_sent\n000004,2026-11-01,50\n000004,2026-11-20,0\n000005,2026-11-10,7\n",
    )
    run = load(path)
    assert counts(run) == ("finished", 2, 0, 0)
    assert run.options["assumed"] == {"bucket": "the name of the file"}
    # The table tells all reads of its days: a row of no bytes still says that nothing was read.
    found = reads_of("reads")
    assert found is not None
    assert (found.first_day, found.last_day) == (date(2026, 11, 1), date(2026, 11, 20))
    assert {(c.prefix, c.day.day, c.bytes) for c in found.cells if c.reads} == {
        ("000004/", 1, 50),
        ("000005/", 10, 7),
    }
    assert sum(c.exposure for c in found.cells) == 20 + 11


def test_rows_of_a_table_that_cannot_be_used_are_named(load: Load, tmp_path: Path) -> None:
    lines = "bucket,key,time,bytes\nb,k,2026-11-01T10:00:00+02:00,5\n,k,2026-11-01,5\nb,,2026-11-01,5\n"
    more = "b,k,soon,5\nb,k,2026-11-01,-5\nb,k,2026-11-01T10:00:00,5\n"
    run = load(put(tmp_path, "r.csv", lines + more))
    assert counts(run) == ("finished", 1, 0, 5)
    assert [(r.row, r.field) for r in run.rejections.all()] == [
        (2, "bucket"),
        (3, "key"),
        (4, "time"),
        (5, "bytes"),
        (6, "time"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.csv", "", "the file is empty"),
        ("prices.csv", "instance_type,date,price\nm5,2026-01-01,1\n", "the nearest is reads, which also has"),
        ("objects.csv", "bucket,key,size\na,b,1\n", "the nearest is inventory, which also has StorageClass"),
        ("noise.json", '{"a": 1}', "JSON of no known kind: the nearest is cloudtrail"),
        ("binary.bin", b"\x00\x01\x02" * 50, "binary content"),
        ("cut.gz", gzip.compress(b"x" * 100_000, mtime=0)[:40], "cut short or broken"),
    ],
)
def test_what_is_of_no_kind_is_refused_with_the_nearest_one(
    load: Load, tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    run = load(put(tmp_path, name, content))
    assert counts(run) == ("refused", 0, 0, 1)
    [told] = run.rejections.all()
    assert told.file == name
    assert reason in told.reason
    assert selectors.current_snapshots() == {}


def test_a_kind_that_is_asked_for_and_not_there_is_refused(load: Load, tmp_path: Path) -> None:
    run = load(put(tmp_path, "x.csv", "bucket,key,size,storage_class\na,b,1,STANDARD\n"), kind="reads")
    assert counts(run) == ("refused", 0, 0, 1)
    assert "no reads: it lacks date or day" in run.rejections.get().reason


def test_a_path_that_is_not_there_is_refused(load: Load, tmp_path: Path) -> None:
    run = load(tmp_path / "nothing")
    assert counts(run) == ("refused", 0, 0, 1)
    assert run.error == "no such file, folder or pattern"


def test_a_listing_made_later_is_judged_by_the_log(load: Load, tmp_path: Path) -> None:
    load(put(tmp_path, "log", LOG))
    at = datetime(2026, 11, 30, tzinfo=UTC)
    load(listing(tmp_path / "in", ROWS, listed_at=at))
    assert idle() == AFTER


def test_two_imports_of_one_log_at_once_count_it_once(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path, "log", LOG)
    other: list[IngestRun] = []
    real = run_module._Work._new_rows

    def overtaken(work: Any) -> Any:
        found = real(work)
        if not other:
            monkeypatch.undo()
            other.append(load(path))
        return found

    monkeypatch.setattr(run_module._Work, "_new_rows", overtaken)
    late = load(path)
    assert counts(other[0]) == ("finished", 4, 0, 0)
    assert counts(late) == ("failed", 0, 0, 0)
    assert "another import took over a file of this one meanwhile" in late.error
    assert len(lake_rows()) == 3
    assert counts(load(path)) == ("finished", 0, 4, 0)


def test_a_file_with_too_many_wrong_rows_is_refused(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("reads", "listings"):
        monkeypatch.setattr(f"apps.ingest.storage.{module}.MOST_WRONG", 1)
    run = load(put(tmp_path, "log", log_line("a") + "x\ny\n"))
    assert counts(run) == ("refused", 0, 0, 1)
    assert run.error == "2 rows cannot be used: not a line of a server access log"
    run = load(listing(tmp_path / "in", [row("a"), row("b", "x"), row("c", "y")]))
    assert counts(run) == ("refused", 0, 0, 1)
    assert "2 rows cannot be used: not a whole number" in run.error
