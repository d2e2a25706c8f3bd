"""Kinds of bills: how the columns of one export become bill lines.

A kind never sees a file. It is asked whether a header is its own (`recognise`), then given that header as a
`Given` and answers with `Lines`: one SQL expression per line column of `finops.frames.focus.LINE_COLUMNS`
that the export can tell, over texts. The pipeline (apps/ingest/bills) reads every file as text and evaluates
the expressions in DuckDB; no row passes through Python.

To write a kind: subclass `BillKind`, give `name`, `title`, `provider`, `required` and `typical`, spell the
columns in `lines` as the source documents them, and add it to `apps/ingest/bills/kinds.py`. In `lines`:

- `given.text("lineItem/UsageType")` is the cell as text, null where blank or where the column is missing;
  `given.cell(...)` is the same without making blank null, for sources that tell both apart.
- `given.money(...)`, `given.number(...)`, `given.instant(...)` are typed. A money cell that is no number
  refuses the delivery, any other cell that does not cast rejects its row; both name row and field.
- `given.mapping(...)` is a MAP(VARCHAR, VARCHAR) from JSON text, `given.tags({key: header})` one from
  columns. `given.reject_where(...)` and `given.refuse_where(...)` add checks of the kind's own.
- `given.ask(...)` looks at the whole file before, where only that tells how to read it; what stays open
  raises UnclearError.
- Everything not delivered is the SQL word NULL, so expressions can be written without asking first;
  `given.has(...)` asks.

`Lines.columns` must give `billing_account_id`, `billing_currency`, `billing_period_start`,
`charge_period_start` and `billed_cost`, and `x_provider` where the kind serves several providers. Columns
x_report, x_month, x_delivery, x_file, x_row, x_rounded and x_undated are the pipeline's, and so is x_day (the
UTC date of the charge period's start) unless the kind gives another.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from finops.frames.focus import DECIMAL_PRECISION, DECIMAL_SCALE
from finops.frames.money import currencies
from finops.providers.bills.maps import MAP, form_of, map_by_form, map_of
from finops.text.sql import name, quote

DECIMAL = f"DECIMAL({DECIMAL_PRECISION},{DECIMAL_SCALE})"
NULL = "NULL"
NULL_MAP = f"CAST(NULL AS {MAP})"
# A year with a separator first: DuckDB would take other orders of day and month for what they are not.
ZONED = "TIMESTAMP WITH TIME ZONE"


# Codes that need no closer look: that takes three times as long.
_OFTEN = ("USD", "EUR", "CNY")
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
DATES = (DAY_FIRST, MONTH_FIRST)


class UnclearError(Exception):
    """What a file means cannot be told; `field` is the column, the text says which option decides."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Severity(StrEnum):
    """What a failed check does: `refuse` the whole delivery or `reject` the row."""

    REFUSE = "refuse"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Check:
    """`bad` is SQL, true for a faulty row; `reason` is SQL text, `field` the header as delivered."""

    field: str
    severity: Severity
    bad: str
    reason: str


@dataclass(frozen=True, slots=True)
class Header:
    """One column of a file: its name as delivered, and whether it holds JSON text made of a nested type."""

    name: str
    nested: bool = False


@dataclass
class Lines:
    """What a kind answers: SQL per line column, which tag keys the file could report (None: any), notes.

    `delivered_at` is a SQL aggregate over the raw rows for sources whose rows say when they were exported.
    """

    columns: dict[str, str]
    tag_keys: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    delivered_at: str = ""


@dataclass(frozen=True, slots=True)
class Recognition:
    """How well a header fits a kind: `score` counts typical columns found; `missing` says what it lacks.

    `ambiguous`: needed columns that are there in several spellings.
    """

    kind: BillKind
    score: int
    missing: tuple[str, ...]
    ambiguous: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether every required column is there."""
        return not self.missing and self.score > 0


def plain(header: str) -> str:
    """Letters and digits only, in lower case: `lineItem/UsageType` and `line_item_usage_type` are one column.

    For column names only, never for tag keys.
    """
    return re.sub(r"[^0-9a-z]", "", header.lower())


class Given:
    """The columns of one file, as SQL expressions over its texts `r0`, `r1` … and the record number `rn`.

    `typed` collects what is computed once per row under a name of its own, `before` what that needs under
    names; `checks` what must hold.
    """

    def __init__(
        self,
        kind: BillKind,
        headers: Sequence[Header],
        *,
        dates: str = "",
        ask: Callable[[str], tuple[Any, ...]] | None = None,
    ) -> None:
        self.headers = headers
        # One of DATES where somebody said how dates with slashes are to be read.
        self.dates = dates
        self._kind = kind
        self._ask = ask
        self.before: dict[str, str] = {}
        self.typed: dict[str, str] = {}
        self.checks: list[Check] = []
        self.used: set[int] = set()
        # Places of numbers; kinds that read them in a way of their own have no texts to look at.
        self.numbers: set[int] = set()
        # Maps made of columns: alias -> key -> place.
        self.maps: dict[str, dict[str, int]] = {}
        self._places: dict[str, int] = {}
        for place, header in enumerate(headers):
            self._places.setdefault(kind.canonical(header.name), place)

    def ask(self, aggregates: str) -> tuple[Any, ...] | None:
        """SQL aggregates over all rows, for what only the whole file tells; None where none can be asked."""
        return None if self._ask is None else self._ask(aggregates)

    def place(self, *names: str) -> int | None:
        """Where the first of these columns is; None where the file has none of them."""
        for wanted in names:
            found = self._places.get(self._kind.canonical(wanted))
            if found is not None:
                return found
        return None

    def has(self, *names: str) -> bool:
        """Whether the file has one of these columns."""
        return self.place(*names) is not None

    def header(self, *names: str) -> str:
        """The column's name as delivered; the first wanted name where the file has none."""
        found = self.place(*names)
        return names[0] if found is None else self.headers[found].name

    def cell(self, *names: str) -> str:
        """The text as it stands, '' and null told apart; NULL where the file has no such column."""
        found = self.place(*names)
        return NULL if found is None else self.raw(found)

    def text(self, *names: str) -> str:
        """The text, null where it is blank; the first of several columns that the file has."""
        found = self.place(*names)
        return NULL if found is None else self._filled(found)

    def _filled(self, place: int) -> str:
        """The text at a place, null for what the kind writes for nothing."""
        text = f"nullif({self.raw(place)}, '')"
        for word in self._kind.blanks:
            text = f"nullif({text}, {quote(word)})"
        return text

    def _valued(self, place: int) -> str:
        """The text of a number or time, null also for the source's word for none."""
        text = self._filled(place)
        return f"nullif({text}, {quote(self._kind.no_value)})" if self._kind.no_value else text

    def raw(self, place: int) -> str:
        """The text of the column at a place."""
        self.used.add(place)
        return f"r{place}"

    def money(self, *names: str) -> str:
        """An exact decimal; a cell that is no number refuses the delivery, a blank one is null."""
        return self._decimal(names, Severity.REFUSE)

    def number(self, *names: str) -> str:
        """An exact decimal; a cell that is no number rejects its row, a blank one is null."""
        return self._decimal(names, Severity.REJECT)

    def _decimal(self, names: Sequence[str], severity: Severity) -> str:
        place = self.place(*names)
        if place is None:
            return f"CAST(NULL AS {DECIMAL})"
        text = self._valued(place)
        alias = f"n{place}"
        if alias not in self.typed:
            self.typed[alias] = decimal_of(text)
        bad = f"{alias} IS NULL AND {text} IS NOT NULL"
        self._check(place, severity, bad, "not a number")
        self.numbers.add(place)
        return alias

    def instant(self, *names: str) -> str:
        """A moment in UTC; text without an offset is UTC. What is no moment rejects its row."""
        place = self.place(*names)
        if place is None:
            return f"CAST(NULL AS {ZONED})"
        text = self._valued(place)
        alias = f"t{place}"
        if alias not in self.typed:
            self.typed[alias] = instant_of(text)
            self._check(place, Severity.REJECT, f"{alias} IS NULL AND {text} IS NOT NULL", "not a time")
        return alias

    def mapping(self, *names: str) -> str:
        """A map from JSON text; blank gives NULL, what is no JSON object rejects its row."""
        place = self.place(*names)
        if place is None:
            return NULL_MAP
        text = self._filled(place)
        alias = f"j{place}"
        if alias not in self.typed:
            is_object = f"CASE WHEN json_valid({text}) THEN json_type({text}) = 'OBJECT' ELSE false END"
            self.typed[alias] = (
                f"CASE WHEN {is_object} THEN from_json({text}, '\"MAP(VARCHAR,VARCHAR)\"') END"
            )
            self._check(
                place, Severity.REJECT, f"{alias} IS NULL AND {text} IS NOT NULL", "not a JSON object"
            )
        return alias

    def word(self, values: Iterable[str], severity: Severity, *names: str) -> str:
        """A text that is one of `values` (letter case and blanks around do not count), spelled as they are.

        Null stays null and blank stays blank; any other text fails with `severity`.
        """
        place = self.place(*names)
        if place is None:
            return NULL
        text = f"trim({self.raw(place)})"
        alias = f"w{place}"
        cases = " ".join(f"WHEN {quote(value.lower())} THEN {quote(value)}" for value in values)
        self.typed[alias] = f"CASE lower({text}) WHEN '' THEN '' {cases} END"
        listed = ", ".join(values)
        self._check(place, severity, f"{alias} IS NULL AND {text} IS NOT NULL", f"not one of {listed}")
        return alias

    def rest(self, taken: Iterable[str]) -> str:
        """A map of the cells of all columns but these, blank ones left out."""
        places = {self.place(name) for name in taken}
        left = {header.name: place for place, header in enumerate(self.headers) if place not in places}
        return self.tags(left)

    def tags(self, columns: Mapping[str, int]) -> str:
        """A map from one column per key (key -> place); a blank cell is no entry."""
        if not columns:
            return NULL_MAP
        self.used.update(columns.values())
        alias = f"g{min(columns.values())}"
        self.typed[alias] = map_of(columns)
        self.maps[alias] = dict(columns)
        return alias

    def forms(self) -> dict[str, list[str]]:
        """For each map made of columns, SQL of the numbers that say which of its cells are filled."""
        return {alias: form_of(columns) for alias, columns in self.maps.items()}

    def expect(self, alias: str, forms: Iterable[Sequence[int]]) -> None:
        """Make a map faster in rows of these forms, the commonest first; it holds the same in every row."""
        numbers = {f"{alias}_{i}": sql for i, sql in enumerate(form_of(self.maps[alias]))}
        self.before |= numbers
        self.typed[alias] = map_by_form(self.maps[alias], list(numbers), forms)

    def unheld(self, columns: Mapping[str, str]) -> str:
        """A map of the cells that no line column has as they stand, under their headers.

        `columns` is the SQL of the line columns. A number counts as held where any of them looks at it; a
        text that only decides something, or stands in for another one, is held by none.
        """
        held = (self.numbers & self.used) | {place for keys in self.maps.values() for place in keys.values()}
        for place in self.used - held:
            forms = (self.raw(place), self._filled(place), *(f"{kind}{place}" for kind in "ntjw"))
            starts = tuple(f"coalesce({form}, " for form in forms)
            if any(sql in forms or sql.startswith(starts) for sql in columns.values()):
                held.add(place)
        return self.tags({h.name: place for place, h in enumerate(self.headers) if place not in held})

    def reject_where(self, bad: str, column: str, reason: str) -> None:
        """Rows for which `bad` holds are rejected; `reason` is plain text."""
        self._add(Check(self.header(column), Severity.REJECT, bad, quote(reason)))

    def refuse_where(self, bad: str, column: str, reason: str) -> None:
        """A row for which `bad` holds refuses the delivery; `reason` is SQL text."""
        self._add(Check(self.header(column), Severity.REFUSE, bad, reason))

    def _check(self, place: int, severity: Severity, bad: str, reason: str) -> None:
        said = f"{quote(reason + ': ')} || left({self.raw(place)}, 80)"
        self._add(Check(self.headers[place].name, severity, bad, said))

    def _add(self, check: Check) -> None:
        if check not in self.checks:
            self.checks.append(check)


def decimal_of(text: str) -> str:
    """Text to an exact decimal, null where it is none. `text` must not be a bare column.

    DuckDB takes 1_000 for a thousand, no bill means that. NaN and Infinity are no decimals; an exponent is
    read exactly; more than 18 places are rounded half up, which `x_rounded` of the line says.
    """
    return f"TRY_CAST(CASE WHEN contains({text}, '_') THEN NULL ELSE {text} END AS {DECIMAL})"


def instant_of(text: str) -> str:
    """Text to a moment; a date alone is its midnight in UTC, a leap second the second after it.

    A year of four digits comes first, with a separator or in the compact form `20260301T000000Z`: DuckDB
    would also take `infinity`, `epoch` and the year 99999.
    """
    leap = f"TRY_CAST(replace({text}, ':59:60', ':59:59') AS {ZONED}) + INTERVAL 1 SECOND"
    compact = (
        f"CASE WHEN regexp_full_match({text}, '[0-9]{{8}}(T[0-9]{{6}}([.][0-9]+)?Z?)?') THEN "
        f"coalesce(TRY_STRPTIME(left({text}, 15), '%Y%m%dT%H%M%S'), TRY_STRPTIME({text}, '%Y%m%d')) "
        "AT TIME ZONE 'UTC' END"
    )
    return (
        f"CASE WHEN substr(ltrim({text}), 5, 1) IN ('-', '/') THEN coalesce(TRY_CAST({text} AS {ZONED}), "
        f"CASE WHEN contains({text}, ':59:60') THEN {leap} END) WHEN length({text}) BETWEEN 8 AND 26 "
        f"THEN {compact} END"
    )


def rounded_sql(text: str) -> str:
    """Whether a number has digits behind the 18th place: they are not kept.

    Only a long text or one with an exponent is looked at closely.
    """
    part = f"regexp_extract({text}, '^[ +-]*([0-9]*)[.]?([0-9]*)(?:[eE]([+-]?[0-9]+))?', "
    whole, fraction = f"{part}1)", f"rtrim({part}2), '0')"
    exponent = f"coalesce(TRY_CAST(nullif({part}3), '') AS INTEGER), 0)"
    places = (
        f"CASE WHEN {fraction} <> '' THEN length({fraction}) "
        f"ELSE length(rtrim({whole}, '0')) - length({whole}) END - {exponent}"
    )
    filled = f"regexp_matches({whole} || {fraction}, '[1-9]')"
    seen = f"strlen({text}) > {DECIMAL_SCALE + 1} OR contains({text}, 'e') OR contains({text}, 'E')"
    # CASE looks at the texts that it is about only, AND at all of them.
    return f"CASE WHEN {seen} THEN {places} > {DECIMAL_SCALE} AND {filled} ELSE false END"


class BillKind(ABC):
    """One export format. Stateless; one object serves every file."""

    name: str
    title: str
    provider: str
    # What must be there: a plain word -> the columns of which one suffices.
    required: Mapping[str, tuple[str, ...]]
    # Columns that tell this kind from its relatives; each one found is a point.
    typical: frozenset[str] = frozenset()
    # Daily totals in place of an export that has not come yet; said wherever their numbers show.
    stopgap: bool = False
    # Never over a bill of another report of the same account and month, and replaced by the first one.
    gives_way: bool = False
    # A word that stands for null when it is not quoted ("NULL" in FOCUS files).
    null_word: str = ""
    # What the cell of a number or time says for blank, where a source has a word for it that texts may hold.
    no_value: str = ""
    # Columns with the begin and end of the charge period, the end of the billing period and of a
    # commitment's term, for `finops.providers.bills.periods`. Without `starts` a kind fills blank ones.
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    billing_ends: tuple[str, ...] = ()
    term_ends: tuple[str, ...] = ()
    # What cells hold for "nothing" besides the empty text ("-" in Tencent's bills).
    blanks: tuple[str, ...] = ()

    def canonical(self, header: str) -> str:
        """The header under which spellings of one column are the same."""
        return plain(header)

    def recognise(self, headers: Iterable[str]) -> Recognition:
        """How well a header fits."""
        given = [(h, self.canonical(h)) for h in headers]
        there = {spelled for _, spelled in given}
        missing = tuple(
            names[0]
            for names in self.required.values()
            if not any(self.canonical(name) in there for name in names)
        )
        wanted = {self.canonical(n) for names in self.required.values() for n in names}
        times = Counter(spelled for _, spelled in given)
        ambiguous = tuple(h for h, spelled in given if spelled in wanted and times[spelled] > 1)
        wanted |= {self.canonical(n) for n in self.typical}
        return Recognition(self, len(there & wanted), missing, ambiguous)

    @abstractmethod
    def lines(self, given: Given) -> Lines:
        """The SQL of every line column that this header can give."""


def currency_checked(kind: BillKind, given: Given, lines: Lines) -> None:
    """Currencies as codes in capital letters: ` usd` is `USD`; what is none of ISO 4217 rejects its row.

    An empty cell is the kind's to reject as blank, so it is not told a second time.
    """
    text = lines.columns["billing_currency"]
    plainly = f"{text} IN ({', '.join(map(quote, _OFTEN))})"
    code = f"CASE WHEN {plainly} THEN {text} ELSE upper(trim({text})) END"
    lines.columns["billing_currency"] = code
    names = kind.required.get("currency", ("currency",))
    delivered = next((column for column in names if given.has(column)), names[0])
    none = f"{code} NOT IN ({', '.join(map(quote, sorted(currencies())))})"
    fine = f"{plainly} OR {text} = ''"
    given.reject_where(f"CASE WHEN {fine} THEN false ELSE {none} END", delivered, "no currency")


def lines_sql(lines: Lines, given: Given, raw: str, fixed: Mapping[str, str]) -> str:
    """The SELECT of one file's lines from the relation `raw` (rn, r0 …): `fixed` are the pipeline's columns.

    `x_row` is null for a row with a fault, so that one look at the written file tells whether there are any.
    """
    # A tenth of the time of AT TIME ZONE, which asks a calendar.
    day = f"CAST(make_timestamp(epoch_us({lines.columns['charge_period_start']})) AS DATE)"
    columns = {
        **lines.columns,
        "x_day": lines.columns.get("x_day", day),
        "x_rounded": _rounded_fields(given),
    }
    inner = _typed_sql(given, raw)
    faults = " OR ".join(f"({check.bad})" for check in given.checks) or "false"
    columns = {**columns, **fixed, "x_row": f"CASE WHEN ({faults}) IS NOT TRUE THEN rn END"}
    listed = ", ".join(f"{sql} AS {name(column)}" for column, sql in columns.items())
    return f"SELECT {listed} FROM ({inner})"  # noqa: S608 - names and quoted texts


def _rounded_fields(given: Given) -> str:
    """SQL of the names of a row's numbers that were rounded, null for none."""
    rounded = {place: f"b{place}" for place in sorted(given.numbers)}
    if not rounded:
        return NULL
    given.typed |= {alias: rounded_sql(given.raw(place)) for place, alias in rounded.items()}
    names = ", ".join(
        f"CASE WHEN {bad} THEN {quote(given.headers[place].name)} END" for place, bad in rounded.items()
    )
    return f"CASE WHEN {' OR '.join(rounded.values())} THEN concat_ws(', ', {names}) END"


def faults_sql(given: Given, raw: str) -> str:
    """The faults of a file, a row each: (row, field, severity, reason), in the order of the file."""
    found = ", ".join(
        f"CASE WHEN {check.bad} THEN {{'field': {quote(check.field)}, "
        f"'severity': {quote(check.severity)}, 'reason': {check.reason}}} END"
        for check in given.checks
    )
    inner = _typed_sql(given, raw)
    return (
        f"SELECT rn, f.field, f.severity, f.reason FROM (SELECT rn, unnest(list_filter([{found}], "  # noqa: S608
        f"lambda e: e IS NOT NULL)) AS f FROM ({inner})) ORDER BY rn"
    )


def _typed_sql(given: Given, raw: str) -> str:
    used = [f"r{place}" for place in sorted(given.used)]
    typed = [f"{sql} AS {alias}" for alias, sql in given.typed.items()]
    before = "".join(f", {sql} AS {alias}" for alias, sql in given.before.items())
    source = f"(SELECT *{before} FROM {raw})" if before else raw  # noqa: S608 - our own aliases
    return f"SELECT {', '.join(['rn', *used, *typed])} FROM {source}"  # noqa: S608 - our own aliases
