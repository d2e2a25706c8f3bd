"""`cluster_costs`: what clusters cost by namespace, workload or label, with idle and shared shown."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, organisation_named
from apps.waste.services.clusters import NAMESPACE, cluster_document


class Command(Verb):
    """Groups sum to the whole."""

    help = "Cost of Kubernetes clusters."

    def add_arguments(self, parser: CommandParser) -> None:
        """By what."""
        parser.set_defaults(provider="aws")
        parser.add_argument("--by", default=NAMESPACE, help=_("namespace, workload or label:NAME"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        organisation = organisation_named(options["organisation"])
        return cluster_document(organisation=organisation, by=options["by"])

    def show(self, document: dict[str, Any]) -> None:
        """A row a group."""
        self.table(
            [document["by"], _("cluster"), _("own"), _("idle"), _("shared"), _("together"), _("currency")],
            [
                [
                    one["name"] or "—", one["cluster"], one["own"], one["idle"], one["shared"], one["total"],
                    one["currency"],
                ]
                for one in document["groups"]
            ],
        )  # fmt: skip
