"""Stored policies: who sets them, and which a check is held against; each change is in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.accounts.services import audit_record
from apps.costchecks.models import CheckPolicy
from apps.costchecks.selectors import check_policy_list, stored_policies
from finops.engine.checks.policies import DEFAULT_POLICIES, Policy, document_of, policies_of
from finops.frames.cost_items import CheckInputError

MAX_POLICIES = 200


def check_policy_add(
    *, organisation: Organisation, actor: Actor, values: Mapping[str, Any], team: Team | None = None
) -> CheckPolicy:
    """Hold every check of the organisation (or of one of its teams) against a policy.

    Raises ValidationError by field: nothing is kept then.
    """
    if team is not None and team.organisation_id != organisation.pk:
        raise ValidationError({"team": _("There is no such team in this organisation.")})
    try:
        (policy,) = policies_of({"policies": [dict(values)]})
    except CheckInputError as error:
        name = (
            error.field
            if error.field in values or error.field in {"kind", "limit", "types", "tag"}
            else "kind"
        )
        raise ValidationError({name: error.reason}) from error
    try:
        with transaction.atomic():
            # The rows of an organisation are counted by one writer at a time.
            Organisation.objects.select_for_update().get(pk=organisation.pk)
            if check_policy_list(organisation).count() >= MAX_POLICIES:
                raise ValidationError({"kind": _("At most %(n)d policies.") % {"n": MAX_POLICIES}})
            row = CheckPolicy.objects.create(
                organisation=organisation, team=team, kind=policy.kind, rule=document_of(policy)
            )
            audit_record(
                organisation=organisation, actor=actor, action="check_policy.add", target=row,
                after={**row.rule, "for": team.slug if team else "organisation"},
            )  # fmt: skip
    except IntegrityError as error:
        if "check_policy_once" not in str(error):
            raise
        raise ValidationError({"kind": _("This policy is there already.")}) from error
    return row


def check_policy_remove(*, policy: CheckPolicy, actor: Actor) -> bool:
    """Stop holding checks against it; False when somebody else has done so already."""
    with transaction.atomic():
        row = (
            CheckPolicy.objects.select_for_update()
            .filter(pk=policy.pk)
            .select_related("organisation")
            .first()
        )
        if row is None:
            return False
        team = Team.objects.filter(pk=row.team_id).first() if row.team_id else None
        audit_record(
            organisation=row.organisation, actor=actor, action="check_policy.remove", target=row,
            before={**row.rule, "for": team.slug if team else "organisation"},
        )  # fmt: skip
        row.delete()
    return True


def policy_of(row: CheckPolicy) -> Policy:
    """A stored row as the engine takes it, with who set it."""
    (policy,) = policies_of({"policies": [row.rule]})
    return replace(policy, set_by=f"team {row.team.slug}" if row.team else "organisation")


def policies_in_force(
    organisation: Organisation, *, team: Team | None, given: tuple[Policy, ...] | None
) -> tuple[Policy, ...]:
    """The stored policies of the organisation and the team, then the caller's: a caller adds, it cannot leave
    out. Without any of both the default ones.
    """
    stored = tuple(policy_of(row) for row in stored_policies(organisation, team))
    if given is None:
        return stored or DEFAULT_POLICIES
    return (*stored, *given)
