"""`sell_commitments`: which reservations to sell, at what price, against keeping them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.recommendations.management.verb import Verb, decimal
from apps.recommendations.services.commitments_sale import ASK_SHARE, sell_commitments


class Command(Verb):
    """Every reservation is sold in part, kept, or may not be sold: with the reason."""

    help = "Advise which reservations to sell."

    def add_arguments(self, parser: CommandParser) -> None:
        """Look-back, price, and who sells."""
        super().add_arguments(parser)
        parser.add_argument("--lookback-days", type=int, default=30)
        parser.add_argument(
            "--ask-share", type=decimal, default=ASK_SHARE, help=_("of what a buyer would pay at most")
        )
        parser.add_argument("--bank-country", help=_("country of the seller's bank account, US"))
        parser.add_argument("--legal-entity", help=_("the AWS company that bills the seller"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        return sell_commitments(
            lookback_days=options["lookback_days"],
            ask_share=options["ask_share"],
            bank_country=options["bank_country"],
            legal_entity=options["legal_entity"],
            at=options["at"],
            organisation=Organisation.default(),
            provider=options["provider"],
        )

    def show(self, document: dict[str, Any]) -> None:
        """A row a reservation that may be sold, then the others."""
        self.table(
            [_("type"), _("sell"), _("of"), _("asked"), _("received"), _("gain"), _("months left")],
            [
                [one["type"], one["quantity"], one["count"], one["ask"], one["receives"], one["gain"],
                 one["months_left"]]
                for one in document["sales"]
            ],
        )  # fmt: skip
        for one in document["refused"]:
            self.stdout.write(f"{one['id']}: {one['reason']}")
