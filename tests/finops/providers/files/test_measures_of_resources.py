"""Files that tell of resources beside the bill: each form, and what of it is rejected."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from finops.providers.base import PermanentError
from finops.providers.files.measures import read_measures

DAY = datetime(2026, 3, 1, tzinfo=UTC)
WORKS = "cluster,namespace,workload,start,end\n"


def test_samples_become_percentiles_by_nearest_rank() -> None:
    rows = ["resource,metric,at,value"]
    rows += [f"i-1,cpu,{(DAY + timedelta(hours=n)).isoformat()},{n + 1}" for n in range(100)]
    found = read_measures("\n".join(rows).encode(), file="m.csv")
    ((resource, one),) = found.metrics
    assert (resource, one.samples, one.p95, one.p99, one.high, one.low) == ("i-1", 100, 95, 99, 100, 1)
    assert (one.start, one.end) == (DAY, DAY + timedelta(hours=99))
    assert (found.read, found.rejections) == (100, [])


def test_bad_rows_are_named_and_the_others_kept() -> None:
    text = (
        "resource,metric,start,end,p95,p99,high,low,samples\n"
        "i-1,cpu,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,10,20,30,1,100\n"
        "i-2,colour,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,10,20,30,1,100\n"
        "i-3,cpu,2026-03-01T00:00:00,2026-03-15T00:00:00Z,10,20,30,1,100\n"
        "i-4,cpu,2026-03-15T00:00:00Z,2026-03-01T00:00:00Z,10,20,30,1,100\n"
        "i-5,cpu,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,30,20,30,1,100\n"
        "i-6,cpu,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,nan,20,30,1,100\n"
        ",cpu,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,10,20,30,1,100\n"
    )
    found = read_measures(text.encode(), file="m.csv")
    assert [resource for resource, _one in found.metrics] == ["i-1"]
    assert [(one.row, one.field) for one in found.rejections] == [
        (2, "metric"), (3, "start"), (4, "end"), (5, "p99"), (6, "p95"), (7, "resource"),
    ]  # fmt: skip
    assert found.read == 7


def test_a_list_of_resources_tells_nothing_from_not_said() -> None:
    text = "resource,kind,attached_to\nvol-1,volume,\nvol-2,volume,i-1\nvol-3,disk,\n"
    found = read_measures(text.encode(), file="r.csv")
    assert [(one.resource, one.attached_to) for one in found.listed] == [("vol-1", ""), ("vol-2", "i-1")]
    assert [(one.row, one.field) for one in found.rejections] == [(3, "kind")]
    bare = read_measures(b"resource,kind\nsnap-1,snapshot\n", file="r.csv")
    assert bare.listed[0].volume is None


def test_answers_of_the_cli_are_read_with_images() -> None:
    document = {
        "Volumes": [
            {"VolumeId": "vol-1", "Attachments": []},
            {"VolumeId": "vol-2", "Attachments": [{"InstanceId": "i-1"}]},
            {"Size": 8},
        ],
        "Snapshots": [
            {"SnapshotId": "snap-1", "VolumeId": "vol-9", "StartTime": "2025-01-01T00:00:00+00:00"},
            {"SnapshotId": "snap-2", "VolumeId": "vol-2", "StartTime": "2025-01-01T00:00:00+00:00"},
        ],
        "Images": [{"ImageId": "ami-1", "BlockDeviceMappings": [{"Ebs": {"SnapshotId": "snap-2"}}]}],
    }
    found = read_measures(json.dumps(document).encode(), file="aws.json")
    assert [(one.resource, one.attached_to, one.volume, one.image) for one in found.listed] == [
        ("vol-1", "", None, None),
        ("vol-2", "i-1", None, None),
        ("snap-1", None, "vol-9", ""),
        ("snap-2", None, "vol-2", "ami-1"),
    ]
    assert [(one.row, one.field) for one in found.rejections] == [(3, "VolumeId")]


def test_allocations_of_opencost_are_work_idle_and_shared() -> None:
    day = {"start": "2026-03-01T00:00:00Z", "end": "2026-03-02T00:00:00Z"}
    work = {
        **day, "properties": {"cluster": "c", "namespace": "web", "controller": "shop"},
        "cpuCoreRequestAverage": 4, "cpuCoreUsageAverage": 0.5, "ramByteRequestAverage": 8 * 2**30,
        "ramByteUsageAverage": 2**30, "cpuCost": 2.4, "ramCost": 1.2, "totalCost": 3.6,
        "rawAllocationOnly": {"cpuCoreUsageMax": 1, "ramByteUsageMax": 2 * 2**30},
    }  # fmt: skip
    idle = {**day, "properties": {"cluster": "c"}, "cpuCost": 1, "ramCost": 1, "totalCost": 2}
    second = {**work, "start": "2026-03-02T00:00:00Z", "end": "2026-03-03T00:00:00Z"}
    sets = [{"c/web/shop": work, "c/__idle__": idle}, {"c/web/shop": second, "bad": {**work, "end": "never"}}]
    found = read_measures(json.dumps({"code": 200, "data": sets}).encode(), file="oc.json")
    shop, unused = found.works
    assert (shop.cpu_request, shop.cpu_p99, shop.memory_request, shop.memory_p99) == (4, 1, 8, 2)
    assert (shop.cost, shop.hours, shop.kind) == (Decimal("7.2"), 48, "work")
    assert (unused.kind, unused.cost) == ("idle", Decimal(2))
    assert [(one.row, one.field) for one in found.rejections] == [(4, "end")]


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b"{", b'{"Buckets": []}', b"", b"\xff\xfe\x00", b"[1, 2]"]
)
def test_a_file_of_no_known_kind_is_refused(content: bytes) -> None:
    with pytest.raises(PermanentError):
        read_measures(content, file="x")


def test_a_resource_of_bad_samples_only_is_rejected_not_a_crash() -> None:
    rows = "resource,metric,at,value\ni-1,cpu,never,1\ni-2,cpu,2026-03-01T00:00:00Z,1\n"
    found = read_measures((rows + "i-2,cpu,2026-03-02T00:00:00Z,2\n").encode(), file="m.csv")
    assert [resource for resource, _one in found.metrics] == ["i-2"]
    assert [(one.row, one.field) for one in found.rejections] == [(1, "at")]


def test_a_volume_without_the_word_of_attachments_is_not_called_free() -> None:
    document = {"Volumes": [{"VolumeId": "vol-1"}, {"VolumeId": "vol-2", "Attachments": "x"}, None, {
        "VolumeId": "vol-3", "Attachments": [{"InstanceId": "i-1"}, {"InstanceId": "i-2"}]}]}  # fmt: skip
    found = read_measures(json.dumps(document).encode(), file="aws.json")
    assert [(one.resource, one.attached_to) for one in found.listed] == [
        ("vol-1", None), ("vol-2", None), ("vol-3", "i-1,i-2"),
    ]  # fmt: skip
    assert [(one.row, one.field) for one in found.rejections] == [(3, "Volumes")]
    assert found.read == len(found.listed) + len(found.rejections)


@pytest.mark.parametrize(
    "content",
    [
        b"resource,kind\n" + b"x" * 200_000 + b",volume\n", b'{"Volumes": 5}', b'{"Volumes": "abc"}',
        b'{"data": [5]}', b'{"data": [[1]]}', b"[" * 100_000, b'{"data":' + b"[" * 100_000,
    ],
    ids=["long-cell", "number", "text", "set", "list", "deep", "deep-data"],
)  # fmt: skip
def test_a_file_of_another_shape_is_refused_not_a_crash(content: bytes) -> None:
    with pytest.raises(PermanentError):
        read_measures(content, file="x")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("resource,kind,attached_to\nv,volume," + "i" * 301, "attached_to"),
        ("resource,kind,volume\ns,snapshot,a\x00b", "volume"),
        (f"{WORKS}{'c' * 201},n,w,2026-01-01T00:00:00Z,2026-02-01T00:00:00Z", "cluster"),
        (f"{WORKS}c,{'n' * 201},w,2026-01-01T00:00:00Z,2026-02-01T00:00:00Z", "namespace"),
        ("resource,metric,at,value\ni,cpu,0001-01-01T00:00:00+14:00,1", "at"),
    ],
    ids=["attached", "nul", "cluster", "namespace", "time"],
)  # fmt: skip
def test_a_text_that_cannot_be_kept_is_rejected_by_its_field(text: str, field: str) -> None:
    found = read_measures(text.encode(), file="x.csv")
    assert [(one.row, one.field) for one in found.rejections] == [(1, field)]
