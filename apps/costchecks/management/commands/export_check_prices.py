"""`export_check_prices`: the price file of `offpeak check --offline`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.selectors import team_list
from apps.costchecks.services.price_file import LINUX, price_file
from apps.recommendations.management.verb import moment, names, organisation_named
from finops.engine.workload import WorkloadError
from finops.verbs import JsonCommand, error_document

EXIT_USAGE = 2


class Command(JsonCommand):
    """`--json` prints the file's document; `--output` writes it to a file and prints what is in it."""

    help = "Export the prices and policies that a check without the server needs."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which prices, where to."""
        parser.add_argument("--output", metavar="FILE", default="")
        parser.add_argument("--regions", type=names, default=[], help=_("with commas; default: all"))
        parser.add_argument("--products", type=names, default=[LINUX])
        parser.add_argument("--spot-types", type=names, default=[], help=_("whose Spot prices are looked up"))
        parser.add_argument("--team", default="", help=_("slug of the team whose policies it holds"))
        parser.add_argument("--organisation", default="", help=_("its slug; default: the first one"))
        parser.add_argument("--at", type=moment, help=_("decision time; nothing later is looked at"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Look up, write."""
        try:
            organisation = organisation_named(options["organisation"])
        except WorkloadError as error:
            self._refuse(str(error), "organisation", options)
        team = team_list(organisation).filter(slug=options["team"]).first() if options["team"] else None
        if options["team"] and team is None:
            self._refuse(_("There is no such team in this organisation."), "team", options)
        at = options["at"] or timezone.now().replace(second=0, microsecond=0)
        document = price_file(
            organisation=organisation, at=at, team=team, regions=options["regions"],
            products=options["products"], spot_types=options["spot_types"],
        )  # fmt: skip
        if options["output"]:
            try:
                Path(options["output"]).write_text(json.dumps(document) + "\n", encoding="utf-8")
            except OSError as error:
                self._refuse(error.strerror or "cannot be written", "output", options)
        if options["json"]:
            self.document(document)
        else:
            told = {name: len(document[name]) for name in ("machines", "spot", "policies")}
            self.stdout.write(
                _("%(machines)d list prices, %(spot)d Spot prices, %(policies)d policies") % told
            )

    def _refuse(self, message: str, field: str, options: dict[str, Any]) -> None:
        if options["json"]:
            self.document(error_document(message, field))
        self.stderr.write(message)
        sys.exit(EXIT_USAGE)
