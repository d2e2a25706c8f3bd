"""Spend: the one way in which pages, commands, REST, budgets and anomalies ask what something cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.allocation import Allocation
from apps.billing.selectors.exchange import Rate, exchange_rates_of
from apps.billing.selectors.kept import found_answer, keep, key_of
from apps.billing.selectors.spend_period import Coverage
from apps.billing.selectors.spend_question import (
    TEAM,
    UNALLOCATED,
    SpendError,
    SpendQuestion,
    SpendRefusedError,
)
from apps.billing.selectors.spend_reading import Reading, known_allocation, known_coverage, report_ids
from apps.billing.selectors.spend_sums import SpendRow, amounts, rate_of, row_texts
from finops.engine.spend import ZERO
from finops.lake import facts

__all__ = ["SpendAnswer", "SpendError", "SpendQuestion", "SpendRefusedError", "SpendRow", "spend"]

# A longer answer is quicker read again than written down.
KEPT_ROWS = 1000


@dataclass(frozen=True)
class SpendAnswer:
    """Rows by period, then amount; `totals` by currency over all rows, also those left out by a limit.

    `unallocated`: by currency, what no rule gives to a team (also when the question is not by team).
    `left_out`: groups beyond the limit. `rates`: what converted the amounts. `merged`: keys that a folded tag
    joined. `team_names`: name by slug of the teams in the rows.
    """

    question: SpendQuestion
    rows: list[SpendRow]
    totals: dict[str, Decimal]
    unallocated: dict[str, Decimal]
    coverage: Coverage
    left_out: int
    rates: list[Rate]
    merged: dict[str, list[str]]
    team_names: dict[str, str]
    snapshots: dict[str, int]
    allocation_version: int
    at: datetime

    @property
    def complete(self) -> bool:
        """Whether every day is delivered, closed and reconciled as far as known."""
        return self.coverage.complete

    @property
    def unknown(self) -> frozenset[str]:
        """Currencies in which no line has a value on the question's basis: their sum is not known, not 0."""
        told = {row.currency for row in self.rows if row.cost is not None}
        return frozenset(row.currency for row in self.rows) - told

    @property
    def currencies(self) -> list[str]:
        """Currencies of the rows, by name."""
        return sorted(self.totals)

    @property
    def total(self) -> Decimal | None:
        """The sum; None with more than one currency, 0 with no row."""
        if len(self.totals) > 1:
            return None
        return next(iter(self.totals.values()), ZERO)


def spend(
    question: SpendQuestion,
    *,
    organisation: Organisation | None,
    now: datetime,
    snapshots: Mapping[str, int] | None = None,
    allocation: Allocation | None = None,
    with_unallocated: bool = True,
) -> SpendAnswer:
    """The answer at the snapshots that the newest finished import names (or those given).

    `allocation`: rules to use instead of those in force (a dry run; never kept). Raises SpendError for a
    wrong question, SpendRefusedError where a currency cannot be converted.
    """
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    rules = known_allocation(organisation) if allocation is None else allocation
    reports = report_ids(organisation)
    check_where(question, rules)
    reading = Reading(question, found, reports, rules, organisation, with_unallocated)
    key = ""
    if allocation is None:
        parts = [reports, rules.version, question.parameters(), with_unallocated, rules.slugs]
        if question.currency is not None:
            parts.append([str(values) for values in exchange_rates_of(organisation).values_list()])
        key = key_of("spend", found, organisation and organisation.pk, *parts)
    raw = found_answer(key) if key else None
    if raw is not None:
        rows = [_row_of(values) for values in raw["rows"]]
    else:
        try:
            raw = reading.document()
        except duckdb.OutOfRangeException as error:
            # DuckDB adds 18 decimals in 128 bits.
            told = _("The amounts add up to more than %(most)s: ask for fewer days or a part of the bill.")
            raise SpendRefusedError("to", told % {"most": "170,141,183,460,469,231,731"}) from error
        rows = raw["rows"]
        if key and len(rows) <= KEPT_ROWS:
            keep(key, {**raw, "rows": [row_texts(values) for values in raw["rows"]]})
    answer = SpendAnswer(
        question=question,
        rows=rows,
        totals=amounts(raw["totals"]),
        unallocated=amounts(raw["unallocated"]),
        coverage=known_coverage(question, organisation=organisation, now=now),
        left_out=raw["left_out"],
        rates=[rate_of(values) for values in raw["rates"]],
        merged=raw["merged"],
        team_names={rules.slugs[pk]: name for pk, name in rules.teams.items()},
        snapshots=found,
        allocation_version=rules.version,
        at=now,
    )
    return answer


def check_where(question: SpendQuestion, rules: Allocation) -> None:
    """Raise SpendError for a team that the organisation does not have."""
    for name, value in question.where:
        if name == TEAM and value not in {*rules.slugs.values(), UNALLOCATED, ""}:
            known = ", ".join(sorted(rules.slugs.values())) or "-"
            raise SpendError(
                "where", _("No team %(team)s. Known: %(known)s.") % {"team": value, "known": known}
            )


def _row_of(raw: Sequence[Any]) -> SpendRow:
    values, start, end, currency, cost, quantity, unit, lines, missing = raw
    return SpendRow(
        tuple(values), date.fromisoformat(start), date.fromisoformat(end), currency,
        None if cost is None else Decimal(cost), None if quantity is None else Decimal(quantity), unit,
        lines, missing,
    )  # fmt: skip
