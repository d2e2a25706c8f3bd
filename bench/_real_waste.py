"""Findings on the real bills of 2018-10 and 2018-11, each worked out again from the files as AWS wrote
them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from finops.frames.waste import newer_families

MOMENTS = ("2018-11-01T00:00:00Z", "2018-11-15T00:00:00Z", "2018-12-01T00:00:00Z")
PRICES = "prices/ec2_ondemand_linux_us-east-1_2022-06_2026-07.csv"
FILES = ("cur_2018-10.parquet", "cur_2018-11.parquet")
NEAR = Decimal("0.000001")
# Cost, nights' cost and first line of one resource (or of an account's lines without one) in thirty days.
# Doubles of old bills are added as decimals of nine places, as their text has them.
ONE = """
    SELECT sum(CAST(line_item_unblended_cost AS DECIMAL(38, 18))),
        sum(CAST(line_item_unblended_cost AS DECIMAL(38, 18))) FILTER (WHERE
            isodow(line_item_usage_start_date) >= 6 OR hour(line_item_usage_start_date) < 7
            OR hour(line_item_usage_start_date) >= 19),
        min(line_item_usage_start_date)
    FROM bills
    WHERE line_item_usage_start_date >= $start AND line_item_usage_start_date < $end
        AND line_item_usage_account_id = $account AND coalesce(line_item_resource_id, '') = $resource
        AND regexp_matches(line_item_usage_type, $usage) AND line_item_line_item_type = 'Usage'
"""
# What the rules should find, asked the other way round: everything that fits, by plain sums of lines.
ALL = {
    "development-endpoint-always-on": (
        "DEVED-DPU-Hour$",
        """SELECT line_item_resource_id FROM bills
        WHERE line_item_usage_type LIKE '%DEVED-DPU-Hour' AND line_item_usage_start_date >= $start
            AND line_item_usage_start_date < $end
        GROUP BY 1
        HAVING max(line_item_usage_end_date) >= $end - INTERVAL 48 HOUR
            AND min(line_item_usage_start_date) <= $end - INTERVAL 5 DAY""",
    ),
    "address-idle": (
        "ElasticIP:IdleAddress$",
        """SELECT coalesce(line_item_resource_id, '') FROM bills
        WHERE line_item_usage_type LIKE '%ElasticIP:IdleAddress' AND line_item_usage_start_date >= $start
            AND line_item_usage_start_date < $end
        GROUP BY line_item_usage_account_id, 1
        HAVING max(line_item_usage_end_date) >= $end - INTERVAL 48 HOUR AND sum(line_item_usage_amount) >=
        72""",
    ),
}


def real_bills(folder: Path) -> bool:
    """Import both bills into a home of their own, ask at three moments, compare; True where all agree."""
    paths = [folder / name for name in FILES]
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "OFFPEAK_HOME": home, "DJANGO_SETTINGS_MODULE": "finops.settings.dev"}
        _verb(env, "migrate", "--no-input")
        _verb(env, "import_bill", "--json", *map(str, paths))
        _verb(env, "import_list_prices", "--json", str(folder.parent / PRICES))
        answers = [json.loads(_verb(env, "advise_waste", "--json", "--at", at)) for at in MOMENTS]
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    listed = ", ".join(f"'{path}'" for path in paths)
    con.execute(f"CREATE VIEW bills AS SELECT * FROM read_parquet([{listed}], union_by_name = true)")
    con.execute(f"CREATE VIEW prices AS SELECT * FROM read_csv('{folder.parent / PRICES}')")
    good = True
    for at, answer in zip(MOMENTS, answers, strict=True):
        good &= _compared(con, at, answer)
    return good


def _verb(env: Mapping[str, str], *words: str) -> str:
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "manage.py", *words], env=dict(env), cwd=root, check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    return done.stdout


# Linux instances of us-east-1: what a month on demand costs beside a reservation, and at the cheapest newer
# type for all of its hours, at its own price an hour times the ratio of the oldest list's prices.
OLDER = """
WITH hours AS (
    SELECT line_item_resource_id AS resource, split_part(line_item_usage_type, ':', 2) AS kind,
        sum(line_item_usage_amount) AS hours, min(line_item_usage_start_date) AS first,
        sum(line_item_usage_amount) FILTER (WHERE line_item_line_item_type = 'Usage') AS bare,
        sum(CAST(line_item_unblended_cost AS DECIMAL(38, 18))) FILTER (WHERE
            line_item_line_item_type = 'Usage') AS paid
    FROM bills
    WHERE line_item_usage_start_date >= $start AND line_item_usage_start_date < $end
        AND line_item_usage_type LIKE 'BoxUsage:%' AND line_item_operation = 'RunInstances'
        AND product_region = 'us-east-1'
    GROUP BY ALL HAVING max(line_item_usage_end_date) >= $end - INTERVAL 48 HOUR
), list AS (
    SELECT instance_type AS kind, usd_per_hour AS price FROM prices
    WHERE region = 'us-east-1' AND committed = (SELECT min(committed) FROM prices)
)
SELECT resource, hours, bare, paid, first, own.price AS price, min(newer.price) AS newer
FROM hours JOIN list own USING (kind) JOIN families f ON f.family = split_part(kind, '.', 1)
JOIN list newer ON newer.kind = f.newer || '.' || split_part(kind, '.', 2)
WHERE bare > 0 GROUP BY ALL
"""
LEAST_SHARE = 0.02


def _older(
    con: duckdb.DuckDBPyConnection, at: str, answer: Mapping[str, Any], span: Mapping[str, datetime]
) -> bool:
    """The rule of old generations from the files alone; True where it says the same."""
    con.execute("CREATE OR REPLACE TEMP TABLE families (family VARCHAR, newer VARCHAR)")
    con.executemany(
        "INSERT INTO families VALUES (?, ?)",
        [[family, one] for family, newer in newer_families().items() for one in newer],
    )
    wanted = {}
    for resource, hours, bare, paid, first, price, newer in con.execute(OLDER, dict(span)).fetchall():
        long = (span["end"] - max(first, span["start"])).total_seconds() / 3600
        saving = (float(paid) - hours * float(paid) / bare * newer / price) / long * 730
        if 1 - newer / price >= LEAST_SHARE and saving > 0:
            wanted[resource] = saving
    told = {
        one["resource"]: float(one["saving"]) for one in answer["findings"] if one["rule"] == "old-generation"
    }
    good = told.keys() == wanted.keys() and all(abs(told[one] - wanted[one]) < float(NEAR) for one in wanted)
    if not good:
        print(f"waste at {at}: old-generation says {told}, the bill {wanted}")
    return good


def _compared(con: duckdb.DuckDBPyConnection, at: str, answer: Mapping[str, Any]) -> bool:
    judged = answer["judged"]
    start, end = (datetime.fromisoformat(judged[name]) for name in ("from", "to"))
    span = {"start": start, "end": end}
    good, same = True, 0
    good &= _older(con, at, answer, span)
    for one in answer["findings"]:
        if one["rule"] == "old-generation":
            same += 1
            continue
        if one["rule"] not in ALL:
            print(f"waste at {at}: no second question for {one['rule']} {one['resource']}")
            good = False
            continue
        given = span | {"account": one["account"], "resource": one["resource"], "usage": ALL[one["rule"]][0]}
        cost, nights, first = con.execute(ONE, given).fetchall()[0]
        hours = Decimal((end - max(first, start)).total_seconds()) / 3600
        saving = nights if one["rule"] == "development-endpoint-always-on" else cost
        wanted = {"monthly_cost": cost / hours * 730, "saving": saving / hours * 730}
        agree = all(abs(Decimal(one[name]) - value) < NEAR for name, value in wanted.items())
        good &= agree
        same += agree
        if not agree:
            print(f"waste at {at}: {one['rule']} {one['resource']} says {one['saving']}, not {wanted}")
    for rule, (_usage, sql) in ALL.items():
        found = sorted(one["resource"] for one in answer["findings"] if one["rule"] == rule)
        expected = sorted(row[0] for row in con.execute(sql, span).fetchall())
        if found != expected:
            good = False
            print(f"waste at {at}: {rule} finds {found}, the bill has {expected}")
    names = ", ".join(sorted({one["rule"] for one in answer["findings"]})) or "nothing"
    print(
        f"waste on real bills at {at[:10]}: {same} of {len(answer['findings'])} findings worked out again "
        f"({names}), {len(answer['not_saving'])} told as saving nothing: {'ok' if good else 'WRONG'}"
    )
    return good
