"""Made-up targets, plans and launches, as the planner makes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from apps.accounts.models import ActorKind, Membership, Organisation, User
from apps.accounts.roles import Role
from apps.launches.models import (
    Launch,
    LaunchGrant,
    LaunchPlan,
    LaunchState,
    LaunchTarget,
    PlanApproval,
    PlanState,
)
from apps.launches.services.grants import grant_needed

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
OFFER = {
    "market": "spot", "region": "us-east-1", "zone": "use1-az1", "zone_name": "us-east-1a",
    "type": "m5.large", "price": "0.04", "currency": "USD", "cost": "0.08",
}  # fmt: skip
ON_DEMAND_OFFER = {
    **OFFER,
    "market": "on-demand",
    "zone": None,
    "zone_name": None,
    "price": "0.1",
    "cost": "0.2",
}


def target(organisation: Organisation | None = None, **changes: Any) -> LaunchTarget:
    """A place of AWS with one image."""
    values: dict[str, Any] = {
        "organisation": organisation or Organisation.default(), "name": "cloud", "executor": "aws",
        "account": "111122223333", "settings": {"images": {"us-east-1": "ami-1"}}, **changes,
    }  # fmt: skip
    made = LaunchTarget.objects.create(**values)
    needed = grant_needed(made)
    if needed is not None and needed != ("cluster", ""):
        LaunchGrant.objects.get_or_create(
            organisation=made.organisation, kind=needed[0], name=needed[1], defaults={"made_by": "test"}
        )
    return made


def plan(at: LaunchTarget | None = None, **changes: Any) -> LaunchPlan:
    """An approved plan of one machine for two hours, Spot first, on demand last."""
    place = at or target()
    values: dict[str, Any] = {
        "organisation": place.organisation, "target": place, "name": "Nightly", "hours": 2.0,
        "job": {"hours": 2.0, "product": "Linux/UNIX", "provider": "aws", "restart_minutes": 6.0},
        "document": {"offers": [OFFER, ON_DEMAND_OFFER]}, "due_at": NOW, "deadline_hours": 8.0,
        "cost_low": Decimal("0.07"), "cost": Decimal("0.08"), "cost_high": Decimal("0.3"), "currency": "USD",
        "requested_at": NOW, "requested_kind": ActorKind.SYSTEM, "requested_by": "test",
        "valid_until": NOW + timedelta(days=7), "state": PlanState.APPROVED, "stated_at": NOW, **changes,
    }  # fmt: skip
    return LaunchPlan.objects.create(**values)


def launch(of: LaunchPlan | None = None, **changes: Any) -> Launch:
    """A launch of a plan that is due."""
    made = of or plan()
    due = changes.pop("due_at", made.due_at)
    values: dict[str, Any] = {
        "organisation": made.organisation, "plan": made, "due_at": due, "hours": made.hours,
        "start_by": due + timedelta(minutes=made.start_minutes), "priority": made.priority,
        "deadline": due + timedelta(hours=made.deadline_hours) if made.deadline_hours else None,
        "state": LaunchState.QUEUED, "stated_at": due, "next_at": due, **changes,
    }  # fmt: skip
    return Launch.objects.create(**values)


def approved(at: LaunchTarget | None = None, **changes: Any) -> LaunchPlan:
    """A plan with the standing yes of an admin."""
    made = plan(at, **changes)
    email = f"admin@{made.organisation.slug}.example"
    user = User.objects.filter(email=email).first() or User.objects.create_user(email, "pw")
    Membership.objects.get_or_create(user=user, organisation=made.organisation, role=Role.ADMIN)
    PlanApproval.objects.create(plan=made, user=user, role=Role.ADMIN, at=NOW)
    return made
