"""Writing approved lifecycle rules: the only code that changes a bucket.

A put replaces the whole configuration and nothing at the service guards it. So: one worker at a time has a
change (a conditional update on the database's clock, one of a bucket in flight), it reads the rules, writes
only where they are those that the diff was made against, and reads back. The write says the same when it is
repeated, so a worker that died is no riddle: the next one looks at what is there.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from apps.accounts.actors import Actor
from apps.recommendations.models import ChangeState, LifecycleChange, RecommendationState
from apps.recommendations.services.decisions import recommendation_done
from apps.recommendations.services.document import iso
from apps.recommendations.services.storage_changes import (
    change_audit,
    change_state_set,
    rules_desk,
    same,
    standing_approvals,
    stored,
)
from finops.providers.aws.lifecycle import BucketRules, Configuration
from finops.providers.base import PermanentError, ProviderError, TransientError

log = structlog.get_logger(__name__)
State = ChangeState
ACTOR = Actor.system("lifecycle rules")
# Reading, writing and reading back take seconds; who is silent for so long is gone.
GIVEN_UP = timedelta(minutes=10)


class StoppedError(Exception):
    """The rules must not be written; the text says why."""


def change_run(*, change_id: int, now: datetime) -> str:
    """Write one approved change; the state it is in afterwards, "" when it was not ours to write.

    Raises TransientError when trying later can help: the change is approved still.
    """
    row = _claim(change_id)
    if row is None:
        return ""
    try:
        _check(row)
        desk = rules_desk(row.account, bucket=row.bucket, region=row.region)
        found = _write(row, desk, now)
    except TransientError as error:
        _give_back(row, str(error), now)
        raise
    except (StoppedError, PermanentError) as error:
        change_state_set(row, State.REFUSED, now, ACTOR, "refuse", message=str(error))
        return row.state
    with transaction.atomic():
        fields = {"read_back": found, "applied_at": now}
        done = change_state_set(row, State.APPLIED, now, ACTOR, "apply", fields=fields)
        advice = row.recommendation
        if done and advice is not None and advice.state == RecommendationState.ACCEPTED:
            recommendation_done(recommendation=advice, actor=ACTOR, now=now)
    return row.state


def change_trial(*, change: LifecycleChange, actor: Actor, now: datetime) -> LifecycleChange:
    """A dry run: reads the rules as they are now and says what would be written. Writes nothing."""
    trial: dict[str, object] = {"at": iso(now)}
    try:
        found = stored(rules_desk(change.account, bucket=change.bucket, region=change.region).read())
        unchanged, there = same(found, change.before), same(found, change.after)
        trial |= {
            "allowed": unchanged or there,
            "there_already": there,
            "rules_now": len(found.get("Rules") or []),
            "rules_after": len(change.after.get("Rules") or []),
            "reason": "" if unchanged or there else _CHANGED,
        }
    except ProviderError as error:
        trial |= {"allowed": False, "reason": str(error)}
    change.tried_at, change.trial = now, trial
    with transaction.atomic():
        change.save(update_fields=["tried_at", "trial"])
        change_audit(change, actor, "try", before=change.state, trial=trial)
    return change


def changes_tick(*, now: datetime) -> int:
    """One turn over all changes that are not ended; how many changed. Safe twice and at the same time."""
    changed = 0
    late = LifecycleChange.objects.filter(
        state__in=[State.REQUESTED, State.APPROVED], valid_until__lte=now
    ).select_related("account", "organisation")
    for row in late:
        changed += change_state_set(
            row, State.EXPIRED, now, ACTOR, "expire", message="Nobody approved or wrote it in time."
        )
    LifecycleChange.objects.filter(state=State.APPLYING, claimed_at__lt=Now() - GIVEN_UP).update(
        state=State.APPROVED, stated_at=now
    )
    due = LifecycleChange.objects.filter(state=State.APPROVED, not_before__lte=now).order_by("pk")
    for pk in due.values_list("pk", flat=True):
        try:
            changed += bool(change_run(change_id=pk, now=now))
        except TransientError as error:
            log.warning("lifecycle_waits", change=pk, error=str(error))
    return changed


_CHANGED = "The bucket's rules are not those that the diff was made against: somebody changed them."


def _claim(change_id: int) -> LifecycleChange | None:
    """Take an approved change whose time has come; None when it is not ours or another of the bucket is."""
    try:
        with transaction.atomic():
            taken = LifecycleChange.objects.filter(
                pk=change_id, state=State.APPROVED, not_before__lte=Now(), valid_until__gt=Now()
            ).update(state=State.APPLYING, claimed_at=Now(), stated_at=Now())
    except IntegrityError:
        log.info("lifecycle_waits", change=change_id)
        return None
    if not taken:
        return None
    named = ("account", "organisation", "recommendation")
    return LifecycleChange.objects.select_related(*named).get(pk=change_id)


def _check(row: LifecycleChange) -> None:
    """Raise StoppedError unless it may be written now."""
    if not row.account.active:
        raise StoppedError(f"Writing is switched off for account {row.account.account}. Nothing was written.")
    standing = standing_approvals(row)
    if len({one.user_id for one in standing}) < row.approvals_needed:
        raise StoppedError(
            f"Only {len(standing)} of {row.approvals_needed} approvals stand: somebody who approved has lost "
            "the role or left. Nothing was written."
        )


def _write(row: LifecycleChange, desk: BucketRules, now: datetime) -> Configuration:
    """Compare, write, read back. Raises StoppedError where somebody else changed the rules."""
    found = stored(desk.read())
    if same(found, row.after):
        return found
    if not same(found, row.before):
        raise StoppedError(f"{_CHANGED} Nothing was written.")
    desk.write(row.after)
    log.info("lifecycle_written", change=row.pk, bucket=row.bucket, rules=len(row.after.get("Rules") or []))
    read = stored(desk.settled(lambda one: same(stored(one), row.after)))
    if not same(read, row.after):
        raise TransientError("The rules were written; the bucket does not show them yet.")
    return read


def _give_back(row: LifecycleChange, message: str, now: datetime) -> None:
    """Approved as before, for a later try."""
    LifecycleChange.objects.filter(pk=row.pk, state=State.APPLYING, claimed_at=row.claimed_at).update(
        state=State.APPROVED, message=message[:1000], stated_at=now
    )
