"""Bills of a test's own through the real pipeline: rows in, a delivery out.

`import_lines` writes FOCUS-like rows (snake_case line columns) as a FOCUS CSV and imports it; `cur_csv` gives
a CUR file of rows that say only what the test is about. Use both with the fixture `lake_folder` or
`fresh_lake`.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from apps.accounts.models import Organisation
from apps.billing.models import Delivery
from apps.ingest.bills.run import bill_import
from apps.ingest.models import IngestRun
from finops.frames.focus import BY_NAME, FOCUS_COLUMNS, Kind

# What every row has unless the test says otherwise.
FOCUS_ROW: dict[str, Any] = {
    "billing_account_id": "999",
    "billing_currency": "USD",
    "charge_category": "Usage",
    "provider_name": "AWS",
    "service_name": "Amazon EC2",
    "sub_account_id": "111122223333",
}
# Our columns that a FOCUS file can carry under the name the kind looks for.
OURS = {
    "x_line_item_type": "x_LineItemType",
    "x_billing_entity": "x_BillingEntity",
    "x_usage_type": "x_UsageType",
    "x_operation": "x_Operation",
    "x_product_code": "x_ServiceCode",
    "x_instance_type": "x_InstanceType",
}
CUR_ROW = {
    "identity/LineItemId": "id",
    "bill/PayerAccountId": "999",
    "bill/BillingEntity": "AWS",
    "bill/BillingPeriodStartDate": "2026-03-01T00:00:00Z",
    "bill/BillingPeriodEndDate": "2026-04-01T00:00:00Z",
    "lineItem/UsageAccountId": "111122223333",
    "lineItem/LineItemType": "Usage",
    "lineItem/UsageStartDate": "2026-03-02T00:00:00Z",
    "lineItem/UsageEndDate": "2026-03-02T01:00:00Z",
    "lineItem/ProductCode": "AmazonEC2",
    "lineItem/UsageType": "BoxUsage:m5.large",
    "lineItem/UsageAmount": "1",
    "lineItem/CurrencyCode": "USD",
    "lineItem/UnblendedCost": "0",
}


def import_lines(
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
    *,
    period: date = date(2026, 3, 1),
    delivered_at: datetime | None = None,
    organisation: Organisation | None = None,
    **options: Any,
) -> Delivery:
    """The current delivery that these rows become; keys are line columns, maps are dicts.

    Rows fall on the first day of `period` unless `charge_period_start` says otherwise; amortised, list and
    contracted cost equal `billed_cost` unless given.
    """
    path = folder / f"focus-{period:%Y%m}.csv"
    path.write_text(focus_csv(rows, period=period), encoding="utf-8")
    run = bill_import(paths=[path], organisation=organisation, delivered_at=delivered_at, **options)
    assert run.state == "finished", run.error
    return Delivery.objects.get(run_id=run.pk, state="current")


def focus_csv(rows: Sequence[Mapping[str, Any]], *, period: date) -> str:
    """A FOCUS 1.2 file of these rows."""
    full = [_focus_row(row, period) for row in rows]
    names = [c.focus for c in FOCUS_COLUMNS] + list(OURS.values())
    used = [name for name in names if any(name in row for row in full)]
    return _csv(used, full)


def _focus_row(row: Mapping[str, Any], period: date) -> dict[str, str]:
    start = datetime(period.year, period.month, 1, tzinfo=UTC)
    end = datetime(period.year + period.month // 12, period.month % 12 + 1, 1, tzinfo=UTC)
    cost = row.get("billed_cost", "0")
    full = {
        "billing_period_start": start, "billing_period_end": end, "charge_period_start": start,
        "charge_period_end": end, **FOCUS_ROW, "billed_cost": cost, "effective_cost": cost,
        "list_cost": cost, "contracted_cost": cost, **row,
    }  # fmt: skip
    return {
        OURS.get(name) or BY_NAME[name].focus: _cell(BY_NAME[name].kind, value)
        for name, value in full.items()
    }


def _cell(kind: Kind, value: Any) -> str:
    if value is None:
        return "NULL"
    if kind is Kind.MAP:
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def cur_csv(rows: Sequence[Mapping[str, str]], *, without: Sequence[str] = ()) -> str:
    """A CUR legacy file: the columns of CUR_ROW and whatever the rows name.

    A row that names a start only lasts an hour, a billing period a month.
    """
    full = [{**CUR_ROW, **_ends(row), **row} for row in rows]
    names = list(dict.fromkeys(name for row in full for name in row if name not in without))
    return _csv(names, full)


def _ends(row: Mapping[str, str]) -> dict[str, str]:
    """The ends that belong to the starts that a row names; what is no time has none."""
    ends = {}
    for period, length in (("lineItem/Usage", timedelta(hours=1)), ("bill/BillingPeriod", timedelta(31))):
        try:
            start = datetime.fromisoformat(row.get(f"{period}StartDate", ""))
        except ValueError:
            continue
        end = start + length
        month = end.replace(day=1) if length.days else end
        ends[f"{period}EndDate"] = f"{month:%Y-%m-%dT%H:%M:%SZ}"
    return ends


def _csv(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row.get(name, "") for name in names] for row in rows)
    return out.getvalue()


def import_text(path: Path, text: str | bytes, *, at: datetime | None = None, **options: Any) -> IngestRun:
    """Write the file, dated `at`, and import it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    if at is not None:
        os.utime(path, (at.timestamp(), at.timestamp()))
    return bill_import(paths=[path], **options)
