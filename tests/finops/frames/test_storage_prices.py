"""An organisation's own storage prices over the table's: whole classes only, in one currency, by day."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from finops.frames.storage_prices import StoragePrice, class_names, items_of, priced_classes
from finops.frames.storage_terms import storage_terms

ON, BEFORE, LATER = date(2026, 11, 30), date(2026, 1, 1), date(2026, 12, 1)
FRANKFURT = {
    "STANDARD": {"per_gib_month": "0.0245", "put_per_1000": "0.0054", "get_per_1000": "0.00043"},
    "STANDARD_IA": {
        "per_gib_month": "0.0135", "put_per_1000": "0.01", "get_per_1000": "0.001",
        "transition_in_per_1000": "0.01", "retrieval_per_gib": "0.01",
    },
}  # fmt: skip
GUANGZHOU = {
    "INTELLIGENT_TIERING": {
        "per_gib_month": "0.11", "put_per_1000": "0.001", "get_per_1000": "0.001",
        "transition_in_per_1000": "0.001", "monitoring_per_1000": "0.0025",
        "tier:FREQUENT": "0.11", "tier:INFREQUENT": "0.08",
    },
    "STANDARD": {"per_gib_month": "0.11", "put_per_1000": "0.001", "get_per_1000": "0.001"},
}  # fmt: skip


def own(
    place: tuple[str, str], table: dict[str, dict[str, str]], currency: str = "USD", on: date = BEFORE
) -> list[StoragePrice]:
    return [
        StoragePrice(*place, name, item, on, Decimal(price), currency, "price page")
        for name, items in table.items()
        for item, price in items.items()
    ]


def test_without_own_prices_it_is_the_table() -> None:
    assert storage_terms("aws", "eu-central-1", ON) is None
    assert storage_terms("tencent", "ap-guangzhou", ON) is None
    assert priced_classes("aws", "us-east-1", ON).missing == {}
    listed = storage_terms("aws", "us-east-1", ON)
    assert listed is not None
    assert len(listed.classes) == 8
    # Deep Cold Archive has rules and no price, and nobody gave one.
    hangzhou = storage_terms("alibaba", "cn-hangzhou", ON)
    assert hangzhou is not None
    assert "DeepColdArchive" not in hangzhou.classes
    assert not any("DeepColdArchive" in pair for pair in hangzhou.moves)


def test_another_region_takes_the_rules_and_its_own_prices() -> None:
    terms = storage_terms("aws", "eu-central-1", ON, own(("aws", "eu-central-1"), FRANKFURT))
    assert terms is not None
    assert set(terms.classes) == {"STANDARD", "STANDARD_IA"}
    assert terms.moves == {("STANDARD", "STANDARD_IA")}
    ia = terms.classes["STANDARD_IA"]
    assert (ia.per_gib_month, ia.min_days, ia.min_billable_kib) == (Decimal("0.0135"), 30, 128)
    assert (ia.source, ia.valid_from) == ("price page", BEFORE)
    assert terms.missing == {}


@pytest.mark.parametrize("item", sorted(FRANKFURT["STANDARD_IA"]))
def test_a_class_with_a_price_missing_is_left_out_and_says_which(item: str) -> None:
    table = {**FRANKFURT, "STANDARD_IA": {k: v for k, v in FRANKFURT["STANDARD_IA"].items() if k != item}}
    terms = storage_terms("aws", "eu-central-1", ON, own(("aws", "eu-central-1"), table))
    assert terms is not None
    assert set(terms.classes) == {"STANDARD"}
    assert terms.missing == {"STANDARD_IA": (item,)}


def test_own_prices_go_over_the_table_from_their_day_on() -> None:
    negotiated = [
        StoragePrice("aws", "us-east-1", "STANDARD", "per_gib_month", day, Decimal(price), "USD", "EDP")
        for day, price in ((LATER, "0.015"), (BEFORE, "0.021"), (date(2026, 6, 1), "0.020"))
    ]
    terms = storage_terms("aws", "us-east-1", ON, negotiated)
    assert terms is not None
    assert terms.standard.per_gib_month == Decimal("0.020")
    assert (terms.standard.put_per_1000, terms.standard.source) == (Decimal("0.005"), "EDP")
    later = storage_terms("aws", "us-east-1", LATER, negotiated)
    assert later is not None
    assert later.standard.per_gib_month == Decimal("0.015")


def test_a_price_in_another_currency_never_stands_beside_the_others() -> None:
    euro = [
        StoragePrice("aws", "us-east-1", "GLACIER", "per_gib_month", BEFORE, Decimal("0.003"), "EUR", "x")
    ]
    mixed = priced_classes("aws", "us-east-1", ON, euro)
    assert mixed.missing == {"GLACIER": ("currency",)}
    assert "GLACIER" not in mixed.classes
    table = own(("aws", "eu-central-1"), {"STANDARD": FRANKFURT["STANDARD"]})
    table += own(("aws", "eu-central-1"), {"STANDARD_IA": FRANKFURT["STANDARD_IA"]}, "EUR")
    other = priced_classes("aws", "eu-central-1", ON, table)
    assert set(other.classes) == {"STANDARD"}
    assert other.missing == {"STANDARD_IA": ("currency",)}


def test_cos_has_rules_of_its_own_and_tiers_with_own_prices() -> None:
    assert class_names("tencent", ON) == (
        "STANDARD", "STANDARD_IA", "INTELLIGENT_TIERING", "ARCHIVE", "DEEP_ARCHIVE",
    )  # fmt: skip
    assert items_of("tencent", "ARCHIVE", ON) == (
        "per_gib_month", "put_per_1000", "get_per_1000", "transition_in_per_1000", "retrieval_per_gib",
    )  # fmt: skip
    assert items_of("tencent", "NEARLINE", ON) == ()
    terms = storage_terms("tencent", "ap-guangzhou", ON, own(("tencent", "ap-guangzhou"), GUANGZHOU, "CNY"))
    assert terms is not None
    assert terms.currency == "CNY"
    assert [(t.name, t.after_idle_days, t.per_gib_month) for t in terms.tiers["INTELLIGENT_TIERING"]] == [
        ("FREQUENT", 0, Decimal("0.11")), ("INFREQUENT", 30, Decimal("0.08")),
    ]  # fmt: skip
    assert terms.classes["INTELLIGENT_TIERING"].min_monitored_kib == 64
