"""What rules do with the cost of a period: per rule, per team, and what a change of the rules would move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.accounts.models import Organisation
from apps.billing.selectors.allocation import Allocation, Rule, allocation_of, in_order
from apps.billing.selectors.spend import SpendQuestion, spend
from apps.billing.selectors.spend_period import Coverage, coverage
from apps.billing.selectors.spend_question import TEAM
from apps.billing.selectors.spend_reading import Reading, report_ids
from finops.engine.spend import Change, Driver, drivers
from finops.lake import facts
from finops.text.numbers import decimal_text


@dataclass(frozen=True)
class Trial:
    """What a proposed rule would do: `matched` by currency the cost that it decides; `teams` by currency
    each team's cost before and after, as parts of a whole change of 0: nothing is gained or lost.
    """

    matched: dict[str, Decimal]
    teams: dict[str, tuple[Change, list[Driver[str]]]]
    names: dict[str, str]
    coverage: Coverage

    def document(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "matched": {currency: decimal_text(amount) for currency, amount in self.matched.items()},
            "teams": [
                {
                    "team": part.key,
                    "name": self.names.get(part.key),
                    "currency": currency,
                    "before": decimal_text(part.change.before),
                    "after": decimal_text(part.change.after),
                    "difference": decimal_text(part.change.delta),
                }
                for currency, (_whole, parts) in self.teams.items()
                for part in parts
            ],
            "complete": self.coverage.complete,
        }


def rule_costs(
    question: SpendQuestion, *, organisation: Organisation, snapshots: Mapping[str, int] | None = None
) -> dict[tuple[int | None, str], Decimal]:
    """Cost by the rule in force that decides and currency; None is what no rule matches."""
    return _by_rule(question, organisation, allocation_of(organisation), snapshots)


def _by_rule(
    question: SpendQuestion,
    organisation: Organisation,
    allocation: Allocation,
    snapshots: Mapping[str, int] | None,
) -> dict[tuple[int | None, str], Decimal]:
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    reports = report_ids(organisation)
    asked = replace(question, by=(), granularity="", where=(), currency=None, limit=0)
    return Reading(asked, found, reports, allocation, organisation, False).by_rule()


def with_rule(allocation: Allocation, proposed: Rule | None, *, instead_of: int | None = None) -> Allocation:
    """The rules with one more, with one changed (`instead_of` its id), or without it (`proposed` None)."""
    kept = [rule for rule in allocation.rules if rule.id != instead_of]
    return replace(allocation, rules=in_order([*kept, proposed] if proposed else kept))


def allocation_trial(
    question: SpendQuestion,
    proposed: Rule | None,
    *,
    organisation: Organisation,
    now: datetime,
    instead_of: int | None = None,
) -> Trial:
    """What the change would move in the question's days and basis; nothing is saved."""
    snapshots = dict(facts.current_snapshots())
    asked = replace(question, by=(TEAM,), granularity="", where=(), currency=None, limit=0)
    current = allocation_of(organisation)
    changed = with_rule(current, proposed, instead_of=instead_of)
    before, after = (
        spend(
            asked, organisation=organisation, now=now, snapshots=snapshots, allocation=rules,
            with_unallocated=False,
        )
        for rules in (current, changed)
    )  # fmt: skip
    teams = {
        currency: drivers(
            {str(row.values[0]): row.cost for row in before.rows if row.currency == currency},
            {str(row.values[0]): row.cost for row in after.rows if row.currency == currency},
        )
        for currency in before.currencies
    }
    matched: dict[str, Decimal] = {}
    if proposed is not None:
        costs = _by_rule(asked, organisation, changed, snapshots)
        matched = {currency: cost for (rule, currency), cost in costs.items() if rule == proposed.id}
    return Trial(
        matched, teams, before.team_names, coverage(asked.window, organisation=organisation, now=now)
    )
