"""What every form of a plan is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.launches.models import LaunchPlan
from apps.launches.selectors.job import container_of
from finops.engine.launches.token import launch_token
from finops.providers.aws import launching_call
from finops.providers.base import PermanentError
from finops.providers.kubernetes.jobs import label_name


@dataclass(frozen=True)
class Sheet:
    """`offer`: the plan's first; `tags` without those that only our own launches carry."""

    plan: LaunchPlan
    offer: Mapping[str, Any]
    settings: Mapping[str, Any]
    slug: str
    tags: Mapping[str, str]

    @property
    def spot(self) -> bool:
        return bool(self.offer["market"] == "spot")

    @property
    def job(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.plan.job
        return found

    @property
    def container(self) -> Mapping[str, Any]:
        return container_of(self.job)

    def aws_call(self) -> tuple[str, dict[str, Any]]:
        """(operation, arguments) of the call that would be sent, for all machines of the plan, with tags and
        a token: sent twice it starts them once. Raises PermanentError.
        """
        if self.plan.target.executor not in {"aws", "simulated"}:
            raise PermanentError(f"The target {self.plan.target.name} is no account at AWS.")
        made = launching_call.call_parameters(
            self.settings,
            self.offer,
            user_data=str(self.job.get("user_data") or ""),
            max_price=self.job.get("max_price") or None,
        )
        arguments, count = dict(made["arguments"]), self.plan.count
        tags = launching_call.tag_list(self.tags)
        if made["api"] == launching_call.RUN:
            arguments |= {"MinCount": count, "MaxCount": count}
            kinds = ["instance", "volume"]
        else:
            capacity = {**arguments["TargetCapacitySpecification"], "TotalTargetCapacity": count}
            arguments["TargetCapacitySpecification"] = capacity
            kinds = ["fleet", "instance", "volume"]
        arguments["TagSpecifications"] = [{"ResourceType": kind, "Tags": tags} for kind in kinds]
        arguments["ClientToken"] = launch_token(f"plan {self.plan.pk}", 1, {"arguments": arguments})
        return made["api"], arguments


def sheet_of(plan: LaunchPlan) -> Sheet:
    """The sheet of a plan. Raises PermanentError where it has no offer."""
    offers = plan.document.get("offers") or []
    if not offers:
        raise PermanentError("The plan has no offer: there is nothing to launch.")
    tags = {"Name": plan.name, "offpeak:plan": str(plan.pk)}
    if plan.team is not None:
        tags["offpeak:team"] = plan.team.slug
    if plan.owner is not None:
        tags["offpeak:person"] = plan.owner.email
    if plan.workload is not None:
        tags["offpeak:workload"] = plan.workload.name
    return Sheet(plan, offers[0], plan.target.settings or {}, label_name(plan.name), tags)
