"""What the verbs about recommendations have in common."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.recommendations.management.verb import organisation_named
from finops.engine.workload import WorkloadError
from finops.verbs import JsonCommand, error_document

EXIT_USAGE, EXIT_REFUSED = 2, 3


class InboxVerb(JsonCommand, ABC):
    """One document about an organisation's recommendations. A state that forbids the change: exit code 3."""

    def add_arguments(self, parser: CommandParser) -> None:
        """What both take."""
        parser.add_argument("--organisation", default="", help=_("its slug; default: the first one"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    @abstractmethod
    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """The document. Raises WorkloadError (wrong usage) or ValidationError (by field)."""

    @abstractmethod
    def show(self, document: dict[str, Any]) -> None:
        """The document for a person."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask or change, then print."""
        try:
            document = self.answer(organisation_named(options["organisation"]), timezone.now(), options)
        except WorkloadError as error:
            self._refuse(error.field, error.message, EXIT_USAGE, options)
        except ValidationError as error:
            field, messages = next(iter(error.message_dict.items()))
            code = EXIT_REFUSED if field == "state" else EXIT_USAGE
            self._refuse(field, messages[0], code, options)
        else:
            if options["json"]:
                self.document(document)
            else:
                self.show(document)

    def _refuse(self, field: str, message: str, code: int, options: dict[str, Any]) -> None:
        if options["json"]:
            self.document(error_document(message, field))
        self.stderr.write(f"{field}: {message}")
        sys.exit(code)
