"""`import_metrics PATH…`: metrics, lists of volumes and snapshots, use of Kubernetes clusters."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, organisation_named
from apps.waste.services.loading import measures_import
from finops.providers.base import ProviderError
from finops.verbs import error_document

EXIT_REFUSED = 3


class Command(Verb):
    """What a file is, its columns or keys say."""

    help = "Import metrics, lists of resources and use of clusters."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which files."""
        parser.set_defaults(provider="aws")
        parser.add_argument("paths", nargs="+", metavar="PATH")
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """A run a file; a file of no known kind ends the verb with exit code 3, those before it are kept."""
        organisation = organisation_named(options["organisation"])
        runs: list[dict[str, Any]] = []
        for path in options["paths"]:
            try:
                found = measures_import(organisation=organisation, path=path, now=timezone.now())
            except ProviderError as error:
                if options["json"]:
                    self.document({**error_document(str(error), "path"), "runs": runs})
                self.stderr.write(str(error))
                sys.exit(EXIT_REFUSED)
            runs.append(found.document())
        return {"runs": runs}

    def show(self, document: dict[str, Any]) -> None:
        """A row a file."""
        self.table(
            [_("source"), _("kind"), _("read"), _("stored"), _("rejected")],
            [
                [one["source"], one["kind"], one["rows_read"], one["stored"], one["rejected"]]
                for one in document["runs"]
            ],
        )
