"""Grid intensity: dated factors with their source, a policy on them, and what is not known is not judged."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from finops.engine.checks.policies import Verdict, document_of, judge, policies_of
from finops.engine.checks.pricing import price_resources
from finops.frames.cost_items import CheckInputError, Item, Range, Resource, Side, Sku
from finops.frames.region_carbon import region_carbon

DAY = date(2026, 11, 30)


def resource(region: str, address: str = "a.b") -> Resource:
    sku = Sku("ebs", region, "gp3", "storage")
    side = Side((Item("storage", "GiB-month", (sku,), Range.of(1)),), region=region)
    return Resource(address, "aws_ebs_volume", "create", None, side)


def outcome(limit: str, *regions: str, source: str = "") -> tuple[str, str, tuple[str, ...]]:
    row = {"kind": "region_carbon", "limit": limit, **({"source": source} if source else {})}
    (policy,) = policies_of({"policies": [row]})
    priced = price_resources([resource(region, f"a.{i}") for i, region in enumerate(regions)], {})
    carbon = {
        region: [(one.publisher, one.g_per_kwh) for one in region_carbon("aws", region, DAY)]
        for region in regions
    }
    found = judge(policy, priced, carbon=carbon)
    return found.verdict.value, found.code, found.addresses


def test_factors_have_a_source_and_a_day() -> None:
    found = region_carbon("aws", "eu-central-1", DAY)
    assert [(one.publisher, one.g_per_kwh, one.later) for one in found] == [
        ("cloud-carbon-footprint", Decimal("311"), False),
        ("codecarbon", Decimal("380.95"), False),
    ]
    earlier = region_carbon("aws", "eu-central-1", date(2023, 1, 1))
    assert [one.later for one in earlier] == [False, True]
    assert region_carbon("aws", "mars-1", DAY) == ()


def test_the_ratio_of_two_regions_differs_by_source() -> None:
    pairs = zip(
        region_carbon("aws", "eu-central-1", DAY), region_carbon("aws", "us-east-1", DAY), strict=True
    )
    assert [round(float(a.g_per_kwh / b.g_per_kwh), 2) for a, b in pairs] == [0.82, 1.03]


@pytest.mark.parametrize(
    ("limit", "regions", "source", "expected"),
    [
        ("300", ("eu-central-1",), "", ("warn", "above", ("a.0",))),
        ("350", ("eu-central-1",), "", ("cannot judge", "sources differ", ("a.0",))),
        ("350", ("eu-central-1",), "codecarbon", ("warn", "above", ("a.0",))),
        ("350", ("eu-central-1",), "cloud-carbon-footprint", ("pass", "at most", ())),
        ("380.95", ("eu-central-1",), "", ("pass", "at most", ())),
        ("100", ("eu-north-1", "eu-west-3"), "", ("pass", "at most", ())),
        ("100", ("eu-north-1", "us-east-1"), "", ("warn", "above", ("a.1",))),
        ("100", ("mars-1",), "", ("cannot judge", "no factor", ("a.0",))),
        ("100", ("",), "", ("cannot judge", "no factor", ("a.0",))),
        ("100", ("mars-1", "us-east-1"), "", ("warn", "above", ("a.1",))),
        ("100", (), "", ("pass", "none", ())),
    ],
)
def test_the_policy(limit: str, regions: tuple[str, ...], source: str, expected: object) -> None:
    assert outcome(limit, *regions, source=source) == expected


def test_what_goes_away_or_costs_nothing_is_not_asked() -> None:
    (policy,) = policies_of({"policies": [{"kind": "region_carbon", "limit": "1", "level": "deny"}]})
    free = Resource("a.c", "aws_iam_role", "create", None, Side(region="us-east-1"))
    gone = Resource("a.d", "aws_ebs_volume", "delete", Side(region="us-east-1"), None)
    assert judge(policy, price_resources([free, gone], {}), carbon={}).verdict is Verdict.PASS


@pytest.mark.parametrize("row", [{"limit": "1", "source": "rumour"}, {}, {"limit": "-1"}, {"limit": "1,234"}])
def test_a_wrong_policy_is_refused(row: dict[str, str]) -> None:
    with pytest.raises(CheckInputError):
        policies_of({"policies": [{"kind": "region_carbon", **row}]})


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "max_increase", "limit": "40.00", "currency": "EUR", "case": "high"},
        {"kind": "max_increase_percent", "limit": "25", "level": "warn"},
        {"kind": "volume_types", "types": ["gp2", "io1"]},
        {"kind": "required_tag", "tag": "owner", "value": "data", "title": "Owned"},
        {"kind": "spot_eligible_on_demand"},
        {"kind": "region_carbon", "limit": "300", "source": "codecarbon"},
        {"kind": "region_carbon", "limit": "300"},
        {"kind": "team_budget", "team": "data"},
        {"kind": "all_priced"},
    ],
)
def test_a_policy_comes_back_as_it_was(row: dict[str, object]) -> None:
    read = policies_of({"policies": [row]})
    assert policies_of({"policies": [document_of(read[0])]}) == read
