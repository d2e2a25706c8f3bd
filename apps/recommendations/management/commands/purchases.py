"""`purchases`: what is to be bought, who approved it, what came of it; tries one without buying.

Approving and asking need a person who is signed in, or REST: the command line knows no person.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.recommendations.management.inbox_verb import InboxVerb
from apps.recommendations.models import PurchaseState
from apps.recommendations.selectors.purchases import purchase_find, purchase_list
from apps.recommendations.services.purchases_document import purchase_detail
from apps.recommendations.services.purchasing import purchase_trial


class Command(InboxVerb):
    """All purchases, or one."""

    help = (
        "Show purchases of commitments with their approvals and orders; --dry-run tries one, buying nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which of them."""
        super().add_arguments(parser)
        parser.add_argument("purchase", nargs="?", type=int, help=_("one purchase"))
        parser.add_argument("--state", default="", choices=PurchaseState.values)
        parser.add_argument("--dry-run", action="store_true", help=_("ask the provider; nothing is bought"))

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"purchases"}`."""
        number = options["purchase"]
        if number is None:
            if options["dry_run"]:
                raise ValidationError({"purchase": _("Name the purchase to try.")})
            rows = purchase_list(organisation, options["state"]).prefetch_related(
                "approvals__user", "attempts"
            )
            return {"purchases": [purchase_detail(row) for row in rows]}
        row = purchase_find(organisation, number)
        if row is None:
            raise ValidationError({"purchase": _("There is no such purchase.")})
        if options["dry_run"]:
            purchase_trial(purchase=row, actor=Actor.system("command line"), now=now)
        return {"purchases": [purchase_detail(row)]}

    def show(self, document: dict[str, Any]) -> None:
        """A line a purchase, its last word below."""
        for one in document["purchases"]:
            self.stdout.write(
                f"{one['id']:>6}  {one['state']}  {one['quantity']} x {one['type']} {one['region']}  "
                f"{one['committed']} {one['currency']}  {one['requested_by']}"
            )
            for text in (one["message"], (one["dry_run"] or {}).get("reason")):
                if text:
                    self.stdout.write(f"        {text}")
