"""Bills out as one FOCUS file, CSV or Parquet, checked against the rule table while it is written.

The file appears whole or not at all: it is written beside its place and then linked there. Nothing passes
through memory but DuckDB's own buffers.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
from django.conf import settings
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.models import Delivery
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.focus_document import focus_document
from apps.billing.selectors.focus_rows import (
    CHARGE,
    CSV,
    Chosen,
    Presence,
    choose,
    presence_of,
    row_filter,
    typed_sql,
    written_sql,
)
from finops.engine.spend import Window
from finops.frames.focus_check import Finding, check_focus
from finops.frames.focus_rules import VERSION
from finops.lake import BILL_LINES, facts, open_duckdb
from finops.lake.duck import close_outside
from finops.lake.sql import quote

EXPORTS = "exports"
# No download takes a day, in seconds.
FORGOTTEN_AFTER = 86_400
_OPTIONS = {
    CSV: "FORMAT csv, HEADER, NULLSTR 'NULL', USE_TMP_FILE false",
    "parquet": "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false",
}


class ExportError(Exception):
    """Nothing was written; `field` is the argument at fault, `message` says why.

    `failed`: the argument was right and the machine could not do it.
    """

    def __init__(self, field: str, message: str, *, failed: bool = False) -> None:
        super().__init__(message)
        self.field, self.message, self.failed = field, message, failed


@dataclass(frozen=True)
class FocusExport:
    """What was written and what it lacks. `deliveries` are those that gave rows, by id."""

    output: Path
    form: str
    version: str
    period: str
    window: Window
    rows: int
    chosen: Chosen
    presence: Presence
    findings: list[Finding]
    deliveries: Mapping[int, Delivery]
    snapshots: Mapping[str, int]

    def document(self, *, now: datetime) -> dict[str, Any]:
        """The JSON document of `export_focus`."""
        return focus_document(
            rows=self.rows,
            version=self.version,
            form=self.form,
            period=self.period,
            output=str(self.output),
            window=self.window,
            chosen=self.chosen,
            presence=self.presence,
            findings=self.findings,
            deliveries=self.deliveries,
            snapshots=self.snapshots,
            now=now,
        )


def focus_export(
    *,
    window: Window,
    organisation: Organisation | None,
    form: str,
    output: Path,
    overwrite: bool = False,
    version: str = VERSION,
    period: str = CHARGE,
) -> FocusExport:
    """Write the organisation's lines of the window to `output`. Raises ExportError; nothing is left then."""
    target = _writable(output, overwrite)
    reports = [str(pk) for pk in reports_visible(organisation=organisation).values_list("pk", flat=True)]
    current = facts.current_snapshots()
    snapshots = {BILL_LINES: current[BILL_LINES]} if BILL_LINES in current and reports else {}
    parts_remove(target)
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    held = _claimed(part)
    try:
        with _lines(window, reports, period, snapshots, part) as con:
            presence, deliveries = _presence(con)
            chosen = choose(presence, version)
            con.execute(f"CREATE TEMP VIEW focus_rows AS {typed_sql(chosen.columns)}")
            written = con.execute(
                f"COPY ({written_sql(chosen.columns, 'focus_rows', form)}) TO {quote(str(part))}"
                f" ({_OPTIONS[form]})"
            ).fetchone()
            findings = check_focus(con, "focus_rows", version=version)
        _place(part, target, overwrite)
    except (OSError, duckdb.IOException) as error:
        reason = _("The file could not be written: %(reason)s") % {"reason": _told(error)}
        raise ExportError("output", reason, failed=True) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        os.close(held)
    return FocusExport(
        output=target, form=form, version=version, period=period, window=window,
        rows=int(written[0]) if written else 0, chosen=chosen, presence=presence, findings=findings,
        deliveries=deliveries, snapshots=snapshots,
    )  # fmt: skip


@contextmanager
def exported(**question: Any) -> Iterator[FocusExport]:
    """An export to a file of its own below the home, gone at the end: for downloads. As `focus_export`."""
    folder = Path(settings.OFFPEAK_HOME) / EXPORTS
    folder.mkdir(mode=0o700, exist_ok=True)
    _forgotten_remove(folder)
    file = folder / f"{uuid.uuid4().hex}.{question['form']}"
    try:
        yield focus_export(output=file, **question)
    finally:
        file.unlink(missing_ok=True)


def parts_remove(target: Path) -> int:
    """Take away what exports to this file left when they were killed; the number of files. One that is still
    being written is locked by its writer, wherever that runs, and stays.
    """
    removed = 0
    for part in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        with suppress(OSError), part.open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
            removed += 1
    return removed


def _claimed(part: Path) -> int:
    """The part, made and locked; the lock ends with the process or the descriptor. Raises ExportError."""
    try:
        held = os.open(part, os.O_CREAT | os.O_WRONLY, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
    except OSError as error:
        reason = _("The file could not be written: %(reason)s") % {"reason": _told(error)}
        raise ExportError("output", reason, failed=True) from error
    return held


def _forgotten_remove(folder: Path) -> None:
    """Downloads whose process was killed: whole files go after a day, parts when nobody holds them."""
    limit = time.time() - FORGOTTEN_AFTER
    for file in folder.iterdir():
        with suppress(OSError):
            if file.suffix == ".part":
                parts_remove(file.with_name(file.name[1:].rsplit(".", 2)[0]))
            elif file.stat().st_mtime < limit:
                file.unlink()


def _writable(output: Path, overwrite: bool) -> Path:
    """The absolute path, which is in no folder of the home but `exports`. Raises ExportError."""
    target = Path(os.path.abspath(output))
    real = target.parent.resolve() / target.name
    home = Path(settings.OFFPEAK_HOME).resolve()
    if home in real.parents and home / EXPORTS not in real.parents:
        raise ExportError("output", _("The output may not be in a folder of this installation."))
    if not real.parent.is_dir():
        raise ExportError("output", _("There is no folder %(folder)s.") % {"folder": target.parent})
    if real.is_dir():
        raise ExportError("output", _("%(path)s is a folder.") % {"path": target})
    if os.path.lexists(real) and not overwrite:
        raise ExportError("output", _("%(path)s exists; --overwrite replaces it.") % {"path": target})
    return real


@contextmanager
def _lines(
    window: Window, reports: list[str], period: str, snapshots: Mapping[str, int], part: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection on which `billing.lines` has the chosen lines, and which may write `part` only."""
    lake = facts.lake()
    with open_duckdb(lake.limits) as con:
        filters = {BILL_LINES: row_filter(window, reports, period)} if snapshots else {}
        opened = lake.add_views(con, snapshots, filters=filters)
        close_outside(con, files=[*opened, str(part)])
        yield con


def _presence(con: duckdb.DuckDBPyConnection) -> tuple[Presence, dict[int, Delivery]]:
    numbers = [row[0] for row in con.execute(f"SELECT DISTINCT x_delivery FROM {BILL_LINES}").fetchall()]  # noqa: S608
    deliveries = Delivery.objects.select_related("report").in_bulk(numbers)
    return presence_of(con, deliveries), deliveries


def _told(error: Exception) -> str:
    """What the system says, without what DuckDB packs around it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    full = os.strerror(errno.ENOSPC)
    return full if full in text else text.splitlines()[0][:200]


def _place(part: Path, target: Path, overwrite: bool) -> None:
    """Make the file durable, then visible under its name at once. Raises ExportError where one is."""
    with part.open("rb") as handle:
        os.fsync(handle.fileno())
    if overwrite:
        part.replace(target)
        return
    try:
        os.link(part, target)
    except FileExistsError as error:
        reason = _("%(path)s exists; --overwrite replaces it.") % {"path": target}
        raise ExportError("output", reason) from error
    except OSError:
        # A file system without links: claim the name, then put the file there.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        part.replace(target)
