"""The contribution table in SQL against the same table evaluated line by line with Decimal."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.providers.aws.bills import MEASURES, CurLegacy, contributions, services
from finops.providers.bills import Given, Header, Lines, lines_sql

MONEY = (
    "lineItem/UnblendedCost", "lineItem/NetUnblendedCost", "reservation/EffectiveCost",
    "reservation/NetEffectiveCost", "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod",
    "reservation/UnusedRecurringFee", "savingsPlan/SavingsPlanEffectiveCost",
    "savingsPlan/NetSavingsPlanEffectiveCost", "savingsPlan/TotalCommitmentToDate",
    "savingsPlan/UsedCommitment", "pricing/publicOnDemandCost", "lineItem/UsageAmount",
)  # fmt: skip
FIXED = {
    "identity/LineItemId": "id",
    "bill/PayerAccountId": "1",
    "bill/BillingPeriodStartDate": "2026-03-01T00:00:00Z",
    "lineItem/UsageStartDate": "2026-03-01T00:00:00Z",
    "lineItem/CurrencyCode": "USD",
}
COLUMN_OF = {
    "billed": "billed_cost", "effective": "effective_cost", "net": "x_net_cost",
    "net_effective": "x_net_effective_cost", "list": "list_cost", "contracted": "contracted_cost",
    "quantity": "x_quantity",
}  # fmt: skip
amounts = st.decimals(min_value=-(10**6), max_value=10**6, places=10, allow_nan=False).map(str) | st.just("")
rows = st.fixed_dictionaries(
    {
        "lineItem/LineItemType": st.sampled_from(
            sorted({row["line_item_type"] for row in contributions().rows})
        ),
        "bill/BillingEntity": st.sampled_from(["AWS", "AWS Marketplace"]),
        "reservation/ReservationARN": st.sampled_from(["", "arn:ri/1"]),
        "savingsPlan/SavingsPlanARN": st.sampled_from(["", "arn:sp/1"]),
        **dict.fromkeys(MONEY, amounts),
    }
)


def _first(*values: Decimal | None) -> Decimal | None:
    return next((value for value in values if value is not None), None)


def _sum(first: Decimal | None, second: Decimal | None) -> Decimal | None:
    return None if first is None and second is None else (first or Decimal(0)) + (second or Decimal(0))


def contribution_of(*keys: str) -> Mapping[str, str]:
    """The first row of the table that matches."""
    table = contributions()
    return next(
        row
        for row in table.rows
        if all(row[key] in {"*", value} for key, value in zip(table.keys, keys, strict=True))
    )


def plainly(row: dict[str, str], there: set[str]) -> dict[str, Decimal | None]:
    """The measures of one line, from the table's words alone."""
    cell = {n: Decimal(row[n]) if n in there and row[n] else None for n in MONEY}
    ri = row["reservation/ReservationARN"] if "reservation/ReservationARN" in there else ""
    sp = row["savingsPlan/SavingsPlanARN"] if "savingsPlan/SavingsPlanARN" in there else ""
    entity = "marketplace" if row["bill/BillingEntity"] == "AWS Marketplace" else "cloud"
    link = "ri" if ri else "sp" if sp else "none"
    found = contribution_of(row["lineItem/LineItemType"], entity, link, "no")
    cash, net = cell["lineItem/UnblendedCost"], cell["lineItem/NetUnblendedCost"]
    has_net = "lineItem/NetUnblendedCost" in there
    ri_unused = _sum(
        cell["reservation/UnusedAmortizedUpfrontFeeForBillingPeriod"], cell["reservation/UnusedRecurringFee"]
    )
    total, used = cell["savingsPlan/TotalCommitmentToDate"], cell["savingsPlan/UsedCommitment"]
    words: dict[str, Decimal | None] = {
        "cash": cash,
        "net": _first(net, cash),
        "net_discount": _first(net, Decimal(0)) if has_net else cash,
        "ri_used": cell["reservation/EffectiveCost"],
        "ri_unused": ri_unused,
        "sp_used": cell["savingsPlan/SavingsPlanEffectiveCost"],
        "sp_unused": None if total is None or used is None else total - used,
        "net_ri_used": _first(cell["reservation/NetEffectiveCost"], cell["reservation/EffectiveCost"]),
        "net_ri_unused": ri_unused,
        "net_sp_used": _first(
            cell["savingsPlan/NetSavingsPlanEffectiveCost"], cell["savingsPlan/SavingsPlanEffectiveCost"]
        ),
        "on_demand": cell["pricing/publicOnDemandCost"],
        "usage": cell["lineItem/UsageAmount"],
        "zero": Decimal(0),
        "none": None,
    }
    return {measure: words[found[measure]] for measure in MEASURES}


def through_sql(row: dict[str, str], names: list[str]) -> dict[str, Decimal | None]:
    """The measures of one line by the SQL of the kind."""
    kind = CurLegacy()
    told = Given(kind, [Header(name) for name in names])
    lines: Lines = kind.lines(told)
    values: dict[str, Any] = {**FIXED, **row}
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE raw (rn BIGINT, {', '.join(f'r{i} VARCHAR' for i in range(len(names)))})")
        cells = [values[name] or None for name in names]
        con.execute(f"INSERT INTO raw VALUES (1{', ?' * len(names)})", cells)
        wanted = ", ".join(COLUMN_OF.values())
        found = con.execute(f"SELECT x_row, {wanted} FROM ({lines_sql(lines, told, 'raw', {})})").fetchall()
    assert found[0][0] == 1
    return dict(zip(COLUMN_OF, found[0][1:], strict=True))


@settings(max_examples=60, deadline=None)
@given(row=rows, data=st.data())
def test_every_line_counts_what_the_table_says(row: dict[str, str], data: st.DataObject) -> None:
    needed = {"lineItem/LineItemType", "lineItem/UnblendedCost", "bill/BillingEntity"}
    left_out = data.draw(st.sets(st.sampled_from(sorted(set(row) - needed))))
    names = [n for n in (*FIXED, *row) if n not in left_out]
    assert through_sql(row, names) == plainly(row, set(names))


def test_services_are_of_the_specification() -> None:
    assert services()["AmazonEC2"] == ("Compute", "Virtual Machines")
    assert all(category and subcategory for category, subcategory in services().values())
