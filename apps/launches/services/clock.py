"""What happens to launches by themselves: beat calls these, workers carry them out."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from apps.launches.models import WAITING, Launch
from apps.launches.services.turns import missed_end, plans_end, turns_make

# Handed out in one turn; the rest comes with the next one.
BATCH = 500


def database_now() -> datetime:
    """The database's clock: a worker whose own clock jumps misses no launch and ends no machine by it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return datetime.fromtimestamp(now.timestamp(), UTC)


def due_launches(limit: int = BATCH) -> list[int]:
    """Launches that may be taken now by the database's clock: highest priority first, then the first due."""
    rows = Launch.objects.filter(state__in=WAITING, next_at__lte=Now()).filter(
        Q(start_by__gte=Now()) | Q(first_started_at__isnull=False)
    )
    return list(rows.order_by("-priority", "due_at", "pk").values_list("pk", flat=True)[:limit])


def launches_tick(*, now: datetime) -> dict[str, int]:
    """One turn: due times become rows, late rows are missed, plans end. The caller hands out what is due."""
    return {"made": turns_make(now=now), "missed": missed_end(now=now), "plans": plans_end(now=now)}
