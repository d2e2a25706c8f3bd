"""What waits for a person: plans that nobody has approved, launches that need more than was approved."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.launches.models import WAITING, Launch, LaunchPlan, PlanState


class Asks(NamedTuple):
    """How many of each wait for a yes."""

    plans: int
    launches: int


def asking_plans(organisation: Organisation, now: datetime) -> QuerySet[LaunchPlan]:
    """Plans that may still be approved."""
    return LaunchPlan.objects.filter(
        organisation=organisation, state=PlanState.REQUESTED, valid_until__gt=now
    )


def asking_launches(organisation: Organisation) -> QuerySet[Launch]:
    """Launches that wait for a yes to a higher amount."""
    return Launch.objects.filter(organisation=organisation, state__in=WAITING, asked_high__isnull=False)


def asks_of(organisation: Organisation, now: datetime) -> Asks:
    """Both, counted."""
    return Asks(asking_plans(organisation, now).count(), asking_launches(organisation).count())


def asks_count(organisation: Organisation, now: datetime) -> int:
    """Both together, by one query: the count beside the item of the navigation."""
    plans = asking_plans(organisation, now).order_by().values("pk")
    return plans.union(asking_launches(organisation).order_by().values("pk"), all=True).count()


def asks_document(organisation: Organisation, now: datetime) -> dict[str, Any]:
    """As every way in shows them."""
    return asks_of(organisation, now)._asdict()
