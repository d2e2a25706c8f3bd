"""What time does to recommendations: snoozes end, periods pass."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import Organisation
from apps.recommendations.models import EventAction, Recommendation, RecommendationState
from apps.recommendations.services.inbox import organisation_lock, record

State = RecommendationState


def inbox_tick(*, now: datetime) -> tuple[int, int]:
    """End snoozes whose day has come and expire open rows whose period is over: (woken, expired)."""
    woken = expired = 0
    due = Q(state=State.SNOOZED, until__lte=now.date()) | Q(state=State.OPEN, claim_end__lte=now)
    organisations = Recommendation.objects.filter(due).order_by("organisation")
    for pk in organisations.values_list("organisation", flat=True).distinct():
        with transaction.atomic():
            organisation_lock(Organisation(pk=pk))
            rows = Recommendation.objects.select_for_update().filter(due, organisation=pk).order_by("pk")
            for row in rows:
                over = row.claim_end <= now or row.gone_at is not None
                cause = "period over" if row.claim_end <= now else "not found" if over else "day"
                before = row.state
                row.state = State.EXPIRED if over else State.OPEN
                row.until, row.reason, row.author = None, "", ""
                row.stated_at = row.stated_low = row.stated_high = None
                row.save()
                record(
                    row,
                    EventAction.EXPIRED if over else EventAction.WOKEN,
                    before=before,
                    now=now,
                    cause=cause,
                )
                woken, expired = woken + (not over), expired + over
    return woken, expired
