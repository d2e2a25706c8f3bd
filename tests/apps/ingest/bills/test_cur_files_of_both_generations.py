"""CUR legacy and 2.0 as CSV and Parquet, with columns or maps: one bill, the same lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apps.billing.models import Delivery
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import CUR_ROW, cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

TYPE, COST, USAGE = "lineItem/LineItemType", "lineItem/UnblendedCost", "lineItem/UsageAmount"
SERVICE = "Amazon Elastic Compute Cloud"
ARN = "arn:aws:savingsplans::1:savingsplan/a"
EMPTY = {"product": {}, "resource_tags": {}, "cost_category": {}, "discount": {}}
# Of every row: columns by their legacy names, maps by their CUR 2.0 names.
ROWS: list[dict[str, Any]] = [
    {
        COST: "0.5", USAGE: "2", "pricing/publicOnDemandCost": "0.6", "lineItem/NetUnblendedCost": "0.45",
        "product/instanceType": "m5.large", "product/regionCode": "us-east-1",
        "product": {"product_name": SERVICE, "operating_system": "Linux", "region": "us-east-1"},
        "resource_tags": {"user_team": "web", "user_Name": "a,b \"c\""}, "cost_category": {"Unit": "Shop"},
        "discount": {"edp_discount": "-0.05"},
    },
    {
        TYPE: "SavingsPlanCoveredUsage", COST: "0.40", USAGE: "4", "savingsPlan/SavingsPlanARN": ARN,
        "savingsPlan/SavingsPlanEffectiveCost": "0.26", "pricing/publicOnDemandCost": "0.40",
        "product/instanceType": "m5.large", **EMPTY,
    },
    {TYPE: "SavingsPlanNegation", COST: "-0.40", USAGE: "4", "savingsPlan/SavingsPlanARN": ARN, **EMPTY},
    {TYPE: "Tax", COST: "0.07", USAGE: "1", "lineItem/TaxType": "VAT", **EMPTY},
    {TYPE: "Credit", COST: "-0.01", **EMPTY},
]  # fmt: skip
SUMS = (
    "sum(billed_cost), sum(effective_cost), sum(x_net_cost), sum(list_cost), sum(x_quantity), "
    "count(DISTINCT commitment_discount_id)"
)
EXACT = (Decimal("0.56"), Decimal("0.82"), Decimal("0.51"), Decimal("1.00"), Decimal(6), 1)


def _snake(name: str) -> str:
    """As Athena's integration and CUR 2.0 write it: `…/ReservationARN` -> `…_reservation_a_r_n`."""
    head, _, tail = name.partition("/")
    words = re.sub(r"([A-Z])", r"_\1", head).lower(), re.sub(r"([A-Z])", r"_\1", tail).lower().strip("_")
    return f"{words[0]}_{words[1]}" if tail else name


def _athena(name: str) -> str:
    """Tag keys and categories have lost their case there."""
    head, _, key = name.partition("/")
    lost = f"{head}/{key.lower()}" if head in {"costCategory", "resourceTags"} else name
    return _snake(lost).replace(":", "_").replace("__", "_")


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with a column for each entry of its maps, as legacy reports have it."""
    found = {**CUR_ROW, **{name: cell for name, cell in row.items() if not isinstance(cell, dict)}}
    found |= {f"resourceTags/{key.replace('_', ':', 1)}": v for key, v in row["resource_tags"].items()}
    found |= {f"costCategory/{key}": value for key, value in row["cost_category"].items()}
    names = {"product_name": "product/ProductName", "operating_system": "product/operatingSystem"}
    return found | {names.get(key, f"product/{key}"): value for key, value in row["product"].items()}


def _second(row: Mapping[str, Any]) -> dict[str, Any]:
    return {_snake(name): cell for name, cell in {**CUR_ROW, **row}.items()}


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        cells = [row.get(name, "") for name in names]
        writer.writerow([json.dumps(cell) if isinstance(cell, dict) else cell for cell in cells])
    return out.getvalue()


def _column(name: str, cells: Sequence[Any]) -> pa.Array:
    """The types of AWS's own Parquet: doubles, timestamps, maps of text."""
    if any(isinstance(cell, dict) for cell in cells):
        return pa.array([list((cell or {}).items()) for cell in cells], pa.map_(pa.string(), pa.string()))
    if name.endswith(("_cost", "_rate", "_amount")):
        return pa.array([float(cell) if cell else None for cell in cells], pa.float64())
    if name.endswith("_date"):
        return pa.array(
            [datetime.fromisoformat(cell) if cell else None for cell in cells], pa.timestamp("ms")
        )
    return pa.array([cell if cell != "" else None for cell in cells], pa.string())


def _parquet(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    pq.write_table(pa.table({n: _column(n, [row.get(n, "") for row in rows]) for n in names}), path)


def _bytes(form: str, folder: Path) -> tuple[str, bytes]:
    made = folder / "made.parquet"
    if form == "legacy-csv":
        return "cur.csv", _csv([_flat(row) for row in ROWS]).encode()
    if form == "second-csv":
        return "cur.csv", _csv([_second(row) for row in ROWS]).encode()
    if form == "legacy-parquet":
        # the Athena integration has lower-cased every name, also of tags
        _parquet([{_athena(name): cell for name, cell in _flat(row).items()} for row in ROWS], made)
    else:
        _parquet([_second(row) for row in ROWS], made)
    return "cur.snappy.parquet", made.read_bytes()


@pytest.mark.parametrize("form", ["legacy-csv", "second-csv", "legacy-parquet", "second-parquet"])
def test_the_same_bill_in_every_form(tmp_path: Path, form: str) -> None:
    name, data = _bytes(form, tmp_path)
    run = import_text(tmp_path / "in" / name, data)
    assert (run.state, run.stored, run.rejected) == ("finished", 5, 0), run.error
    assert lines(SUMS) == [EXACT]
    delivery = Delivery.objects.get()
    assert delivery.kind == ("aws-cur2" if form.startswith("second") else "aws-cur")
    told = lines(
        "service_name, region_id, x_instance_type, x_operating_system, x_cost_categories, "
        "charge_period_start",
        "billed_cost = 0.5",
    )
    unit = {"unit" if form == "legacy-parquet" else "Unit": "Shop"}
    start = datetime(2026, 3, 2, tzinfo=UTC)
    assert told == [(SERVICE, "us-east-1", "m5.large", "Linux", unit, start)]
    [(tags,)] = lines("tags", "billed_cost = 0.5")
    assert sorted(tags.values()) == ['a,b "c"', "web"]
    assert set(tags) == {
        "legacy-csv": {"user:team", "user:Name"},
        "legacy-parquet": {"user_team", "user_name"},
    }.get(form, {"user_team", "user_Name"})


def test_a_struct_of_product_attributes_is_read_as_its_map(tmp_path: Path) -> None:
    rows = [_second(row) for row in ROWS]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = {n: _column(n, [row.get(n, "") for row in rows]) for n in names}
    table["product"] = pa.array([row["product"] or {"region": None} for row in rows])
    pq.write_table(pa.table(table), tmp_path / "struct.parquet")
    run = import_text(tmp_path / "in" / "x.parquet", (tmp_path / "struct.parquet").read_bytes())
    assert run.state == "finished", run.error
    assert lines("x_operating_system, region_id", "billed_cost = 0.5") == [("Linux", "us-east-1")]


def test_decimals_and_dates_of_other_engines_are_read(tmp_path: Path) -> None:
    """Parquet rewritten by an engine: decimals, timestamps with a zone, a partition column more."""
    rows = [_second(row) for row in ROWS]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = {n: _column(n, [row.get(n, "") for row in rows]) for n in names}
    table["line_item_unblended_cost"] = pa.array(
        [Decimal(row["line_item_unblended_cost"]) for row in rows], pa.decimal128(20, 10)
    )
    starts = [datetime.fromisoformat(row["line_item_usage_start_date"]).replace(tzinfo=UTC) for row in rows]
    table["line_item_usage_start_date"] = pa.array(starts, pa.timestamp("us", tz="UTC"))
    table["billing_period"] = pa.array(["2026-03"] * len(rows))
    pq.write_table(pa.table(table), tmp_path / "engine.parquet")
    import_text(tmp_path / "in" / "x.parquet", (tmp_path / "engine.parquet").read_bytes())
    assert lines(SUMS) == [EXACT]


def test_legacy_columns_that_came_in_the_middle_of_a_year_are_found_by_name(tmp_path: Path) -> None:
    import_text(tmp_path / "a.csv", cur_csv([{COST: "1", "lineItem/TaxType": ""}]))
    later = {
        COST: "2",
        "lineItem/LegalEntity": "AWS EMEA SARL",
        "bill/BillingPeriodStartDate": "2026-04-01T00:00:00Z",
    }
    import_text(tmp_path / "b.csv", cur_csv([later]))
    assert lines("invoice_issuer_name, billed_cost") == [("AWS EMEA SARL", 2), (None, 1)]
