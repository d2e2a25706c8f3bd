"""A plan's first call, tried: the place says whether rights, limits and parameters would do."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.launches.models import LaunchPlan, PlanState
from apps.launches.selectors.values import iso
from apps.launches.services.approving import plan_audit
from apps.launches.services.calls import trial_parameters
from apps.launches.services.executors import executor_of, place_of
from apps.launches.services.said import said
from apps.launches.services.timeline import plan_event
from apps.recommendations.services.stated import only_from
from finops.engine.launches.token import launch_token
from finops.frames.launches import OWNER, LaunchCall
from finops.providers.base import ProviderError


def plan_trial(*, plan: LaunchPlan, actor: Actor, now: datetime) -> LaunchPlan:
    """Ask the place about the first call of a plan and keep its answer in `trial`.

    `{"verdict": allowed | permission | quota | parameters | other | away, "code", "message", "market",
    "place", "type", "at"}`. A place that cannot be reached is `away`. Raises ValidationError where the plan
    is over.
    """
    only_from(plan, PlanState.DRAFT, PlanState.REQUESTED, PlanState.APPROVED)
    offers = plan.document.get("offers") or []
    if not offers:
        raise ValidationError({"plan": _("The plan has no offer to try.")})
    offer = offers[0]
    answer = {
        **_asked(plan, offer, now), "market": offer["market"], "type": offer.get("type") or None,
        "place": offer.get("zone_name") or offer.get("zone") or offer.get("region") or None, "at": iso(now),
    }  # fmt: skip
    with transaction.atomic():
        row = LaunchPlan.objects.select_for_update(of=("self",)).get(pk=plan.pk)
        row.trial, row.tried_at = answer, now
        row.save(update_fields=["trial", "tried_at"])
        plan_event(row, "tried", verdict=answer["verdict"], code=answer["code"])
        plan_audit(row, actor, "try", before=row.state, trial=answer)
    return row


def _asked(plan: LaunchPlan, offer: dict[str, Any], now: datetime) -> dict[str, Any]:
    try:
        made = place_of(plan.target).parameters(plan.target, plan, offer)
        parameters = trial_parameters(plan, made)
        tags = {OWNER: plan.target.owner}
        token = launch_token(f"{plan.target.owner}/try/{plan.pk}", 1, {"parameters": parameters, "tags": tags,
                                                                       "at": iso(now)})  # fmt: skip
        call = LaunchCall(
            token, offer.get("zone") or offer.get("region") or "", offer["market"], parameters, tags
        )
        found = executor_of(plan.target, offer.get("region") or "", now).tried(call, now=now)
    except ProviderError as error:
        return {"verdict": "away", "code": "", "message": said(error)}
    return {"verdict": str(found.verdict), "code": found.code, "message": said(found.message)}
