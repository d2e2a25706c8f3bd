"""`advise_waste`: what could stop, shrink or change type, and what could not be judged."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, moment, organisation_named
from apps.waste.services.advice import advise_waste
from finops.engine.workload import WorkloadError
from finops.frames.waste import waste_rules


class Command(Verb):
    """Every finding with its commands, dearest first."""

    help = "Advise what wastes money."

    def add_arguments(self, parser: CommandParser) -> None:
        """When, and which rule."""
        parser.set_defaults(provider="aws")
        parser.add_argument("--at", type=moment, help=_("decision time; nothing later is looked at"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))
        parser.add_argument("--rule", default="", help=_("one rule only"))
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        if options["rule"] and options["rule"] not in waste_rules():
            raise WorkloadError("rule", _("There is no rule %(name)s.") % {"name": options["rule"]})
        return advise_waste(
            organisation=organisation_named(options["organisation"]), at=options["at"], rule=options["rule"]
        )

    def show(self, document: dict[str, Any]) -> None:
        """A row a finding, then what was not judged."""
        self.table(
            [_("rule"), _("resource"), _("account"), _("region"), _("a month"), _("saving"), _("effort")],
            [
                [
                    one["rule"], one["resource"] or "—", one["account"], one["region"],
                    one["monthly_cost"], one["saving"], one["effort"],
                ]
                for one in document["findings"]
            ],
        )  # fmt: skip
        for one in document["not_judged"]:
            self.stdout.write(f"{one['rule']}: {one['reason']}")
