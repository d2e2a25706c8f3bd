"""A call of an attempt: what is stored before it is sent, and what is sent."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction

from apps.launches.models import OPEN, Attempt, AttemptState, Launch, LaunchPlan, LaunchState
from apps.launches.selectors.values import decimal_text, iso
from apps.launches.services.claims import LostClaimError
from apps.launches.services.executors import Offer, place_of
from apps.launches.services.guards import StoppedError, organisation_lock, stop_of
from apps.launches.services.timeline import launch_event
from finops.engine.launches.token import launch_token
from finops.frames.launches import ATTEMPT, EXPIRES, JOB, OWNER, LaunchCall

PREFIX = "opl"
# What a machine may be needed longer than planned: starts, lost work, a checkpoint at the end.
GRACE = timedelta(hours=1)
STRETCH = 1.5
_TOKEN = "{{launch_token}}"  # noqa: S105 - a placeholder, filled as the call is sent


def machine_token(launch: Launch) -> str:
    """What the machines of a launch show to call us back: for this launch only, the same for each attempt.

    It is worked out from the installation's secret, so it is stored nowhere.
    """
    said = f"launch:{launch.pk}:{launch.plan.target.owner}".encode()
    mac = hmac.new(settings.SECRET_KEY.encode(), said, hashlib.sha256).hexdigest()
    return f"{PREFIX}_{launch.pk}_{mac}"


def attempt_prepare(row: Launch, offer: Offer, now: datetime, *, beside: Attempt | None = None) -> Attempt:
    """Store the next attempt with parameters, token and tags.

    `beside`: the machine that runs and whose place it is to take; else the launch is ours by its claim.
    Raises LostClaimError, StoppedError where a guard forbids it, PermanentError.
    """
    plan = row.plan
    with transaction.atomic():
        organisation_lock(row.organisation_id)
        stop = stop_of(row, now=now)
        if stop is not None:
            raise StoppedError(stop)
        _hold(row, beside=beside is not None)
        if beside is not None and not _may_stand_beside(beside):
            raise LostClaimError(f"launch {row.pk}")
        number = row.attempts.count() + 1
        tags = _tags(row, number, now)
        made = place_of(plan.target).parameters(plan.target, plan, offer)
        parameters = _filled(made, {
            "{{launch_url}}": f"{settings.PUBLIC_URL}/api/v1/launches/{row.pk}",
            "{{attempt}}": str(number),
            "{{done_hours}}": str(row.done_hours),
            "{{checkpoint}}": plan.checkpoint_location,
        })  # fmt: skip
        attempt = Attempt.objects.create(
            launch=row,
            number=number,
            region=offer.get("region") or "",
            zone=offer.get("zone") or "",
            instance_type=offer.get("type") or "",
            market=offer["market"],
            price=None if offer.get("price") is None else Decimal(str(offer["price"])),
            currency=offer.get("currency") or "",
            parameters=parameters,
            tags=tags,
            token=launch_token(
                f"{plan.target.owner}/{row.pk}",
                number,
                {"market": offer["market"], "parameters": parameters, "tags": tags},
            ),
            prepared_at=now,
            from_hours=row.done_hours,
            count=plan.count // plan.parts,
            beside=beside is not None,
        )
        launch_event(
            row, "called", attempt=number, type=attempt.instance_type, market=attempt.market,
            place=offer.get("zone_name") or attempt.zone or attempt.region,
            price=decimal_text(attempt.price), currency=attempt.currency,
        )  # fmt: skip
    return attempt


def attempt_call(row: Launch, attempt: Attempt, now: datetime) -> LaunchCall:
    """Write down that the call is about to be sent, and the call. Raises LostClaimError, and StoppedError
    where a person switched it off since the attempt was stored: to open a session takes seconds.
    """
    with transaction.atomic():
        stop = stop_of(row, now=now, sent=True)
        if stop is not None:
            raise StoppedError(stop)
        _hold(row, beside=attempt.beside)
        sent = row.attempts.filter(pk=attempt.pk, state=AttemptState.PREPARED)
        if not sent.update(state=AttemptState.CALLED, called_at=now):
            raise LostClaimError(f"launch {row.pk}")
        attempt.state, attempt.called_at = AttemptState.CALLED, now
    return call_of(attempt)


def _hold(row: Launch, *, beside: bool) -> None:
    """The launch is still ours, or still runs; locked until the transaction ends. Raises LostClaimError."""
    mine = {"state": LaunchState.RUNNING} if beside else {"state": LaunchState.CLAIMED, "claims": row.claims}
    if Launch.objects.select_for_update().filter(pk=row.pk, **mine).first() is None:
        raise LostClaimError(f"launch {row.pk}")


def _may_stand_beside(former: Attempt) -> bool:
    """Whether a machine still runs and nobody is called beside it: another worker may have moved it since."""
    rows = Attempt.objects.filter(launch=former.launch_id)
    runs = rows.filter(pk=former.pk, state=AttemptState.RUNNING, beside=False).exists()
    return runs and not rows.filter(state__in=OPEN, beside=True).exists()


def call_of(attempt: Attempt) -> LaunchCall:
    """The call as it is sent, also again: the same each time."""
    return LaunchCall(
        token=attempt.token,
        pool=attempt.zone or attempt.region,
        market=attempt.market,
        parameters=_filled(attempt.parameters, {_TOKEN: machine_token(attempt.launch)}),
        tags=attempt.tags,
    )


def trial_parameters(plan: LaunchPlan, made: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a call that is only tried: no launch is behind it."""
    words = {"{{launch_url}}": settings.PUBLIC_URL, "{{attempt}}": "1", "{{done_hours}}": "0.0",
             "{{checkpoint}}": plan.checkpoint_location, _TOKEN: f"{PREFIX}_0_{'0' * 64}"}  # fmt: skip
    return dict(_filled(made, words))


def _tags(row: Launch, number: int, now: datetime) -> dict[str, str]:
    plan = row.plan
    left = timedelta(hours=max(0.0, row.hours - row.done_hours) * STRETCH)
    expires = max(now + left, row.deadline or now) + GRACE
    tags = {
        OWNER: plan.target.owner,
        JOB: str(row.pk),
        ATTEMPT: str(number),
        EXPIRES: iso(expires.replace(microsecond=0)),
        "offpeak:plan": str(plan.pk),
        "Name": plan.name,
    }
    if plan.team is not None:
        tags["offpeak:team"] = plan.team.slug
    if plan.owner is not None:
        tags["offpeak:person"] = plan.owner.email
    if plan.workload is not None:
        tags["offpeak:workload"] = plan.workload.name
    return tags


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for mark, text in words.items():
            value = value.replace(mark, text)
        return value
    if isinstance(value, Mapping):
        return {key: _filled(one, words) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, words) for one in value]
    return value
