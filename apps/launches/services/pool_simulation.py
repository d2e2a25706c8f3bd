"""A trace of jobs played on a hybrid pool: files and terms in, cost, wait and missed deadlines out."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.recommendations.services.document import Document, decimal_text, evidence, rounded
from finops.engine.launches.burst import BurstRule
from finops.engine.launches.pool_compare import (
    PoolComparison,
    Strategy,
    Terms,
    compare_pools,
    repeated_openings,
)
from finops.engine.launches.pool_policies import AdviceRules
from finops.engine.launches.pool_replay import ReplayRules
from finops.engine.workload import WorkloadError
from finops.frames.pools import PoolKind, PoolOffer, PoolRowError, example_pools, read_pools
from finops.providers.files.archives import UnreadableError
from finops.providers.files.availability_traces import availability_of
from finops.providers.files.demand_files import text_of
from finops.providers.files.job_files import JobTrace, jobs_of

# A trace without dates begins on this Monday: windows need a date.
UNDATED = datetime(2026, 1, 5, tzinfo=UTC)
DEFAULTS = {
    "slack_share": 0.5, "slack_hours": 1.0, "estimate_error": 0.0, "on_demand_limit": 512,
    "burst_start": 1.0, "burst_stop": 0.5, "checkpoint_minutes": 2.0, "restart_minutes": 6.0, "seed": 1,
}  # fmt: skip


def simulate_pool(
    *,
    jobs: str,
    pools: str | None = None,
    spot_trace: str | None = None,
    at: datetime | None = None,
    **terms: Any,
) -> Document:
    """The document of `simulate_pool`; `terms` as in DEFAULTS.

    Raises WorkloadError (a term), UnreadableError (the jobs), InputFileError (the other files).
    """
    given = {**DEFAULTS, **{name: value for name, value in terms.items() if value is not None}}
    _check(given)
    offers = example_pools() if pools is None else _pools(pools)
    trace = jobs_of(jobs)
    began = trace.began or UNDATED
    opens = _spot_openings(spot_trace, offers, trace)
    try:
        found = compare_pools(
            trace.jobs,
            offers,
            began=began,
            terms=Terms(*(given[name] for name in list(DEFAULTS)[:4])),
            rules=ReplayRules(given["checkpoint_minutes"] / 60, given["restart_minutes"] / 60, given["seed"]),
            advice=AdviceRules(BurstRule(given["burst_start"], given["burst_stop"])),
            opens=opens,
        )
    except ValueError as error:
        raise WorkloadError("pools", str(error)) from error
    return {
        **_answer(found, offers),
        "jobs": _jobs(trace),
        "pools": [_pool(one) for one in offers],
        "terms": {
            **given,
            "pools": "example" if pools is None else "file",
            "spot_trace": spot_trace is not None,
        },
        "evidence": evidence({}, at or timezone.now(), later_prices=None),
    }


class InputFileError(UnreadableError):
    """A file beside the jobs cannot be read; `field` is the argument that names it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


def _check(given: dict[str, Any]) -> None:
    for field, value in given.items():
        least = 1 if field in {"on_demand_limit", "seed"} else 0
        if not math.isfinite(value) or not least <= value <= 1_000_000:
            raise WorkloadError(field, _("Out of range: %(value)s") % {"value": value})
    if given["checkpoint_minutes"] <= 0:
        raise WorkloadError("checkpoint_minutes", _("Out of range: %(value)s") % {"value": 0})
    if given["burst_stop"] > given["burst_start"]:
        raise WorkloadError("burst_stop", _("Out of range: %(value)s") % {"value": given["burst_stop"]})


def _pools(path: str) -> list[PoolOffer]:
    try:
        return read_pools(text_of(path).splitlines())
    except (PoolRowError, UnreadableError) as error:
        raise InputFileError("pools", str(error)) from error


def _spot_openings(path: str | None, offers: list[PoolOffer], trace: JobTrace) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        seen = availability_of(path)
    except UnreadableError as error:
        raise InputFileError("spot_trace", str(error)) from error
    if not seen.available.any():
        raise InputFileError("spot_trace", "no Spot at all in this trace")
    last = max(arrival + hours for arrival, hours, _units in trace.jobs) * 2 + 1000
    found = repeated_openings([bool(one) for one in seen.available], seen.gap_seconds / 3600, last)
    return {one.name: found for one in offers if one.kind is PoolKind.SPOT}


def _answer(found: PoolComparison, offers: list[PoolOffer]) -> Document:
    advice, rival = found.strategies["advice"], found.strategies["first_come_first_served"]
    saved = (1 - advice.result.cost / rival.result.cost) * 100 if rival.result.cost else None
    return {
        "strategies": {name: _strategy(one) for name, one in found.strategies.items()},
        "saving_vs_first_come_first_served_pct": rounded(saved, 3),
        "work_unit_hours": rounded(found.work, 3),
        "cost_floor": None if math.isinf(found.floor) else decimal_text(found.floor),
        "currency": offers[0].currency,
    }


def _strategy(one: Strategy) -> Document:
    result = one.result
    return {
        "cost": decimal_text(result.cost),
        "cost_share": rounded(one.cost_share),
        "wait_hours": {
            "mean": rounded(one.wait_mean),
            "median": rounded(one.wait_median),
            "p95": rounded(one.wait_p95),
            "max": rounded(max(result.waits)),
        },
        "missed_deadlines": result.missed,
        "missed_share": rounded(result.missed / len(result.waits)),
        "interruptions": result.interruptions,
        "moves": result.moves,
        "lost_unit_hours": rounded(result.lost, 3),
        "pools": {
            name: {"cost": decimal_text(use.cost), "unit_hours": rounded(use.unit_hours, 3)}
            for name, use in result.pools.items()
        },
    }


def _jobs(trace: JobTrace) -> Document:
    return {
        "count": len(trace.jobs),
        "left_out": trace.left_out,
        "began": None if trace.began is None else trace.began.isoformat().replace("+00:00", "Z"),
        "hours": rounded(max(arrival for arrival, _hours, _units in trace.jobs), 3),
        "largest_units": max(units for _at, _hours, units in trace.jobs),
    }


def _pool(one: PoolOffer) -> Document:
    return {
        "name": one.name, "kind": one.kind, "provider": one.provider or None, "region": one.region or None,
        "units": one.units, "largest": one.largest, "hourly": decimal_text(one.hourly),
        "currency": one.currency, "speed": one.speed,
        "interruptions_per_hour": one.interruptions_per_hour,
        "window": f"{one.window} {one.zone} {one.days}".strip() or None,
    }  # fmt: skip
