"""`backtest_storage`: storage policies on reads that happened, against Standard and the optimum."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from datetime import date
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb
from apps.recommendations.services.storage_backtest import ACCESS_BYTES, backtest_storage
from finops.providers.files.archives import UnreadableError
from finops.verbs import error_document

EXIT_REFUSED = 3


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(_("not a day like 2024-12-31: %(text)s") % {"text": text}) from error


def _bytes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(_("not a number of bytes from 1: %(text)s") % {"text": text})
    return int(text)


class Command(Verb):
    """Policies decide with the past only; the optimum knows all reads."""

    help = "Back-test storage policies on files of reads."

    def add_arguments(self, parser: CommandParser) -> None:
        """The reads, what counts as one, and when learning ends."""
        super().add_arguments(parser)
        parser.add_argument("paths", nargs="+", metavar="PATH", help=_("CSV files of reads, packed or not"))
        parser.add_argument("--region", default="us-east-1")
        parser.add_argument(
            "--access-bytes", type=_bytes, default=ACCESS_BYTES, help=_("a day with so much counts as a read")
        )
        parser.add_argument(
            "--object-bytes", type=_bytes, help=_("size of each object; default: three sizes")
        )
        parser.add_argument(
            "--decide-until", type=_day, help=_("learn until this day and count costs from it on")
        )

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document; a file that cannot be read is refused with exit code 3."""
        wanted = ("paths", "access_bytes", "object_bytes", "decide_until", "provider", "region", "at")
        try:
            return backtest_storage(**{name: options[name] for name in wanted}, tell=self.stderr.write)
        except UnreadableError as error:
            if options["json"]:
                self.document(error_document(str(error), "paths"))
            self.stderr.write(str(error))
            sys.exit(EXIT_REFUSED)

    def show(self, document: dict[str, Any]) -> None:
        """A row a policy."""
        self.table(
            [_("policy"), _("of Standard"), _("times the optimum")],
            [
                [name, one["cost_share_of_standard"], one["ratio_to_optimum"]]
                for name, one in document["policies"].items()
            ],
        )
