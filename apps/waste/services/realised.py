"""What accepted findings of waste really saved: the resource's cost an hour before, against later bills.

    would have cost = cost an hour over the judged days x hours of the month
    did cost        = amortised cost of the resource's lines in the month, 0 where it has none

A resource without lines in a month whose bill is there has cost nothing: that is the saving. Commitments that
paid for it before are part of neither side, since their fee goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_noop as noop

from apps.accounts.models import Organisation
from apps.billing.selectors.spend_reading import connect, report_ids
from apps.ingest.selectors import current_snapshots
from apps.recommendations.kinds import RealisedMonth
from apps.recommendations.models import Recommendation
from apps.recommendations.services.bill_months import month_state
from apps.recommendations.services.realised import NO_BILL, claim_months
from finops.engine.spend import Window, next_month
from finops.lake import BILL_LINES

NO_RESOURCE = noop("The finding names no resource: later bills cannot tell what it saved.")
NO_COST = noop("Lines of the resource have no amortised cost.")
OTHER_CURRENCY = noop("The bill is in another currency than the recommendation.")
_COST = f"""
    SELECT strftime(timezone('UTC', charge_period_start), '%Y-%m'), billing_currency,
        sum(effective_cost), count(*) - count(effective_cost), x_report, count(*)
    FROM {BILL_LINES}
    WHERE charge_period_start >= $start AND charge_period_start < $end
        AND resource_id = $resource AND coalesce(sub_account_id, '') = $account
        AND (x_line_item_type IS NULL OR x_line_item_type NOT IN ('SavingsPlanNegation', 'DiscountedUsage',
            'SavingsPlanCoveredUsage'))
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608 - the only name in it is a constant of this project
_COLUMNS = (
    "x_report", "x_month", "charge_period_start", "resource_id", "sub_account_id", "billing_currency",
    "effective_cost", "x_line_item_type",
)  # fmt: skip
HOUR = Decimal(3600)


def basis_of(row: Recommendation) -> dict[str, Any]:
    """Fixed at acceptance: what a month of 730 h cost, without what a commitment paid."""
    document = row.document
    return {
        "resource": document["resource"],
        "account": document["account"],
        "monthly_cost": document["uncovered_monthly"],
        "currency": document["currency"],
    }


def realised(
    row: Recommendation, organisation: Organisation, now: datetime
) -> Sequence[RealisedMonth] | None:
    """The months of an accepted row; None where no later line can tell."""
    basis = (row.counterfactual or {}).get("basis") or {}
    if not basis.get("resource"):
        return None
    snapshots = current_snapshots()
    told = {"snapshots": {table: str(number) for table, number in sorted(snapshots.items())}}
    months = list(claim_months(row, now))
    if not months:
        return []
    costs = costs_of(
        basis, start=months[0][1], end=months[-1][2], organisation=organisation, snapshots=snapshots
    )
    answers = []
    for month, low, high in months:
        state = month_state(month, organisation=organisation, now=now)
        if not state.delivered:
            answers.append(RealisedMonth(month, None, None, reason=NO_BILL))
            continue
        reach = datetime(state.reach.year, state.reach.month, state.reach.day, tzinfo=UTC)
        hours = Decimal(max((min(high, reach) - low).total_seconds(), 0)) / HOUR
        would = Decimal(basis["monthly_cost"]) * hours / 730
        cost, currency, missing = costs.get(month, (Decimal(0), "", 0))
        reason = NO_COST if missing else OTHER_CURRENCY if currency not in ("", row.currency) else ""
        answers.append(
            RealisedMonth(
                month, None if reason else would, None if reason else cost,
                state.closed and not reason, reason, told,
            )
        )  # fmt: skip
    return answers


def costs_of(
    basis: Mapping[str, Any],
    *,
    start: datetime,
    end: datetime,
    organisation: Organisation,
    snapshots: Mapping[str, int],
) -> dict[date, tuple[Decimal, str, int]]:
    """(cost, currency, lines without cost) of the resource by month in [start, end)."""
    reports = report_ids(organisation)
    if not reports or BILL_LINES not in snapshots:
        return {}
    first = start.astimezone(UTC).date().replace(day=1)
    window = Window(first, next_month(end.astimezone(UTC).date().replace(day=1)))
    given = {"start": start, "end": end, "resource": basis["resource"], "account": basis["account"]}
    with connect(window, snapshots, reports, BILL_LINES, _COLUMNS) as con:
        rows = con.execute(_COST, given).fetchall()
    # Two reports of one account tell of the same lines: the one that tells most counts.
    rows.sort(key=lambda row: (row[5], row[4]))
    return {
        date.fromisoformat(f"{month}-01"): (cost or Decimal(0), currency or "", missing)
        for month, currency, cost, missing, _report, _lines in rows
    }
