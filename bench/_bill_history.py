"""24 months of made-up bill lines straight into the lake, with the roll-up that an import makes of them.

Cardinalities after a mid-size organisation: 60 accounts, 20 services, 5 regions, 30,000 resources that are
billed again and again (a resource keeps its account, service, region, usage type and tags), 400 usage types,
4 teams. The rows depend on nothing but their number.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

MONTHS = 24
FIRST = date(2024, 1, 1)
RESOURCES = 30_000

# One row a resource: everything that stays the same, by its number r.
_RESOURCES = f"""
SELECT r, hash(r) AS h, 'acct-' || lpad((hash(r + 1) % 60)::VARCHAR, 3, '0') AS sub_account_id,
    'Service ' || lpad((hash(r + 2) % 20)::VARCHAR, 2, '0') AS service_name,
    'region-' || (hash(r + 3) % 5)::VARCHAR AS region_id,
    'usage-' || lpad((hash(r + 4) % 400)::VARCHAR, 3, '0') AS x_usage_type,
    CASE WHEN hash(r + 5) % 4 = 0 THEN ['m5.large', 'c5.xlarge', 'r5.2xlarge'][(hash(r + 6) % 3 + 1)::INT] END
        AS x_instance_type,
    'arn:made-up:' || lpad(r::VARCHAR, 6, '0') AS resource_id,
    CASE WHEN hash(r + 7) % 5 = 0 THEN MAP {{}}::MAP(VARCHAR, VARCHAR)
        ELSE MAP {{'user:team': ['web', 'data', 'ml', 'ops'][(hash(r + 8) % 4 + 1)::INT],
                  'user:environment': ['prod', 'dev', 'test'][(hash(r + 9) % 3 + 1)::INT]}} END AS tags
FROM range({RESOURCES}) AS t(r)
"""


def load(rows: int) -> None:
    """Put the lines, their daily sums, the deliveries and the run that names them."""
    from django.utils import timezone

    from apps.billing.models import BillReport, Delivery
    from apps.ingest.models import IngestRun, RunState
    from apps.ingest.selectors import current_snapshots, lake
    from finops.engine.spend import next_month
    from finops.lake import BILL_DAILY, BILL_LINES, open_duckdb

    report = BillReport.objects.create(provider="aws", payer="bench", name="history", kind="aws-cur")
    run = IngestRun.objects.create(
        kind="files", subject="bills", source="bench", provider="aws", state=RunState.RUNNING
    )
    kept = lake()
    lines: list[str] = []
    daily: list[str] = []
    period = FIRST
    with open_duckdb(kept.limits) as con:
        con.execute(f"CREATE TABLE resources AS {_RESOURCES}")
        for number in range(MONTHS):
            end = next_month(period)
            count = rows * (number + 1) // MONTHS - rows * number // MONTHS
            delivery = Delivery.objects.create(
                report=report, billing_period=period, kind="aws-cur", state="current",
                delivered_at=datetime(end.year, end.month, 5, tzinfo=UTC), content_hash=f"{number:064d}",
                run_id=run.pk, rows_read=count, stored=count, rejected=0, first_day=period,
                last_day=date.fromordinal(end.toordinal() - 1), final=True, reconciled=True,
            )  # fmt: skip
            sql = _month(report.pk, period, (end - period).days, delivery.pk, rows * number // MONTHS, count)
            key = (str(report.pk), f"{period:%Y-%m}")
            order = "x_day, service_name, x_usage_type, resource_id, x_file, x_row"
            made = kept.write_parts(con, BILL_LINES, {key: f"SELECT * FROM ({sql}) ORDER BY {order}"})
            lines += made
            daily += kept.write_parts(con, BILL_DAILY, {key: _daily(made[0])})
            period = end
    snapshots = {
        **current_snapshots(),
        BILL_LINES: kept.commit(BILL_LINES, lines),
        BILL_DAILY: kept.commit(BILL_DAILY, daily),
    }
    IngestRun.objects.filter(pk=run.pk).update(
        state=RunState.FINISHED, finished_at=timezone.now(), snapshots=snapshots
    )


def _month(report: int, period: date, days: int, delivery: int, first: int, count: int) -> str:
    from finops.lake import BILL_LINES, TABLES

    told: dict[str, str] = {
        "x_report": f"'{report}'", "x_month": f"'{period:%Y-%m}'", "x_delivery": str(delivery),
        "x_file": "'bench'", "x_row": "n", "x_provider": "'aws'", "provider_name": "'AWS'",
        "billing_account_id": "'bench'", "billing_currency": "'USD'", "charge_category": "'Usage'",
        "x_line_item_type": "'Usage'", "x_billing_entity": "'AWS'", "x_unit": "'Hrs'", "x_quantity": "1",
        "x_day": f"DATE '{period}' + (hash(n) % {days})::INT", "x_cost_categories": "MAP {}",
        "pricing_category": "'Standard'", "service_category": "'Compute'",
    }  # fmt: skip
    for name in ("sub_account_id", "service_name", "region_id", "x_usage_type", "x_instance_type",
                 "resource_id", "tags"):  # fmt: skip
        told[name] = f"resources.{name}"
    cost = "(hash(n + 7) % 1000000) / 1000000.0"
    for name in ("billed_cost", "effective_cost", "x_net_cost", "x_net_effective_cost", "list_cost"):
        told[name] = cost
    columns = ", ".join(
        f"CAST({told.get(name, 'NULL')} AS {kind}) AS {name}" for name, _, kind in TABLES[BILL_LINES].columns
    )
    return (
        f"SELECT {columns} FROM range({first}, {first + count}) AS t(n) "
        f"JOIN resources ON resources.r = hash(n + 1) % {RESOURCES}"
    )


def _daily(file: str) -> str:
    """As an import rolls up: apps.ingest.bills.swap."""
    from finops.lake.bill_tables import DAILY_DIMENSIONS, DAILY_SUMS
    from finops.lake.sql import quote

    dimensions = ", ".join(("x_report", "x_month", "x_delivery", *DAILY_DIMENSIONS))
    sums = ", ".join(f"sum({name}) AS {name}" for name in DAILY_SUMS)
    return (
        f"SELECT {dimensions}, {sums}, count(*) AS x_rows FROM read_parquet([{quote(file)}]) "
        "GROUP BY ALL ORDER BY x_day, service_name, sub_account_id"
    )


def native(path: str) -> Any:
    """A DuckDB database of its own with the same lines as one table, under the same limits."""
    import duckdb

    from apps.ingest.selectors import current_snapshots, lake
    from finops.lake import BILL_LINES

    kept = lake()
    files = ", ".join(f"'{file}'" for file in kept.files(BILL_LINES, current_snapshots()[BILL_LINES]))
    con = duckdb.connect(path)
    con.execute(f"SET memory_limit = '{kept.limits.memory}'")
    con.execute(f"SET threads = {kept.limits.threads}")
    con.execute(
        "CREATE TABLE lines AS SELECT x_month, x_day, sub_account_id, service_name, region_id, x_usage_type, "
        "x_instance_type, resource_id, tags, billing_currency, billed_cost, x_quantity, x_unit "
        f"FROM read_parquet([{files}])"
    )
    return con
