"""Who has a launch in hand: taken by one conditional update on the database's clock, held by a lease."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now

from apps.launches.models import WAITING, Launch, LaunchState


class LostClaimError(Exception):
    """Another worker, a person or the clock has the launch now."""


def _lease() -> timedelta:
    return timedelta(seconds=settings.LAUNCH_LEASE_SECONDS)


def launch_claim(launch_id: int) -> Launch | None:
    """Take a launch that is due; None where it is not due, too late, or somebody else's.

    Whoever changes the row has it: of any number of workers at once one sees a count of 1.
    """
    taken = (
        Launch.objects.filter(pk=launch_id, state__in=WAITING, next_at__lte=Now())
        .filter(Q(start_by__gte=Now()) | Q(first_started_at__isnull=False))
        .update(
            state=LaunchState.CLAIMED,
            stated_at=Now(),
            lease_until=Now() + _lease(),
            worker=f"{socket.gethostname()}:{os.getpid()}"[:120],
            claims=F("claims") + 1,
        )
    )
    if not taken:
        return None
    return Launch.objects.select_related(
        "organisation", "plan__target", "plan__team", "plan__organisation"
    ).get(pk=launch_id)


def claim_hold(row: Launch) -> None:
    """A full lease from now on. Raises LostClaimError where the launch is no longer ours."""
    if not _ours(row).update(lease_until=Now() + _lease()):
        raise LostClaimError(f"launch {row.pk}")


def claim_release(
    row: Launch, *, next_at: datetime, now: datetime, why: str, values: dict[str, Any] | None = None
) -> None:
    """Give it back to wait until `next_at`. Raises LostClaimError where it is no longer ours."""
    state = LaunchState.QUEUED if row.first_started_at is None else LaunchState.INTERRUPTED
    changed = _ours(row).update(
        state=state,
        stated_at=now,
        next_at=next_at,
        lease_until=None,
        why=why,
        why_values=values or {},
        on_demand=row.on_demand,
    )
    if not changed:
        raise LostClaimError(f"launch {row.pk}")
    row.state, row.next_at, row.why = state, next_at, why


def _ours(row: Launch) -> Any:
    return Launch.objects.filter(pk=row.pk, state=LaunchState.CLAIMED, claims=row.claims)
