"""A bundle of files into staged deliveries: each file as text through DuckDB into a file of the lake.

Nothing here is visible to readers: the written files are part of no table before the swap. One pass writes
the lines of a file; a row with a fault comes out without its number, so that only a faulty file is read a
second time to say what is wrong where.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from django.db import connection

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery
from apps.ingest.bills.gather import Bundle
from apps.ingest.bills.kinds import recognise
from apps.ingest.bills.staged import BillRefusedError, Identity, Part, Staged, discard
from apps.ingest.bills.writing import IDENTITY, MONTH, Job, Opened, Writer, Written, as_tuple
from finops.frames.spot import Rejection
from finops.lake import BILL_LINES, Lake
from finops.lake.sql import name, quote
from finops.providers.bills import (
    BillKind,
    Given,
    Severity,
    UnclearError,
    currency_checked,
    faults_sql,
    periods_checked,
)
from finops.providers.files import UnreadableError
from finops.providers.files.bill_files import BillFile, open_bill_file, reading_error

# As many faults of a file as anybody reads; the counts are of all of them.
FAULTS_KEPT = 10_000
# Rows among which the first one that names payer and period is looked for.
_PEEK_ROWS = 1_000
_HASH_CHUNK = 1 << 20
# Files of which it is worth to look at some rows first, and those rows.
SAMPLE_FROM_BYTES = 4 << 20
SAMPLE_ROWS = 8_192


@dataclass
class Stager:
    """Stages the bundles of one run; `resolve` gives the (report id, delivery id) of an identity.

    `tell` is called with the rows read of each file that is through. `dates` says how dates with slashes are
    read, where somebody said so. `keep_all`: cells that no line column holds stay with their line.
    """

    lake: Lake
    con: duckdb.DuckDBPyConnection
    folder: Path
    kind: str
    resolve: Callable[[Bundle, Identity, str], tuple[int, int]]
    tell: Callable[[int], None] = lambda _rows: None
    dates: str = ""
    keep_all: bool = True
    written: list[str] = field(default_factory=list)

    def stage(self, bundle: Bundle, files: list[dict[str, Any]]) -> list[Staged]:
        """The deliveries of a bundle. Raises BillRefusedError; what was written is then gone."""
        before = len(self.written)
        try:
            parts = self._parts(bundle)
            _months_as_listed(bundle, parts)
        except BaseException:
            discard(self.written[before:])
            del self.written[before:]
            raise
        staged: dict[Identity, Staged] = {}
        for part in parts:
            if part.identity not in staged:
                report, delivery = self.resolve(bundle, part.identity, part.kind)
                staged[part.identity] = Staged(
                    identity=part.identity,
                    kind=part.kind,
                    report=report,
                    delivery=delivery,
                    delivered_at=bundle.delivered_at,
                    dated=bundle.dated,
                    assembly=bundle.assembly,
                    files=[],
                    folders=frozenset(path.parent for _, path in bundle.files),
                    listed=bool(bundle.manifest),
                )
            one = staged[part.identity]
            one.parts.append(part)
            one.files += [file for file in files if file["name"] == part.file and file not in one.files]
        return list(staged.values())

    def _parts(self, bundle: Bundle) -> list[Part]:
        """The parts of all files; several files are read side by side."""
        # Ids come from the database, whose connection belongs to this thread: one look at each file first.
        opened = [self._open(shown, path) for shown, path in bundle.files]
        self._one_header(bundle, opened)
        for one in opened:
            self._sample(one)
        reading = [
            (one, identity, self.resolve(bundle, identity, one.kind.name))
            for one in opened
            if (identity := self._peek(one)) is not None
        ]
        if not reading:
            raise BillRefusedError("no rows: the billing period is not known")
        jobs = [
            Job(one, (str(ids[0]), _month(identity)), _fixed(ids, identity, one.shown))
            for one, identity, ids in reading
        ]
        written = Writer(self.lake, self.con, self.folder, self.written, self.tell).all(jobs)
        parts = []
        for (one, identity, _ids), found in zip(reading, written, strict=True):
            part = self._judged(one, identity, found)
            if found.identities == {identity}:
                parts.append(part)
            else:
                parts += self._split(bundle, one, part, sorted(found.identities, key=str))
        return parts

    def _open(self, shown: str, path: Path) -> Opened:
        try:
            file = open_bill_file(path, self.folder)
            kind = recognise([header.name for header in file.headers], self.kind)
        except UnreadableError as error:
            raise BillRefusedError(f"{shown}: {error}", [Rejection(shown, None, "", str(error))]) from error
        given = Given(kind, file.headers, dates=self.dates, ask=partial(self._told_by, shown, file, kind))
        try:
            lines = kind.lines(given)
        except UnclearError as error:
            told = [Rejection(shown, None, error.field, str(error))]
            raise BillRefusedError(f"{shown}, {error.field}: {error}", told) from error
        if self.keep_all and "x_source_columns" not in lines.columns:
            lines.columns["x_source_columns"] = given.unheld(lines.columns)
        currency_checked(kind, given, lines)
        periods_checked(kind, given, lines)
        return Opened(shown, file, kind, given, lines)

    def _told_by(self, shown: str, file: BillFile, kind: BillKind, aggregates: str) -> tuple[Any, ...]:
        """Aggregates over the raw rows of a file."""
        try:
            found = self.con.execute(f"SELECT {aggregates} FROM {file.relation(kind.null_word)}").fetchall()
        except duckdb.Error as error:
            told = reading_error(error, file)
            raise error if told is None else BillRefusedError(f"{shown}: {told}") from error
        return tuple(found[0])

    def _one_header(self, bundle: Bundle, opened: Sequence[Opened]) -> None:
        first = opened[0]
        for other in opened[1:]:
            if other.kind is not first.kind:
                raise BillRefusedError(
                    f"{first.shown} is {first.kind.title}, {other.shown} is {other.kind.title}: "
                    "one delivery is of one kind"
                )

    def _sample(self, one: Opened) -> None:
        """Tell the maps of a large file which of their cells are filled together in its first rows."""
        forms = one.given.forms()
        if not forms or one.file.path.stat().st_size < SAMPLE_FROM_BYTES:
            return
        numbers = ", ".join(sql for some in forms.values() for sql in some)
        rows = self._ask(
            self.con, one, f"SELECT {numbers} FROM (SELECT * FROM {one.relation} LIMIT {SAMPLE_ROWS})"
        )
        at = 0
        for alias, some in forms.items():
            found = Counter(row[at : at + len(some)] for row in rows)
            one.given.expect(alias, [form for form, _ in found.most_common()])
            at += len(some)

    def _peek(self, one: Opened) -> Identity | None:
        """Whose bill the file begins with; None for a file without rows."""
        sql = one.sql(
            {"x_report": "''", "x_month": "''", "x_delivery": "0", "x_file": "''"},
            f"(SELECT * FROM {one.relation} LIMIT {_PEEK_ROWS})",
        )
        found = self._ask(
            self.con,
            one,
            f"SELECT count(*), arg_min(ROW({IDENTITY}), x_row) "
            f"FILTER (billing_account_id IS NOT NULL AND billing_period_start IS NOT NULL) FROM ({sql})",
        )[0]
        if not found[0]:
            return None
        if found[1] is None:
            raise self._faulty(one, "no row names a payer and a billing period")
        return Identity(*as_tuple(found[1]))

    def _judged(self, one: Opened, identity: Identity, found: Written) -> Part:
        """The part with its rejected rows taken out. Raises BillRefusedError for a fault that refuses."""
        part = Part(
            identity=identity,
            kind=one.kind.name,
            file=one.shown,
            lake_files=found.paths,
            rows=found.rows,
            rejected=found.rows - found.stored,
            columns=[header.name for header in one.file.headers],
            tag_keys=one.lines.tag_keys,
            notes=[{"code": "kind", "text": note} for note in one.lines.notes],
        )
        if not part.rejected:
            return part
        part.rejections = self._faults(one)
        refusing = [r for r in part.rejections if r.reason.startswith(f"{Severity.REFUSE}:")]
        part.rejections = [_told(r) for r in part.rejections]
        if refusing:
            told = [_told(r) for r in refusing]
            raise BillRefusedError(
                f"{told[0].file}, row {told[0].row}, {told[0].field}: {told[0].reason}", told
            )
        if not found.stored:
            raise BillRefusedError(f"{one.shown}: every row is rejected", part.rejections)
        part.rejected_of = self._rejected_of(found.paths)
        part.lake_files = [self._copy(found.paths, "WHERE x_row IS NOT NULL", {})]
        return part

    def _rejected_of(self, lake_files: Sequence[str]) -> dict[Identity, int]:
        """Rejected rows by whose bill of which month they are, as far as they say."""
        rows = self.con.execute(
            f"SELECT ROW({IDENTITY}), count(*) FROM {_read(lake_files)} WHERE x_row IS NULL "
            "AND billing_account_id IS NOT NULL AND billing_period_start IS NOT NULL GROUP BY 1"
        ).fetchall()
        return {Identity(*as_tuple(found)): count for found, count in rows}

    def _faulty(self, one: Opened, otherwise: str) -> BillRefusedError:
        faults = [_told(r) for r in self._faults(one)]
        if not faults:
            return BillRefusedError(f"{one.shown}: {otherwise}")
        first = faults[0]
        return BillRefusedError(f"{first.file}, row {first.row}, {first.field}: {first.reason}", faults)

    def _faults(self, one: Opened) -> list[Rejection]:
        """Refusing ones first; their reasons begin with the severity."""
        sql = faults_sql(one.given, one.relation)
        rows = self._ask(
            self.con, one, f"SELECT * FROM ({sql}) ORDER BY severity DESC, rn LIMIT {FAULTS_KEPT}"
        )
        return [Rejection(one.shown, row, field, f"{severity}:{why}") for row, field, severity, why in rows]

    def _split(self, bundle: Bundle, one: Opened, part: Part, found: list[Identity]) -> list[Part]:
        """A file of several payers or months: a part for each."""
        parts: list[Part] = []
        # Rows that do not say whose they are count for the first delivery of the file.
        nobodys = part.rejected - sum(part.rejected_of.get(one, 0) for one in found)
        for identity in found:
            ids = self.resolve(bundle, identity, one.kind.name)
            where = (
                f"WHERE x_provider = {quote(identity.provider)} AND billing_account_id = "
                f"{quote(identity.payer)} AND {MONTH} = DATE {quote(identity.period.isoformat())}"
            )
            path = self._copy(part.lake_files, where, _fixed(ids, identity, one.shown), keep=True)
            count = self.con.execute(f"SELECT count(*) FROM {_read([path])}").fetchall()[0][0]
            rejected = part.rejected_of.get(identity, 0) + (0 if parts else nobodys)
            parts.append(
                Part(
                    identity, part.kind, part.file, [path], count + rejected, rejected, part.columns,
                    part.tag_keys, part.rejections if not parts else [], part.notes,
                )
            )  # fmt: skip
        self._drop(part.lake_files)
        return parts

    def _copy(
        self, lake_files: Sequence[str], where: str, fixed: dict[str, str], *, keep: bool = False
    ) -> str:
        """Written files as one anew: only some rows, other fixed columns."""
        replaced = ", ".join(f"{sql} AS {name(column)}" for column, sql in fixed.items())
        star = f"* REPLACE ({replaced})" if replaced else "*"
        parts = self.con.execute(
            f"SELECT x_report, x_month FROM (SELECT {star} FROM {_read(lake_files)}) LIMIT 1"
        ).fetchall()[0]
        [path] = self.lake.write_parts(
            self.con, BILL_LINES, {parts: f"SELECT {star} FROM {_read(lake_files)} {where}"}
        )
        self.written.append(path)
        if not keep:
            self._drop(lake_files)
        return path

    def _drop(self, lake_files: Sequence[str]) -> None:
        discard(lake_files)
        self.written[:] = [path for path in self.written if path not in lake_files]

    def _ask(self, con: duckdb.DuckDBPyConnection, one: Opened, sql: str) -> list[tuple[Any, ...]]:
        try:
            return con.execute(sql).fetchall()
        except duckdb.Error as error:
            raise one.unreadable(error) from error


def _months_as_listed(bundle: Bundle, parts: Sequence[Part]) -> None:
    """Raises BillRefusedError where the manifest says another month than the rows of its files."""
    for part in parts:
        if bundle.period is not None and part.identity.period != bundle.period:
            raise BillRefusedError(
                f"{part.file}: rows of {_month(part.identity)}, and the manifest {bundle.manifest} is of "
                f"{bundle.period:%Y-%m}"
            )


def _fixed(ids: tuple[int, int], identity: Identity, shown: str) -> dict[str, str]:
    return {
        "x_report": quote(str(ids[0])),
        "x_month": quote(_month(identity)),
        "x_delivery": str(ids[1]),
        "x_file": quote(shown),
    }


def _month(identity: Identity) -> str:
    return f"{identity.period:%Y-%m}"


def _read(lake_files: Sequence[str]) -> str:
    return f"read_parquet([{', '.join(map(quote, lake_files))}])"


def _told(rejection: Rejection) -> Rejection:
    """Without the severity in front of the reason."""
    return Rejection(
        rejection.file, rejection.row, rejection.field, rejection.reason.partition(":")[2] or "not usable"
    )


def hashes_of(bundle: Bundle) -> list[dict[str, Any]]:
    """Name, size and hash of each file."""
    with ThreadPoolExecutor(2) as pool:
        hashes = list(pool.map(_sha256, [path for _, path in bundle.files]))
    return [
        {"name": shown, "bytes": path.stat().st_size, "sha256": found}
        for (shown, path), found in zip(bundle.files, hashes, strict=True)
    ]


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(_HASH_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def report_of(organisation: Organisation | None, bundle: Bundle, identity: Identity, kind: str) -> BillReport:
    """The report that a delivery belongs to, made where it is new.

    A delivery that does not say its report's name belongs to the one report of its payer and kind; a report
    without a name of its own takes the first name that a delivery brings.
    """
    known = BillReport.objects.filter(
        organisation=organisation, provider=identity.provider, payer=identity.payer, kind=kind
    ).order_by("pk")
    wanted = bundle.report[:300]
    if wanted:
        unnamed = known.filter(name=kind).first()
        if unnamed is not None and not known.filter(name=wanted).exists():
            unnamed.name = wanted
            unnamed.save(update_fields=["name"])
            return unnamed
    elif known.count() == 1:
        return known.get()
    elif known.count() > 1 and not known.filter(name=kind).exists():
        names = ", ".join(known.values_list("name", flat=True))
        raise BillRefusedError(f"which report of payer {identity.payer} is this? known: {names}")
    report, _made = BillReport.objects.get_or_create(
        organisation=organisation,
        provider=identity.provider,
        payer=identity.payer,
        name=wanted or kind,
        defaults={"kind": kind},
    )
    return report


def delivery_id_reserve() -> int:
    """An id for a delivery whose lines are written before its row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [Delivery._meta.db_table])
        row = cursor.fetchone()
    return int(row[0])
