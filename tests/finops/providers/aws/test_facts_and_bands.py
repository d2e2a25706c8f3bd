"""Instance type facts, interruption bands and transfer prices from documents made up in AWS's shape."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
import pytest

from finops.providers.aws.files import instance_types_of, interruption_of
from finops.providers.aws.transfer import transfer_price

AT = datetime(2026, 1, 1, tzinfo=UTC)


def entry(name: str, **more: Any) -> dict[str, Any]:
    return {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": 4},
        "MemoryInfo": {"SizeInMiB": 16384},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        **more,
    }


def test_gpus_and_accelerators_are_told_apart() -> None:
    gpu = {
        "Gpus": [{"Name": "V100", "Manufacturer": "NVIDIA", "Count": 4, "MemoryInfo": {"SizeInMiB": 16384}}]
    }
    inferentia = {"Accelerators": [{"Name": "Inferentia", "Manufacturer": "AWS", "Count": 1}]}
    neuron = {"NeuronDevices": [{"Name": "Inferentia2", "Count": 6, "MemoryInfo": {"SizeInMiB": 32768}}]}
    document = {
        "InstanceTypes": [
            entry("p3.8xlarge", GpuInfo=gpu, BareMetal=False, Hypervisor="xen", CurrentGeneration=True),
            entry("inf1.xlarge", InferenceAcceleratorInfo=inferentia),
            entry("inf2.24xlarge", NeuronInfo=neuron, InferenceAcceleratorInfo=inferentia),
        ]
    }
    p3, inf1, inf2 = (facts for _, facts in instance_types_of("x.json", orjson.dumps(document)).rows)
    assert (p3.gpu_manufacturer, p3.gpu_name, p3.gpu_count, p3.gpu_memory_mib) == ("NVIDIA", "V100", 4, 16384)
    assert (p3.accelerator_count, p3.bare_metal, p3.burstable, p3.spot) == (0, False, None, None)
    assert (inf1.gpu_count, inf1.accelerator_name, inf1.accelerator_count) == (0, "Inferentia", 1)
    assert inf2[9:13] == ("AWS", "Inferentia2", 6, 32768)


def test_pages_one_after_another_are_one_reading_and_bad_entries_have_their_place() -> None:
    pages = b"".join(
        orjson.dumps({"InstanceTypes": entries})
        for entries in ([entry("a.large"), {"InstanceType": "b.large"}], [entry("c.large")])
    )
    reading = instance_types_of("pages.json", pages)
    assert [(row, facts.instance_type) for row, facts in reading.rows] == [(1, "a.large"), (3, "c.large")]
    assert [(r.row, r.field) for r in reading.refused] == [(2, "VCpuInfo")]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"InstanceTypes": [', "cut short at character 20 (line 1)"),
        (b"# a readme", "no JSON at character 1 (line 1)"),
        (b"\xff\xfe", "neither JSON nor text in UTF-8"),
        (b'{"SpotPriceHistory": []}', "JSON, but no answer of describe-instance-types"),
    ],
)
def test_documents_that_are_something_else_are_refused_whole(data: bytes, reason: str) -> None:
    reading = instance_types_of("x.json", data)
    assert [(r.row, r.reason) for r in reading.refused] == [(None, reason)]


ADVISOR = {
    "ranges": [
        {"index": 0, "label": "<5%", "max": 5},
        {"index": 1, "label": "5-10%", "max": 11},
        {"index": 4, "label": ">20%"},
    ],
    "spot_advisor": {
        "us-east-1": {
            "Linux": {
                "c5.xlarge": {"s": 60, "r": 0},
                "p3.2xlarge": {"s": 70, "r": 4},
                "m5.large": {"s": 1, "r": 9},
            },
            "Windows": {"c5.xlarge": {"s": 40, "r": 1}},
        }
    },
}


def test_bands_come_from_the_published_labels() -> None:
    reading = interruption_of("spot-advisor-data_2025-06.json", orjson.dumps(ADVISOR))
    assert [
        (b.instance_type, b.operating_system, b.low, b.high, b.saving_share) for _, b in reading.rows
    ] == [
        ("c5.xlarge", "linux", Decimal(0), Decimal("0.05"), Decimal("0.6")),
        ("p3.2xlarge", "linux", Decimal("0.2"), None, Decimal("0.7")),
        ("c5.xlarge", "windows", Decimal("0.05"), Decimal("0.1"), Decimal("0.4")),
    ]
    assert {band.as_of for _, band in reading.rows} == {date(2025, 6, 30)}
    assert [(r.row, r.field) for r in reading.refused] == [(3, "r")]


def test_bands_without_a_date_are_refused() -> None:
    reading = interruption_of("advisor.json", orjson.dumps(ADVISOR))
    assert reading.refused[0].reason == "no date: the file's name has none; name it with --as-of"
    assert len(interruption_of("advisor.json", orjson.dumps(ADVISOR), as_of=date(2025, 7, 1)).rows) == 3


@pytest.mark.parametrize(
    ("start", "end", "other_zone", "price"),
    [
        ("us-east-1", "eu-west-1", False, "0.02"),
        ("us-east-1", "us-east-2", False, "0.01"),
        ("sa-east-1", "us-east-1", False, "0.138"),
        ("us-east-1", "us-east-1", False, "0"),
        ("us-east-1", "us-east-1", True, "0.02"),
    ],
)
def test_the_region_that_data_leaves_sets_the_price(
    start: str, end: str, other_zone: bool, price: str
) -> None:
    found = transfer_price(start, end, at=AT, other_zone=other_zone)
    assert found is not None
    assert (found.per_gib, found.currency, found.later_prices) == (Decimal(price), "USD", False)


def test_an_unknown_region_has_no_transfer_price_and_an_early_question_is_marked() -> None:
    assert transfer_price("cn-north-1", "us-east-1", at=AT) is None
    early = transfer_price("us-east-1", "eu-west-1", at=datetime(2020, 1, 1, tzinfo=UTC))
    assert early is not None
    assert early.later_prices is True
