"""`import_bill PATH…`: bills from files and folders into the lake, a billing period at a time."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.services.spend_sums import spend_sums_make
from apps.ingest import services
from apps.ingest.bills.kinds import AUTO, NAMES
from apps.ingest.bills.reports import bill_runs_document
from apps.ingest.bills.run import bill_import
from apps.ingest.models import RunState
from apps.ingest.progress import Progress
from finops.frames.money import currencies
from finops.providers.bills import DATES
from finops.verbs import JsonCommand

EXIT_REFUSED = 3
_TOTAL = re.compile(r"((?:[0-9]{4}-(?:0[1-9]|1[0-2]):)?[A-Z]{3})=(-?[0-9]+(?:\.[0-9]+)?)")


class Command(JsonCommand):
    """Files of one folder given together are taken as that folder; exit code 3 when nothing was stored."""

    help = "Import bills: AWS CUR, CUR 2.0, FOCUS and other exports"

    def add_arguments(self, parser: CommandParser) -> None:
        """Paths, and what the files do not say."""
        parser.add_argument("paths", nargs="+", metavar="PATH")
        parser.add_argument("--kind", default=AUTO, choices=NAMES)
        parser.add_argument("--report", default="", help=_("name of the report, where no manifest says it"))
        parser.add_argument("--delivered-at", default="", help=_("when it was delivered; orders deliveries"))
        parser.add_argument(
            "--expected-total",
            action="append",
            default=[],
            metavar="[2018-10:]USD=123.45",
            help=_("total of the invoice, once per currency; with the month where there are several"),
        )
        parser.add_argument(
            "--expected",
            default="",
            metavar="FILE",
            help=_("CSV of invoice totals by month, as import_expected_totals"),
        )
        parser.add_argument(
            "--whole",
            action="store_true",
            help=_("the files are the whole delivery, whatever their names say"),
        )
        parser.add_argument(
            "--dates",
            default="",
            choices=DATES,
            help=_("how dates such as 02/03/2026 are read, if files do not show it"),
        )
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """One run for each path; files of one folder that stand together are one."""
        # A home that is used by commands only has no clock that would tell of an import that was killed.
        services.runs_reconcile(now=timezone.now())
        if options["expected"]:
            # Its refusal ends the command before a bill is touched.
            call_command("import_expected_totals", options["expected"], stdout=self.stderr)
        totals, together = _totals(options["expected_total"]), _together(options["paths"])
        if len(together) > 1 and any(":" not in key for key in totals):
            raise CommandError(
                "several paths: name the month of each total, 2018-10:USD=123.45", returncode=2
            )
        runs = [
            bill_import(
                paths=paths,
                kind=options["kind"],
                report=options["report"],
                delivered_at=_moment(options["delivered_at"]),
                expected=totals,
                whole=options["whole"],
                dates=options["dates"],
                listener=self._show(paths[0]),
            )
            for paths in together
        ]
        if any(run.state == RunState.FINISHED for run in runs):
            spend_sums_make()
        found = bill_runs_document(runs, now=timezone.now())
        if options["json"]:
            self.document(found)
        else:
            for delivery in found["deliveries"]:
                self.stdout.write(_sentence(delivery))
        if totals and any(delivery["unchanged"] for delivery in found["deliveries"]):
            self.stderr.write(
                "--expected-total: deliveries that are already there were not compared with it; enter the "
                "totals with import_expected_totals"
            )
        for entry in found["refused"]:
            self.stderr.write(f"{entry['source']}: {entry['reason']}")
        for run in runs:
            if run.state == RunState.FAILED:
                self.stderr.write(f"{run.source}: {run.error}")
        states = {run.state for run in runs}
        if RunState.FAILED in states:
            sys.exit(1)
        if states == {RunState.REFUSED}:
            sys.exit(EXIT_REFUSED)

    def _show(self, path: str) -> Callable[[Progress], None]:
        def show(progress: Progress) -> None:
            self.stderr.write(
                f"{path}: {progress.phase}, {progress.files_done} of {progress.files_total} files, "
                f"{progress.rows_seen} rows"
            )

        return show


def _together(paths: list[str]) -> list[list[str]]:
    """Files next to each other in one folder are one run, as a shell's `*` gives them."""
    groups: list[list[str]] = []
    for path in paths:
        before = groups[-1][-1] if groups else None
        both_files = before is not None and Path(path).is_file() and Path(before).is_file()
        if before is not None and both_files and Path(before).parent == Path(path).parent:
            groups[-1].append(path)
        else:
            groups.append([path])
    return groups


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"not an ISO 8601 time: {text}", returncode=2) from error
    if moment.tzinfo is None:
        raise CommandError(f"a time needs an offset, such as {text}Z", returncode=2)
    return moment.astimezone(UTC)


def _totals(texts: list[str]) -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    for text in texts:
        told = _TOTAL.fullmatch(text)
        if told is None or told[1] in found or told[1][-3:] not in currencies():
            raise CommandError(f"not a total like USD=123.45, once per currency: {text}", returncode=2)
        try:
            found[told[1]] = Decimal(told[2])
        except InvalidOperation as error:
            raise CommandError(f"not a number: {told[2]}", returncode=2) from error
    return found


def _sentence(found: dict[str, Any]) -> str:
    totals = ", ".join(f"{sums['billed']} {currency}" for currency, sums in found["totals"].items())
    state = _("already there") if found["unchanged"] else found["state"]
    return (
        f"{found['kind']} {found['payer']} {found['billing_period']}: {found['rows_read']} rows read, "
        f"{found['stored']} stored, {found['rejected']} rejected, {totals} ({state})"
    )
