"""Lines of the timeline of a plan or a launch."""

from __future__ import annotations

from typing import Any

from apps.launches.models import Launch, LaunchEvent, LaunchPlan


def plan_event(plan: LaunchPlan, kind: str, **document: Any) -> None:
    """Something happened to a plan."""
    LaunchEvent.objects.create(plan=plan, kind=kind, document=document)


def launch_event(launch: Launch, kind: str, **document: Any) -> None:
    """Something happened to a launch."""
    LaunchEvent.objects.create(plan_id=launch.plan_id, launch=launch, kind=kind, document=document)
