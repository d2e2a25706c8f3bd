"""`alert_commitments`: raise what beat raises every day, for a home without a clock."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, organisation_named
from apps.recommendations.services.commitments_alerts import commitments_alert
from apps.recommendations.services.commitments_owned import commitments


class Command(Verb):
    """Alerts for commitments that end soon; again it raises nothing twice."""

    help = "Raise alerts for commitments that end soon."

    def add_arguments(self, parser: CommandParser) -> None:
        """Another organisation."""
        super().add_arguments(parser)
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """How many are new, and all that stand."""
        organisation = organisation_named(options["organisation"])
        at = options["at"] or timezone.now()
        new = commitments_alert(organisation=organisation, now=at)
        document = commitments(at=at, organisation=organisation)
        return {"new": new, "alerts": document["alerts"], "evidence": document["evidence"]}

    def show(self, document: dict[str, Any]) -> None:
        """A row an alert."""
        self.table(
            [_("commitment"), _("ends"), _("days before"), _("more a month")],
            [
                [one["what"], one["end"][:10], one["days"], one["monthly_increase"]]
                for one in document["alerts"]
            ],
        )
