"""List prices and interruption bands by instant, and the reference data of the demo."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from apps.catalog.models import InstanceType
from apps.catalog.selectors import equivalents, instance_types_matching
from apps.prices.selectors import (
    interruption_band,
    interruption_bands,
    on_demand_price,
    on_demand_prices,
    price_list_dates,
    transfer_prices,
)
from apps.prices.services import Placed, demo_reference_load, interruption_bands_store, list_prices_store
from finops.frames.interruption import InterruptionBand
from finops.frames.list_prices import ListPrice, ListPriceKey

pytestmark = pytest.mark.django_db

FIRST, SECOND = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)


def price(
    instance_type: str, at: datetime, amount: str, system: str = "linux", licence: str = "none"
) -> Placed:
    key = ListPriceKey("aws", "us-east-1", instance_type, system, licence, "shared", "USD", at)
    return Placed("made-up.csv", 1, ListPrice(key, Decimal(amount)))


def asked(
    at: datetime, instance_type: str = "m5.large", product: str = "Linux/UNIX"
) -> tuple[Decimal, bool] | None:
    found = on_demand_price(
        provider="aws", region="us-east-1", instance_type=instance_type, product=product, at=at
    )
    return None if found is None else (found.price, found.later_prices)


def test_the_newest_list_at_or_before_the_instant_counts_else_the_next_later_one_marked() -> None:
    rows = [
        price("m5.large", FIRST, "0.100"),
        price("m5.large", SECOND, "0.096"),
        price("c5.large", SECOND, "0.085"),
    ]
    assert list_prices_store(rows=rows, source="made-up").stored == 3
    assert asked(datetime(2020, 6, 1, tzinfo=UTC)) == (Decimal("0.1"), False)
    assert asked(SECOND) == (Decimal("0.096"), False)
    assert asked(datetime(2019, 1, 1, tzinfo=UTC)) == (Decimal("0.1"), True)
    assert asked(FIRST, "c5.large") == (Decimal("0.085"), True)
    assert asked(FIRST, "x9.large") is None
    assert price_list_dates() == [FIRST, SECOND]


def test_a_price_that_arrives_later_is_seen_at_once() -> None:
    list_prices_store(rows=[price("m5.large", FIRST, "0.100")], source="a")
    assert asked(SECOND) == (Decimal("0.1"), False)
    list_prices_store(rows=[price("m5.large", SECOND, "0.096")], source="b")
    assert asked(SECOND) == (Decimal("0.096"), False)


def test_products_of_one_meaning_have_one_price_and_windows_its_own() -> None:
    list_prices_store(
        rows=[price("m5.large", FIRST, "0.096"), price("m5.large", FIRST, "0.188", "windows", "included")],
        source="a",
    )
    assert asked(FIRST, product="Linux/UNIX (Amazon VPC)") == (Decimal("0.096"), False)
    assert asked(FIRST, product="Windows") == (Decimal("0.188"), False)
    assert asked(FIRST, product="Windows with SQL Server Web") is None
    assert asked(FIRST, product="Linux") is None


def test_the_bulk_answer_holds_only_types_with_a_price() -> None:
    list_prices_store(rows=[price("m5.large", FIRST, "0.096"), price("c5.large", FIRST, "0.085")], source="a")
    wanted = {"provider": "aws", "region": "us-east-1", "product": "Linux/UNIX", "at": FIRST}
    assert set(on_demand_prices(**wanted)) == {"m5.large", "c5.large"}  # type: ignore[arg-type]
    assert set(on_demand_prices(**wanted, instance_types=["c5.large", "x"])) == {"c5.large"}  # type: ignore[arg-type]


def test_bands_follow_the_same_rule_of_dates() -> None:
    def band(day: date, low: str, high: str | None) -> Placed:
        row = InterruptionBand(
            "aws", "us-east-1", "m5.large", "linux", day, Decimal(low), high and Decimal(high), low, None
        )
        return Placed("made-up.json", 1, row)

    rows = [band(date(2024, 1, 31), "0", "0.05"), band(date(2025, 1, 31), "0.2", None)]
    assert interruption_bands_store(rows=rows, source="a").stored == 2

    def at(day: datetime) -> tuple[Decimal, Decimal | None, bool] | None:
        found = interruption_band(
            provider="aws",
            region="us-east-1",
            instance_type="m5.large",
            product="Red Hat Enterprise Linux",
            at=day,
        )
        return None if found is None else (found.low, found.high, found.later)

    assert at(datetime(2024, 6, 1, tzinfo=UTC)) == (Decimal("0"), Decimal("0.05"), False)
    assert at(datetime(2025, 6, 1, tzinfo=UTC)) == (Decimal("0.2"), None, False)
    assert at(datetime(2020, 1, 1, tzinfo=UTC)) == (Decimal("0"), Decimal("0.05"), True)
    assert interruption_bands(provider="aws", region="us-east-1", product="Windows", at=FIRST) == {}


def test_the_reference_data_of_the_demo_loads_once_and_prices_the_demo_types() -> None:
    assert demo_reference_load() == {
        "list_prices": 2341, "reserved_terms": 512, "interruption_bands": 1787, "instance_types": 1377,
    }  # fmt: skip
    assert set(demo_reference_load().values()) == {0}
    demo = datetime(2020, 2, 1, tzinfo=UTC)
    for region in ("us-east-1", "us-west-2"):
        found = on_demand_prices(provider="aws", region=region, product="Linux/UNIX", at=demo)
        assert {
            n: (p.price, p.later_prices) for n, p in found.items() if n in {"p2.xlarge", "p3.2xlarge"}
        } == {
            "p2.xlarge": (Decimal("0.9"), False),
            "p3.2xlarge": (Decimal("3.06"), False),
        }
        assert found["p3.2xlarge"].listed_on == datetime(2019, 4, 5, tzinfo=UTC)
    v100 = instance_types_matching(min_vcpu=8, min_memory_gib=61, gpu="V100", gpus=1)
    assert [row.name for row in v100] == ["p3.2xlarge", "p3.8xlarge", "p3.16xlarge", "p3dn.24xlarge"]
    assert InstanceType.objects.get(name="p3.8xlarge").gpu_count == 4
    assert {"c5a.xlarge", "c6i.xlarge", "m5.xlarge"} < set(equivalents("c5.xlarge"))
    assert not {"c6g.xlarge", "g4dn.xlarge", "c5.large"} & set(equivalents("c5.xlarge"))
    assert equivalents("p3.2xlarge") == []
    assert equivalents("unheard.of") == []


def test_transfer_prices_leave_out_what_is_not_known() -> None:
    found = transfer_prices(
        provider="aws", from_region="us-east-1", to_regions=["us-east-1", "us-east-2", "eu-west-1"], at=SECOND
    )
    assert {region: price.per_gib for region, price in found.items()} == {
        "us-east-1": Decimal(0),
        "us-east-2": Decimal("0.01"),
        "eu-west-1": Decimal("0.02"),
    }
    assert transfer_prices(provider="gcp", from_region="a", to_regions=["b"], at=SECOND) == {}
