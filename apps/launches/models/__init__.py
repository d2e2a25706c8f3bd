"""Plans, launches, attempts, guards and what happened to them."""

from apps.launches.models.bursts import LaunchBurst
from apps.launches.models.events import LaunchEvent, Stray
from apps.launches.models.guards import (
    Executor,
    GrantKind,
    LaunchBudget,
    LaunchGrant,
    LaunchGuard,
    LaunchRule,
    LaunchTarget,
)
from apps.launches.models.launches import (
    HELD,
    OPEN,
    OVER,
    WAITING,
    Attempt,
    AttemptState,
    Checkpoint,
    Launch,
    LaunchState,
    LaunchYes,
    Market,
)
from apps.launches.models.plans import MAX_PRIORITY, LaunchPlan, PlanApproval, PlanState, Preemption
from apps.launches.models.schedules import ScheduleState, ScheduleTurn, StopSchedule, TurnState
from apps.launches.models.work import WORK_OVER, Work, WorkEvent, WorkState

__all__ = [
    "HELD",
    "MAX_PRIORITY",
    "OPEN",
    "OVER",
    "WAITING",
    "WORK_OVER",
    "Attempt",
    "AttemptState",
    "Checkpoint",
    "Executor",
    "GrantKind",
    "Launch",
    "LaunchBudget",
    "LaunchBurst",
    "LaunchEvent",
    "LaunchGrant",
    "LaunchGuard",
    "LaunchPlan",
    "LaunchRule",
    "LaunchState",
    "LaunchTarget",
    "LaunchYes",
    "Market",
    "PlanApproval",
    "PlanState",
    "Preemption",
    "ScheduleState",
    "ScheduleTurn",
    "StopSchedule",
    "Stray",
    "TurnState",
    "Work",
    "WorkEvent",
    "WorkState",
]
