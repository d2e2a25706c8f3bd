"""Forecast of a month, walked forward over the real bills of 2018-10 and -11, against dull rivals.

Each day of each month is a decision that sees only the days before it. Series: the whole bill, its accounts,
regions, services, services by account, usage types, each once. Rivals: cost so far / days so far x days of
the month, and last month's total. Printed: sum of absolute errors / sum of costs (WAPE), mean error of a
decision in percent of the true month, both as ratios to the rivals, and how often the truth lay in the 90 %
interval. On 21-25 November most of this account was switched off; decisions before that day cannot know it.
The same of made series of many shapes (bench/_cost_shapes.py), which need no data.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np

from bench._cost_shapes import SHAPES, decisions
from finops.engine.daily_costs import DailyCosts
from finops.engine.forecast import forecast_period

FILES = ("billing/cur_2018-10.parquet", "billing/cur_2018-11.parquet")
FIRST, SECOND, END = date(2018, 10, 1), date(2018, 11, 1), date(2018, 12, 1)
STOPPED = date(2018, 11, 21)
GROUPS = (
    "'all'",
    "line_item_usage_account_id",
    "product_region",
    "line_item_product_code",
    "line_item_product_code || ' ' || line_item_usage_account_id",
    "line_item_product_code || ' ' || line_item_usage_type",
)
LEAST_COST = 30.0
SERIES, EACH, SEED = 40, 5, 3


def series_of(root: Path) -> dict[str, DailyCosts]:
    """Daily unblended cost of every group of at least 30 USD in two months; equal series once."""
    db = duckdb.connect()
    db.execute("set timezone = 'UTC'")
    files = ", ".join(f"'{root / name}'" for name in FILES)
    found: dict[str, DailyCosts] = {}
    for group in GROUPS:
        rows = db.execute(
            f"select {group} as part, cast(line_item_usage_start_date as date) as day, "
            "sum(cast(line_item_unblended_cost as double)) as cost "
            f"from read_parquet([{files}], union_by_name = true) group by 1, 2"
        ).fetchall()
        parts: dict[str, np.ndarray] = {}
        for part, day, cost in rows:
            values = parts.setdefault(str(part), np.zeros((END - FIRST).days))
            values[(day - FIRST).days] += cost
        for part, values in sorted(parts.items()):
            same = any(np.allclose(values, other.values, rtol=1e-3) for other in found.values())
            if values.sum() >= LEAST_COST and not same:
                found[part] = DailyCosts(FIRST, values)
    return found


Row = tuple[str, date, float, float, float | None, float, float | None, float | None]


def walk(costs: DailyCosts, name: str) -> list[Row]:
    """(series, settled until, truth, forecast, last month, run-rate, low, high) of every decision."""
    rows: list[Row] = []
    for start, end in ((FIRST, SECOND), (SECOND, END)):
        truth = float(costs.between(start, end).sum())
        for days in range(1, (end - start).days):
            settled = start + timedelta(days=days)
            seen = DailyCosts(FIRST, costs.between(FIRST, settled))
            got = forecast_period(seen, start=start, end=end, settled_until=settled)
            if got.verdict != "forecast" or got.expected is None or truth < 1.0:
                continue
            so_far = float(seen.between(start, settled).sum())
            rate = so_far / days * (end - start).days
            last = float(costs.between(FIRST, SECOND).sum()) if start == SECOND else None
            rows.append((name, settled, truth, got.expected, last, rate, got.low, got.high))
    return rows


def line(title: str, rows: list[Row]) -> None:
    """Errors of the forecast and of the rivals on the same decisions, and the interval's coverage."""
    truth = np.array([r[2] for r in rows])

    def errors(guesses: list[float | None]) -> tuple[float, float]:
        off = np.abs(np.array(guesses, dtype=np.float64) - truth)
        return float(off.sum() / truth.sum()), float((off / truth).mean())

    ours, rate = errors([r[3] for r in rows]), errors([r[5] for r in rows])
    text = f"{title}: {len(rows)} decisions; WAPE {ours[0]:.3f}, mean error {ours[1] * 100:.1f} %"
    text += f"; against run-rate {ours[0] / rate[0]:.2f}x and {ours[1] / rate[1]:.2f}x"
    if all(r[4] is not None for r in rows):
        last = errors([r[4] for r in rows])
        text += f"; against last month {ours[0] / last[0]:.2f}x and {ours[1] / last[1]:.2f}x"
    inside = [r[6] - 1e-6 <= r[2] <= r[7] + 1e-6 for r in rows if r[6] is not None and r[7] is not None]
    width = np.median([(r[7] - r[6]) / r[2] for r in rows if r[6] is not None and r[7] is not None])
    print(f"{text}; truth in the 90 % interval {np.mean(inside):.3f}, median width {width * 100:.0f} %")


def made_shapes() -> None:
    """How often the interval holds on made series, by shape."""
    everything: list[bool] = []
    for name in SHAPES:
        found = list(decisions(name, series=SERIES, each=EACH, seed=SEED))
        held = [told.low - 1e-6 <= true <= told.high + 1e-6 for true, told in found]
        widths = [(told.high - told.low) / abs(true) for true, told in found]
        off = np.mean([abs(told.expected - true) / abs(true) for true, told in found])
        print(
            f"made, {name}: {len(found)} decisions; mean error {off * 100:.1f} %; "
            f"truth in the 90 % interval {np.mean(held):.3f}, median width {np.median(widths) * 100:.0f} %"
        )
        everything += held
    print(f"made, all: {len(everything)} decisions; truth in the 90 % interval {np.mean(everything):.3f}")


def main() -> int:
    """Made series; all real ones together, the whole bill alone, November before and after the switch-off."""
    made_shapes()
    folder = os.environ.get("OFFPEAK_BENCH_DATA")
    if not folder:
        print("forecast: not run: no data")
        return 0
    begun = time.perf_counter()
    series = series_of(Path(folder))
    rows = [row for name, costs in series.items() for row in walk(costs, name)]
    seconds = time.perf_counter() - begun
    print(f"forecast: {len(series)} daily series, {len(rows)} forecasts in {seconds:.1f} s")
    october = [r for r in rows if r[1] < SECOND]
    before = [r for r in rows if SECOND <= r[1] <= STOPPED]
    after = [r for r in rows if r[1] > STOPPED]
    line("October", october)
    line("November, before the switch-off", before)
    line("November, after it", after)
    line("All", rows)
    line("The whole bill, October", [r for r in october if r[0] == "all"])
    line("The whole bill, November", [r for r in rows if r[0] == "all" and r[1] >= SECOND])
    return 0


if __name__ == "__main__":
    sys.exit(main())
