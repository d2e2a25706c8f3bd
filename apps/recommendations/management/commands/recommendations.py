"""`recommendations`: what could be saved, largest first, and what the best of it is worth together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.recommendations.kinds import kinds
from apps.recommendations.management.inbox_verb import InboxVerb
from apps.recommendations.models import Effort, RecommendationState
from apps.recommendations.selectors.inbox import InboxFilter, check_filter, recommendation_list
from apps.recommendations.selectors.inbox_document import inbox_document
from apps.recommendations.services.looking import inbox_look

FILTERS = ("kind", "state", "team", "owner", "effort")


class Command(InboxVerb):
    """Looks for findings first, as the clock does; unchanged data are not looked at again."""

    help = "Show recommendations with their savings, alternatives and state."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which of them."""
        super().add_arguments(parser)
        parser.add_argument("--kind", default="", choices=[kind.name for kind in kinds()])
        parser.add_argument("--state", default="", choices=RecommendationState.values)
        parser.add_argument("--team", default="", help=_("slug, or none"))
        parser.add_argument("--owner", default="", help=_("e-mail address, or none"))
        parser.add_argument("--effort", default="", choices=Effort.values)
        parser.add_argument("--no-look", action="store_true", help=_("only what is stored"))

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"recommendations", "totals", "open", "looks", "evidence"}`."""
        given = {name: options[name] for name in FILTERS}
        chosen = InboxFilter(**given)
        check_filter(organisation, chosen)
        if not options["no_look"]:
            inbox_look(organisation=organisation, now=now)
        rows = list(recommendation_list(organisation, chosen))
        among = [row.pk for row in rows] if any(given.values()) else None
        return inbox_document(organisation, rows, now=now, among=among)

    def show(self, document: dict[str, Any]) -> None:
        """A line a row, then the totals."""
        for one in document["recommendations"]:
            note = ""
            if one["held_by"]:
                note = "  " + _("claimed by %(id)s") % {"id": one["held_by"]}
            elif one["alternatives"]:
                ids = ", ".join(str(pk) for pk in one["alternatives"])
                note = "  " + _("alternative to %(ids)s") % {"ids": ids}
            self.stdout.write(
                f"{one['id']:>6}  {one['monthly_saving']} {one['currency']}  {one['state']}  "
                f"{one['title']}{note}"
            )
        for total in document["totals"]:
            self.stdout.write(
                _("Together %(saving)s %(currency)s a month, %(low)s to %(high)s (%(method)s).")
                % {**total, "saving": total["monthly_saving"]}
            )
