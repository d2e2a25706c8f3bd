"""Daily totals of Cost Explorer as bill lines: a stopgap, replaced by the first export of its period.

Grain: one line per day, service and linked account. What the totals cannot tell stays null: charge category
(all are in one sum), region, resource, list price, quantity, tags.
"""

from __future__ import annotations

from finops.providers.aws.cost_explorer import COLUMNS
from finops.providers.bills import BillKind, Given, Lines

NAME = "aws-cost-explorer"


class CostExplorerTotals(BillKind):
    """The file that `cost_explorer.write_totals` makes."""

    name = NAME
    title = "AWS Cost Explorer daily totals"
    provider = "aws"
    # Never over an export of the same payer and period, and replaced whole by the first one.
    stopgap = True
    gives_way = True
    required = {column: (column,) for column in COLUMNS}
    typical = frozenset(COLUMNS)

    def lines(self, given: Given) -> Lines:
        """Unblended is cash, amortised spreads upfront fees; the net columns are after discounts."""
        day = given.instant("day")
        month = f"date_trunc('month', {day} AT TIME ZONE 'UTC')"
        zoned = "AT TIME ZONE 'UTC'"
        columns = {
            "billing_account_id": given.text("payer_account"),
            "billing_currency": given.text("currency"),
            "billing_period_start": f"{month} {zoned}",
            "billing_period_end": f"({month} + INTERVAL 1 MONTH) {zoned}",
            "charge_period_start": day,
            "charge_period_end": f"(({day} {zoned}) + INTERVAL 1 DAY) {zoned}",
            "billed_cost": given.money("unblended_cost"),
            "effective_cost": given.money("amortized_cost"),
            "x_net_cost": given.money("net_unblended_cost"),
            "x_net_effective_cost": given.money("net_amortized_cost"),
            "sub_account_id": given.text("linked_account"),
            "service_name": given.text("service"),
            "provider_name": "'AWS'",
            "publisher_name": "CAST(NULL AS VARCHAR)",
            "x_provider": "'aws'",
            "x_line_item_type": "'DailyTotal'",
            "x_billing_entity": "CAST(NULL AS VARCHAR)",
        }
        for column in ("day", "payer_account", "linked_account", "currency"):
            given.reject_where(f"{given.text(column)} IS NULL", column, "blank")
        given.refuse_where(
            f"{given.text('unblended_cost')} IS NULL", "unblended_cost", "'a total without an amount'"
        )
        return Lines(columns, tag_keys=[], notes=["daily totals only"])
