"""What the verbs about prices and advice have in common: arguments, one JSON document, exit codes."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from argparse import ArgumentTypeError
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.accounts.selectors import organisation_of
from apps.recommendations.services.question import check_provider
from finops.engine.workload import WorkloadError
from finops.verbs import JsonCommand, error_document

EXIT_USAGE = 2


def moment(text: str) -> datetime:
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
    try:
        return found.astimezone(UTC)
    except OverflowError as error:
        raise ArgumentTypeError(_("Out of range: %(value)s") % {"value": text}) from error


def names(text: str) -> list[str]:
    """`a,b,c`."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(text: str) -> list[float]:
    """`1,4,8`."""
    try:
        return [float(part) for part in names(text)]
    except ValueError as error:
        raise ArgumentTypeError(_("not numbers like 1,4,8: %(text)s") % {"text": text}) from error


def decimal(text: str) -> Decimal:
    """An exact number."""
    try:
        found = Decimal(text)
    except InvalidOperation as error:
        raise ArgumentTypeError(_("not a number: %(text)s") % {"text": text}) from error
    if found.is_snan():
        raise ArgumentTypeError(_("not a number: %(text)s") % {"text": text})
    return found


def organisation_named(slug: str) -> Organisation:
    """The organisation of this slug, the default one for none. Raises WorkloadError."""
    found = organisation_of(slug)
    if found is None:
        raise WorkloadError("organisation", _("There is no organisation %(slug)s.") % {"slug": slug})
    return found


class Verb(JsonCommand, ABC):
    """One question, one document. Wrong input: exit code 2, the field and the way out on standard error."""

    def add_arguments(self, parser: CommandParser) -> None:
        """What every verb takes."""
        parser.add_argument("--provider", default="aws")
        parser.add_argument("--at", type=moment, help=_("decision time; nothing later is looked at"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    @abstractmethod
    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""

    @abstractmethod
    def show(self, document: dict[str, Any]) -> None:
        """The document for a person."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, then print."""
        try:
            if options["provider"] is not None:  # a saved workload brings its own
                check_provider(options["provider"])
            document = self.answer(options)
        except WorkloadError as error:
            told = f"--{error.field.replace('_', '-')}: {error.message}"
            if options["json"]:
                self.document(error_document(error.message, error.field))
            self.stderr.write(told)
            sys.exit(EXIT_USAGE)
        if options["json"]:
            self.document(document)
        else:
            self.show(document)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Columns as wide as their widest cell; numbers to the right."""
        cells = [["-" if value is None else str(value) for value in row] for row in rows]
        widths = [max(len(line[i]) for line in [list(heads), *cells]) for i in range(len(heads))]
        right = [all(_is_number(row[i]) for row in cells) for i in range(len(heads))]
        for line in [list(heads), *cells]:
            padded = [
                text.rjust(width) if to_right else text.ljust(width)
                for text, width, to_right in zip(line, widths, right, strict=True)
            ]
            self.stdout.write("  ".join(padded).rstrip())


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(".", "", 1).replace("-", "", 1).isdigit()
