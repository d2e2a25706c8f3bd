"""What a week cost, against the same weekdays of the week before; asked as pages ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from apps.accounts.models import Organisation
from apps.billing.selectors.bill_days import BillDays, bill_days
from apps.billing.selectors.spend import SpendAnswer, SpendQuestion, SpendRefusedError, spend
from apps.billing.selectors.spend_period import Coverage
from apps.billing.selectors.spend_reading import in_session, known_coverage
from finops.engine.exchange import Rate
from finops.engine.spend import Change, Driver, Week, Window, drivers, month_start, next_month
from finops.engine.weekly import WEEK, Compared, compared
from finops.lake import facts

BASIS = "amortised"
ENGINEERING = "engineering"


@dataclass(frozen=True)
class CurrencyWeek:
    """One currency: `change` of the compared days, its `drivers` by service, `usage` by usage type (for the
    engineering edition), and the cost of each delivered day of both weeks, None where nothing is billed.
    """

    currency: str
    change: Change
    drivers: list[Driver[tuple[str | None, ...]]]
    usage: list[Driver[tuple[str | None, ...]]]
    days: list[tuple[date, Decimal | None]]

    @property
    def cost(self) -> Decimal | None:
        """Of the delivered days of the week; None where nothing is billed."""
        return self.change.after


@dataclass(frozen=True)
class WeekSpend:
    """`compared` None: no day of the week is delivered. Currencies by size, never added up. `refused`: why
    they could not be converted as asked.
    """

    week: Week
    compared: Compared | None
    currencies: list[CurrencyWeek]
    coverage: Coverage
    before: Coverage | None
    days: BillDays | None
    rates: list[Rate]
    refused: str
    snapshots: Mapping[str, int]
    allocation_version: int | None

    @property
    def main(self) -> CurrencyWeek | None:
        """The currency with the largest cost."""
        return self.currencies[0] if self.currencies else None


def week_spend(
    week: Week,
    *,
    organisation: Organisation,
    now: datetime,
    where: tuple[tuple[str, str], ...] = (),
    currency: str = "",
    edition: str = "finance",
) -> WeekSpend:
    """The week as bills have it at `now`. Raises SpendError for a scope that is not there."""
    snapshots = dict(facts.current_snapshots())
    end = week.last + timedelta(days=1)
    both = Window(month_start(week.first - WEEK), next_month(week.last))
    asked = SpendQuestion(start=week.first, end=end, by=("service",), basis=BASIS, where=where)
    with in_session(both, snapshots, organisation=organisation):
        days = bill_days(organisation, at=now)
        cover = known_coverage(asked, organisation=organisation, now=now)
        sides = compared(week, _known_to(cover, days, now))
        if sides is None:
            return WeekSpend(week, None, [], cover, None, days, [], "", snapshots, None)
        ask = _Asking(organisation, now, snapshots, where, currency)
        try:
            answers = ask.answers(sides, edition)
        except SpendRefusedError as error:
            ask = _Asking(organisation, now, snapshots, where, "", error.message)
            answers = ask.answers(sides, edition)
    after, before = answers["after"], answers["before"]
    found = [
        _currency(name, answers, sides)
        for name in {**after.totals, **before.totals}
        if after.totals.get(name) or before.totals.get(name)
    ]
    found.sort(key=lambda one: (-abs(one.cost or Decimal(0)), one.currency))
    rates = list(dict.fromkeys([*after.rates, *before.rates]))
    return WeekSpend(
        week, sides, found, cover, before.coverage, days, rates, ask.refused, snapshots,
        after.allocation_version,
    )  # fmt: skip


def _known_to(cover: Coverage, days: BillDays | None, now: datetime) -> date | None:
    """The first day that is not delivered by every report that still delivers; never a day that is not over.

    A report that ended long ago leaves its months open for ever: it does not hide what the others have.
    """
    today = now.date()
    known = cover.known_to
    if days is not None:
        live = min(report.last_day for report in days.reports) + timedelta(days=1)
        known = known if known is None else max(known, live)
    elif not cover.sources:
        return date.min
    return today if known is None else min(known, today)


@dataclass(frozen=True)
class _Asking:
    organisation: Organisation
    now: datetime
    snapshots: Mapping[str, int]
    where: tuple[tuple[str, str], ...]
    currency: str
    refused: str = ""

    def _ask(self, window: Window, by: tuple[str, ...], granularity: str = "") -> SpendAnswer:
        question = SpendQuestion(
            start=window.start, end=window.end, by=by, granularity=granularity, basis=BASIS,
            where=self.where, currency=self.currency or None,
        )  # fmt: skip
        return spend(
            question, organisation=self.organisation, now=self.now, snapshots=self.snapshots,
            with_unallocated=False,
        )  # fmt: skip

    def answers(self, sides: Compared, edition: str) -> dict[str, SpendAnswer]:
        """Both sides by service, the days of both weeks, and by usage type for engineers."""
        found = {
            "after": self._ask(sides.after, ("service",)),
            "before": self._ask(sides.before, ("service",)),
            "days": self._ask(Window(sides.after.start - WEEK, sides.after.end), (), "day"),
        }
        if edition == ENGINEERING:
            found["usage_after"] = self._ask(sides.after, ("service", "usage_type"))
            found["usage_before"] = self._ask(sides.before, ("service", "usage_type"))
        return found


def _currency(name: str, answers: Mapping[str, SpendAnswer], sides: Compared) -> CurrencyWeek:
    change, parts = drivers(_costs(answers["before"], name), _costs(answers["after"], name))
    usage: list[Driver[tuple[str | None, ...]]] = []
    if "usage_after" in answers:
        usage = drivers(_costs(answers["usage_before"], name), _costs(answers["usage_after"], name))[1]
    costs = {row.start: row.cost for row in answers["days"].rows if row.currency == name}
    first = sides.after.start - WEEK
    count = (sides.after.end - first).days
    days = [(first + timedelta(days=i), costs.get(first + timedelta(days=i))) for i in range(count)]
    return CurrencyWeek(name, change, parts, usage, days)


def _costs(answer: SpendAnswer, currency: str) -> dict[tuple[str | None, ...], Decimal | None]:
    return {row.values: row.cost for row in answer.rows if row.currency == currency}
