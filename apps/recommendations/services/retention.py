"""How long given advice is kept, and what of it must stay."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from apps.accounts.selectors import audited_ids
from apps.recommendations.models import Advice

# Deleting 1,000 rows of 20 kB each takes under a second and holds no lock for longer.
BATCH = 1000


def _audited() -> set[int]:
    """Advice that an entry of the audit trail is about."""
    return audited_ids(Advice)


# Apps above add a function that gives the ids of advice which their decisions cite: it is never deleted.
cited_advice: list[Callable[[], set[int]]] = [_audited]


def advice_forget(*, now: datetime, keep_days: int) -> int:
    """Delete advice older than `keep_days` that nothing cites; 0 days: none. Returns how many."""
    if keep_days <= 0:
        return 0
    old = Advice.objects.filter(created_at__lt=now - timedelta(days=keep_days))
    cited = set().union(*(ids() for ids in cited_advice))
    going = [pk for pk in old.order_by("pk").values_list("pk", flat=True) if pk not in cited]
    for start in range(0, len(going), BATCH):
        Advice.objects.filter(pk__in=going[start : start + BATCH]).delete()
    return len(going)


def advice_snapshots() -> set[int]:
    """Snapshots of the lake that stored advice cites."""
    found = Advice.objects.values_list("snapshots", flat=True).distinct()
    return {int(snapshot) for snapshots in found for snapshot in snapshots.values()}
