"""What people make of recommendations: each change is one transaction with its history and audit row.

Only one change of an organisation's recommendations happens at a time, so of two that claim the same hours
at most one is accepted, also when both are asked for at once. The same decision again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation
from apps.accounts.services import audit_record
from apps.recommendations.kinds import kind_for
from apps.recommendations.models import EventAction, Recommendation, RecommendationState
from apps.recommendations.selectors.inbox import HOLDING, claiming
from apps.recommendations.selectors.standing import claim_of
from apps.recommendations.services.document import decimal_text, iso
from apps.recommendations.services.inbox import organisation_lock, record, savings_of
from apps.recommendations.services.stated import reason_of
from finops.engine.alternatives import conflict_graph

State = RecommendationState
MAX_SNOOZE = timedelta(days=366)

Change = Callable[[Recommendation], bool]


def recommendation_accept(
    *, recommendation: Recommendation, actor: Actor, now: datetime, reason: str = ""
) -> Recommendation:
    """It will be done: the counterfactual is fixed from here on. Raises ValidationError by field.

    Refused while another accepted one has its hours. Where its kind replaces, the one it follows ends.
    """
    text = reason_of(reason)

    def change(row: Recommendation) -> bool:
        if row.state == State.ACCEPTED:
            return False
        _only_from(row, State.OPEN, State.SNOOZED)
        if row.claim_end <= now:
            raise ValidationError({"state": _("Its period is over.")})
        _free(row, now)
        _supersede(row, actor, now)
        row.counterfactual = _counterfactual(row, now)
        row.state, row.until, row.accepted_at, row.reason = State.ACCEPTED, None, now, text
        _stated(row, actor, now)
        return True

    return _change(recommendation, actor, now, EventAction.ACCEPTED, "accept", change)


def recommendation_done(
    *, recommendation: Recommendation, actor: Actor, now: datetime, reason: str = ""
) -> Recommendation:
    """It was carried out. Raises ValidationError by field."""
    text = reason_of(reason)

    def change(row: Recommendation) -> bool:
        if row.state == State.DONE:
            return False
        _only_from(row, State.ACCEPTED)
        row.state, row.reason, row.author, row.stated_at = State.DONE, text, actor.label, now
        return True

    return _change(recommendation, actor, now, EventAction.DONE, "done", change)


def recommendation_dismiss(
    *, recommendation: Recommendation, actor: Actor, now: datetime, reason: str
) -> Recommendation:
    """It will not be done, and this is why. Raises ValidationError by field."""
    text = reason_of(reason, needed=True)

    def change(row: Recommendation) -> bool:
        if row.state == State.DISMISSED and row.reason == text:
            return False
        _only_from(row, State.OPEN, State.SNOOZED)
        row.state, row.until, row.reason = State.DISMISSED, None, text
        _stated(row, actor, now)
        return True

    return _change(recommendation, actor, now, EventAction.DISMISSED, "dismiss", change)


def recommendation_snooze(
    *, recommendation: Recommendation, actor: Actor, now: datetime, until: date, reason: str = ""
) -> Recommendation:
    """Not before this day. Raises ValidationError by field."""
    text, today = reason_of(reason), now.date()
    if not today < until <= today + MAX_SNOOZE:
        raise ValidationError({"until": _("Choose a day after today and within a year.")})

    def change(row: Recommendation) -> bool:
        if row.state == State.SNOOZED and (row.until, row.reason) == (until, text):
            return False
        _only_from(row, State.OPEN, State.SNOOZED)
        row.state, row.until, row.reason = State.SNOOZED, until, text
        _stated(row, actor, now)
        return True

    return _change(recommendation, actor, now, EventAction.SNOOZED, "snooze", change)


def recommendation_reopen(
    *, recommendation: Recommendation, actor: Actor, now: datetime, reason: str = ""
) -> Recommendation:
    """Take a decision back; what later bills said about it goes. Raises ValidationError by field."""
    text = reason_of(reason)

    def change(row: Recommendation) -> bool:
        if row.state == State.OPEN:
            return False
        _only_from(row, State.SNOOZED, State.DISMISSED, State.ACCEPTED, State.DONE)
        if row.claim_end <= now:
            raise ValidationError({"state": _("Its period is over.")})
        if row.gone_at is not None:
            raise ValidationError({"state": _("It is no longer found, so there is nothing to decide.")})
        if row.state in HOLDING:
            later = _live(row)
            if later is not None:
                raise ValidationError(
                    {"state": _("Recommendation %(id)s has taken its place.") % {"id": later.pk}}
                )
            row.realised.all().delete()
        row.state, row.until, row.reason, row.author = State.OPEN, None, "", ""
        row.stated_at = row.stated_low = row.stated_high = row.accepted_at = row.counterfactual = None
        return True

    return _change(recommendation, actor, now, EventAction.REOPENED, "reopen", change, reason=text)


def recommendation_assign(
    *, recommendation: Recommendation, actor: Actor, now: datetime, owner_id: int | None
) -> Recommendation:
    """Who is to act: a member of the organisation, or nobody. Raises ValidationError by field."""

    def change(row: Recommendation) -> bool:
        if row.owner_id == owner_id:
            return False
        member = Membership.objects.filter(organisation=row.organisation_id, user=owner_id)
        if owner_id is not None and not member.exists():
            raise ValidationError({"owner": _("Choose a member of this organisation.")})
        row.owner_id = owner_id
        return True

    return _change(recommendation, actor, now, EventAction.ASSIGNED, "assign", change)


def _change(
    recommendation: Recommendation,
    actor: Actor,
    now: datetime,
    action: EventAction,
    verb: str,
    change: Change,
    *,
    reason: str | None = None,
) -> Recommendation:
    with transaction.atomic():
        organisation_lock(Organisation(pk=recommendation.organisation_id))
        row = (
            Recommendation.objects.select_for_update(of=("self",))
            .select_related("owner", "team", "organisation")
            .get(pk=recommendation.pk)
        )
        before, state = _said(row), row.state
        if not change(row):
            return row
        row.save()
        record(
            row,
            action,
            before=state,
            now=now,
            actor=actor,
            reason=row.reason if reason is None else reason,
            **({"owner": row.owner_id} if action == EventAction.ASSIGNED else {}),
            **({"until": row.until.isoformat()} if row.until else {}),
        )
        audit_record(
            organisation=row.organisation,
            actor=actor,
            action=f"recommendation.{verb}",
            target=row,
            before=before,
            after=_said(row),
        )
    return row


def _free(row: Recommendation, now: datetime) -> None:
    """Raise ValidationError where an accepted one has the hours."""
    former = row.follows_id if kind_for(row.kind).replaces else None
    others = list(
        Recommendation.objects.filter(
            claiming(now), organisation=row.organisation_id, claims__overlap=row.claims
        ).exclude(pk=former or 0)
    )
    taken = conflict_graph([claim_of(one) for one in (row, *others)])[0]
    if taken:
        holder = others[min(taken) - 1]
        raise ValidationError(
            {
                "state": _(
                    "Recommendation %(id)s was accepted and claims the same. Open that one again first."
                )
                % {"id": holder.pk}
            }
        )


def _supersede(row: Recommendation, actor: Actor, now: datetime) -> None:
    """End the accepted one whose place this takes: from now on the hours are this one's."""
    if not kind_for(row.kind).replaces:
        return
    former = (
        Recommendation.objects.select_for_update()
        .filter(pk=row.follows_id or 0, state__in=HOLDING, claim_end__gt=now)
        .first()
    )
    if former is None or not set(former.claims) & set(row.claims):
        return
    before, state = _said(former), former.state
    former.state, former.author, former.stated_at = State.DONE, actor.label, now
    former.claim_end = max(now, former.claim_start + timedelta(microseconds=1))
    former.save(update_fields=["state", "author", "stated_at", "claim_end"])
    record(former, EventAction.DONE, before=state, now=now, actor=actor, followed_by=row.pk)
    audit_record(
        organisation=row.organisation, actor=actor, action="recommendation.done", target=former,
        before=before, after=_said(former),
    )  # fmt: skip


def _counterfactual(row: Recommendation, now: datetime) -> dict[str, Any]:
    """What would have happened otherwise, in numbers that stay as they are at this moment."""
    return {
        "fixed_at": iso(now),
        "claim_start": iso(row.claim_start),
        "claim_end": iso(row.claim_end),
        **savings_of(row),
        "basis": dict(kind_for(row.kind).counterfactual(row)),
    }


def _live(row: Recommendation) -> Recommendation | None:
    return (
        Recommendation.objects.filter(
            organisation=row.organisation_id, kind=row.kind, subject=row.subject, pk__gt=row.pk
        )
        .exclude(state=State.EXPIRED)
        .first()
    )


def _stated(row: Recommendation, actor: Actor, now: datetime) -> None:
    row.author, row.stated_at = actor.label, now
    row.stated_low, row.stated_high = row.saving_low, row.saving_high


def _only_from(row: Recommendation, *states: str) -> None:
    if row.state in states:
        return
    if row.author and row.stated_at:
        told = _("It is %(state)s already, by %(who)s. Open it again first.")
    else:
        told = _("It is %(state)s; that cannot be changed so.")
    state = str(row.get_state_display()).lower()
    raise ValidationError({"state": told % {"state": state, "who": row.author}})


def _said(row: Recommendation) -> Mapping[str, Any]:
    """What the audit trail keeps of a row."""
    return {
        "kind": row.kind,
        "subject": row.subject,
        "state": row.state,
        "until": row.until,
        "reason": row.reason,
        "owner": row.owner_id,
        "saving": decimal_text(row.saving),
        "currency": row.currency,
    }
