"""Own reservations of the real bills of 2018-10 and 2018-11: used and idle hours and what idle ones cost,
against a query of the raw files that shares no code with the product.

`OFFPEAK_BENCH_DATA=… python -m bench.own_commitments`. The import runs on embedded servers in a home of its
own. Compared for every reservation and month: hours bought, used and idle (six decimals, as the bill has
them) and idle cost (exact), with the bill's own `Unused…` cells and with the sum of the lines that each
reservation paid for; then hour by hour: used + idle = bought + over, and the sums over the hours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

MONTHS = {"2018-10": "2018-11-01T00:00:00Z", "2018-11": "2018-12-01T00:00:00Z"}
HOURS_NEAR = Decimal("0.000001")
MONEY_NEAR = Decimal("0.00000001")
_FEES = """
    SELECT f.reservation_reservation_a_r_n, round(f.line_item_usage_amount, 6),
        round(f.reservation_unused_quantity, 6),
        round(f.reservation_unused_amortized_upfront_fee_for_billing_period
            + f.reservation_unused_recurring_fee, 10),
        f.reservation_end_time,
        round(coalesce((SELECT sum(u.line_item_normalized_usage_amount) FROM read_parquet($file) u
            WHERE u.line_item_line_item_type = 'DiscountedUsage'
            AND u.reservation_reservation_a_r_n = f.reservation_reservation_a_r_n), 0)
            * f.line_item_usage_amount / f.line_item_normalized_usage_amount, 6)
    FROM read_parquet($file) f WHERE f.line_item_line_item_type = 'RIFee' ORDER BY 1
"""
_HOURS = """
    SELECT count(DISTINCT line_item_usage_start_date) FROM read_parquet($file)
    WHERE line_item_line_item_type = 'DiscountedUsage' AND reservation_reservation_a_r_n = $arn
"""


def raw(file: Path) -> dict[str, tuple[Decimal, ...]]:
    """(hours, idle hours, idle cost, used hours by the lines) of each reservation, and hours with use."""
    con = duckdb.connect()
    found = {}
    for arn, hours, idle, cost, end, used in con.execute(_FEES, {"file": str(file)}).fetchall():
        seen = con.execute(_HOURS, {"file": str(file), "arn": arn}).fetchall()[0][0]
        numbers = (Decimal(str(value)) for value in (hours, idle, cost, used, seen))
        found[arn] = (*numbers, end)
    return found


def asked(home: str, verb: str, *words: str) -> dict[str, Any]:
    """The document of a verb, in a process and home of its own."""
    done = subprocess.run(
        [sys.executable, "manage.py", verb, *words, "--json"],
        check=True, capture_output=True, text=True, env={**os.environ, "OFFPEAK_HOME": home},
    )  # fmt: skip
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def differences(document: Mapping[str, Any], truth: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """What does not agree, by reservation."""
    told = {one["id"]: one for one in document["commitments"]}
    found = [f"{arn}: not there" for arn in truth if arn not in told]
    found += [f"{arn}: no such reservation" for arn in told if arn not in truth]
    for arn, (hours, idle, cost, used, _seen, end) in truth.items():
        one = told.get(arn)
        if one is None:
            continue
        pairs = (
            ("hours", one["reserved_hours"], hours, HOURS_NEAR),
            ("idle hours", one["idle_hours"], idle, HOURS_NEAR),
            ("used hours", one["used_hours"], used, HOURS_NEAR),
            ("idle cost", one["idle_cost"], cost, MONEY_NEAR),
        )
        found += [f"{arn}: {name} {a}, {b}" for name, a, b, near in pairs if abs(Decimal(a) - b) > near]
        if one["end"] != end.replace(".000Z", "Z"):
            found.append(f"{arn}: end {one['end']}, {end}")
        if one["contradictions"]:
            found.append(f"{arn}: {one['contradictions']}")
    return found


def hourly_differences(series: Mapping[str, Any], truth: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """Hours that do not add up, and sums that are not the month's."""
    found = []
    for one in series["commitments"]:
        rows = list(zip(one["bought"], one["used"], one["idle"], one["over"], strict=True))
        wrong = sum(abs(b + o - u - i) > 2e-6 for b, u, i, o in rows)
        hours, idle, _cost, used, seen, _end = truth[one["id"]]
        sums = [sum(row[k] for row in rows) for k in range(4)]
        near = 1e-3  # 744 hours of six decimals
        if wrong or abs(sums[0] - float(hours)) > near or abs(sums[1] - float(used)) > near:
            found.append(f"{one['id']}: {wrong} hours do not add up; {sums}")
        if abs(sums[2] - sums[3] - float(idle)) > near:
            found.append(f"{one['id']}: idle {sums[2]} - {sums[3]}, the bill says {idle}")
        if sum(row[1] > 0 for row in rows) != seen:
            found.append(f"{one['id']}: hours with use {sum(row[1] > 0 for row in rows)}, {seen}")
    return found


def main() -> int:
    """Print a line a month; 1 where anything differs."""
    folder = os.environ.get("OFFPEAK_BENCH_DATA")
    if not folder:
        print("own commitments: not run: no data")
        return 0
    files = {month: Path(folder) / "billing" / f"cur_{month}.parquet" for month in MONTHS}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as home:
        asked(home, "import_bill", *map(str, files.values()))
        for month, at in MONTHS.items():
            truth = raw(files[month])
            began = time.perf_counter()
            document = asked(home, "commitments", "--at", at, "--hours")
            seconds = time.perf_counter() - began
            here = differences(document, truth) + hourly_differences(document["hours"], truth)
            wrong += here
            idle = sum(Decimal(one["idle_hours"]) for one in document["commitments"])
            cost = sum(Decimal(one["idle_cost"]) for one in document["commitments"])
            print(
                f"own commitments {month}: {len(truth)} reservations, {idle} idle hours, {cost} USD idle, "
                f"{document['hours']['hours']} hours each; {len(here)} differences from the raw file "
                f"({seconds:.1f} s with the servers' start)"
            )
    for line in wrong:
        print(f"  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
