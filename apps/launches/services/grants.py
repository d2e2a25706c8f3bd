"""What belongs to the installation and an organisation may use: clusters, the server's own credentials.

A target names a cluster's folder on the server, or no role; both are the installation's, so the operator says
who may. It is looked at when a target is kept and again each time that it is opened.
"""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.launches.models import OPEN, Attempt, Executor, GrantKind, LaunchGrant, LaunchTarget
from finops.providers.base import PermanentError
from finops.providers.kubernetes.jobs import NAMESPACE_NAME


def grant_needed(target: LaunchTarget) -> tuple[str, str] | None:
    """(kind, name) of what a target uses of the installation's; None for nothing."""
    if target.executor == Executor.KUBERNETES:
        return GrantKind.CLUSTER, target.credentials
    if target.executor == Executor.AWS and not target.credentials:
        return GrantKind.OWN_CREDENTIALS, ""
    return None


def grant_stands(target: LaunchTarget) -> bool:
    """Whether the operator allowed what a target uses."""
    needed = grant_needed(target)
    return (
        needed is None
        or LaunchGrant.objects.filter(
            organisation_id=target.organisation_id, kind=needed[0], name=needed[1]
        ).exists()
    )


def grant_hold(target: LaunchTarget) -> None:
    """Raises PermanentError where the operator does not allow what a target uses."""
    if not grant_stands(target):
        raise PermanentError(
            f"{target.name}: "
            + (
                "this cluster is not allowed for the organisation."
                if target.executor == Executor.KUBERNETES
                else "it names no role, and the installation's own credentials are not allowed for it."
            )
        )


def grant_save(*, organisation: Organisation, actor: Actor, kind: str, name: str = "") -> LaunchGrant:
    """Allow an organisation a cluster, or the own credentials. Raises ValidationError by field."""
    _check(kind, name)
    with transaction.atomic():
        row, made = LaunchGrant.objects.get_or_create(
            organisation=organisation, kind=kind, name=name, defaults={"made_by": actor.label}
        )
        if made:
            audit_record(
                organisation=organisation, actor=actor, action="launch_grant.create", target=row,
                before=None, after={"kind": kind, "name": name},
            )  # fmt: skip
    return row


def grant_remove(*, organisation: Organisation, actor: Actor, kind: str, name: str = "") -> bool:
    """Take it back; whether it was there. Raises ValidationError by field, also while machines run by it:
    nobody could end them any more.
    """
    _check(kind, name)
    with transaction.atomic():
        for target in LaunchTarget.objects.select_for_update().filter(organisation=organisation):
            held = Attempt.objects.filter(launch__plan__target=target, state__in=OPEN)
            if grant_needed(target) == (kind, name) and held.exists():
                raise ValidationError(
                    {"state": _("Machines run on %(target)s: end them first.") % {"target": target.name}}
                )
        row = (
            LaunchGrant.objects.select_for_update()
            .filter(organisation=organisation, kind=kind, name=name)
            .first()
        )
        if row is None:
            return False
        audit_record(
            organisation=organisation, actor=actor, action="launch_grant.remove", target=row,
            before={"kind": kind, "name": name}, after=None,
        )  # fmt: skip
        row.delete()
    return True


def _check(kind: str, name: str) -> None:
    if kind == GrantKind.CLUSTER and not NAMESPACE_NAME.fullmatch(name):
        raise ValidationError({"cluster": _("The name of its folder: lower-case letters, digits and -.")})
