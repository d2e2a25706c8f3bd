"""`record_bounce`: a delivery status notification from a file or a pipe of the mail server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.reports.services.bounces import MAX_BYTES, NoBounceError, bounce_read, bounce_record
from finops.verbs import JsonCommand, error_document

EXIT_REFUSED = 3


class Command(JsonCommand):
    """Marks the mail as come back and stops mail to its address. Exit code 3: it is no bounce of ours."""

    help = "Record a mail that came back (RFC 3464), from a file or from standard input."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where it is."""
        parser.add_argument("path", help=_("the notification; - is standard input"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, record, print."""
        try:
            if options["path"] == "-":
                raw = sys.stdin.buffer.read(MAX_BYTES + 1)
            else:
                with Path(options["path"]).open("rb") as file:
                    raw = file.read(MAX_BYTES + 1)
            bounce = bounce_read(raw)
        except OSError as error:
            self._refuse(str(error.strerror), options)
        except NoBounceError as error:
            self._refuse(str(error), options)
        row = bounce_record(bounce, now=timezone.now())
        if row is None:
            self._refuse(_("No mail of ours has this Message-ID."), options)
        found = {
            "email": row.email,
            "state": row.state,
            "permanent": bounce.permanent,
            "reason": bounce.reason,
        }
        if options["json"]:
            self.document(found)
        else:
            self.stdout.write(f"{row.email}  {row.state}  {bounce.reason}")

    def _refuse(self, message: str, options: dict[str, Any]) -> NoReturn:
        if options["json"]:
            self.document(error_document(message, "path"))
        self.stderr.write(message)
        sys.exit(EXIT_REFUSED)
