"""`export_focus`: the bills of some days or months as one FOCUS file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.focus_rows import FORMATS, PERIODS
from apps.billing.selectors.spend_question import SpendError, question_of
from apps.billing.services.focus_export import ExportError, focus_export
from finops.frames.focus_rules import VERSION, VERSIONS
from finops.verbs import JsonCommand, error_document

EXIT_USAGE, EXIT_FAILED = 2, 1


class Command(JsonCommand):
    """The document says what the sources cannot give and which rules of FOCUS the rows break."""

    help = "Export bills as FOCUS"

    def add_arguments(self, parser: CommandParser) -> None:
        """Days, form and place, as in docs/commands.md."""
        parser.add_argument("--from", dest="start", required=True, help=_("first day, 2018-11-01"))
        parser.add_argument("--to", dest="end", required=True, help=_("day after the last one"))
        parser.add_argument("--format", dest="form", default="csv", choices=FORMATS)
        parser.add_argument("--output", required=True, metavar="FILE")
        parser.add_argument("--overwrite", action="store_true", help=_("replace a file that exists"))
        parser.add_argument("--focus-version", default=VERSION, choices=VERSIONS)
        parser.add_argument(
            "--period",
            default=PERIODS[0],
            choices=PERIODS,
            help=_("charge: charges that begin in these days; billing: the bills of these months"),
        )
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file, then say what is in it."""
        try:
            window = question_of(start=options["start"], end=options["end"]).window
            found = focus_export(
                window=window,
                organisation=Organisation.default(),
                form=options["form"],
                output=Path(options["output"]),
                overwrite=options["overwrite"],
                version=options["focus_version"],
                period=options["period"],
            )
        except (ExportError, SpendError) as error:
            if options["json"]:
                self.document(error_document(error.message, error.field))
            self.stderr.write(f"--{error.field}: {error.message}")
            failed = isinstance(error, ExportError) and error.failed
            sys.exit(EXIT_FAILED if failed else EXIT_USAGE)
        document = found.document(now=timezone.now())
        if options["json"]:
            self.document(document)
            return
        self.stdout.write(
            _("%(rows)d rows, FOCUS %(version)s: %(output)s")
            % {"rows": found.rows, "version": found.version, "output": found.output}
        )
        for column in document["columns_not_available"]:
            self.stderr.write(_("The sources cannot give %(column)s.") % {"column": column})
        for finding in found.findings:
            self.stderr.write(f"{finding.rule}: {finding.column}, {finding.rows}, {finding.example}")
