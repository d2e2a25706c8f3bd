"""Offers keep when they were seen first, last, and when a complete look missed them."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from apps.billing.models import SeenOffer
from apps.ingest.models import IngestRun
from apps.prices.models import ListPrice, ReservedPrice

pytestmark = pytest.mark.django_db


def offering(name: str, price: float = 100.0, count: int = 1) -> dict[str, Any]:
    return {
        "ReservedInstancesOfferingId": name, "InstanceType": "m5.large", "ProductDescription": "Linux/UNIX",
        "Duration": 21024000, "FixedPrice": price, "CurrencyCode": "USD", "InstanceTenancy": "default",
        "OfferingClass": "standard", "OfferingType": "All Upfront", "Marketplace": True,
        "AvailabilityZone": "us-east-1a", "PricingDetails": [{"Price": price, "Count": count}],
        "RecurringCharges": [],
    }  # fmt: skip


def look(folder: Path, at: str, *offers: Any, complete: bool = True) -> dict[str, Any]:
    path = folder / "offers.json"
    path.write_text(json.dumps({"ReservedInstancesOfferings": list(offers)}))
    words = [str(path), "--seen-at", at, "--json"] + (["--complete"] if complete else [])
    return run("import_offers", *words)


def run(verb: str, *words: str) -> dict[str, Any]:
    out = io.StringIO()
    with contextlib.suppress(SystemExit):
        call_command(verb, *words, stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())["runs"][0]  # type: ignore[no-any-return]


def seen() -> list[tuple[str, str, str, str | None]]:
    def day(moment: Any) -> str | None:
        return None if moment is None else f"{moment:%d}"

    return [
        (row.offer, str(day(row.first_seen_at)), str(day(row.seen_at)), day(row.gone_at))
        for row in SeenOffer.objects.order_by("offer", "first_seen_at")
    ]


def test_the_history_of_an_offer(tmp_path: Path) -> None:
    first = look(tmp_path, "2026-05-01T00:00:00Z", offering("a"), offering("b"))
    assert (first["rows_read"], first["stored"], first["duplicates"], first["rejected"]) == (2, 2, 0, 0)
    look(tmp_path, "2026-05-02T00:00:00Z", offering("a", count=5), complete=False)
    assert seen() == [("a", "01", "02", None), ("b", "01", "01", None)]
    look(tmp_path, "2026-05-03T00:00:00Z", offering("a", count=5))
    assert seen() == [("a", "01", "03", None), ("b", "01", "01", "03")]
    look(tmp_path, "2026-05-04T00:00:00Z", offering("b"), offering("a", price=90.0))
    assert seen() == [
        ("a", "01", "03", "04"),
        ("a", "04", "04", None),
        ("b", "01", "01", "03"),
        ("b", "04", "04", None),
    ]


def test_the_same_look_again_changes_nothing(tmp_path: Path) -> None:
    look(tmp_path, "2026-05-01T00:00:00Z", offering("a"))
    before = list(SeenOffer.objects.values())
    again = look(tmp_path, "2026-05-01T00:00:00Z", offering("a"))
    assert (again["stored"], again["duplicates"]) == (0, 1)
    assert list(SeenOffer.objects.values()) == before


def test_a_refused_file_leaves_everything_as_it_was(tmp_path: Path) -> None:
    look(tmp_path, "2026-05-01T00:00:00Z", offering("a"))
    refused = look(tmp_path, "2026-05-02T00:00:00Z", {"InstanceType": "m5.large"})
    assert (refused["state"], refused["rejected"]) == ("refused", 1)
    assert refused["rejections"][0]["field"] == "AvailabilityZone"
    assert seen() == [("a", "01", "01", None)]


def test_price_lists_bring_their_terms_along(tmp_path: Path) -> None:
    path = tmp_path / "made_up_2018-11-29.csv"
    path.write_text(
        "instance_type,region,os,term,effective_usd_per_hour\n"
        "m5.large,us-east-1,linux,ondemand,0.096\n"
        "m5.large,us-east-1,linux,yrTerm1Standard.allUpfront,0.057192\n"
    )
    listed = run("import_list_prices", str(path), "--json")
    assert (listed["rows_read"], listed["stored"]) == (1, 1)
    assert ListPrice.objects.count() == 1
    assert str(ReservedPrice.objects.get().fixed) == "501.000000"
    again = run("import_offers", str(path), "--json")
    assert (again["stored"], again["duplicates"]) == (0, 1)
    assert sorted(IngestRun.objects.values_list("options__what", flat=True)) == [
        "list-prices",
        "offers",
        "reserved-terms",
    ]
