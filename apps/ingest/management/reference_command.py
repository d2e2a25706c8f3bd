"""What the import commands of reference data have in common."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ingest.models import IngestRun, RunState
from apps.ingest.reports import iso, run_report
from finops.verbs import JsonCommand

EXIT_REFUSED = 3


def iso_date(text: str) -> date:
    """A date argument."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(_("not a date like 2019-04-05: %(text)s") % {"text": text}) from error


def iso_instant(text: str) -> datetime:
    """A time argument with an offset."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(
            _("not a time like 2020-03-06T09:00:00Z: %(text)s") % {"text": text}
        ) from error
    if found.tzinfo is None:
        raise ArgumentTypeError(
            _("add the offset, for example 2020-03-06T09:00:00Z: %(text)s") % {"text": text}
        )
    try:
        return found.astimezone(UTC)
    except OverflowError as error:
        raise ArgumentTypeError(_("Out of range: %(value)s") % {"value": text}) from error


def reference_document(runs: list[IngestRun]) -> dict[str, Any]:
    """What the commands print: the runs, with what they left aside and what they had to assume."""
    return {
        "runs": [
            run_report(run)
            | {"ignored": run.options.get("ignored", {}), "assumed": run.options.get("assumed", {})}
            for run in runs
        ],
        "evidence": {
            "snapshots": {},
            "engine": settings.OFFPEAK_VERSION,
            "at": iso(timezone.now()),
            "later_prices": None,
        },
    }


class ReferenceCommand(JsonCommand, ABC):
    """Imports each path as a run of its own; one JSON document on standard output, progress on standard
    error.
    """

    def add_arguments(self, parser: CommandParser) -> None:
        """Paths and the form of the answer."""
        parser.add_argument("paths", nargs="+", metavar="PATH", help=_("file, folder, archive or pattern"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    @abstractmethod
    def runs(self, options: dict[str, Any], progress: Callable[[str], None]) -> list[IngestRun]:
        """One run per path."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and report; exit code 3 when all of it was refused."""

        def progress(message: str) -> None:
            self.stderr.write(message, ending="\n")

        runs = self.runs(options, progress)
        if options["json"]:
            self.stdout.write(json.dumps(reference_document(runs), ensure_ascii=False))
        else:
            for run in runs:
                self.stdout.write(self._sentence(run))
        if runs and all(run.state == RunState.REFUSED for run in runs):
            sys.exit(EXIT_REFUSED)

    def _sentence(self, run: IngestRun) -> str:
        told = _(
            "%(source)s: %(read)s rows read, %(stored)s stored, %(same)s already there, %(bad)s rejected"
        ) % {
            "source": run.source,
            "read": run.rows_read,
            "stored": run.stored,
            "same": run.duplicates,
            "bad": run.rejected,
        }
        return f"{told}: {run.error}" if run.error else told
