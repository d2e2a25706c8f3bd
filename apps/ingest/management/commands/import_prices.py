"""`import_prices PATH…`: Spot prices from files into the lake."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from apps.ingest import services
from apps.ingest.models import Provider, RunState
from apps.ingest.progress import Progress
from apps.ingest.reports import runs_report
from finops.providers.files import FORMATS
from finops.verbs import JsonCommand

REFUSED = 3
# As long as the run's row takes.
LONGEST_PATH = 1000


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"not an ISO 8601 time: {text}", returncode=2) from error
    if moment.tzinfo is None:
        raise CommandError(f"a time needs an offset, such as {text}Z", returncode=2)
    return moment.astimezone(UTC)


def _is_text(path: str) -> bool:
    """Whether every byte of the name was a character: others come in as half characters."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _zone(text: str) -> str:
    try:
        return ZoneInfo(text).key if text else ""
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise CommandError(f"no such time zone: {text}", returncode=2) from error


class Command(JsonCommand):
    """One run per PATH; exit code 3 when nothing of any of them could be used."""

    help = "Import Spot prices from files, folders, globs and archives"

    def add_arguments(self, parser: CommandParser) -> None:
        """Arguments as COMMANDS names them, and what a file may not say itself."""
        parser.add_argument("paths", nargs="+", metavar="PATH")
        parser.add_argument("--provider", default="aws", choices=Provider.values)
        parser.add_argument("--region", default="", help="region of files whose zones do not tell it")
        parser.add_argument("--format", default="auto", choices=FORMATS)
        parser.add_argument("--account", default="", help="account whose zone names these are")
        parser.add_argument("--product", default="", help="product of files without such a column")
        parser.add_argument("--currency", default="", help="currency of files without such a column")
        parser.add_argument("--timezone", default="", help="IANA zone of times without an offset")
        parser.add_argument("--request-start", default="", help="start of the range that was asked for")
        parser.add_argument("--request-end", default="", help="end of the range that was asked for")
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **given: Any) -> None:
        """Import each path in turn."""
        options = services.ImportOptions(
            region=given["region"],
            format=given["format"],
            account=given["account"],
            product=given["product"],
            currency=given["currency"].upper(),
            timezone=_zone(given["timezone"]),
            request_start=_moment(given["request_start"]) if given["request_start"] else None,
            request_end=_moment(given["request_end"]) if given["request_end"] else None,
        )
        if options.request_start and options.request_end and options.request_start >= options.request_end:
            raise CommandError("the request's start is not before its end", returncode=2)
        for path in given["paths"]:
            if len(path) > LONGEST_PATH or not _is_text(path):
                raise CommandError(
                    f"not a path that can be recorded (over {LONGEST_PATH} characters, or not UTF-8): "
                    f"{path[:200]!a}",
                    returncode=2,
                )
        # A home that is used by commands only has no clock that would tell of an import that was killed.
        services.runs_reconcile(now=timezone.now())
        runs = [
            services.prices_import(
                source=path, provider=given["provider"], options=options, listener=self._show(path)
            )
            for path in given["paths"]
        ]
        report = runs_report(runs, now=timezone.now())
        if given["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False))
        else:
            for run in report["runs"]:
                self.stdout.write(_sentence(run))
        for run in runs:
            if run.error:
                self.stderr.write(f"{run.source}: {run.error}")
        states = {run.state for run in runs}
        if RunState.FAILED in states:
            sys.exit(1)
        if states == {RunState.REFUSED}:
            sys.exit(REFUSED)

    def _show(self, path: str) -> Callable[[Progress], None]:
        def show(progress: Progress) -> None:
            share = f" {progress.bytes_done / progress.bytes_total:.0%}" if progress.bytes_total else ""
            self.stderr.write(
                f"{path}: {progress.phase}{share}, {progress.files_done} files, {progress.rows_seen} rows"
            )

        return show


def _sentence(report: dict[str, Any]) -> str:
    return (
        f"{report['source']}: {report['rows_read']} rows read, {report['stored']} stored, "
        f"{report['duplicates']} duplicates, {report['rejected']} rejected, {report['series']} series"
    )
