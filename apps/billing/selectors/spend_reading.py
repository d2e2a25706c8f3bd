"""Reading a question's groups from the lake: converted, given to teams, summed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import duckdb

from apps.accounts.models import Organisation
from apps.billing.selectors.allocation import Allocation, Own, allocation_of, divided
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.exchange import NoRateError, Rate, convert, rates_between
from apps.billing.selectors.spend_groups import MOST_ROWS, Groups, collecting_later, groups_of
from apps.billing.selectors.spend_period import (
    Coverage,
    Held,
    cannot_report,
    coverage,
    day_sql,
    held_of,
)
from apps.billing.selectors.spend_question import (
    TEAM,
    UNALLOCATED,
    SpendQuestion,
    SpendRefusedError,
)
from apps.billing.selectors.spend_source import partitions_of, source_of
from apps.billing.selectors.spend_sql import (
    PLAIN_DAY,
    Parameters,
    Plan,
    TagReading,
    group_names,
    grouped_sql,
)
from apps.billing.selectors.spend_sums import (
    Group,
    GroupSum,
    amounts,
    in_order,
    limited,
    plain_rows,
    rate_values,
    row_of,
    texts,
)
from finops.engine.spend import EXACT, ZERO, Window, months_of, next_month, split, total
from finops.engine.tag_keys import exact_keys, folded_keys
from finops.lake import BILL_DAILY, TABLES, facts
from finops.lake.filters import all_of, one_of
from finops.lake.readers import reading

Known = TypeVar("Known")


@dataclass
class Reading:
    """One reading of the lake for a question."""

    question: SpendQuestion
    snapshots: dict[str, int]
    reports: list[str]
    rules: Allocation
    organisation: Organisation | None
    with_unallocated: bool

    def document(self) -> dict[str, Any]:
        """The answer as JSON values, but for the rows: those are values of `SpendRow`."""
        if not self.reports or BILL_DAILY not in self.snapshots:
            return {"rows": [], "totals": {}, "unallocated": {}, "left_out": 0, "rates": [], "merged": {}}
        question = self.question
        tags = self.tags()
        by_team = question.asks_for(TEAM)
        convert_to = question.currency
        with_rules = by_team and bool(self.rules.rules)
        plan = Plan(
            question,
            self.rules,
            tags,
            with_rules=with_rules,
            by_month=convert_to is not None or (with_rules and self.rules.proportional),
            day=self._day(),
        )
        rates: dict[tuple[str, date], Rate] = {}
        unallocated: dict[str, Decimal] = {}
        if convert_to is None and not by_team:
            found = self._read(plan, shown=True, limit=question.limit)
            left_out, totals = found.beyond, found.totals
            with collecting_later():
                shown = plain_rows(question, found.columns)
        else:
            rows = self._rows(plan)
            if convert_to is not None:
                rows = self._converted(plan, rows, convert_to, rates)
            sums, unallocated = self._summed(plan, rows)
            left_out, sums = limited(sums, question.limit)
            # Summed over all groups: a limit leaves rows out, never money.
            totals = self._totals(plan, rows)
            shown = [row_of(question, group, one) for group, one in in_order(sums)]
        if self.with_unallocated and not with_rules:
            unallocated = self._unallocated(plan, totals)
        return {
            "rows": shown,
            "totals": texts(totals),
            "unallocated": texts(unallocated) if self.with_unallocated or by_team else {},
            "left_out": left_out,
            "rates": [rate_values(rate) for rate in dict.fromkeys(rates.values())],
            "merged": {key: list(keys) for key, keys in tags.merged.items()},
        }

    def by_rule(self) -> dict[tuple[int | None, str], Decimal]:
        """Cost by the rule that decides and currency; None is what no rule matches."""
        if not self.reports or BILL_DAILY not in self.snapshots:
            return {}
        plan = Plan(
            self.question, self.rules, TagReading({}, {}), with_rules=True, by_month=False, day=self._day()
        )
        rows = self._rows(plan)
        names = group_names(plan)
        c, r, cost = names.index("c"), names.index("r"), len(names)
        return {(row[r], row[c]): row[cost] if row[cost] is not None else ZERO for row in rows}

    def _day(self) -> str:
        held = known_held(self.question.window, organisation=self.organisation)
        if held is not None and held.days_within:
            return PLAIN_DAY
        months = months_of(self.question.window)
        return day_sql(Window(months[0], next_month(months[-1])), organisation=self.organisation)

    def tags(self) -> TagReading:
        """How the tags of the question are read."""
        names = [*self.question.by, *(name for name, _ in self.question.where)]
        merged: dict[str, list[str]] = {}
        folds = [name.partition(":")[2] for name in names if name.startswith("tagfold:")]
        if folds:
            stored, _ = stored_keys(self.question.window, self.snapshots, self.reports)
            merged = {key: folded_keys(key, stored) for key in folds}
        groups = {exact_keys(name.partition(":")[2]) for name in names if name.startswith("tag:")}
        groups |= {tuple(keys) for keys in merged.values() if keys}
        return TagReading(cannot_report(sorted(groups), organisation=self.organisation), merged)

    def _rows(self, plan: Plan) -> list[tuple[Any, ...]]:
        """All groups: values of `group_names`, then cost, quantity, unit, lines and lines without a cost."""
        columns = self._read(plan, shown=False, limit=0).columns
        return list(zip(*columns.values(), strict=True))

    def _read(self, plan: Plan, *, shown: bool, limit: int) -> Groups:
        try:
            return self._read_from(plan, shown, limit, use_sums=True)
        except (duckdb.IOException, duckdb.PermissionException):
            # The sums of an older state of the bills were tidied away under the question; a file that is gone
            # is first of all none that may be read.
            return self._read_from(plan, shown, limit, use_sums=False)

    def _read_from(self, plan: Plan, shown: bool, limit: int, *, use_sums: bool) -> Groups:
        lake = facts.lake()
        source = source_of(lake, self.snapshots, self.reports, plan.needs(), use_sums=use_sums)
        given = Parameters()
        sql = grouped_sql(plan, source, given)
        with reading(lake.limits, source.files) as con:
            few = source.rows is not None and source.rows <= MOST_ROWS
            return groups_of(con, plan, sql, given, shown=shown, limit=limit, few=few)

    def _converted(
        self, plan: Plan, rows: Iterable[tuple[Any, ...]], to: str, rates: dict[tuple[str, date], Rate]
    ) -> list[tuple[Any, ...]]:
        """Rows in one currency: each month at the rate in force on its last day in the window."""
        rows = list(rows)
        names = group_names(plan)
        c, m, cost = names.index("c"), names.index("m"), len(names)
        known = rates_between(organisation=self.organisation, currencies={row[c] for row in rows}, to=to)
        made = []
        for row in rows:
            if row[c] == to or row[cost] is None:
                made.append((*row[:c], to, *row[c + 1 :]))
                continue
            on = min(next_month(row[m]), plan.question.end) - timedelta(days=1)
            try:
                found = convert(row[cost], row[c], to, on=on, organisation=self.organisation, rates=known)
            except NoRateError as error:
                raise SpendRefusedError("currency", str(error)) from error
            if found.rate is not None:
                rates[(row[c], row[m])] = found.rate
            made.append((*row[:c], to, *row[c + 1 : cost], found.amount, *row[cost + 1 :]))
        return made

    def _summed(
        self, plan: Plan, rows: Sequence[tuple[Any, ...]]
    ) -> tuple[dict[Group, GroupSum], dict[str, Decimal]]:
        """Groups as the question wants them, shared cost divided; and what is nobody's by currency."""
        question, names = plan.question, group_names(plan)
        own = self._own(plan) if plan.with_rules and self.rules.proportional else {}
        wanted = set(question.conditions().get(TEAM, ()))
        sums: dict[Group, GroupSum] = {}
        unallocated: dict[str, Decimal] = {}
        for row in rows:
            named = dict(zip(names, row, strict=False))
            cost, quantity, unit, lines, missing = row[len(names) :]
            month, currency = named.get("m"), named["c"]
            parts = self._parts(named, cost, quantity, month, currency, own, plan)
            for team, part, part_quantity in parts:
                if team is None and part is not None:
                    unallocated[currency] = EXACT.add(unallocated.get(currency, ZERO), part)
                slug = self.rules.slugs.get(team, UNALLOCATED) if team is not None else UNALLOCATED
                if wanted and slug not in wanted and not (slug == UNALLOCATED and "" in wanted):
                    continue
                values = tuple(slug if name == TEAM else named[f"d{i}"] for i, name in enumerate(question.by))
                group = (values, named.get("p"), currency)
                sums.setdefault(group, GroupSum()).add(part, part_quantity, unit, lines, missing)
        return sums, unallocated

    def _parts(
        self,
        named: Mapping[str, Any],
        cost: Decimal | None,
        quantity: Decimal | None,
        month: date | None,
        currency: str,
        own: Own,
        plan: Plan,
    ) -> list[tuple[int | None, Decimal | None, Decimal | None]]:
        """(team, cost, quantity) of a row; its quantity is divided as its cost is."""
        number = named.get("r")
        if not plan.with_rules or number is None or not self.rules.rule(number).split:
            team = self.rules.rule(number).team if plan.with_rules and number is not None else None
            return [(team, cost, quantity)]
        if cost is None:
            return [(None, None, quantity)]
        parts = divided(self.rules, number, cost, month=month, currency=currency, own=own)
        shares = split(quantity, [abs(part) for _, part in parts]) if quantity is not None else None
        return [
            (team, part, shares[i] if shares is not None else None) for i, (team, part) in enumerate(parts)
        ]

    def _own(self, plan: Plan) -> Own:
        """What each team costs itself, by month, currency and team: over whole months and all lines, so that
        every question divides a shared cost alike.
        """
        months = months_of(plan.question.window)
        whole = replace(
            plan.question, start=months[0], end=next_month(months[-1]),
            by=(), where=(), granularity="", limit=0,
        )  # fmt: skip
        reading = replace(plan, question=whole, by_month=True)
        rows = self._rows(reading)
        if plan.question.currency is not None:
            rows = self._converted(reading, rows, plan.question.currency, {})
        names = group_names(reading)
        own: dict[tuple[date, str, int], Decimal] = {}
        for row in rows:
            named = dict(zip(names, row, strict=False))
            number, cost = named["r"], row[len(names)]
            team = self.rules.rule(number).team if number is not None else None
            if team is not None and cost is not None:
                key = (named["m"], named["c"], team)
                own[key] = EXACT.add(own.get(key, ZERO), cost)
        return own

    def _totals(self, plan: Plan, rows: Sequence[tuple[Any, ...]]) -> dict[str, Decimal]:
        """Of all rows, by currency. A question for a team counts that team's parts only."""
        if plan.question.conditions().get(TEAM):
            sums, _unallocated = self._summed(plan, rows)
            found: dict[str, list[Decimal | None]] = {}
            for (_values, _period, currency), one in sums.items():
                found.setdefault(currency, []).append(one.cost)
            return {currency: total(costs) for currency, costs in sorted(found.items())}
        names = group_names(plan)
        c, cost = names.index("c"), len(names)
        by_currency: dict[str, list[Decimal | None]] = {}
        for row in rows:
            by_currency.setdefault(row[c], []).append(row[cost])
        return {currency: total(costs) for currency, costs in sorted(by_currency.items())}

    def _unallocated(self, plan: Plan, totals: Mapping[str, Decimal]) -> dict[str, Decimal]:
        """What is nobody's: all of it without rules, else asked for by itself."""
        if not self.rules.rules:
            return dict(totals)
        question = replace(plan.question, by=(TEAM,), granularity="", limit=0)
        reading = Reading(question, self.snapshots, self.reports, self.rules, self.organisation, True)
        return amounts(reading.document()["unallocated"])


@dataclass
class _Session:
    """Connections of one page or answer, by table: each reads the files of all its months once."""

    window: Window
    snapshots: dict[str, int]
    reports: list[str]
    opened: dict[str, duckdb.DuckDBPyConnection] = field(default_factory=dict)
    known: dict[tuple[Any, ...], Any] = field(default_factory=dict)


_session: ContextVar[_Session | None] = ContextVar("session of spend", default=None)


@contextmanager
def reading_session(
    window: Window, snapshots: Mapping[str, int], *, organisation: Organisation | None
) -> Iterator[None]:
    """Questions inside share one connection a table, as far as they ask within `window`."""
    session = _Session(window, dict(snapshots), [])
    token = _session.set(session)
    try:
        session.reports = report_ids(organisation)
        yield
    finally:
        _session.reset(token)
        for con in session.opened.values():
            con.close()


def in_session(
    window: Window, snapshots: Mapping[str, int], *, organisation: Organisation | None
) -> AbstractContextManager[None]:
    """The session that is there, else one of its own."""
    if _session.get() is not None:
        return nullcontext()
    return reading_session(window, snapshots, organisation=organisation)


def once(key: tuple[Any, ...], make: Callable[[], Known]) -> Known:
    """What the key stands for, looked up once a session; outside of one each time."""
    session = _session.get()
    if session is None:
        return make()
    if key not in session.known:
        session.known[key] = make()
    found: Known = session.known[key]
    return found


def known_held(window: Window, *, organisation: Organisation | None) -> Held | None:
    """What the organisation has in the months of the session, if the window lies in them."""
    session = _session.get()
    if session is None or not session.window.start <= window.start <= window.end <= session.window.end:
        return None
    whole = session.window
    return once(("held", organisation and organisation.pk), lambda: held_of(whole, organisation=organisation))


def known_coverage(question: SpendQuestion, *, organisation: Organisation | None, now: datetime) -> Coverage:
    """What the question rests on (`coverage`), looked up once a session."""
    asked = {name: tuple(v) for name, v in question.conditions().items() if name in ("provider", "payer")}
    held = known_held(question.window, organisation=organisation)
    return once(
        ("coverage", question.window, tuple(sorted(asked.items()))),
        lambda: coverage(question.window, organisation=organisation, now=now, where=asked, held=held),
    )


def known_allocation(organisation: Organisation | None) -> Allocation:
    """The rules in force (`allocation_of`), looked up once a session."""
    return once(("rules", organisation and organisation.pk), lambda: allocation_of(organisation))


def report_ids(organisation: Organisation | None) -> list[str]:
    """Ids of the reports that an organisation sees, as the lake has them."""

    def read() -> list[str]:
        session = _session.get()
        held = known_held(session.window, organisation=organisation) if session is not None else None
        if held is not None:
            return sorted(str(number) for number in held.reports)
        rows = reports_visible(organisation=organisation).order_by().values_list("pk", flat=True)
        return sorted(str(number) for number in rows)

    return list(once(("reports", organisation and organisation.pk), read))


def connect(
    window: Window,
    snapshots: Mapping[str, int],
    reports: Sequence[str],
    table: str,
    columns: Sequence[str],
) -> duckdb.DuckDBPyConnection:
    """A connection on which `table` has the reports' rows of the window's months; the caller closes it.

    Inside a session the rows of its other months and all columns are there too: ask for the months wanted.
    """
    session = _session.get()
    if (
        session is None
        or session.reports != list(reports)
        or session.snapshots.get(table) != snapshots.get(table)
        or not session.window.start <= window.start <= window.end <= session.window.end
    ):
        return _opened(window, snapshots, reports, table, columns)
    if table not in session.opened:
        every = TABLES[table].column_names
        session.opened[table] = _opened(session.window, snapshots, reports, table, every)
    return session.opened[table].cursor()


def _opened(
    window: Window, snapshots: Mapping[str, int], reports: Sequence[str], table: str, columns: Sequence[str]
) -> duckdb.DuckDBPyConnection:
    months = [f"{month:%Y-%m}" for month in months_of(window)]
    filters = {table: all_of(one_of("x_report", reports), one_of("x_month", months))}
    named = {table: snapshots[table]} if table in snapshots else {}
    return facts.lake().connect(named, filters=filters, columns={table: list(columns)})


def stored_keys(
    window: Window, snapshots: Mapping[str, int], reports: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Every tag key and every cost category of the window's months, as delivered."""
    lake, months = facts.lake(), {f"{month:%Y-%m}" for month in months_of(window)}
    tags: set[str] = set()
    categories: set[str] = set()
    others: list[str] = []
    for month, daily, sums in partitions_of(lake, snapshots, reports):
        if month not in months:
            continue
        if sums is None:
            others += daily
            continue
        tags |= sums.tags | sums.dropped_tags
        categories |= sums.categories | sums.dropped_categories
    if others:
        with reading(lake.limits, others) as con:
            for column, found in (("tags", tags), ("x_cost_categories", categories)):
                rows = con.execute(
                    f"SELECT DISTINCT unnest(map_keys({column})) FROM read_parquet($files, "
                    "union_by_name = true, hive_partitioning = false)",
                    {"files": others},
                ).fetchall()
                found |= {row[0] for row in rows if row[0] is not None}
    return sorted(tags), sorted(categories)
