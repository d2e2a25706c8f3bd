"""Made-up bill lines put straight into the lake, for tests of what reads them.

A row is a dict of line columns; what it leaves out is null, but for a few that every line has. The roll-up is
made of the same rows by the table's own dimensions and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery
from apps.ingest.models import IngestRun, RunKind, RunState
from apps.ingest.selectors import current_snapshots, lake
from finops.engine.spend import next_month
from finops.frames.focus import LINE_COLUMNS, Kind
from finops.lake import BILL_DAILY, BILL_LINES, open_duckdb
from finops.lake.bill_tables import DAILY_DIMENSIONS, DAILY_SUMS

_ARROW = {
    Kind.TEXT: pa.string(),
    Kind.MONEY: pa.string(),
    Kind.NUMBER: pa.string(),
    Kind.INSTANT: pa.timestamp("us", tz="UTC"),
    Kind.MAP: pa.map_(pa.string(), pa.string()),
    Kind.COUNT: pa.int64(),
    Kind.DAY: pa.date32(),
}
_SAME = {
    "effective_cost": "billed_cost",
    "x_net_cost": "billed_cost",
    "x_net_effective_cost": "billed_cost",
    "list_cost": "billed_cost",
    "contracted_cost": "billed_cost",
}


def put_bill(
    rows: Sequence[dict[str, Any]],
    *,
    period: date,
    organisation: Organisation | None = None,
    payer: str = "1",
    **delivery: Any,
) -> Delivery:
    """One delivery of a month, current, final and reconciled unless said otherwise."""
    report, _made = BillReport.objects.get_or_create(
        organisation=organisation, provider="aws", payer=payer, name="test", defaults={"kind": "test"}
    )
    run = IngestRun.objects.create(
        kind=RunKind.FILES, subject="bills", source="test", provider="aws", state=RunState.RUNNING
    )
    days = [row.get("x_day") or period for row in rows]
    end = next_month(period)
    stored = Delivery.objects.create(
        **{
            "report": report, "billing_period": period, "kind": "test", "state": "current",
            "delivered_at": datetime(end.year, end.month, 4, tzinfo=UTC), "content_hash": "0" * 64,
            "final": True, "run_id": run.pk, "rows_read": len(rows), "stored": len(rows), "rejected": 0,
            "first_day": min(days), "last_day": max(days), "reconciled": True, **delivery,
        }
    )  # fmt: skip
    full = [_line(row, i, report.pk, period, stored.pk) for i, row in enumerate(rows, start=1)]
    lines = pa.table(
        {c.name: pa.array([row.get(c.name) for row in full], _ARROW[c.kind]) for c in LINE_COLUMNS}
    )
    kept = lake()
    snapshots = {**current_snapshots(), BILL_LINES: kept.append(BILL_LINES, lines)}
    snapshots[BILL_DAILY] = kept.append(BILL_DAILY, _daily(lines))
    IngestRun.objects.filter(pk=run.pk).update(
        state=RunState.FINISHED, finished_at=timezone.now(), snapshots=snapshots
    )
    return stored


def _line(row: dict[str, Any], number: int, report: int, period: date, delivery: int) -> dict[str, Any]:
    full = {
        "billing_currency": "USD", "x_provider": "aws", "x_day": period, "charge_category": "Usage",
        "x_billing_entity": "AWS", "x_file": "bill.csv", "tags": {}, "x_cost_categories": {}, **row,
        "x_report": str(report), "x_month": f"{period:%Y-%m}", "x_delivery": delivery, "x_row": number,
    }  # fmt: skip
    for name, source in _SAME.items():
        full.setdefault(name, full.get(source))
    for name in ("tags", "x_cost_categories"):
        full[name] = list(full[name].items())
    return full


def _daily(lines: pa.Table) -> pa.Table:
    dims = ", ".join(["x_report", "x_month", "x_delivery", *DAILY_DIMENSIONS])
    sums = ", ".join(f"sum(CAST({name} AS DECIMAL(38, 18))) AS {name}" for name in DAILY_SUMS)
    with open_duckdb(lake().limits) as con:
        con.register("lines", lines)
        return con.sql(f"SELECT {dims}, {sums}, count(*) AS x_rows FROM lines GROUP BY ALL").to_arrow_table()
