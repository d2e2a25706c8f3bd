"""What accepted findings of waste really saved: the resource's cost an hour before, against later bills.

    would have cost = cost an hour over the judged days x hours of the month
    did cost        = amortised cost of the resource's lines in the month, 0 where it has none,
                      and of a deleted volume what its snapshot costs

Both sides are lines of metered usage types without what a commitment paid, since its fee goes on; traffic to
the internet and the like is on neither. A resource without lines in a month whose bill is there has cost
nothing: that is the saving. A snapshot that is kept of a deleted volume is another resource: the estimate of
the finding counts for it from the volume's last line on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from finops.frames.waste import meter_of
from finops.lake import BILL_LINES
from finops.lake.waste import COVERED, IS_USE

NO_RESOURCE = noop("The finding names no resource: later bills cannot tell what it saved.")
NO_COST = noop("Lines of the resource have no amortised cost.")
OTHER_CURRENCY = noop("The bill is in another currency than the recommendation.")
_COST = f"""
    SELECT strftime(timezone('UTC', charge_period_start), '%Y-%m'), billing_currency,
        sum(effective_cost), count(*) - count(effective_cost), x_report, count(*),
        coalesce(x_product_code, ''), coalesce(x_usage_type, ''), max(charge_period_end)
    FROM {BILL_LINES}
    WHERE charge_period_start >= $start AND charge_period_start < $end
        AND resource_id = $resource AND coalesce(sub_account_id, '') = $account
        AND {IS_USE} AND NOT {COVERED}
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608 - the only name in it is a constant of this project
_COLUMNS = (
    "x_report", "x_month", "charge_period_start", "resource_id", "sub_account_id", "billing_currency",
    "effective_cost", "x_line_item_type", "commitment_discount_status", "x_product_code", "x_usage_type",
    "charge_period_end",
)  # fmt: skip
HOUR = Decimal(3600)
# Of what these delete a snapshot stays, which the saving has taken off.
SNAPSHOT_KEPT = ("volume-unattached", "volume-of-stopped-instance")


@dataclass
class _Month:
    """What the lines of a month say; `last`: the end of the newest of them."""

    cost: Decimal = Decimal(0)
    currencies: set[str] = field(default_factory=set)
    missing: int = 0
    lines: int = 0
    last: datetime | None = None


def basis_of(row: Recommendation) -> dict[str, Any]:
    """Fixed at acceptance: what a month of 730 h cost, without what a commitment paid."""
    document = row.document
    uncovered = Decimal(document["uncovered_monthly"])
    left = uncovered - Decimal(document["saving"]) if document["rule"] in SNAPSHOT_KEPT else Decimal(0)
    return {
        "resource": document["resource"],
        "account": document["account"],
        "monthly_cost": document.get("metered_monthly", document["uncovered_monthly"]),
        "metered": "metered_monthly" in document,
        "left_monthly": str(max(left, Decimal(0))),
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
        until = min(high, reach)
        would = Decimal(basis["monthly_cost"]) * _hours(low, until) / 730
        found = costs.get(month, _Month())
        cost = found.cost + Decimal(basis.get("left_monthly", "0")) * _hours(found.last or low, until) / 730
        other = found.currencies - {row.currency}
        reason = NO_COST if found.missing else OTHER_CURRENCY if other else ""
        answers.append(
            RealisedMonth(
                month, None if reason else would, None if reason else cost,
                state.closed and not reason, reason, told,
            )
        )  # fmt: skip
    return answers


def _hours(start: datetime, end: datetime) -> Decimal:
    return Decimal(max((end - start).total_seconds(), 0)) / HOUR


def costs_of(
    basis: Mapping[str, Any],
    *,
    start: datetime,
    end: datetime,
    organisation: Organisation,
    snapshots: Mapping[str, int],
) -> dict[date, _Month]:
    """What the resource cost by month in [start, end). Two reports of one account tell of the same lines: the
    one that tells most counts.
    """
    reports = report_ids(organisation)
    if not reports or BILL_LINES not in snapshots:
        return {}
    first = start.astimezone(UTC).date().replace(day=1)
    window = Window(first, next_month(end.astimezone(UTC).date().replace(day=1)))
    given = {"start": start, "end": end, "resource": basis["resource"], "account": basis["account"]}
    with connect(window, snapshots, reports, BILL_LINES, _COLUMNS) as con:
        rows = con.execute(_COST, given).fetchall()
    told: dict[tuple[str, str], _Month] = {}
    for month, currency, cost, missing, report, count, product, usage_type, last in rows:
        if basis.get("metered") and meter_of(product, usage_type) is None:
            continue
        held = told.setdefault((month, report), _Month())
        held.cost += cost or Decimal(0)
        held.missing += missing
        held.lines += count
        held.last = max(filter(None, (held.last, last and last.astimezone(UTC))), default=None)
        if currency:
            held.currencies.add(currency)
    best: dict[date, _Month] = {}
    for (month, _report), held in sorted(told.items()):
        day = date.fromisoformat(f"{month}-01")
        if day not in best or held.lines > best[day].lines:
            best[day] = held
    return best
