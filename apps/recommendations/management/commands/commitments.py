"""`commitments`: what is owned, how far it is used, what stands idle, what is covered."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.recommendations.management.verb import Verb
from apps.recommendations.services.commitments_owned import commitments


class Command(Verb):
    """Reservations of the billing month of `--at`."""

    help = "Show owned commitments, their use and what they cover."

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        return commitments(at=options["at"], organisation=Organisation.default())

    def show(self, document: dict[str, Any]) -> None:
        """A row a commitment."""
        self.table(
            [_("type"), _("platform"), _("quantity"), _("used %"), _("idle hours"), _("idle cost")],
            [
                [
                    one["type"],
                    one["platform"],
                    one["count"],
                    one["utilisation_pct"],
                    one["idle_hours"],
                    one["idle_cost"],
                ]
                for one in document["commitments"]
            ],
        )
