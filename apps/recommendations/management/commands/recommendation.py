"""`recommendation ID`: one recommendation with its history, and decisions on it."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import date, datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation
from apps.recommendations.management.inbox_verb import InboxVerb
from apps.recommendations.models import Recommendation
from apps.recommendations.selectors.inbox import recommendation_find
from apps.recommendations.selectors.inbox_document import detail_document
from apps.recommendations.selectors.standing import standing
from apps.recommendations.services import decisions
from finops.engine.workload import WorkloadError

ACTOR = Actor.system("command line")


def day(text: str) -> date:
    """A day as 2026-12-01."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise ArgumentTypeError(_("Not a day like 2018-11-01: %(text)s") % {"text": text[:40]}) from error


class Command(InboxVerb):
    """Reads, or makes one decision and reads what came of it. The same decision again changes nothing."""

    help = "Show one recommendation, or accept, carry out, dismiss, snooze or open it again."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which one, and what to do with it."""
        super().add_arguments(parser)
        parser.add_argument("id", type=int)
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--accept", action="store_true", help=_("fix the counterfactual from now on"))
        change.add_argument("--done", action="store_true", help=_("it was carried out"))
        change.add_argument("--dismiss", metavar="REASON", help=_("it will not be done, and why"))
        change.add_argument("--snooze", type=day, metavar="DATE", help=_("not before this day"))
        change.add_argument("--reopen", action="store_true", help=_("take the decision back"))
        change.add_argument("--owner", metavar="EMAIL", help=_("a member of the organisation, or none"))
        parser.add_argument("--reason", default="", help=_("why, for others to read"))

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"recommendation": {…}}`."""
        row = _find(organisation, options["id"])
        _change(row, now, options)
        return {"recommendation": detail_document(_find(organisation, options["id"]), standing(organisation))}

    def show(self, document: dict[str, Any]) -> None:
        """The sentence, the state, the history and the months."""
        one = document["recommendation"]
        self.stdout.write(f"{one['title']}. {one['sentence']}")
        self.stdout.write(f"{one['state']}: {one['monthly_saving']} {one['currency']}")
        for event in one["history"]:
            self.stdout.write(
                f"{event['at']}  {event['action']}  {event['actor']}  {event['reason']}".rstrip()
            )
        for month in one["realised"]:
            told = month["saving"] if month["saving"] is not None else month["reason"]
            self.stdout.write(f"{month['month']}  {month['promised']}  {told}")


def _find(organisation: Organisation, pk: int) -> Recommendation:
    found = recommendation_find(organisation, pk) if 0 < pk < 2**63 else None
    if found is None:
        raise WorkloadError("id", _("There is no recommendation %(id)s.") % {"id": pk})
    return found


def _change(row: Recommendation, now: datetime, options: dict[str, Any]) -> None:
    common: dict[str, Any] = {"recommendation": row, "actor": ACTOR, "now": now}
    reason = options["reason"]
    if options["accept"]:
        decisions.recommendation_accept(**common, reason=reason)
    elif options["done"]:
        decisions.recommendation_done(**common, reason=reason)
    elif options["dismiss"] is not None:
        decisions.recommendation_dismiss(**common, reason=options["dismiss"])
    elif options["snooze"] is not None:
        decisions.recommendation_snooze(**common, until=options["snooze"], reason=reason)
    elif options["reopen"]:
        decisions.recommendation_reopen(**common, reason=reason)
    elif options["owner"] is not None:
        decisions.recommendation_assign(**common, owner_id=_owner(row, options["owner"]))


def _owner(row: Recommendation, email: str) -> int | None:
    if email == "none":
        return None
    found = Membership.objects.filter(
        organisation=row.organisation_id, user__email=email.strip().lower()
    ).first()
    if found is None:
        raise WorkloadError("owner", _("Choose a member of this organisation."))
    return found.user_id
