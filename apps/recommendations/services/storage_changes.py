"""What people do about lifecycle rules: ask for a change, approve, cancel, take it back.

Nothing here writes to a bucket; `storage_applying` does, and reads approvals and rules again before it does.
A change is frozen with the whole configuration that its diff was made against. One that deletes has no way
back: two people approve it, and it is written after a delay that begins with the second yes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation
from apps.accounts.roles import Action
from apps.accounts.services import audit_record
from apps.recommendations.models import (
    ChangeState,
    LifecycleApproval,
    LifecycleChange,
    Recommendation,
    RecommendationState,
    StorageAccount,
)
from apps.recommendations.selectors.approvals import standing
from apps.recommendations.services.approvals import may_approve, still_needed
from apps.recommendations.services.decisions import recommendation_accept
from apps.recommendations.services.stated import only_from, reason_of, state_move
from apps.recommendations.storage_wording import problem_words
from apps.storage.selectors import bucket_of
from apps.storage.selectors.prices import terms_of
from finops.engine.storage.lifecycle import Plan, Rule, canonical, deletes_of, difference, planned
from finops.providers.aws.lifecycle import DEFAULT_SMALLEST, SMALLEST, BucketRules, Configuration, open_bucket
from finops.providers.aws.session import Access
from finops.providers.base import ProviderError

State = ChangeState
MAX_RULES = 50


def rules_desk(account: StorageAccount, *, bucket: str, region: str) -> BucketRules:
    """The lifecycle rules of a bucket. Raises TransientError or PermanentError."""
    access = Access(account.credentials, account.external_id, settings.AWS_ENDPOINT_URL)
    return open_bucket(access, bucket=bucket, region=region, account=account.account)


def configuration_now(account: StorageAccount, *, bucket: str, region: str) -> Configuration:
    """What is there now. Raises ValidationError with the provider's words."""
    try:
        return stored(rules_desk(account, bucket=bucket, region=region).read())
    except ProviderError as error:
        raise ValidationError({"bucket": str(error)}) from error


def stored(configuration: Mapping[str, Any]) -> Configuration:
    """A configuration as JSON holds it: times as texts."""
    found: Configuration = json.loads(json.dumps(dict(configuration), default=_time))
    return found


def _time(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two configurations do the same."""
    sizes = {found.get(SMALLEST) or DEFAULT_SMALLEST for found in (one, other)}
    return canonical(one.get("Rules") or []) == canonical(other.get("Rules") or []) and (
        len(sizes) == 1 or not one.get("Rules")
    )


def plan_for(
    *, account: StorageAccount, bucket: str, region: str, rules: Sequence[Rule], now: datetime
) -> tuple[Plan, Configuration]:
    """What the rules would change, against what is there now. Raises ValidationError by field."""
    terms = terms_of("aws", region, now.date(), organisation=account.organisation)
    if terms is None:
        raise ValidationError(
            {
                "bucket": _("No storage prices are known for %(place)s: enter them under Storage, Prices.")
                % {"place": f"aws {region}"}
            }
        )
    if not rules or len(rules) > MAX_RULES:
        raise ValidationError({"rules": _("Between 1 and %(most)d rules.") % {"most": MAX_RULES}})
    before = configuration_now(account, bucket=bucket, region=region)
    try:
        return planned(before.get("Rules") or [], rules, terms), before
    except (KeyError, TypeError, ValueError) as error:
        raise ValidationError(
            {"rules": _("Not rules of a lifecycle: %(what)s.") % {"what": error}}
        ) from error


def change_request(
    *,
    organisation: Organisation,
    actor: Actor,
    account: StorageAccount | None,
    bucket: str,
    rules: Sequence[Rule],
    now: datetime,
    recommendation: Recommendation | None = None,
    reason: str = "",
) -> LifecycleChange:
    """Ask for a change: it reads the bucket's rules, merges, and waits. Raises ValidationError by field."""
    account, region = _place(organisation, account, bucket)
    if recommendation is not None and recommendation.organisation_id != organisation.pk:
        raise ValidationError({"recommendation": _("There is no such recommendation.")})
    plan, before = plan_for(account=account, bucket=bucket, region=region, rules=rules, now=now)
    blocking = [problem_words(one) for one in plan.problems if one.blocks]
    if blocking:
        raise ValidationError({"rules": blocking})
    if plan.nothing:
        raise ValidationError({"rules": _("The bucket has these rules already.")})
    after = {**before, "Rules": list(plan.rules)}
    return _store(
        organisation=organisation, actor=actor, now=now, account=account, region=region, bucket=bucket,
        rules=[dict(rule) for rule in rules], before=before, after=after, diff=list(plan.diff),
        warnings=[problem_words(one) for one in plan.problems], deletes=plan.deletes,
        rollback=None if plan.deletes else before, recommendation=recommendation, reason=reason_of(reason),
    )  # fmt: skip


def change_revert(
    *, change: LifecycleChange, actor: Actor, now: datetime, reason: str = ""
) -> LifecycleChange:
    """Ask for the rules as they were before an applied change. Raises ValidationError by field.

    Refused where nothing takes it back, or where the rules are not those that it wrote any more.
    """
    if change.state != State.APPLIED or change.rollback is None:
        raise ValidationError({"state": _("Nothing takes this change back.")})
    account, region = _place(change.organisation, change.account, change.bucket)
    before = configuration_now(account, bucket=change.bucket, region=region)
    if not same(before, change.after):
        raise ValidationError(
            {"state": _("The rules were changed since: take back by hand what is not wanted.")}
        )
    had = {canonical([rule]) for rule in before.get("Rules") or []}
    wanted = change.rollback.get("Rules") or []
    deletes = any(deletes_of(rule) for rule in wanted if canonical([rule]) not in had)
    return _store(
        organisation=change.organisation, actor=actor, now=now, account=account, region=region,
        bucket=change.bucket, rules=[], before=before, after=change.rollback,
        diff=difference(before.get("Rules") or [], wanted), warnings=[],
        deletes=deletes, rollback=None if deletes else before, reverts=change, reason=reason_of(reason),
    )  # fmt: skip


def _place(
    organisation: Organisation, account: StorageAccount | None, bucket: str
) -> tuple[StorageAccount, str]:
    if account is None or account.organisation_id != organisation.pk:
        raise ValidationError(
            {"account": _("No account of this organisation may have its rules written. An admin names one.")}
        )
    found = bucket_of(bucket, organisation=organisation, provider="aws")
    if found is None or not found.region:
        raise ValidationError({"bucket": _("No bucket %(name)s was listed here.") % {"name": bucket}})
    if found.account and found.account != account.account:
        raise ValidationError(
            {"account": _("The bucket is of account %(account)s.") % {"account": found.account}}
        )
    return account, found.region


def _store(*, actor: Actor, now: datetime, **values: Any) -> LifecycleChange:
    with transaction.atomic():
        row = LifecycleChange.objects.create(
            requested_at=now, requested_kind=actor.kind, requested_id=actor.id, requested_by=actor.label,
            approvals_needed=2 if values["deletes"] else 1, stated_at=now,
            valid_until=now + timedelta(days=settings.STORAGE_CHANGE_VALID_DAYS), **values,
        )  # fmt: skip
        change_audit(row, actor, "request", before=None)
    return row


def change_approve(*, change: LifecycleChange, membership: Membership, now: datetime) -> LifecycleChange:
    """One person's yes; with the last that is needed it is written, after the delay where it deletes.

    The same person again changes nothing. Raises ValidationError.
    """
    may_approve(change, membership, Action.DECIDE, _("Your role may not approve changes of lifecycle rules."))
    actor = Actor.of_user(membership.user)
    with transaction.atomic():
        row = _locked(change)
        if not still_needed(row, membership, requested=State.REQUESTED, now=now, other_role=False):
            return row
        LifecycleApproval.objects.create(change=row, user=membership.user, role=membership.role, at=now)
        if len(standing_approvals(row)) < row.approvals_needed:
            change_audit(row, actor, "approve", before=row.state, role=membership.role)
            return row
        if row.recommendation is not None and row.recommendation.state not in (
            RecommendationState.ACCEPTED, RecommendationState.DONE,
        ):  # fmt: skip
            recommendation_accept(recommendation=row.recommendation, actor=actor, now=now)
        delay = timedelta(days=settings.STORAGE_DELETE_DELAY_DAYS) if row.deletes else timedelta(0)
        valid = max(row.valid_until, now + delay + timedelta(days=settings.STORAGE_CHANGE_VALID_DAYS))
        change_state_set(
            row, State.APPROVED, now, actor, "approve",
            fields={"not_before": now + delay, "valid_until": valid}, role=membership.role,
        )  # fmt: skip
    return row


def standing_approvals(change: LifecycleChange) -> list[LifecycleApproval]:
    """The approvals that count now: of active members who still may decide, each person once."""
    return standing(
        change.approvals.select_related("user"),
        organisation_id=change.organisation_id,
        action=Action.DECIDE,
        in_role=False,
    )


def change_cancel(*, change: LifecycleChange, actor: Actor, now: datetime, reason: str) -> LifecycleChange:
    """It will not be written; possible until a worker has it. Raises ValidationError by field."""
    text = reason_of(reason, needed=True)
    with transaction.atomic():
        row = _locked(change)
        if row.state == State.CANCELLED:
            return row
        only_from(row, State.REQUESTED, State.APPROVED)
        change_state_set(row, State.CANCELLED, now, actor, "cancel", message=text)
    return row


def change_audit(row: LifecycleChange, actor: Actor, verb: str, *, before: str | None, **facts: Any) -> None:
    """A line of the audit trail."""
    audit_record(
        organisation=row.organisation,
        actor=actor,
        action=f"lifecycle.{verb}",
        target=row,
        before=None if before is None else {"state": before},
        after={
            "state": row.state, "account": row.account.account, "bucket": row.bucket,
            "rules": [rule.get("ID") for rule in row.rules], "deletes": row.deletes,
            "reverts": row.reverts_id, "message": row.message, **facts,
        },
    )  # fmt: skip


def _locked(change: LifecycleChange) -> LifecycleChange:
    return (
        LifecycleChange.objects.select_for_update(of=("self",))
        .select_related("account", "organisation", "recommendation")
        .get(pk=change.pk)
    )


# Changes with a line of the audit trail each.
change_state_set = partial(state_move, audit=change_audit)
