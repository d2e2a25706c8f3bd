"""Bills in an S3 bucket, with the real boto3 against a local server: found, fetched, checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from tenacity import wait_none

from finops.providers.aws.bill_bucket import BillBucket, BillPlace, ChangedError
from finops.providers.aws.errors import DeniedError
from finops.providers.aws.fetching import Limits, check_sizes, fetch, is_fetched, target_of
from finops.providers.aws.session import Access
from finops.providers.base import PermanentError, TransientError
from tests.support.aws_server import FakeAws, Fault, fake_aws

OCTOBER, NOVEMBER = date(2026, 10, 1), date(2026, 11, 1)
LEGACY = "cur/hourly/20261101-20261201/"
EXPORT = "cur/focus/"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    with fake_aws() as server:
        yield server


def bucket(aws: FakeAws, *, prefix: str = "cur", role: str = "", name: str = "") -> BillBucket:
    place = BillPlace(name or aws.bucket, prefix, "us-east-1")
    return BillBucket.open(Access(role, "outside-7", aws.url), place, back_off=wait_none())


def legacy(aws: FakeAws, assembly: str, *, at: datetime | None = None, body: bytes = b"rows") -> None:
    """A delivery whose older versions are kept: an assembly folder, and the manifest twice."""
    keys = [f"{LEGACY}{assembly}/hourly-{n}.csv.gz" for n in (1, 2)]
    for key in keys:
        aws.put(key, body + key[-8:-7].encode(), at=at)
    manifest = {"assemblyId": assembly, "reportKeys": keys}
    aws.put(f"{LEGACY}{assembly}/hourly-Manifest.json", manifest, at=at)
    aws.put(f"{LEGACY}hourly-Manifest.json", manifest, at=at)


def export(aws: FakeAws, month: str, **more: Any) -> None:
    """A Data Exports delivery that is replaced in place."""
    key = f"{EXPORT}data/BILLING_PERIOD={month}/focus-00001.snappy.parquet"
    aws.put(key, b"parquet of " + month.encode())
    document = {"dataFiles": [f"s3://{aws.bucket}/{key}"], **more}
    aws.put(f"{EXPORT}metadata/BILLING_PERIOD={month}/focus-Manifest.json", document)


def test_each_export_and_period_is_found_once_by_its_manifest_newest_first(aws: FakeAws) -> None:
    legacy(aws, "aaaa")
    legacy(aws, "bbbb")
    export(aws, "2026-10")
    export(aws, "2026-11")
    aws.put("other/prefix/20261101-20261201/x-Manifest.json", {"reportKeys": ["k"]})
    aws.page = 2
    found = bucket(aws).deliveries()
    assert [(d.report, d.period, d.manifest.key) for d in found] == [
        ("cur/hourly", NOVEMBER, f"{LEGACY}hourly-Manifest.json"),
        ("cur/focus", NOVEMBER, f"{EXPORT}metadata/BILLING_PERIOD=2026-11/focus-Manifest.json"),
        ("cur/focus", OCTOBER, f"{EXPORT}metadata/BILLING_PERIOD=2026-10/focus-Manifest.json"),
    ]
    items = bucket(aws).objects(found[0])
    assert [item.key for item in items] == [f"{LEGACY}bbbb/hourly-1.csv.gz", f"{LEGACY}bbbb/hourly-2.csv.gz"]
    assert items[0].etag == hashlib.md5(b"rows1", usedforsecurity=False).hexdigest()
    assert items[0].modified == datetime(2026, 12, 1, 6, tzinfo=UTC)
    asked = {given["prefix"] for given in aws.asked("ListObjectsV2")}
    assert f"{EXPORT}data/" not in asked
    assert not any("aaaa" in prefix for prefix in asked)


def test_of_versions_that_are_kept_the_newest_manifest_counts(aws: FakeAws) -> None:
    for hour in (5, 7, 6):
        folder = f"BILLING_PERIOD=2026-11/2026-12-01T0{hour}:00:00Z-run{hour}/"
        aws.put(f"{EXPORT}data/{folder}focus-1.csv.gz", f"rows {hour}")
        aws.put(
            f"{EXPORT}metadata/{folder}focus-Manifest.json",
            {"dataFiles": [f"{EXPORT}data/{folder}focus-1.csv.gz"]},
            at=datetime(2026, 12, 1, hour, tzinfo=UTC),
        )
    (found,) = bucket(aws).deliveries()
    assert (found.report, found.period) == ("cur/focus", NOVEMBER)
    assert "run7/" in found.manifest.key
    assert [item.key for item in bucket(aws).objects(found)] == [
        f"{EXPORT}data/BILLING_PERIOD=2026-11/2026-12-01T07:00:00Z-run7/focus-1.csv.gz"
    ]


def test_an_empty_prefix_is_no_delivery_and_no_error(aws: FakeAws) -> None:
    assert bucket(aws).deliveries() == []
    aws.put("cur/readme.txt", "hello")
    aws.put("cur/x-Manifest.json", {"reportKeys": ["k"]})
    assert bucket(aws).deliveries() == []


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"reportKeys": ["secret/other.csv"]}, "a file outside s3://acme-bills/cur"),
        ({"reportKeys": ["cur/../secret.csv"]}, "a file outside"),
        ({"dataFiles": ["s3://elsewhere/cur/x.csv"]}, "a file of another bucket: elsewhere"),
        ({"reportKeys": []}, "names no data files"),
        ({"reportKeys": [7]}, "names no data files"),
        ([], "names no data files"),
    ],
)
def test_a_manifest_reaches_nothing_outside_its_place(aws: FakeAws, document: Any, said: str) -> None:
    aws.put(f"{LEGACY}hourly-Manifest.json", json.dumps(document))
    (found,) = bucket(aws).deliveries()
    with pytest.raises(PermanentError, match=said):
        bucket(aws).objects(found)


def test_a_manifest_that_is_no_json_is_permanent_and_a_missing_file_is_not(aws: FakeAws) -> None:
    aws.put(f"{LEGACY}hourly-Manifest.json", "{cut")
    (found,) = bucket(aws).deliveries()
    with pytest.raises(PermanentError, match="no JSON document"):
        bucket(aws).objects(found)
    aws.put(f"{LEGACY}hourly-Manifest.json", {"reportKeys": [f"{LEGACY}a/1.csv"]})
    (found,) = bucket(aws).deliveries()
    with pytest.raises(ChangedError, match=r"a/1\.csv, which is not in acme-bills \(yet\)"):
        bucket(aws).objects(found)


def test_an_object_is_fetched_whole_with_its_time_and_hash(aws: FakeAws, tmp_path: Path) -> None:
    legacy(aws, "aaaa", body=b"x" * 3_000_000)
    place = bucket(aws)
    (found,) = place.deliveries()
    item = place.objects(found)[0]
    sha = fetch(place, item, tmp_path)
    path = tmp_path / "hourly/20261101-20261201/aaaa/hourly-1.csv.gz"
    assert target_of(place, item, tmp_path) == path
    assert sha == hashlib.sha256(path.read_bytes()).hexdigest()
    assert path.stat().st_mtime == datetime(2026, 12, 1, 6, tzinfo=UTC).timestamp()
    assert is_fetched(path, size=3_000_001, sha256=sha)
    assert not is_fetched(path, size=3_000_001, sha256="0" * 64)
    assert not is_fetched(tmp_path / "gone", size=1, sha256=sha)
    assert [p.name for p in path.parent.iterdir()] == ["hourly-1.csv.gz"]


def test_a_broken_fetch_goes_on_where_it_stopped(aws: FakeAws, tmp_path: Path) -> None:
    body = bytes(range(256)) * 20_000
    legacy(aws, "aaaa", body=body)
    place = bucket(aws)
    (found,) = place.deliveries()
    item = place.objects(found)[0]
    aws.faults["GetObject"] = [Fault(cut=3_000_000)]
    with pytest.raises(TransientError, match="cut short while reading"):
        fetch(place, item, tmp_path)
    assert not target_of(place, item, tmp_path).exists()
    sha = fetch(place, item, tmp_path)
    assert sha == hashlib.sha256(body + b"1").hexdigest()
    ranges = [given.get("Range") for given in aws.asked("GetObject") if given["Key"] == item.key]
    start = int(ranges[1].removeprefix("bytes=").rstrip("-"))
    assert ranges[0] is None
    assert 0 < start <= 3_000_000


def test_what_was_replaced_meanwhile_is_never_mixed(aws: FakeAws, tmp_path: Path) -> None:
    legacy(aws, "aaaa", body=b"old" * 1000)
    place = bucket(aws)
    (found,) = place.deliveries()
    item = place.objects(found)[0]
    aws.put(item.key, b"new content")
    with pytest.raises(ChangedError, match="a newer delivery is being written"):
        fetch(place, item, tmp_path)
    assert not target_of(place, item, tmp_path).exists()


def test_other_content_than_the_etag_says_is_thrown_away(aws: FakeAws, tmp_path: Path) -> None:
    wrong = hashlib.md5(b"other", usedforsecurity=False).hexdigest()
    for key, etag, encryption in (
        ("cur/a/1.csv", wrong, ""),
        ("cur/a/2.csv", wrong, "aws:kms"),
        ("cur/a/3.csv", f"{wrong}-2", ""),
    ):
        aws.put(key, "rows", etag=etag, encryption=encryption)
    aws.put(f"{LEGACY}hourly-Manifest.json", {"reportKeys": [f"cur/a/{n}.csv" for n in (1, 2, 3)]})
    place = bucket(aws)
    (found,) = place.deliveries()
    items = place.objects(found)
    with pytest.raises(ChangedError, match="other content than its ETag says"):
        fetch(place, items[0], tmp_path)
    assert list((tmp_path / "a").iterdir()) == []
    # The ETag of a KMS object or of one uploaded in parts is no MD5 of it.
    assert fetch(place, items[1], tmp_path) == fetch(place, items[2], tmp_path)


def test_limits_on_size(aws: FakeAws, tmp_path: Path) -> None:
    legacy(aws, "aaaa", body=b"x" * 2_000_000)
    place = bucket(aws)
    items = place.objects(place.deliveries()[0])
    with pytest.raises(PermanentError, match="BILL_OBJECT_MAX_BYTES"):
        check_sizes(items, Limits(1_000_000, 10_000_000), tmp_path)
    with pytest.raises(PermanentError, match="BILL_DELIVERY_MAX_BYTES"):
        check_sizes(items, Limits(3_000_000, 3_000_000), tmp_path)
    check_sizes(items, Limits(3_000_000, 5_000_000), tmp_path)


@pytest.mark.parametrize(
    ("action", "fault", "kind", "said"),
    [
        ("ListObjectsV2", Fault(403, "AccessDenied", "no"), DeniedError,
         "the role needs s3:ListBucket on arn:aws:s3:::acme-bills"),
        ("GetObject", Fault(403, "AccessDenied", "no"), DeniedError,
         r"the role needs s3:GetObject on arn:aws:s3:::acme-bills/cur/\*"),
        ("GetObject", Fault(403, "AccessDenied", "not authorized to perform: kms:Decrypt"), DeniedError,
         "the role needs kms:Decrypt"),
        ("ListObjectsV2", Fault(503, "SlowDown", "reduce"), TransientError, "limits the rate"),
        ("ListObjectsV2", Fault(500, "InternalError", "x"), TransientError, "not available"),
        ("AssumeRole", Fault(403, "AccessDenied", "no"), DeniedError, "taking the role"),
    ],
)  # fmt: skip
def test_errors_say_whether_trying_again_helps_and_name_the_permission(
    aws: FakeAws, action: str, fault: Fault, kind: type[Exception], said: str
) -> None:
    legacy(aws, "aaaa")
    aws.always[action] = fault

    def ask() -> None:
        place = bucket(aws, role="arn:aws:iam::111122223333:role/bills")
        place.objects(place.deliveries()[0])

    with pytest.raises(kind, match=said):
        ask()


def test_a_throttled_call_is_repeated(aws: FakeAws) -> None:
    legacy(aws, "aaaa")
    aws.faults["ListObjectsV2"] = [Fault(503, "SlowDown", "reduce")] * 5
    assert len(bucket(aws).deliveries()) == 1


def test_a_bucket_that_is_not_there(aws: FakeAws) -> None:
    with pytest.raises(PermanentError, match="There is no bucket gone-bills"):
        bucket(aws, name="gone-bills").deliveries()


@pytest.mark.parametrize("name", ["AB", "a", "a..b", "x" * 64, "a_b", "-ab", "xn--abc", "abc-s3alias", "a/b"])
def test_what_is_no_bucket_is_refused_before_anything_is_asked(name: str) -> None:
    with pytest.raises(PermanentError, match="not the name of a bucket"):
        BillPlace(name, "cur", "us-east-1")


@pytest.mark.parametrize("prefix", ["/cur", "cur/", "a*b", "a$b", 'a"b', "a\nb", "é", "x" * 257])
def test_what_is_no_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(PermanentError, match="not a prefix"):
        BillPlace("acme-bills", prefix, "us-east-1")


@mock_aws
def test_the_same_against_another_s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """moto's S3 lists and reads as ours does: the local server is not a world of its own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    s3 = boto3.client("s3", region_name="us-east-1")
    s3.create_bucket(Bucket="acme-bills")
    key = f"{LEGACY}aaaa/hourly-1.csv.gz"
    s3.put_object(Bucket="acme-bills", Key=key, Body=b"rows")
    s3.put_object(
        Bucket="acme-bills",
        Key=f"{LEGACY}hourly-Manifest.json",
        Body=json.dumps({"reportKeys": [key]}).encode(),
    )
    place = BillBucket.open(Access(), BillPlace("acme-bills", "cur", "us-east-1"), back_off=wait_none())
    (found,) = place.deliveries()
    (item,) = place.objects(found)
    assert fetch(place, item, tmp_path) == hashlib.sha256(b"rows").hexdigest()
    with pytest.raises(PermanentError, match="There is no bucket other-bills"):
        BillBucket.open(
            Access(), BillPlace("other-bills", "", "us-east-1"), back_off=wait_none()
        ).deliveries()
