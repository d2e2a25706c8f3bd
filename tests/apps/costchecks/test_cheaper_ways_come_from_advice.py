"""Cheaper ways of a check are the product's own advice: the same figures, with evidence and a link."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from apps.accounts.models import Organisation
from apps.billing.models import SeenOffer
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
DISK = [{"volume_type": "gp3", "volume_size": 8}]
SPOT = [{"market_type": "spot"}]


@pytest.fixture
def lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    cache.clear()
    with fresh_lake(settings, tmp_path / "lake"):
        rows = []
        for hour in range(0, 40 * 24 + 1, 12):
            at = (START + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")
            price = "0.0700" if hour % 24 else "0.0600"
            dear = "0.0800" if hour % 36 else "0.0780"
            rows += [spot.row(price, at, "us-east-1a"), spot.row(dear, at, "us-east-1b")]
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


def offer_seen(pk: str, fixed: str, *, hours: int = 5840, count: int = 1) -> SeenOffer:
    return SeenOffer.objects.create(
        provider="aws", region="us-east-1", zone="", instance_type="m5.large", platform="Linux/UNIX",
        tenancy="default", kind="second-hand", offering_class="standard", payment="all-upfront", offer=pk,
        duration_hours=hours, fixed=Decimal(fixed), hourly=Decimal(0), currency="USD", count=count,
        first_seen_at=END, seen_at=END, source="test",
    )  # fmt: skip


def checked(content: bytes, usage: bytes = b"{}") -> dict[str, Any]:
    question = Question(content, usage=parse_usage(usage))
    row = cost_check_make(organisation=Organisation.default(), question=question, at=END)
    row.refresh_from_db()
    return {"id": row.pk, **row.document}


def test_a_spot_machine_in_a_dear_zone_is_priced_there_and_offered_the_cheap_one(lake: None) -> None:
    values = {"instance_type": "m5.large", "root_block_device": DISK, "instance_market_options": SPOT}
    document = checked(plan(change("aws_instance.a", values | {"availability_zone": "us-east-1b"})))
    advice = advise_launch(
        hours=24, types=["m5.large"], regions=["us-east-1"], product="Linux/UNIX", slack_hours=0.0,
        home_zone="us-east-1b", at=END, organisation=Organisation.default(),
    )  # fmt: skip
    (cell,) = [c for c in advice["flexibility"] if c["where"] == "zone" and c["wait_hours"] == 0]
    # 730 h at the price of its own zone, and 0.64 for the disk.
    paid = float(advice["home"]["cost"]) / 24 * 730
    assert float(document["after"]["expected"]) == pytest.approx(paid + 0.64)
    assert paid > 730 * 0.07
    (offer,) = document["alternatives"]
    assert (offer["kind"], offer["instead"]) == ("zone", "m5.large Spot us-east-1a")
    assert float(offer["saving"]["expected"]) == pytest.approx(paid * cell["saving_pct"] / 100)
    assert float(offer["saving"]["low"]) == pytest.approx(paid * cell["low"] / 100)
    evidence = offer["evidence"]
    assert (evidence["sample"], evidence["sample_of"]) == (cell["decisions"], "decisions")
    assert evidence["age_hours"] == 0
    assert evidence["link"].startswith("/run/?")
    assert "home_zone=us-east-1b" in evidence["link"]


def test_a_run_that_may_wait_is_asked_for_a_window(lake: None) -> None:
    values = {"instance_type": "m5.large", "root_block_device": DISK}
    content = plan(change("aws_instance.a", values))
    usage = b"resources: {aws_instance.a: {interruptible: true, run_hours: 8, slack_hours: 24, hours: 160}}"
    document = checked(content, usage)
    advice = advise_launch(
        hours=8.0, types=["m5.large"], regions=["us-east-1"], product="Linux/UNIX", slack_hours=24.0,
        interruptible=True, at=END, organisation=Organisation.default(),
    )  # fmt: skip
    low = advice["waiting"]["low"]
    window = [one for one in document["alternatives"] if one["kind"] == "window"]
    refused = [one for one in document["alternatives_not_offered"] if one["kind"] == "window"]
    assert len(window) + len(refused) == 1
    if low is not None and low > 0:
        assert window[0]["evidence"]["sample"] == advice["waiting"]["decisions"]
    else:
        assert refused[0]["verdict"] in {"does not save", "cannot judge"}


def test_second_hand_offers_are_taken_as_they_stand(lake: None) -> None:
    row = offer_seen("ri-1", "292")  # 0.05 an hour for 5,840 hours
    document = checked(
        plan(change("aws_instance.a", {"instance_type": "m5.large", "root_block_device": DISK}))
    )
    (offer,) = [one for one in document["alternatives"] if one["kind"] == "second-hand"]
    assert Decimal(offer["saving"]["expected"]) == Decimal("33.58")  # 730 x (0.096 - 0.05)
    assert offer["evidence"]["link"] == f"/deals/offers/{row.pk}/"
    assert (offer["evidence"]["sample"], offer["evidence"]["upfront"]) == (1, "292")
    assert offer["evidence"]["age_hours"] == 0


def test_an_offer_that_is_new_makes_another_answer_and_none_is_no_judgement(lake: None) -> None:
    content = plan(change("aws_instance.a", {"instance_type": "m5.large", "root_block_device": DISK}))
    first = checked(content)
    (told,) = [one for one in first["alternatives_not_offered"] if one["kind"] == "second-hand"]
    assert (told["verdict"], told["code"], told["addresses"]) == (
        "cannot judge", "no offers", ["aws_instance.a"],
    )  # fmt: skip
    assert checked(content) == first
    offer_seen("ri-1", "292")
    assert [one["kind"] for one in checked(content)["alternatives"]] == ["second-hand"]


def test_one_reason_is_told_once_for_all_that_it_holds_for(lake: None) -> None:
    values = {"instance_type": "m5.large", "root_block_device": DISK}
    document = checked(plan(*(change(f"aws_instance.a{i}", values) for i in range(3))))
    (told,) = [one for one in document["alternatives_not_offered"] if one["kind"] == "second-hand"]
    assert told["resources"] == 3
    assert told["reason"] == "No second-hand offer of m5.large in us-east-1 stands."
