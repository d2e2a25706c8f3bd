"""Rules of waste over a generated month of bill lines against one plain scan of the columns they need.

`python -m bench.waste [--rows 1000000]`. Lines lie in Parquet as the lake writes them (order, row groups,
packing), in a month of hours: volumes, instances, gateways, balancers and addresses by hour, and as many
lines that no rule looks at. Timed: reading kinds, uses, newest lines, day costs of what was found, and
asking every rule, against a scan that decodes each needed column once; medians of 3, processor seconds
beside. Limit: 3 times the scan.

With real data (OFFPEAK_BENCH_DATA, the folder with `billing/`): each finding on the bills of 2018-10 and
2018-11 is worked out again by a question of its own to the files as AWS wrote them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from finops.frames.focus import LINE_COLUMNS
from finops.lake.bill_tables import BILL_LINES, stored

ROWS, LIMIT, TIMES = 1_000_000, 3.0, 3
END = datetime(2026, 4, 1, tzinfo=UTC)
HOURS = 744
MEMORY = "1GB"
# (share of the lines, product, service, usage type, operation, resource, quantity, cost of an hour)
MIX = (
    (0.22, "AmazonEC2", "Amazon EC2", "EBS:VolumeUsage.gp2", "CreateVolume-Gp2", "vol-", "0.1344", "0.01344"),
    (0.10, "AmazonEC2", "Amazon EC2", "BoxUsage:m5.large", "RunInstances", "i-", "1", "0.096"),
    (0.04, "AmazonEC2", "Amazon EC2", "SpotUsage:m5.large", "RunInstances:SV001", "i-spot-", "1", "0.03"),
    (0.04, "AmazonEC2", "Amazon EC2", "NatGateway-Hours", "NatGateway", "nat-", "1", "0.045"),
    (0.02, "AmazonEC2", "Amazon EC2", "NatGateway-Bytes", "NatGateway", "nat-", "0.2", "0.009"),
    (0.03, "AWSELB", "Elastic Load Balancing", "LoadBalancerUsage", "LoadBalancing", "lb-", "1", "0.0225"),
    (0.05, "AmazonRDS", "Amazon RDS", "InstanceUsage:db.r5.large", "CreateDBInstance", "db-", "1", "0.24"),
    (0.14, "AmazonS3", "Amazon S3", "Requests-Tier1", "PutObject", "bucket-", "100", "0.0005"),
    (0.12, "AmazonEC2", "Amazon EC2", "DataTransfer-Out-Bytes", "RunInstances", "i-", "0.1", "0.009"),
    (0.10, "AWSLambda", "AWS Lambda", "Lambda-GB-Second", "Invoke", "fn-", "50", "0.0008"),
    (0.08, "AmazonCloudWatch", "AmazonCloudWatch", "CW:Requests", "GetMetricData", "", "10", "0.0001"),
    (0.06, "awskms", "AWS KMS", "KMS-Requests", "Decrypt", "key-", "5", "0.00001"),
)


_DAY = """
    INSERT INTO lines BY NAME
    SELECT '1' AS x_report, '2026-03' AS x_month, 'aws' AS x_provider,
        '1111222233' || lpad((r % 40)::VARCHAR, 2, '0') AS sub_account_id,
        (['us-east-1', 'eu-west-1', 'us-west-2'])[r % 3 + 1] AS region_id,
        nullif($prefix || CASE WHEN $prefix = '' THEN '' ELSE md5(r::VARCHAR)[:17] END, '') AS resource_id,
        $product AS x_product_code, $service AS service_name, $usage AS x_usage_type,
        $operation AS x_operation, 'Usage' AS x_line_item_type, 'Usage' AS charge_category,
        CASE WHEN contains($usage, ':m5') THEN 'm5.large' END AS x_instance_type,
        begun AS charge_period_start, begun + INTERVAL 1 HOUR AS charge_period_end,
        CAST(begun AS DATE) AS x_day, CAST($quantity AS DECIMAL(38, 18)) AS x_quantity,
        CAST($cost AS DECIMAL(38, 18)) AS effective_cost, CAST($cost AS DECIMAL(38, 18)) AS billed_cost,
        'USD' AS billing_currency, '$' || $cost || ' per unit of ' || $usage AS charge_description,
        1 AS x_delivery, 'made.csv' AS x_file, r * 1000 + n AS x_row,
        MAP {'user:env': (['dev', 'production', 'test'])[r % 3 + 1], 'user:team': 't' || r % 12} AS tags
    FROM (SELECT unnest(range($resources)) AS r),
        (SELECT n, TIMESTAMPTZ '2026-03-01 00:00:00+00' + to_hours(n::INTEGER) AS begun
         FROM (SELECT unnest(range($day * 24, $day * 24 + 24)) AS n))
"""


def lines_files(folder: Path, rows: int) -> str:
    """A month of lines, ordered and packed as the lake does, a file a day; returns their pattern."""
    con = duckdb.connect()
    con.execute(f"SET memory_limit = '{MEMORY}'; SET threads = 2; SET TimeZone = 'UTC'")
    columns = ", ".join(f'"{name}" {kind}' for name, _iceberg, kind in stored(LINE_COLUMNS))
    con.execute(f"CREATE TABLE lines ({columns})")
    for day in range(HOURS // 24):
        con.execute("DELETE FROM lines")
        for share, product, service, usage, operation, prefix, quantity, cost in MIX:
            con.execute(
                _DAY,
                {
                    "prefix": prefix, "product": product, "service": service, "usage": usage,
                    "operation": operation, "quantity": quantity, "cost": cost, "day": day,
                    "resources": max(1, round(rows * share / HOURS)),
                },
            )  # fmt: skip
        con.execute(
            "COPY (SELECT * FROM lines ORDER BY x_day, service_name, x_usage_type, resource_id, x_file, "
            f"x_row) TO '{folder}/{day:02}.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 61440)"
        )
    con.close()
    return f"{folder}/*.parquet"


def opened(files: str) -> duckdb.DuckDBPyConnection:
    """A connection with the files as `billing.lines`."""
    con = duckdb.connect()
    con.execute(f"SET memory_limit = '{MEMORY}'; SET threads = 2; SET TimeZone = 'UTC'")
    con.execute(f"CREATE SCHEMA billing; CREATE VIEW {BILL_LINES} AS SELECT * FROM read_parquet('{files}')")
    return con


def median(work: Callable[[], object]) -> tuple[float, float]:
    """(wall, processor) seconds, medians."""
    taken = []
    for _time in range(TIMES):
        begun, used = time.perf_counter(), time.process_time()
        work()
        taken.append((time.perf_counter() - begun, time.process_time() - used))
    return statistics.median(t[0] for t in taken), statistics.median(t[1] for t in taken)


def speed(rows: int) -> bool:
    """Print one line; True within the limit."""
    from apps.waste.services.gather import Beside, gather
    from finops.engine.waste.judge import judge
    from finops.lake import waste as lines

    found: dict[str, int] = {}

    def rules() -> None:
        with opened(files) as con:
            gathered = gather(con, END, Beside(), judged=timedelta(days=30))
            judged = judge(gathered.world)
            names = [one.key.resource for one in judged.candidates]
            lines.day_costs(con, names)
            found["uses"], found["found"] = len(gathered.world.uses), len(judged.candidates)

    def scan() -> None:
        columns = [f"max({name})" for name in lines.COLUMNS if name != "tags"]
        with opened(files) as con:
            con.execute(f"SELECT {', '.join(columns)}, max(cardinality(tags)) FROM {BILL_LINES}").fetchall()

    with tempfile.TemporaryDirectory() as folder:
        files = lines_files(Path(folder), rows)
        plain = median(scan)
        ours = median(rules)
    ratio = ours[1] / plain[1]
    good = ratio <= LIMIT
    print(
        f"waste rules over {rows:,} lines: {ours[0]:.2f} s ({ours[1]:.2f} s CPU), {found['uses']:,} uses, "
        f"{found['found']:,} findings; one scan of {len(lines.COLUMNS)} columns {plain[0]:.2f} s "
        f"({plain[1]:.2f} s CPU); {ratio:.2f} times, limit {LIMIT:g}: {'ok' if good else 'MISSED'}"
    )
    return good


def main() -> int:
    """Both parts."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings.check")
    import django

    django.setup()
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args()
    good = speed(given.rows)
    data = os.environ.get("OFFPEAK_BENCH_DATA")
    if not data:
        print("waste on real bills: not run: no data")
        return 0 if good else 1
    from bench._real_waste import real_bills

    return 0 if real_bills(Path(data) / "billing") and good else 1


if __name__ == "__main__":
    sys.exit(main())
