"""Spot machines and the Spot alternative are priced as launch advice prices a day's run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from apps.accounts.models import Organisation
from apps.costchecks.services import Question, cost_check_make
from apps.ingest import services
from apps.prices.models import ListPrice
from apps.recommendations.services import advise_launch
from finops.frames.usage_file import parse_usage
from tests.support import spot
from tests.support.lake import fresh_lake
from tests.support.plans import change, plan

START = datetime(2026, 1, 1, tzinfo=UTC)
END = START + timedelta(days=40)


@pytest.fixture
def lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    cache.clear()
    with fresh_lake(settings, tmp_path / "lake"):
        rows = []
        for hour in range(0, 40 * 24 + 1, 12):
            at = (START + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")
            price = "0.0700" if hour % 24 else "0.0600"
            rows += [spot.row(price, at, "us-east-1a"), spot.row("0.0900", at, "us-east-1b")]
        path = tmp_path / "spot.json"
        path.write_text(spot.answer(*rows))
        done = services.prices_import(source=str(path), provider="aws", options=services.ImportOptions())
        assert done.state == "finished"
        ListPrice.objects.create(
            provider="aws", region="us-east-1", instance_type="m5.large", operating_system="linux",
            licence="none", tenancy="shared", currency="USD", effective_from=START,
            price=Decimal("0.096"), source="test",
        )  # fmt: skip
        yield


def test_spot_is_priced_and_offered_at_the_advised_price(lake: None) -> None:
    organisation = Organisation.default()
    disk = [{"volume_type": "gp3", "volume_size": 8}]
    market = [{"market_type": "spot"}]
    content = plan(
        change("aws_instance.owned", {"instance_type": "m5.large", "root_block_device": disk}),
        change("aws_instance.spot", {"instance_type": "m5.large", "root_block_device": disk,
                                     "instance_market_options": market}),
    )  # fmt: skip
    usage = parse_usage(b"resources: {aws_instance.owned: {interruptible: true}}")
    row = cost_check_make(organisation=organisation, question=Question(content, usage=usage), at=END)
    advice = advise_launch(
        hours=24, types=["m5.large"], regions=["us-east-1"], product="Linux/UNIX", slack_hours=0.0, at=END,
        organisation=organisation,
    )  # fmt: skip
    best = next(one for one in advice["plans"] if one["market"] == "spot")
    hourly = Decimal(best["cost"]) / 24
    assert best["zone_name"] == "us-east-1a"
    after = {one["address"]: one["after"]["expected"] for one in row.document["resources"]}
    assert Decimal(after["aws_instance.owned"]) == Decimal("70.72")  # 0.096 x 730 + 0.64
    assert Decimal(after["aws_instance.spot"]).quantize(Decimal("0.0001")) == (
        hourly * 730 + Decimal("0.64")
    ).quantize(Decimal("0.0001"))
    assert row.document["unpriced"] == []
    (offer,) = row.document["alternatives"]
    assert (offer["address"], offer["instead"]) == ("aws_instance.owned", "m5.large Spot")
    assert Decimal(offer["saving"]["expected"]) == pytest.approx(Decimal(730) * (Decimal("0.096") - hourly))
    assert Decimal(offer["saving"]["low"]) <= Decimal(offer["saving"]["expected"])
    assert row.verdict == "warn"
    assert json.dumps(row.document["evidence"]["prices"]).count("launch advice, us-east-1a") == 1
    assert row.document["evidence"]["snapshots"]
