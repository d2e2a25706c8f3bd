"""What compute is paid with (Spot, commitments, on demand), and the effective savings rate of a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from apps.accounts.models import Organisation
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.kept import kept, key_of
from apps.billing.selectors.spend import SpendQuestion, spend
from apps.billing.selectors.spend_question import TEAM
from apps.billing.selectors.spend_reading import connect
from finops.engine.spend import EXACT, ZERO, Window, months_of, total
from finops.lake import BILL_LINES, facts

SPOT, COMMITTED, UNUSED, ON_DEMAND, OTHER = "spot", "committed", "unused", "on_demand", "other"
PARTS = (ON_DEMAND, COMMITTED, SPOT, UNUSED, OTHER)
COMPUTE = "Compute"
# FOCUS: what Spot is priced by.
SPOT_PRICING = "Dynamic"
# Lines of one usage type are priced alike.
FINE = ("pricing_category", "usage_type", "service", "charge_category")


@dataclass(frozen=True)
class Split:
    """Amortised cost by what it was paid with, in one currency; `compute`: only the service category Compute,
    False where the bills name no such category and everything is counted.
    """

    parts: dict[str, Decimal]
    total: Decimal
    compute: bool

    def share(self, part: str) -> Decimal | None:
        """Percent of the total; None where that is not above 0."""
        return None if self.total <= 0 else EXACT.divide(self.parts.get(part, ZERO) * 100, self.total)


@dataclass(frozen=True)
class SavingsRate:
    """1 - effective / list over the lines that have a list cost, in percent; None where list is not above 0.

    `lines` have a list cost, `without` have none and are not counted. `partial`: the two cannot be told apart
    for this part of the bill, so that there is no rate while some have none.
    """

    currency: str
    list_cost: Decimal
    effective: Decimal
    lines: int
    without: int
    partial: bool = False

    @property
    def percent(self) -> Decimal | None:
        """Above 0 is saved against list."""
        if self.list_cost <= 0 or (self.partial and self.without):
            return None
        return EXACT.divide((self.list_cost - self.effective) * 100, self.list_cost)


def paid_with(
    organisation: Organisation | None,
    window: Window,
    currency: str,
    *,
    now: datetime,
    snapshots: Mapping[str, int] | None = None,
    where: tuple[tuple[str, str], ...] = (),
) -> Split:
    """How compute was paid in [start, end), of the part of the bill that `where` names."""
    by = ("pricing_category", "commitment_status", "charge_category", "commitment_type")
    for compute in (True, False):
        only = (*where, ("service_category", COMPUTE)) if compute else where
        question = SpendQuestion(start=window.start, end=window.end, by=by, basis="amortised", where=only)
        answer = spend(
            question, organisation=organisation, now=now, snapshots=snapshots, with_unallocated=False
        )
        parts: dict[str, Decimal] = {}
        for row in answer.rows:
            if row.currency == currency and row.cost:
                part = _part(*row.values)
                parts[part] = EXACT.add(parts.get(part, ZERO), row.cost)
        if parts:
            return Split(parts, sum(parts.values(), ZERO), compute)
    return Split({}, ZERO, False)


def _part(pricing: str | None, status: str | None, charge: str | None, commitment: str | None) -> str:
    """FOCUS: Spot is pricing category Dynamic; a commitment's rows say whether it was used.

    Amortised, what stays on the purchase of a commitment is what nothing used.
    """
    if (status or "").lower() == "unused" or (charge == "Purchase" and commitment):
        return UNUSED
    if (status or "").lower() == "used" or pricing == "Committed":
        return COMMITTED
    if pricing == SPOT_PRICING:
        return SPOT
    return ON_DEMAND if pricing == "Standard" and charge == "Usage" else OTHER


def savings_rates(
    organisation: Organisation | None,
    window: Window,
    *,
    now: datetime,
    snapshots: Mapping[str, int] | None = None,
) -> dict[str, SavingsRate]:
    """By currency, from the ready sums by usage type; from the lines where one of them has a list cost on a
    part of its lines only, because a sum does not tell on which.

    Older AWS exports write a public price of 0 for Spot that was paid for: that is no list price.
    """
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    rates = _rates(organisation, window, FINE, (), now, found)
    if not any(rate.partial for rate in rates.values()):
        return rates
    reports = sorted(
        str(pk) for pk in reports_visible(organisation=organisation).values_list("pk", flat=True)
    )

    def read() -> dict[str, list[list[str]]]:
        return {"rows": _sums(window, found, reports)}

    key = key_of("savings", found, reports, window.start, window.end)
    return {
        currency: SavingsRate(currency, Decimal(listed), Decimal(effective), int(lines), int(without))
        for currency, listed, effective, lines, without in kept(key, read)["rows"]
    }


def savings_of_team(
    organisation: Organisation | None,
    window: Window,
    team: str,
    *,
    now: datetime,
    snapshots: Mapping[str, int] | None = None,
) -> dict[str, SavingsRate]:
    """By currency, of a team's share of the bill: no rate while some of it has a list cost in part only."""
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    return _rates(organisation, window, FINE, ((TEAM, team),), now, found)


def _rates(
    organisation: Organisation | None,
    window: Window,
    by: tuple[str, ...],
    where: tuple[tuple[str, str], ...],
    now: datetime,
    snapshots: Mapping[str, int],
) -> dict[str, SavingsRate]:
    """By currency, from sums by `by`, the pricing category first; `partial` where a sum is of lines with and
    without a list cost.
    """
    listed, effective = (
        spend(
            SpendQuestion(start=window.start, end=window.end, by=by, basis=basis, where=where),
            organisation=organisation,
            now=now,
            snapshots=snapshots,
            with_unallocated=False,
        )
        for basis in ("list", "amortised")
    )
    paid = {(row.currency, row.values): row.cost or ZERO for row in effective.rows}
    sums: dict[str, _Adding] = {}
    for row in listed.rows:
        amount, cost = row.cost or ZERO, paid.get((row.currency, row.values), ZERO)
        unpriced = row.values[0] == SPOT_PRICING and not amount and cost > 0
        without = row.lines if unpriced else row.lines_without_cost
        one = sums.setdefault(row.currency, _Adding())
        if without < row.lines:
            one.listed.append(amount)
            one.effective.append(cost)
        one.lines += row.lines - without
        one.without += without
        one.partial |= 0 < without < row.lines
    return {
        currency: SavingsRate(
            currency, total(one.listed), total(one.effective), one.lines, one.without, partial=one.partial
        )
        for currency, one in sums.items()
    }


@dataclass
class _Adding:
    """What a rate is summed from."""

    listed: list[Decimal] = field(default_factory=list)
    effective: list[Decimal] = field(default_factory=list)
    lines: int = 0
    without: int = 0
    partial: bool = False


def _sums(window: Window, snapshots: Mapping[str, int], reports: list[str]) -> list[list[str]]:
    columns = [
        "x_report", "x_month", "x_day", "billing_currency", "list_cost", "effective_cost", "pricing_category"
    ]  # fmt: skip
    months = [f"{month:%Y-%m}" for month in months_of(window)]
    with connect(window, snapshots, reports, BILL_LINES, columns) as con:
        rows = con.execute(
            "WITH told AS (SELECT billing_currency, effective_cost, "  # noqa: S608 - our table
            "CASE WHEN list_cost = 0 AND effective_cost > 0 AND pricing_category = 'Dynamic' THEN NULL "
            f"ELSE list_cost END AS listed FROM {BILL_LINES} WHERE x_day >= $start AND x_day < $end "
            "AND x_month IN (SELECT unnest($months))) "
            "SELECT billing_currency, coalesce(sum(listed), 0), "
            "coalesce(sum(effective_cost) FILTER (listed IS NOT NULL), 0), count(listed), "
            "count(*) FILTER (listed IS NULL) FROM told GROUP BY ALL ORDER BY ALL",
            {"start": window.start, "end": window.end, "months": months},
        ).fetchall()
    return [[str(value) for value in row] for row in rows]
