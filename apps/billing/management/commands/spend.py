"""`spend`: what something cost, by any dimensions of the bills."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.spend import SpendError, SpendRefusedError, spend
from apps.billing.selectors.spend_document import spend_document
from apps.billing.selectors.spend_question import UNALLOCATED, dimension_names, question_of
from finops.verbs import JsonCommand, error_document

EXIT_USAGE, EXIT_REFUSED = 2, 3


class Command(JsonCommand):
    """Rows with cost and quantity by dimension and period; currencies are never added."""

    help = "Show cost by any dimensions of the bills."

    def add_arguments(self, parser: CommandParser) -> None:
        """The question, as in docs/commands.md."""
        parser.add_argument("--from", dest="start", required=True, help=_("first day, 2018-11-01"))
        parser.add_argument("--to", dest="end", required=True, help=_("day after the last one"))
        parser.add_argument(
            "--by", default="", help=_("dimensions: %(known)s") % {"known": ", ".join(dimension_names())}
        )
        parser.add_argument("--granularity", default="", help=_("day, week (ISO) or month"))
        parser.add_argument("--basis", default="billed", help=_("billed, amortised, net or list"))
        parser.add_argument(
            "--where", action="append", default=[], help=_("dimension=value; may be given again")
        )
        parser.add_argument("--currency", help=_("convert to it by the dated exchange rates"))
        parser.add_argument("--limit", type=int, default=0, help=_("only the largest groups; 0 for all"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask and print."""
        names = ("start", "end", "by", "granularity", "basis", "where", "currency", "limit")
        try:
            question = question_of(**{name: options[name] for name in names})
            answer = spend(question, organisation=Organisation.default(), now=timezone.now())
        except SpendError as error:
            if options["json"]:
                self.document(error_document(error.message, error.field))
            self.stderr.write(f"--{error.field}: {error.message}")
            sys.exit(EXIT_REFUSED if isinstance(error, SpendRefusedError) else EXIT_USAGE)
        document = spend_document(answer)
        if options["json"]:
            self.document(document)
        else:
            self._show(document, question.by)

    def _show(self, document: dict[str, Any], by: tuple[str, ...]) -> None:
        for row in document["rows"]:
            values = [str(row[name]) if row[name] not in (None, "") else "-" for name in by]
            self.stdout.write("  ".join([row["period"], *values, row["cost"] or "-", row["currency"]]))
        for currency, amount in document["totals"].items():
            words = {"amount": amount or "-", "currency": currency}
            self.stdout.write(_("Total %(amount)s %(currency)s") % words)
        if "team" in by:
            self.stdout.write(f"{UNALLOCATED}: {document['unallocated']}")
        for gap in document["incomplete"]:
            self.stderr.write(gap["sentence"])
