"""`audit_log`: whether the hash chain of the audit trail holds, and the trail in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.audit_chain import chain_all, chain_state
from apps.accounts.models import Organisation
from finops.verbs import JsonCommand, error_document

EXIT_BROKEN, EXIT_USAGE = 1, 2


class Command(JsonCommand):
    """Exit code 1 when the chain is broken or does not hold the head that was expected."""

    help = "Verify the hash chain of the audit trail; --export writes the trail to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to do."""
        parser.add_argument("--export", metavar="FILE", help=_("JSON lines: number, previous, hash, text"))
        parser.add_argument(
            "--expect", metavar="HASH", default="", help=_("a head that was written down before")
        )
        parser.add_argument("--organisation", default="", help=_("its slug; default: the first one"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Verify, export, tell."""
        slug = options["organisation"]
        rows = Organisation.objects.order_by("pk")
        organisation = (rows.filter(slug=slug) if slug else rows).first()
        if organisation is None:
            self._refuse(_("There is no such organisation."), "organisation", options)
            return
        if options["export"]:
            try:
                with Path(options["export"]).open("w", encoding="utf-8") as out:
                    for row in chain_all(organisation):
                        out.write(json.dumps(row, ensure_ascii=False) + "\n")
            except OSError as error:
                self._refuse(error.strerror or "cannot be written", "export", options)
        document = chain_state(organisation, expect=options["expect"].strip().lower())
        if options["json"]:
            self.document(document)
        else:
            word = _("holds") if document["valid"] else _("is broken")
            told = {**document, "word": word, "head": document["head"] or "-"}
            self.stdout.write(
                _("%(sealed)d of %(entries)d entries: the chain %(word)s; head %(head)s") % told
            )
        if not document["valid"]:
            sys.exit(EXIT_BROKEN)

    def _refuse(self, message: str, field: str, options: dict[str, Any]) -> None:
        if options["json"]:
            self.document(error_document(message, field))
        self.stderr.write(message)
        sys.exit(EXIT_USAGE)
