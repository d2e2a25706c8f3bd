"""Deliveries that look like one: files side by side that no manifest says belong together.

Two deliveries of a month added up are the worst a bill can suffer, so what is not clear is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

import duckdb

from apps.ingest.bills.staged import BillRefusedError, Staged
from finops.lake.sql import quote

# Parts of one delivery share no line; AWS says ids are unique within a partition only, so a few may repeat.
SHARED_WITH_IDS = 0.01
# Without ids two lines may be alike in everything that is looked at.
SHARED_WITHOUT_IDS = 0.5
_KEY = (
    "x_line_item_id, charge_period_start, charge_period_end, x_line_item_type, x_usage_type, x_operation, "
    "sub_account_id, resource_id, sku_price_id, charge_description, billing_currency"
)


def same_lines_refuse(con: duckdb.DuckDBPyConnection, staged: Staged) -> None:
    """Raises BillRefusedError where files of one unlisted delivery hold the same lines."""
    if staged.listed or len(staged.parts) < 2:
        return
    files = ", ".join(quote(f) for f in staged.lake_files)
    shared, ids = con.execute(
        f"SELECT count(*), count(id) FROM (SELECT hash({_KEY}) AS h, any_value(x_line_item_id) AS id "
        f"FROM read_parquet([{files}]) GROUP BY h HAVING count(DISTINCT x_file) > 1)"
    ).fetchall()[0]
    smallest = min(part.rows - part.rejected for part in staged.parts)
    if shared > smallest * (SHARED_WITH_IDS if ids else SHARED_WITHOUT_IDS):
        names = ", ".join(part.file for part in staged.parts)
        raise BillRefusedError(
            f"{names}: {shared} line items are in more than one of these files, so they are deliveries of "
            "the same month and not parts of one; import them one after the other"
        )


def side_by_side(staged: Sequence[Staged]) -> list[tuple[Staged, str]]:
    """Deliveries to refuse, with the reason: of one report, period and folder; nothing tells them apart."""
    groups: dict[tuple[int, date], list[Staged]] = defaultdict(list)
    for one in staged:
        if not one.listed:
            groups[one.report, one.identity.period].append(one)
    refused = []
    for group in groups.values():
        for one in group:
            alike = [o for o in group if o.folders & one.folders]
            if len(alike) > 1:
                names = ", ".join(part.file for o in alike for part in o.parts)
                reason = (
                    f"{names}: in one folder and of the same month {one.identity.period:%Y-%m}, and no "
                    "manifest says whether they are parts of one delivery; import them one by one"
                )
                refused.append((one, reason))
    return refused
