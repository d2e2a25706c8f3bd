"""`demand`: what is used of instances after all that is committed, and what may come."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, organisation_named
from apps.recommendations.services.commitments_demand import demand


class Command(Verb):
    """A row a region, zone, platform, tenancy and family."""

    help = "Show hourly demand after existing commitments."

    def add_arguments(self, parser: CommandParser) -> None:
        """Look-back, term, organisation, hours."""
        super().add_arguments(parser)
        parser.add_argument("--lookback-days", type=int, default=30)
        parser.add_argument("--term-hours", type=int, default=8760, help=_("hours that scenarios look ahead"))
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))
        parser.add_argument("--hours", action="store_true", help=_("the hours of the period too"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        return demand(
            at=options["at"],
            organisation=organisation_named(options["organisation"]),
            lookback_days=options["lookback_days"],
            term_hours=options["term_hours"],
            with_hours=options["hours"],
        )

    def show(self, document: dict[str, Any]) -> None:
        """A row a family."""
        self.table(
            [_("family"), _("region"), _("zone"), _("platform"), _("base"), _("mean"), _("maximum")],
            [
                [
                    one["family"], one["region"], one["zone"], one["platform"], one["base"], one["mean"],
                    one["maximum"],
                ]
                for one in document["families"]
            ],
        )  # fmt: skip
