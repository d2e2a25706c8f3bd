"""A period against the one before it: the same number of days on both sides, and what explains the change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from apps.accounts.models import Organisation
from apps.billing.selectors.spend import SpendAnswer, SpendQuestion, spend
from apps.billing.selectors.spend_groups import collecting_later
from apps.billing.selectors.spend_period import Coverage
from apps.billing.selectors.spend_reading import in_session, known_coverage
from finops.engine.spend import (
    Change,
    Comparison,
    Driver,
    Window,
    comparison,
    drivers,
    month_start,
    next_month,
)
from finops.lake import facts

AGAINST = ("previous", "month")
Values = tuple[str | None, ...]


@dataclass(frozen=True)
class SpendChange:
    """What changed in each currency, by the values of the question's dimensions, largest amount first.

    `windows` None: no day of the period is delivered, so there is nothing to compare. `asked` is the coverage
    of the whole period that was asked for.
    """

    question: SpendQuestion
    windows: Comparison | None
    after: SpendAnswer | None
    before: SpendAnswer | None
    changes: dict[str, tuple[Change, list[Driver[Values]]]]
    asked: Coverage

    @property
    def complete(self) -> bool:
        """Whether both sides are complete and the whole of the asked period is compared."""
        sides = [side for side in (self.after, self.before) if side is not None]
        return bool(sides) and self.asked.complete and all(side.complete for side in sides)


def spend_compare(
    question: SpendQuestion,
    *,
    organisation: Organisation | None,
    now: datetime,
    against: str = "previous",
    snapshots: Mapping[str, int] | None = None,
) -> SpendChange:
    """The question's period (as far as delivered) against the period before. Raises as `spend` does."""
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    month_before = month_start(month_start(question.start) - timedelta(days=1))
    first = min(question.start - timedelta(days=question.window.days), month_before)
    both = Window(month_start(first), next_month(question.end))
    with in_session(both, found, organisation=organisation):
        asked = known_coverage(question, organisation=organisation, now=now)
        windows = comparison(question.window, known_to=asked.known_to, against=against)
        if windows is None:
            return SpendChange(question, None, None, None, {}, asked)
        after, earlier = (
            spend(
                replace(question, start=side.start, end=side.end, granularity="", limit=0),
                organisation=organisation,
                now=now,
                snapshots=found,
                with_unallocated=False,
            )
            for side in (windows.after, windows.before)
        )
    with collecting_later():
        changes = {
            currency: drivers(_costs(earlier, currency), _costs(after, currency))
            for currency in sorted({*after.totals, *earlier.totals})
        }
    return SpendChange(question, windows, after, earlier, changes, asked)


def _costs(answer: SpendAnswer, currency: str) -> dict[Values, Decimal | None]:
    return {row.values: row.cost for row in answer.rows if row.currency == currency}
