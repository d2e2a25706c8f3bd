"""`import_storage PATH…`: inventories, access logs, reports of totals and tables of reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ingest import services
from apps.ingest.management.reference_command import EXIT_REFUSED, ReferenceCommand, iso_instant
from apps.ingest.models import IngestRun, RunState
from apps.ingest.storage.reports import storage_runs_document
from apps.ingest.storage.run import storage_import
from apps.ingest.storage.sources import AUTO, KINDS, PROVIDERS, StorageOptions

SHOWN = 10


class Command(ReferenceCommand):
    """All paths of one call are one run: a log and the inventory that it belongs to come together."""

    help = "Import what lies in buckets and how it is read."

    def add_arguments(self, parser: CommandParser) -> None:
        """Paths, and what the files do not say."""
        super().add_arguments(parser)
        parser.add_argument("--kind", default=AUTO, choices=KINDS)
        parser.add_argument("--provider", default="aws", choices=PROVIDERS)
        parser.add_argument("--bucket", default="", help=_("bucket of rows that name none"))
        parser.add_argument("--region", default="", help=_("region of the buckets"))
        parser.add_argument("--account", default="", help=_("account of the buckets"))
        parser.add_argument(
            "--listed-at", type=iso_instant, help=_("when a listing without a manifest was made")
        )

    def runs(self, options: dict[str, Any], progress: Callable[[str], None]) -> list[IngestRun]:
        """One run of all paths."""
        # A home that is used by commands only has no clock that would tell of an import that was killed.
        services.runs_reconcile(now=timezone.now())
        given = {name: options[name] for name in ("kind", "provider", "bucket", "region", "account")}
        run = storage_import(
            paths=options["paths"],
            options=StorageOptions(**given, listed_at=options["listed_at"]),
            listener=lambda p: progress(f"{p.phase}: {p.files_done} files, {p.rows_seen} rows"),
        )
        return [run]

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and report; exit code 3 when all of it was refused, 1 when it could not be done."""
        [run] = self.runs(options, lambda message: self.stderr.write(message))
        if options["json"]:
            self.document(storage_runs_document([run], now=timezone.now()))
        else:
            self.stdout.write(self._sentence(run))
        for one in run.rejections.all()[:SHOWN]:
            self.stderr.write(f"{one.file}, row {one.row}, {one.field}: {one.reason}")
        if run.state == RunState.FAILED:
            sys.exit(1)
        if run.state == RunState.REFUSED:
            sys.exit(EXIT_REFUSED)
