"""An inventory from its manifest to bands: every form, every state, what is wrong with it."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from apps.ingest import selectors
from apps.ingest.models import IngestRun
from apps.storage.models import Bucket, Listing
from apps.storage.selectors import histogram_of
from finops.lake import STORAGE_OBJECTS
from tests.support.storage_files import LISTED, csv_bytes, inventory, listing, row

Load = Callable[..., IngestRun]
GOOD = [
    row("logs/a%20b.txt", 131_071),
    row("logs/c.txt", 131_072, modified="2026-11-28T23:59:59.000Z"),
    row("raw/x", 5, storage_class="GLACIER", latest="false"),
    row("raw/gone", "", latest="true", deleted="true", storage_class=""),
    row("top", 7),
]


def counts(run: IngestRun) -> tuple[Any, ...]:
    assert run.rows_read == run.stored + run.duplicates + run.rejected
    return run.state, run.stored, run.duplicates, run.rejected


def told(run: IngestRun) -> list[tuple[str, int | None, str, str]]:
    return [(r.file, r.row, r.field, r.reason) for r in run.rejections.all()]


def cells() -> list[tuple[Any, ...]]:
    return [
        (c.prefix, c.storage_class, c.state, c.size_from, c.age_from, c.idle_from, c.objects, c.bytes)
        for c in histogram_of()
    ]


def in_lake() -> int:
    with selectors.lake().connect(selectors.current_snapshots()) as con:
        found = con.execute(f"SELECT count(*) FROM {STORAGE_OBJECTS}").fetchone()
    return found[0] if found else 0


EXPECTED = [
    ("", "STANDARD", "current", 1, 14, None, 1, 7),
    ("logs/", "STANDARD", "current", 65_536, 14, None, 1, 131_071),
    ("logs/", "STANDARD", "current", 131_072, 1, None, 1, 131_072),
    ("raw/", "GLACIER", "noncurrent", 1, 14, None, 1, 5),
]


def test_a_packed_csv_inventory_becomes_bands(load: Load, tmp_path: Path) -> None:
    run = load(listing(tmp_path / "in", GOOD))
    assert counts(run) == ("finished", 5, 0, 0)
    assert cells() == EXPECTED
    assert in_lake() == 5
    found = Listing.objects.get()
    assert (found.listed_at, found.states, found.objects_count, found.bytes) == (
        LISTED,
        ["current", "noncurrent"],
        4,
        131_071 + 131_072 + 12,
    )
    assert Bucket.objects.get().versioning == "Enabled"
    assert run.options["ignored"] == {"manifest checksums and links": 1}


def table() -> pa.Table:
    when = [datetime.fromisoformat(r[6]).astimezone(UTC) for r in GOOD]
    return pa.table(
        {
            "bucket": [r[0] for r in GOOD],
            "key": [r[1].replace("%20", " ") for r in GOOD],
            "version_id": [r[2] for r in GOOD],
            "is_latest": [r[3] == "true" for r in GOOD],
            "is_delete_marker": [r[4] == "true" for r in GOOD],
            "size": [int(r[5]) if r[5] else None for r in GOOD],
            "last_modified_date": pa.array(when, pa.timestamp("ms", "UTC")),
            "storage_class": [r[7] or None for r in GOOD],
        }
    )


@pytest.mark.parametrize("form", ["Parquet", "ORC", "CSV plain"])
def test_every_form_of_file_gives_the_same_bands(load: Load, tmp_path: Path, form: str) -> None:
    out = io.BytesIO()
    if form == "Parquet":
        pq.write_table(table(), out)
    elif form == "ORC":
        orc.write_table(table(), out)
    else:
        out.write(csv_bytes(GOOD))
    name = f"a.{form.split()[0].lower()}"
    run = load(inventory(tmp_path / "in", {name: out.getvalue()}, form=form.split()[0]))
    assert counts(run) == ("finished", 5, 0, 0)
    assert cells() == EXPECTED


def test_a_table_with_a_header_is_a_listing_of_each_bucket_in_it(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "objects.csv"
    path.write_text("bucket,key,size,storage_class\na,x,1,STANDARD\nb,y,2,STANDARD\na,z,3,STANDARD\n")
    at = datetime(2026, 11, 20, tzinfo=UTC)
    run = load(path, listed_at=at)
    assert counts(run) == ("finished", 3, 0, 0)
    found = Listing.objects.order_by("bucket__name")
    assert [(one.bucket.name, one.objects_count, one.states, one.listed_at) for one in found] == [
        ("a", 2, ["current"], at),
        ("b", 1, ["current"], at),
    ]
    again = load(path, listed_at=at)
    assert counts(again) == ("finished", 0, 3, 0)


def test_rows_that_cannot_be_used_are_named_and_the_others_count(load: Load, tmp_path: Path) -> None:
    rows = [
        row("a", "12.5"),
        row("b"),
        row("c", modified="yesterday"),
        row("d", latest="maybe"),
        row("e", storage_class=""),
        row("f", bucket="other"),
        row(""),
    ]
    run = load(listing(tmp_path / "in", rows))
    assert counts(run) == ("finished", 1, 0, 6)
    assert told(run) == [
        ("data/a.csv.gz", 1, "Size", "not a whole number of bytes from 0"),
        ("data/a.csv.gz", 3, "LastModifiedDate", "not a time with Z or an offset"),
        ("data/a.csv.gz", 4, "IsLatest", "neither true nor false"),
        ("data/a.csv.gz", 5, "StorageClass", "no storage class"),
        ("data/a.csv.gz", 6, "Bucket", "of another bucket than the listing's"),
        ("data/a.csv.gz", 7, "Key", "no key"),
    ]
    assert in_lake() == 1


def test_an_object_that_is_listed_twice_counts_once(load: Load, tmp_path: Path) -> None:
    older = row("old", 30, latest="false")
    other = [*older[:2], "v0", *older[3:]]
    gone = row("gone", "", deleted="true", storage_class="")
    rows = [row("a", 100), row("b", 7), row("a", 100), row("c"), older, older, other, gone, gone, row("")]
    run = load(listing(tmp_path / "in", [*rows, row("c", 120)]))
    assert counts(run) == ("finished", 6, 4, 1)
    assert told(run) == [("data/a.csv.gz", 10, "Key", "no key")]
    assert run.options["ignored"]["objects that are listed twice"] == 4
    found = Listing.objects.get()
    assert (found.objects_count, found.bytes) == (5, 100 + 7 + 120 + 60)
    assert in_lake() == 6


def test_without_version_ids_only_current_objects_are_told_to_be_the_same(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "objects.csv"
    path.write_text(
        "bucket,key,size,storage_class,is_latest\n"
        "a,x,1,STANDARD,true\na,x,1,STANDARD,true\na,x,2,STANDARD,false\na,x,2,STANDARD,false\n"
        "b,x,1,STANDARD,true\n"
    )
    run = load(path, listed_at=LISTED)
    assert counts(run) == ("finished", 4, 1, 0)
    found = Listing.objects.order_by("bucket__name")
    assert [(one.objects_count, one.bytes) for one in found] == [(3, 5), (1, 1)]


def test_the_same_listing_again_is_a_duplicate(load: Load, tmp_path: Path) -> None:
    path = listing(tmp_path / "in", [row("a"), row("b")])
    load(path)
    assert counts(load(path)) == ("finished", 0, 2, 0)
    assert Listing.objects.count() == 1
    assert in_lake() == 2


def test_a_newer_listing_takes_the_place_and_an_older_one_never_does(load: Load, tmp_path: Path) -> None:
    load(listing(tmp_path / "second", [row("a"), row("b")]))
    newer = LISTED + timedelta(days=7)
    load(listing(tmp_path / "third", [row("a")], listed_at=newer))
    assert in_lake() == 1
    late = load(
        listing(tmp_path / "first", [row("c"), row("d"), row("e")], listed_at=LISTED - timedelta(days=7))
    )
    assert counts(late) == ("finished", 0, 3, 0)
    assert in_lake() == 1
    assert [c.objects for c in histogram_of()] == [1]
    states = Listing.objects.order_by("listed_at").values_list("state", "objects_count")
    assert list(states) == [("late", 3), ("superseded", 2), ("current", 1)]
    assert [c.objects for c in histogram_of(at=LISTED)] == [2]
    assert len(list((tmp_path / "lake").rglob("storage/objects/data/**/*.parquet"))) == 2


def test_all_listings_of_one_folder_come_in_their_order(load: Load, tmp_path: Path) -> None:
    path = listing(tmp_path / "in", [row("a")])
    inventory(
        tmp_path / "in", {"b.csv.gz": gzip.compress(csv_bytes([row("a"), row("b")]))},
        listed_at=LISTED + timedelta(days=1),
    )  # fmt: skip
    (path / "data" / "orphan.csv.gz").write_bytes(gzip.compress(csv_bytes([row("z")])))
    run = load(path)
    assert counts(run) == ("finished", 2, 1, 0)
    assert run.options["ignored"]["files that no manifest names"] == 1
    assert sum(c.objects for c in histogram_of()) == 2


def test_an_empty_bucket_is_listed_as_empty(load: Load, tmp_path: Path) -> None:
    load(listing(tmp_path / "old", [row("a")]))
    run = load(inventory(tmp_path / "in", {}, listed_at=LISTED + timedelta(days=1)))
    assert counts(run) == ("finished", 0, 0, 0)
    assert (Listing.objects.get(state="current").objects_count, histogram_of(), in_lake()) == (0, [], 0)


def refused(run: IngestRun) -> tuple[str, int | None, str, str]:
    assert counts(run) == ("refused", 0, 0, 1)
    assert not Listing.objects.exists()
    assert not Bucket.objects.exists()
    assert selectors.current_snapshots() == {}
    return told(run)[0]


MANIFEST = "2026-11-29T01-00Z/manifest.json"


def test_a_damaged_file_of_a_manifest_refuses_the_listing(load: Load, tmp_path: Path) -> None:
    path = listing(tmp_path / "in", [row("a")])
    file = path / "data" / "a.csv.gz"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    name, at, field, reason = refused(load(path))
    assert (name, at, field) == (MANIFEST, None, "MD5checksum")
    assert reason.startswith("data/a.csv.gz: its MD5 is ")


def test_a_missing_file_of_a_manifest_refuses_the_listing(load: Load, tmp_path: Path) -> None:
    content = gzip.compress(csv_bytes([row("a")]))
    path = inventory(tmp_path / "in", {"a.csv.gz": content, "b.csv.gz": content + b""})
    (path / "data" / "b.csv.gz").unlink()
    name, _, field, reason = refused(load(path))
    assert (name, field) == (MANIFEST, "files")
    assert "data/b.csv.gz: the manifest names this file and it is not there" in reason


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


PACKED = gzip.compress(csv_bytes([row(f"k{i}", i) for i in range(5_000)]))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (cut(PACKED), "the gzip stream ends too early"),
        (b'"data","a"\n', "line 1 has 2 cells, the header 8"),
        (csv_bytes([row("a")]) + b'"data","\xff","v","true","false","1","2026-11-01T00:00:00Z","STANDARD"\n',
         "line 2 is not UTF-8"),
        (csv_bytes([row("a", "x"), row("b", "y")]), "no row can be used"),
    ],
)  # fmt: skip
def test_a_broken_file_refuses_the_listing(load: Load, tmp_path: Path, content: bytes, reason: str) -> None:
    assert reason in refused(load(inventory(tmp_path / "in", {"a.csv.gz": content})))[3]


@pytest.mark.parametrize(
    ("changed", "field", "reason"),
    [
        ({"fileSchema": "Bucket, Key, ETag"}, "fileSchema", "the inventory has no Size, StorageClass"),
        ({"fileFormat": "Avro"}, "fileFormat", "Avro is none of CSV, Parquet, ORC"),
        ({"creationTimestamp": "soon"}, "creationTimestamp", "no time in milliseconds: soon"),
        ({"creationTimestamp": "1732842000"}, "creationTimestamp", "lies before S3"),
        ({"sourceBucket": ""}, "sourceBucket", "the manifest names no sourceBucket"),
    ],
)
def test_a_manifest_that_says_nothing_usable_is_refused_with_its_field(
    load: Load, tmp_path: Path, changed: dict[str, str], field: str, reason: str
) -> None:
    found = refused(load(listing(tmp_path / "in", [row("a")], **changed)))
    assert (found[0], found[2]) == (MANIFEST, field)
    assert reason in found[3]


def test_a_changed_manifest_is_refused_by_its_checksum(load: Load, tmp_path: Path) -> None:
    path = listing(tmp_path / "in", [row("a")])
    (path / "2026-11-29T01-00Z" / "manifest.checksum").write_text("0" * 32)
    assert refused(load(path))[2] == "MD5checksum"


def test_one_organisations_buckets_are_not_anothers(load: Load, tmp_path: Path) -> None:
    from apps.accounts.models import Organisation

    one, two = (Organisation.objects.create(name=n, slug=n) for n in ("one", "two"))
    load(listing(tmp_path / "a", [row("a")]), organisation=one)
    load(listing(tmp_path / "b", [row("a"), row("b")]), organisation=two)
    assert in_lake() == 3
    assert [sum(c.objects for c in histogram_of(organisation=o)) for o in (one, two, None)] == [1, 2, 0]
