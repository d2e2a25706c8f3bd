"""`bill_changes`: what differs between the current delivery of a month and the one it replaced."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentTypeError
from datetime import date
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.deliveries import CHANGE_DIMENSIONS, DEFAULT_CHANGES, deliveries_current
from apps.billing.selectors.delivery_documents import changes_document
from finops.frames.focus import BASES
from finops.verbs import JsonCommand, error_document

EXIT_REFUSED = 3


def billing_period(text: str) -> date:
    """`2026-03`, or any day of the month."""
    found = re.fullmatch(r"(\d{4})-(\d{2})(?:-\d{2})?", text)
    try:
        return date(int(found[1]), int(found[2]), 1) if found else date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(_("not a month like 2026-03: %(text)s") % {"text": text}) from error


class Command(JsonCommand):
    """Each report of the period against its delivery before; parts that are the same are left out."""

    help = "Show what changed between two deliveries of a billing period."

    def add_arguments(self, parser: CommandParser) -> None:
        """The period and how to tell the changes."""
        parser.add_argument("--billing-period", required=True, type=billing_period, help=_("2026-03"))
        parser.add_argument("--by", default=",".join(DEFAULT_CHANGES), help=", ".join(CHANGE_DIMENSIONS))
        parser.add_argument("--basis", default="billed", choices=list(BASES))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare and print; exit code 3 where the period has no delivery."""
        period = options["billing_period"]
        by = tuple(part for part in options["by"].split(",") if part)
        current = deliveries_current(organisation=Organisation.default()).filter(billing_period=period)
        if not current.exists():
            self._refuse(options, "billing_period", _("no delivery of %(p)s") % {"p": f"{period:%Y-%m}"})
        if not by or not set(by) <= set(CHANGE_DIMENSIONS):
            self._refuse(options, "by", ", ".join(CHANGE_DIMENSIONS), code=2)
        found = changes_document(
            current.order_by("report__pk"), by=by, basis=options["basis"], now=timezone.now()
        )
        if options["json"]:
            self.document(found)
            return
        for change in found["changes"]:
            names = [change[name] or "-" for name in by]
            numbers = [change["before"], change["after"], change["difference"], change["currency"]]
            self.stdout.write("  ".join([*names, *numbers]))
        for currency, amount in found["difference"].items():
            self.stdout.write(f"{amount} {currency}")

    def _refuse(self, options: dict[str, Any], field: str, message: str, *, code: int = EXIT_REFUSED) -> None:
        if options["json"]:
            self.document(error_document(message, field))
        self.stderr.write(message)
        sys.exit(code)
