"""What compute is paid with (Spot, commitments, on demand), and the effective savings rate of a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.accounts.models import Organisation
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.kept import kept, key_of
from apps.billing.selectors.spend import SpendQuestion, spend
from apps.billing.selectors.spend_reading import connect
from finops.engine.spend import EXACT, ZERO, Window
from finops.lake import BILL_LINES, facts

SPOT, COMMITTED, UNUSED, ON_DEMAND, OTHER = "spot", "committed", "unused", "on_demand", "other"
PARTS = (ON_DEMAND, COMMITTED, SPOT, UNUSED, OTHER)
COMPUTE = "Compute"


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

    `lines` have a list cost, `without` have none and are not counted.
    """

    currency: str
    list_cost: Decimal
    effective: Decimal
    lines: int
    without: int

    @property
    def percent(self) -> Decimal | None:
        """Above 0 is saved against list."""
        if self.list_cost <= 0:
            return None
        return EXACT.divide((self.list_cost - self.effective) * 100, self.list_cost)


def paid_with(
    organisation: Organisation | None,
    window: Window,
    currency: str,
    *,
    now: datetime,
    snapshots: Mapping[str, int] | None = None,
) -> Split:
    """How compute was paid in [start, end)."""
    by = ("pricing_category", "commitment_status", "charge_category", "commitment_type")
    for where in (((("service_category", COMPUTE),)), ()):
        question = SpendQuestion(start=window.start, end=window.end, by=by, basis="amortised", where=where)
        answer = spend(
            question, organisation=organisation, now=now, snapshots=snapshots, with_unallocated=False
        )
        parts: dict[str, Decimal] = {}
        for row in answer.rows:
            if row.currency == currency and row.cost:
                part = _part(*row.values)
                parts[part] = EXACT.add(parts.get(part, ZERO), row.cost)
        if parts:
            return Split(parts, sum(parts.values(), ZERO), bool(where))
    return Split({}, ZERO, False)


def _part(pricing: str | None, status: str | None, charge: str | None, commitment: str | None) -> str:
    """FOCUS: Spot is pricing category Dynamic; a commitment's rows say whether it was used.

    Amortised, what stays on the purchase of a commitment is what nothing used.
    """
    if (status or "").lower() == "unused" or (charge == "Purchase" and commitment):
        return UNUSED
    if (status or "").lower() == "used" or pricing == "Committed":
        return COMMITTED
    if pricing == "Dynamic":
        return SPOT
    return ON_DEMAND if pricing == "Standard" and charge == "Usage" else OTHER


def savings_rates(
    organisation: Organisation | None, window: Window, *, snapshots: Mapping[str, int] | None = None
) -> dict[str, SavingsRate]:
    """By currency. Read from the lines: a daily sum does not tell which of its lines had a list cost."""
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    reports = sorted(
        str(pk) for pk in reports_visible(organisation=organisation).values_list("pk", flat=True)
    )
    if BILL_LINES not in found or not reports:
        return {}

    def read() -> dict[str, list[list[str]]]:
        return {"rows": _sums(window, found, reports)}

    key = key_of("savings", found, reports, window.start, window.end)
    return {
        currency: SavingsRate(currency, Decimal(listed), Decimal(effective), int(lines), int(without))
        for currency, listed, effective, lines, without in kept(key, read)["rows"]
    }


def _sums(window: Window, snapshots: Mapping[str, int], reports: list[str]) -> list[list[str]]:
    columns = ["x_report", "x_month", "x_day", "billing_currency", "list_cost", "effective_cost"]
    with connect(window, snapshots, reports, BILL_LINES, columns) as con:
        rows = con.execute(
            "SELECT billing_currency, coalesce(sum(list_cost), 0), "  # noqa: S608 - our table
            "coalesce(sum(effective_cost) FILTER (list_cost IS NOT NULL), 0), count(list_cost), "
            f"count(*) FILTER (list_cost IS NULL) FROM {BILL_LINES} "
            "WHERE x_day >= $start AND x_day < $end GROUP BY ALL ORDER BY ALL",
            {"start": window.start, "end": window.end},
        ).fetchall()
    return [[str(value) for value in row] for row in rows]
