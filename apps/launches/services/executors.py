"""Which executor a target's launches go through, and what its calls are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings

from apps.launches.models import Executor as Kind
from apps.launches.models import LaunchPlan, LaunchTarget
from apps.launches.services.grants import grant_hold
from finops.providers.aws import launching, launching_call
from finops.providers.aws.session import Access
from finops.providers.base import PermanentError
from finops.providers.launching import Executor
from finops.providers.simulated import kept

Offer = Mapping[str, Any]
# A session of an assumed role lives for an hour; within ten minutes one look at the account is enough.
_KEPT_SECONDS = 600


@dataclass(frozen=True)
class Place:
    """`open`: the executor of a target and region. `parameters`: a call's, without token and tags.

    `faults`: what is wrong with a target's settings, by name. `provider` names the table of refusals.
    """

    open: Callable[[LaunchTarget, str, datetime], Executor]
    parameters: Callable[[LaunchTarget, LaunchPlan, Offer], dict[str, Any]]
    faults: Callable[[Mapping[str, Any]], dict[str, str]]
    provider: str


_PLACES: dict[str, Place] = {}


def register(kind: str, place: Place) -> None:
    """Make an executor known by its name."""
    _PLACES[kind] = place


def place_of(target: LaunchTarget) -> Place:
    """How a target's launches are made. Raises PermanentError where its executor is not installed."""
    found = _PLACES.get(target.executor)
    if found is None:
        raise PermanentError(f"The executor {target.executor} is not installed.")
    return found


def executor_of(target: LaunchTarget, region: str, now: datetime) -> Executor:
    """The executor of a target and region. Raises TransientError or PermanentError."""
    return place_of(target).open(target, region, now)


def aws_access(target: LaunchTarget) -> Access:
    """The right to the target's account. Raises PermanentError where the operator does not allow it."""
    grant_hold(target)
    return Access(target.credentials, target.external_id, settings.AWS_ENDPOINT_URL)


def _open_aws(target: LaunchTarget, region: str, now: datetime) -> Executor:
    turn = int(now.timestamp() // _KEPT_SECONDS)
    return _aws(aws_access(target), region, target.account, float(settings.LAUNCH_CALL_SECONDS), turn)


@lru_cache(maxsize=64)
def _aws(access: Access, region: str, account: str, seconds: float, turn: int) -> Executor:
    return launching.open_executor(access, region=region, account=account, seconds=seconds)


def _aws_parameters(target: LaunchTarget, plan: LaunchPlan, offer: Offer) -> dict[str, Any]:
    return launching_call.call_parameters(
        target.settings,
        offer,
        user_data=str(plan.job.get("user_data") or ""),
        max_price=offer.get("max_price"),
        count=plan.count // plan.parts,
    )


register(Kind.AWS, Place(_open_aws, _aws_parameters, launching_call.settings_faults, provider="aws"))


def _open_simulated(target: LaunchTarget, region: str, now: datetime) -> Executor:
    path = settings.OFFPEAK_HOME / "simulated" / f"{target.owner}.json"
    return kept.KeptSimulation(target.settings, path)


def _simulated_parameters(target: LaunchTarget, plan: LaunchPlan, offer: Offer) -> dict[str, Any]:
    return {"region": offer.get("region") or "", "type": offer.get("type") or "", "market": offer["market"],
            **({"count": plan.count} if plan.gang else {})}  # fmt: skip


register(
    # Its refusals are those of EC2.
    Kind.SIMULATED,
    Place(_open_simulated, _simulated_parameters, kept.settings_faults, provider="aws"),
)
