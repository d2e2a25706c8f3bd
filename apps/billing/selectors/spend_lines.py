"""The lines behind a number: each with the delivery, file and row that it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from apps.accounts.models import Organisation
from apps.billing.selectors.allocation import Allocation, allocation_of, rule_sql
from apps.billing.selectors.spend import check_where
from apps.billing.selectors.spend_period import day_sql
from apps.billing.selectors.spend_question import TEAM, UNALLOCATED, SpendQuestion
from apps.billing.selectors.spend_reading import Reading, connect, report_ids
from apps.billing.selectors.spend_sql import Parameters, condition_sql, window_sql
from finops.engine.spend import ZERO, Window, months_of, next_month
from finops.frames.focus import BASES
from finops.lake import BILL_LINES, facts

_SHOWN = (
    "x_day", "sub_account_id", "service_name", "region_id", "x_usage_type", "x_line_item_type",
    "charge_category", "charge_description", "resource_id", "x_quantity", "x_unit", "billing_currency",
    "x_delivery", "x_file", "x_row",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpendLine:
    """One line of a bill. `delivery`, `file` and `row` (1-based) say where it stands in the deliveries."""

    day: date | None
    account: str | None
    service: str | None
    region: str | None
    usage_type: str | None
    line_item_type: str | None
    charge_category: str | None
    description: str | None
    resource: str | None
    quantity: Decimal | None
    unit: str | None
    currency: str
    delivery: int
    file: str
    row: int
    cost: Decimal | None


@dataclass(frozen=True)
class SpendLines:
    """A page of lines, largest amount first; `count` and `totals` (by currency) are of all of them."""

    lines: list[SpendLine]
    count: int
    totals: dict[str, Decimal]


def spend_lines(
    question: SpendQuestion,
    *,
    organisation: Organisation | None,
    offset: int = 0,
    size: int = 100,
    snapshots: Mapping[str, int] | None = None,
) -> SpendLines:
    """Lines of the question's days and conditions; `by`, granularity and currency are not looked at.

    With a condition on a team: the lines that its rules match, also those that it shares.
    """
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    rules = allocation_of(organisation)
    check_where(question, rules)
    reports = report_ids(organisation)
    if not reports or BILL_LINES not in found:
        return SpendLines([], 0, {})
    asked = replace(question, currency=None)
    tags = Reading(asked, found, reports, rules, organisation, False).tags()
    given = Parameters()
    months = months_of(question.window)
    day = day_sql(Window(months[0], next_month(months[-1])), organisation=organisation)
    conditions = [window_sql(question.window, given, day)]
    for name, values in question.conditions().items():
        if name == TEAM:
            conditions.append(_team_sql(values, rules, given, day))
        else:
            conditions.append(condition_sql(name, values, tags, given, given.cell))
    cost = BASES[question.basis]
    where = " AND ".join(conditions)
    with connect(question.window, found, reports, BILL_LINES, _columns(cost)) as con:
        sums = con.execute(
            f"SELECT billing_currency, count(*), sum({cost}) FROM {BILL_LINES} "
            f"WHERE {where} GROUP BY 1 ORDER BY 1",
            given.values,
        ).fetchall()
        rows = con.execute(
            f"SELECT {', '.join(_SHOWN)}, {cost} FROM {BILL_LINES} WHERE {where} "
            f"ORDER BY {cost} DESC NULLS LAST, x_day, x_file, x_row LIMIT {int(size)} OFFSET {int(offset)}",
            given.values,
        ).fetchall()
    return SpendLines(
        [SpendLine(*row) for row in rows],
        sum(row[1] for row in sums),
        {row[0]: row[2] if row[2] is not None else ZERO for row in sums},
    )


def _columns(cost: str) -> list[str]:
    others = [
        "x_report", "x_month", "x_provider", "billing_account_id", "service_category", "x_instance_type",
        "pricing_category", "commitment_discount_id", "commitment_discount_type",
        "commitment_discount_status", "x_billing_entity", "tags", "x_cost_categories",
    ]  # fmt: skip
    return [*_SHOWN, *others, cost]


def _team_sql(slugs: list[str], rules: Allocation, given: Parameters, day: str) -> str:
    """Lines whose rule gives something to one of the teams; `unallocated`: no rule matches."""
    wanted = {pk for pk, slug in rules.slugs.items() if slug in slugs}
    numbers = [
        rule.id
        for rule in rules.rules
        if rule.team in wanted
        or (rule.split and (not rule.shares or {team for team, _ in rule.shares} & wanted) and wanted)
    ]
    rule = rule_sql(rules, day, given, given.cell)
    parts = [f"({rule}) IN ({', '.join(str(int(number)) for number in numbers)})"] if numbers else []
    if UNALLOCATED in slugs or "" in slugs:
        parts.append(f"({rule}) IS NULL")
    return f"({' OR '.join(parts)})" if parts else "false"
