"""Writing saved workloads; each write leaves a row in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import ActorKind, Organisation, Team
from apps.accounts.services import audit_record
from apps.workloads.models import Workload
from apps.workloads.selectors import FIELDS, REPEATING, repeating_work
from finops.engine.workload import Workload as Question
from finops.engine.workload import WorkloadError


def workload_save(
    *,
    organisation: Organisation,
    actor: Actor,
    name: str,
    fields: Mapping[str, Any],
    now: datetime,
    team: Team | None = None,
    workload: Workload | None = None,
) -> Workload:
    """Keep a workload under its name, or replace `workload` whole: what `fields` leaves out is its default.

    `fields`: those of the engine's workload but `at`, and `repeat`, `done_by`, `timezone` of repeating work.
    It is judged as it would be at `now`. The owner is who made it; a key owns nothing. Raises WorkloadError
    (field, message) or ValidationError by field: a name in use, a team of another organisation.
    """
    name = " ".join(name.split())
    if not name:
        raise ValidationError({"name": _("Give the workload a name.")})
    if team is not None and team.organisation_id != organisation.pk:
        raise ValidationError({"team": _("There is no such team in this organisation.")})
    checked = _checked(fields, now)
    try:
        with transaction.atomic():
            return _write(organisation, actor, name, checked, team, workload)
    except IntegrityError as error:
        if "workload_name_once" not in str(error):
            raise
        raise ValidationError({"name": _("This name is in use. Choose another.")}) from error


def workload_remove(*, workload: Workload, actor: Actor) -> bool:
    """Forget a workload; False when somebody else has done it already."""
    with transaction.atomic():
        found = Workload.objects.select_for_update().filter(pk=workload.pk).first()
        if found is None:
            return False
        audit_record(
            organisation=found.organisation,
            actor=actor,
            action="workload.remove",
            target=found,
            before=_facts(found),
        )
        found.delete()
    return True


def _checked(fields: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The fields with their defaults, by the rules of the engine. Raises WorkloadError."""
    given = {k: v for k, v in fields.items() if v is not None}
    if unknown := sorted(set(given) - {*FIELDS, *REPEATING}):
        raise TypeError(f"no fields of a workload: {', '.join(unknown)}")
    repeating = {k: str(given.pop(k, "") or "").strip() for k in REPEATING}
    if not given.get("deadline"):
        given.setdefault("slack_hours", 0.0)
    for many in ("types", "regions", "zones"):
        given[many] = tuple(dict.fromkeys(part for text in given.get(many, ()) if (part := text.strip())))
    given = {k: v.strip() if isinstance(v, str) else v for k, v in given.items()}
    question = Question(at=now, **given)
    repeating["timezone"] = repeating["timezone"] or "UTC"
    work = repeating_work(
        length=timedelta(hours=question.hours),
        slack=timedelta(hours=question.slack_hours or 0.0),
        **repeating,
    )
    if work is not None and question.deadline is not None:
        raise WorkloadError("deadline", _("Repeating work has hours it may wait, not a deadline."))
    if work is None:
        repeating = dict.fromkeys(REPEATING, "")
    values = {name: getattr(question, name) for name in FIELDS}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()} | repeating


def _write(
    organisation: Organisation,
    actor: Actor,
    name: str,
    checked: Mapping[str, Any],
    team: Team | None,
    workload: Workload | None,
) -> Workload:
    before = None
    if workload is None:
        owner = actor.id if actor.kind == ActorKind.USER else None
        row = Workload(organisation=organisation, owner_id=owner)
    else:
        row = Workload.objects.select_for_update().get(pk=workload.pk, organisation=organisation)
        before = _facts(row)
        row.updated_at = Now()
    row.name, row.team = name, team
    for field, value in checked.items():
        setattr(row, field, value)
    row.clean_fields(exclude=["organisation", "owner", "team", "updated_at"])
    row.save()
    row.refresh_from_db()
    audit_record(
        organisation=organisation,
        actor=actor,
        action="workload.create" if workload is None else "workload.change",
        target=row,
        before=before,
        after=_facts(row),
    )
    return row


def _facts(workload: Workload) -> dict[str, Any]:
    """What the audit trail keeps of a workload."""
    fields = {name: getattr(workload, name) for name in ("name", *FIELDS, *REPEATING)}
    return {**fields, "owner": workload.owner_id, "team": workload.team_id}
