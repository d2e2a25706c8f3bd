"""What a helper of a queue is and runs, looked at before its rule is kept.

What no plan would take would be refused each minute, without anybody there to read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.launches.models import Executor, LaunchTarget
from finops.engine.workload import Workload, WorkloadError

MOST_NAMES = 200
# A job names no time: any will do to look at its sizes.
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)


def _names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MOST_NAMES
        and all(isinstance(one, str) and 0 < len(one.strip()) <= 120 for one in value)
    )


def _text(most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and len(value) <= most and "\x00" not in value


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1_000_000


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1_000_000


# The same limits as the body of a plan has.
JOB_FIELDS: dict[str, Callable[[Any], bool]] = {
    "types": _names, "regions": _names, "product": _text(60), "min_vcpu": _whole, "min_memory_gib": _number,
    "gpu": _text(60), "gpus": _whole, "user_data": _text(16_384), "command": _text(4000), "image": _text(500),
    "discount_pct": _number,
}  # fmt: skip
_OF_A_WORKLOAD = ("types", "regions", "product", "min_vcpu", "min_memory_gib", "gpu", "gpus", "discount_pct")


def job_faults(job: Mapping[str, Any], *, target: LaunchTarget, hours: float) -> dict[str, str]:
    """What is wrong, by `job.FIELD`; {} where a plan can be made of it."""
    if unknown := sorted(set(job) - set(JOB_FIELDS)):
        return {"job": _("There is no field %(name)s.") % {"name": str(unknown[0])[:60]}}
    odd = {
        f"job.{name}": _("This is not a value that %(name)s takes.") % {"name": name}
        for name, value in job.items()
        if not JOB_FIELDS[name](value)
    }
    if odd:
        return odd
    given = {name: job[name] for name in _OF_A_WORKLOAD if job.get(name) not in (None, "", [])}
    if target.executor == Executor.KUBERNETES:
        # A cluster has no regions or types of its own to choose from.
        given |= {"regions": ("own",), "product": "own"}
        if not any(given.get(name) for name in ("types", "min_vcpu", "min_memory_gib", "gpu", "gpus")):
            given["types"] = ("own",)
    try:
        Workload(
            **{"hours": hours, "at": _ANY_TIME, "slack_hours": 0.0, "regions": (), "product": "", **given}
        )
    except WorkloadError as error:
        return {f"job.{error.field}": error.message}
    return {}
