"""What the verbs about launches have in common."""

from __future__ import annotations

from abc import ABC

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from apps.accounts.models import Membership, Organisation, Team
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import member_list, team_list
from apps.launches.models import Launch, LaunchPlan
from apps.launches.selectors.launches import launch_find
from apps.launches.selectors.plans import plan_find
from apps.recommendations.management.inbox_verb import InboxVerb


class LaunchVerb(InboxVerb, ABC):
    """One document about an organisation's launches. A state that forbids the change: exit code 3."""

    def plan(self, organisation: Organisation, number: int) -> LaunchPlan:
        """The organisation's plan of this number. Raises ValidationError."""
        found = plan_find(organisation, number)
        if found is None:
            raise ValidationError({"plan": _("There is no such plan.")})
        return found

    def launch(self, organisation: Organisation, number: int) -> Launch:
        """The organisation's launch of this number. Raises ValidationError."""
        found = launch_find(organisation, number)
        if found is None:
            raise ValidationError({"launch": _("There is no such launch.")})
        return found

    def team(self, organisation: Organisation, slug: str | None) -> Team | None:
        """The team of a slug. Raises ValidationError."""
        found = team_list(organisation).filter(slug=slug).first() if slug else None
        if slug and found is None:
            raise ValidationError({"team": _("There is no such team in this organisation.")})
        return found

    def approver(self, organisation: Organisation, email: str) -> Membership:
        """Who says yes: the member of this address, without one the only one who may."""
        members = [
            one for one in member_list(organisation) if not email or one.user.email == email.strip().lower()
        ]
        if email and not members:
            raise ValidationError({"as": _("No member of this organisation.")})
        may = [one for one in members if email or allowed(one, Action.APPROVE_SPEND)]
        if len(may) != 1:
            known = ", ".join(one.user.email for one in may) or "–"
            raise ValidationError(
                {"as": _("Say who approves, with --as EMAIL: %(known)s.") % {"known": known}}
            )
        return may[0]
