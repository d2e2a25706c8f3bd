"""Teams of an organisation."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, Team, TeamMember
from apps.accounts.services.audit import audit_record


@transaction.atomic
def team_create(*, organisation: Organisation, actor: Actor, name: str) -> Team:
    """A new team. Raises ValidationError for an empty name and for a name that is taken."""
    name = name.strip()
    slug = slugify(name, allow_unicode=False) or f"team-{organisation.teams.count() + 1}"
    team = Team(organisation=organisation, name=name, slug=slug[:50])
    team.full_clean(validate_constraints=False)
    try:
        with transaction.atomic():
            team.save()
    except IntegrityError:
        raise ValidationError({"name": _("There is a team of this name already.")}) from None
    audit_record(
        organisation=organisation, actor=actor, action="team.create", target=team, after={"name": name}
    )
    return team


@transaction.atomic
def team_member_add(*, team: Team, membership: Membership, actor: Actor) -> None:
    """Put a member into a team; a repeat changes nothing. Raises ValidationError across organisations."""
    if team.organisation_id != membership.organisation_id:
        raise ValidationError(_("A team holds members of its own organisation only."))
    if TeamMember.objects.get_or_create(team=team, membership=membership)[1]:
        audit_record(
            organisation=team.organisation,
            actor=actor,
            action="team.member_add",
            target=team,
            after={"member": membership.user.email},
        )


@transaction.atomic
def team_member_remove(*, team: Team, membership: Membership, actor: Actor) -> None:
    """Take a member out of a team; a repeat changes nothing."""
    if TeamMember.objects.filter(team=team, membership=membership).delete()[0]:
        audit_record(
            organisation=team.organisation,
            actor=actor,
            action="team.member_remove",
            target=team,
            before={"member": membership.user.email},
        )
