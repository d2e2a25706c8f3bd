"""FOCUS 1.0 to 1.4 and the clouds' own flavours, CSV and Parquet: exact totals, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apps.billing.models import Delivery
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import import_text
from tests.support.focus_files import FLAVOURS, V10, V12, VERSIONS, focus_rows, focus_text

pytestmark = pytest.mark.usefixtures("lake_folder")

SUMS = "sum(billed_cost), sum(effective_cost), sum(list_cost), sum(x_quantity)"
TOTALS = (Decimal("1.20"), Decimal("0.95"), Decimal("2.5"), Decimal(1))
FORMATS = {**VERSIONS, **FLAVOURS}


def _money(name: str) -> bool:
    return name.endswith(("Cost", "Price", "Quantity"))


def _parquet(first: Mapping[str, Any], path: Path) -> None:
    """The same rows with the types that exports in Parquet have: decimals, timestamps, maps, lists."""
    rows = focus_rows(first)
    columns: dict[str, pa.Array] = {}
    for name in first:
        cells = [row[name] or None for row in rows]
        if name == "ContractApplied":
            columns[name] = pa.array([json.loads(c) if c else None for c in cells])
        elif name in {"Tags", "SkuPriceDetails", "AllocatedTags"}:
            pairs = [[(k, str(v).lower()) for k, v in json.loads(c).items()] if c else None for c in cells]
            columns[name] = pa.array(pairs, pa.map_(pa.string(), pa.string()))
        elif _money(name):
            exact = [None if c is None else Decimal(c) for c in cells]
            columns[name] = pa.array(exact, pa.decimal128(30, 15))
        elif name.endswith(("Start", "End")):
            times = [datetime.fromisoformat(c.replace(" UTC", "+00:00")).astimezone(UTC) for c in cells]
            columns[name] = pa.array(times, pa.timestamp("us", tz="UTC"))
        else:
            columns[name] = pa.array(cells, pa.string())
    pq.write_table(pa.table(columns), path)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("name", FORMATS)
def test_totals_are_exact(tmp_path: Path, name: str, form: str) -> None:
    first = FORMATS[name]
    path = tmp_path / f"focus.{form}"
    if form == "csv":
        run = import_text(path, focus_text(focus_rows(first)))
    else:
        _parquet(first, tmp_path / "made.parquet")
        run = import_text(path, (tmp_path / "made.parquet").read_bytes())
    assert (run.state, run.stored, run.rejected) == ("finished", 2, 0), run.error
    assert lines(SUMS) == [TOTALS]
    delivery = Delivery.objects.get()
    provider = name if name in FLAVOURS else "aws"
    assert (delivery.report.provider, str(delivery.billing_period)) == (provider, "2026-03-01")
    assert lines("charge_period_start, tags['team'], tags['keep'], charge_category", "tags IS NOT NULL") == [
        (datetime(2026, 3, 2, tzinfo=UTC), "web", "true", "Usage")
    ]


def test_columns_of_later_versions_and_of_the_provider_stay_with_the_line(tmp_path: Path) -> None:
    import_text(tmp_path / "f.csv", focus_text(focus_rows({**VERSIONS["1.4"], "x_Mine": "m", "x_None": ""})))
    [(kept, provider)] = lines("x_source_columns, provider_name", "charge_category = 'Usage'")
    assert provider == "AWS"
    assert kept == {
        "ServiceProviderName": "AWS",
        "HostProviderName": "AWS",
        "AllocatedMethodId": "split-1",
        "AllocatedResourceId": "pod-1",
        "AllocatedTags": '{"ns": "a"}',
        "ContractApplied": VERSIONS["1.3"]["ContractApplied"],
        "x_Mine": "m",
    }


def test_what_aws_says_in_its_own_columns_fills_ours(tmp_path: Path) -> None:
    import_text(tmp_path / "aws.csv", focus_text(focus_rows(FLAVOURS["aws"])))
    assert lines(
        "x_operation, x_product_code, x_usage_type, x_source_columns", "charge_category = 'Usage'"
    ) == [("RunInstances", "AmazonEC2", "BoxUsage:m5.large", {"x_Discounts": '{"edp": 0.1}'})]


def test_null_blank_and_absent_are_told_apart(tmp_path: Path) -> None:
    row = {**V10, "ResourceId": None, "RegionName": "", "ServiceName": "NULL"}
    row.pop("SkuId")
    import_text(tmp_path / "n.csv", focus_text([row]))
    assert lines("resource_id, region_name, service_name, sku_id") == [(None, "", "NULL", None)]
    columns = Delivery.objects.get().columns
    assert "ResourceId" in columns
    assert "SkuId" not in columns


def test_without_effective_cost_there_is_no_amortised_cost(tmp_path: Path) -> None:
    rows = [{name: cell for name, cell in row.items() if name != "EffectiveCost"} for row in focus_rows(V10)]
    import_text(tmp_path / "e.csv", focus_text(rows))
    delivery = Delivery.objects.get()
    assert delivery.totals["USD"] == {"billed": "1.2", "amortised": None, "net": "1.2", "list": "2.5"}
    assert {"code": "blank", "basis": "amortised", "column": "effective_cost", "rows": 2} in delivery.notes


@pytest.mark.parametrize("field", ["ChargeCategory", "ChargeClass"])
def test_a_word_that_decides_what_counts_refuses_the_delivery(tmp_path: Path, field: str) -> None:
    import_text(tmp_path / "good.csv", focus_text(focus_rows(V12)))
    bad = {field: "Surprise", "BilledCost": "9"}
    run = import_text(tmp_path / "bad.csv", focus_text(focus_rows(V12, bad)))
    assert run.state == "refused"
    assert run.error.startswith(f"bad.csv, row 3, {field}: not one of ")
    assert run.error.endswith(": Surprise")
    [told] = run.options["refused"][0]["rejections"]
    assert (told["file"], told["row"], told["field"]) == ("bad.csv", 3, field)
    assert Delivery.objects.count() == 1
    assert lines(SUMS) == [TOTALS]


@pytest.mark.parametrize(
    "field",
    [
        "CapacityReservationStatus",
        "CommitmentDiscountCategory",
        "CommitmentDiscountStatus",
        "PricingCategory",
    ],
)
def test_a_word_that_sorts_lines_rejects_its_row(tmp_path: Path, field: str) -> None:
    run = import_text(tmp_path / "bad.csv", focus_text(focus_rows(V12, {field: "Surprise"})))
    assert (run.state, run.stored, run.rejected) == ("finished", 2, 1)
    told = run.rejections.get()
    assert (told.row, told.field) == (3, field)
    assert lines(SUMS) == [TOTALS]


def test_a_blank_charge_category_rejects_its_row(tmp_path: Path) -> None:
    run = import_text(tmp_path / "blank.csv", focus_text(focus_rows(V12, {"ChargeCategory": None})))
    assert (run.stored, run.rejected) == (2, 1)


def test_letter_case_of_these_words_does_not_count_and_other_words_stay(tmp_path: Path) -> None:
    change = {"ChargeCategory": "usage ", "ChargeClass": "CORRECTION", "ChargeFrequency": "Usage-based"}
    import_text(tmp_path / "case.csv", focus_text([{**V12, **change}]))
    assert lines("charge_category, charge_class, charge_frequency, x_quantity") == [
        ("Usage", "Correction", "Usage-based", 1)
    ]


def test_a_month_written_with_an_offset_is_the_month_that_is_written(tmp_path: Path) -> None:
    local = {
        "BillingPeriodStart": "2026-03-01T00:00:00+08:00",
        "BillingPeriodEnd": "2026-04-01T00:00:00+08:00",
        "ChargePeriodStart": "2026-03-01T00:00:00+08:00",
        "ChargePeriodEnd": "2026-03-01T01:00:00+08:00",
    }
    import_text(tmp_path / "local.csv", focus_text([{**V10, **local}]))
    assert str(Delivery.objects.get().billing_period) == "2026-03-01"
    assert lines("billing_period_start, billing_period_end, charge_period_start") == [
        (
            datetime(2026, 3, 1, tzinfo=UTC),
            datetime(2026, 4, 1, tzinfo=UTC),
            datetime(2026, 2, 28, 16, tzinfo=UTC),
        )
    ]


def test_a_leap_second_is_the_second_after_it(tmp_path: Path) -> None:
    end = {"ChargePeriodStart": "2026-03-31T23:00:00Z", "ChargePeriodEnd": "2026-03-31T23:59:60Z"}
    import_text(tmp_path / "leap.csv", focus_text([{**V10, **end}]))
    assert lines("charge_period_end") == [(datetime(2026, 4, 1, tzinfo=UTC),)]


def test_a_software_vendor_bills_what_another_hosts(tmp_path: Path) -> None:
    vendor = {**VERSIONS["1.4"], "ServiceProviderName": "Databricks", "HostProviderName": "AWS"}
    import_text(tmp_path / "saas.csv", focus_text(focus_rows(vendor)))
    assert Delivery.objects.get().report.provider == "databricks"
