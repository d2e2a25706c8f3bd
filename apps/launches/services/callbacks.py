"""What a machine says about its own launch: work that is written down, an end that is near, the end.

A machine knows its launch's token only. It names its attempt: what an attempt says whose machine has ended
changes nothing.
"""

from __future__ import annotations

import hmac
import math
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from apps.launches.models import Attempt, AttemptState, Checkpoint, Launch
from apps.launches.services.calls import PREFIX, machine_token
from apps.launches.services.interruptions import attempt_noticed
from apps.launches.services.markers import checkpoint_mark, looked_for
from apps.launches.services.outcomes import attempt_ended
from finops.frames.launches import Ending, Notice, NoticeKind


def launch_of_token(token: str) -> Launch | None:
    """The launch whose machines know this token; None for any other text."""
    prefix, _sep, rest = token.partition("_")
    number, _sep, _mac = rest.partition("_")
    if prefix != PREFIX or not (number.isascii() and number.isdigit() and len(number) < 18):
        return None
    launch = (
        Launch.objects.select_related("organisation", "plan__target", "plan__team", "plan__owner")
        .filter(pk=int(number))
        .first()
    )
    if launch is None or not hmac.compare_digest(token.encode(), machine_token(launch).encode()):
        return None
    return launch


def checkpoint_keep(
    *, launch: Launch, attempt: int, work_hours: float, name: str, marked: bool, now: datetime
) -> Checkpoint:
    """Work that was written down; with its marker it counts from now on. Raises ValidationError.

    Sent twice it is one; a marker that comes later is added. `work_hours` are of the whole job. Where the
    marker lies in S3 we look for it ourselves.
    """
    if not math.isfinite(work_hours) or not 0 <= work_hours <= launch.hours:
        raise ValidationError(
            {"work_hours": _("From 0 to the job's %(hours)s hours.") % {"hours": launch.hours}}
        )
    if len(name) > 500 or "\x00" in name:
        raise ValidationError({"name": _("At most %(n)d characters.") % {"n": 500}})
    mine = _running(launch, attempt)
    row, _made = Checkpoint.objects.get_or_create(
        attempt=mine, name=name, work_hours=work_hours, defaults={"at": now}
    )
    if marked and not looked_for(launch):
        checkpoint_mark(row, now)
    return row


def machine_notice(*, launch: Launch, attempt: int, kind: str, at: datetime, now: datetime) -> bool:
    """The machine read in its own metadata that it is taken back, or may be. Raises ValidationError."""
    mine = _running(launch, attempt)
    if kind not in {NoticeKind.INTERRUPTION, NoticeKind.REBALANCE}:
        raise ValidationError({"kind": f"{NoticeKind.INTERRUPTION} / {NoticeKind.REBALANCE}"})
    return attempt_noticed(mine, Notice(NoticeKind(kind), mine.machine, at), now)


def launch_finish(*, launch: Launch, attempt: int, ok: bool, message: str, now: datetime) -> str:
    """The job says that it is done, or that it failed; the launch's state afterwards.

    The same again answers the same. The machine is ended by the next look at it. Raises ValidationError.
    """
    if len(message) > 1000 or "\x00" in message:
        raise ValidationError({"message": _("At most %(n)d characters.") % {"n": 1000}})
    ending = Ending.DONE if ok else Ending.FAILED
    said = launch.attempts.filter(number=attempt, state=AttemptState.ENDED, ending=ending).exists()
    if said:
        return str(launch.state)
    return attempt_ended(_running(launch, attempt), ending, now, message=message)


def machine_document(launch: Launch, attempt: int) -> dict[str, Any]:
    """What a machine may know: how far the job is and whether it should go on."""
    row = launch.attempts.filter(number=attempt).first()
    mark = (
        Checkpoint.objects.filter(attempt__launch=launch, marked_at__isnull=False)
        .order_by("-work_hours", "-pk")
        .first()
    )
    return {
        "launch": launch.pk,
        "attempt": attempt,
        "state": launch.state,
        "hours": launch.hours,
        "done_hours": launch.done_hours,
        "checkpoint": {
            "location": launch.plan.checkpoint_location or None,
            "marker": launch.plan.checkpoint_marker or None,
            "name": None if mark is None else mark.name,
        },
        "go_on": row is not None and row.state == AttemptState.RUNNING and row.noticed_at is None,
    }


def _running(launch: Launch, number: int) -> Attempt:
    found = launch.attempts.select_related("launch").filter(number=number, state=AttemptState.RUNNING).first()
    if found is None:
        raise ValidationError({"state": _("This attempt does not run any more.")})
    return found
