"""What the verbs that judge bills have in common: decision time, one JSON document, refusals by argument."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from argparse import ArgumentTypeError
from datetime import UTC, date, datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.spend import SpendError, SpendRefusedError
from finops.verbs import JsonCommand, error_document

EXIT_USAGE, EXIT_REFUSED = 2, 3


def instant(text: str) -> datetime:
    """An ISO 8601 time with an offset."""
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise ArgumentTypeError(
            _("not a time like 2020-03-06T09:00:00Z: %(text)s") % {"text": text}
        ) from error
    if found.tzinfo is None:
        raise ArgumentTypeError(
            _("add the offset, for example 2020-03-06T09:00:00Z: %(text)s") % {"text": text}
        )
    return found.astimezone(UTC)


def day(text: str) -> date:
    """A day as 2018-11-01."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise ArgumentTypeError(_("Not a day like 2018-11-01: %(text)s") % {"text": text[:40]}) from error


class BillVerb(JsonCommand, ABC):
    """One question about the default organisation's bills, one document."""

    def add_arguments(self, parser: CommandParser) -> None:
        """What every one of them takes."""
        parser.add_argument("--at", type=instant, help=_("decision time; nothing later is looked at"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    @abstractmethod
    def answer(self, organisation: Organisation, at: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """The document. Raises SpendError."""

    @abstractmethod
    def show(self, document: dict[str, Any]) -> None:
        """The document for a person."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, then print."""
        try:
            document = self.answer(Organisation.default(), options["at"] or timezone.now(), options)
        except SpendError as error:
            if options["json"]:
                self.document(error_document(error.message, error.field))
            self.stderr.write(f"--{error.field}: {error.message}")
            sys.exit(EXIT_REFUSED if isinstance(error, SpendRefusedError) else EXIT_USAGE)
        if options["json"]:
            self.document(document)
        else:
            self.show(document)
