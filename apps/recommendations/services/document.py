"""Advice as the JSON document of the command line, REST and pages. Keys are a contract: add, never rename."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from apps.recommendations import wording
from finops.engine.advice import Advice
from finops.engine.flexibility import Result
from finops.engine.plans import Plan
from finops.engine.series import from_us
from finops.engine.workload import WorkloadError

Document = dict[str, Any]
FIRST_YEAR, LAST_YEAR = 2000, 9990
COST_DIGITS = Decimal("0.00000001")


def decimal_text(value: float | Decimal | None) -> str | None:
    """A decimal string without an exponent or trailing zeros; 8 decimals of a computed amount."""
    if value is None:
        return None
    exact = value if isinstance(value, Decimal) else Decimal(repr(value)).quantize(COST_DIGITS)
    text = format(exact, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def iso(moment: datetime) -> str:
    """ISO 8601 UTC ending in Z."""
    return moment.isoformat().replace("+00:00", "Z")


def check_moment(moment: datetime) -> None:
    """Raises WorkloadError for a decision time from which no look-back or term can be counted."""
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise WorkloadError("at", _("Out of range: %(value)s") % {"value": iso(moment)})


def rounded(value: float | None, digits: int = 6) -> float | None:
    """A percentage or share; six digits are far below anything that is measured. No negative zero."""
    return None if value is None else round(value, digits) + 0.0


def evidence(
    snapshots: Mapping[str, int], at: datetime, *, later_prices: bool | None, **more: Any
) -> Document:
    """What an answer rests on. Snapshot ids are text: JavaScript and jq shorten integers of 19 digits."""
    return {
        "snapshots": {table: str(snapshot) for table, snapshot in sorted(snapshots.items())},
        "engine": settings.OFFPEAK_VERSION,
        "at": iso(at),
        "later_prices": later_prices,
        **more,
    }


def plan_document(plan: Plan, names: Mapping[str, str]) -> Document:
    """One plan; amounts for all instances together."""
    return {
        "rank": plan.rank,
        "start": iso(from_us(plan.start_us)),
        "zone": plan.zone or None,
        "zone_name": names.get(plan.zone, plan.zone) or None,
        "region": plan.region,
        "type": plan.instance_type,
        "market": plan.market,
        "price": decimal_text(plan.price),
        "price_at": iso(from_us(plan.price_us)),
        "currency": plan.currency,
        "cost": decimal_text(plan.cost),
        "cost_low": decimal_text(plan.low),
        "cost_high": decimal_text(plan.high),
        "compute_cost": decimal_text(plan.compute),
        "transfer_cost": decimal_text(plan.transfer),
        "rework_cost": decimal_text(plan.rework),
        "not_included": list(plan.missing),
        "saving_vs_home_pct": rounded(plan.saving_vs_home_pct),
        "saving_vs_zone_now_pct": rounded(plan.saving_vs_zone_now_pct),
        "saving_vs_on_demand_pct": rounded(plan.saving_vs_on_demand_pct),
        "probability_cheaper": rounded(plan.probability_cheaper),
        "pieces": [
            {"start": iso(from_us(start)), "end": iso(from_us(end)), "zone": plan.zone or None}
            for start, end in plan.pieces
        ],
        "reason": wording.plan_reason(plan),
    }


def result_document(result: Result, count: int) -> Document:
    """One rule on the decisions of the back-test; `mean_cost` for all instances together."""
    mean = None if result.mean_cost is None else result.mean_cost * count
    return {
        "decisions": result.decisions,
        "saving_pct": rounded(result.saving_pct),
        "low": rounded(result.low),
        "high": rounded(result.high),
        "lost_share": rounded(result.lost_share),
        "mean_cost": decimal_text(mean),
    }


def advice_document(
    advice: Advice,
    *,
    names: Mapping[str, str],
    snapshots: Mapping[str, int],
    sources: Mapping[str, object],
) -> Document:
    """The whole answer."""
    return {
        "verdict": advice.verdict,
        "sentence": wording.sentence(advice, names),
        "currency": advice.currency,
        "home": _home(advice, names),
        "plans": [plan_document(plan, names) for plan in advice.plans],
        "plans_left_out": advice.left_out,
        "excluded": [
            {
                "region": one.region or None,
                "zone": names.get(one.zone, one.zone) or None,
                "type": one.instance_type,
                "reason": wording.excluded_reason(one, names),
            }
            for one in advice.excluded
        ],
        "waiting": {
            **result_document(advice.waiting, advice.workload.count),
            "sentence": wording.waiting(advice),
        },
        "splitting": _splitting(advice),
        "flexibility": [
            {
                "wait_hours": cell.wait_hours,
                "where": cell.where,
                "saving_pct": rounded(cell.result.saving_pct),
                "low": rounded(cell.result.low),
                "high": rounded(cell.result.high),
                "decisions": cell.result.decisions,
                "reason": wording.cell_reason(cell.reason) or None,
            }
            for cell in advice.flexibility
        ],
        "backtest": _backtest(advice),
        "evidence": evidence(
            snapshots,
            advice.workload.at,
            later_prices=advice.later_prices,
            **sources,
        ),
    }


def _home(advice: Advice, names: Mapping[str, str]) -> Document | None:
    if advice.home is None:
        return None
    plan = plan_document(advice.home, names)
    ranked = next(
        (
            p.rank
            for p in advice.plans
            if p.series == advice.home.series and p.start_us == advice.home.start_us and p.series is not None
        ),
        None,
    )
    return {**plan, "rank": ranked}


def _splitting(advice: Advice) -> Document | None:
    """Running in pieces against the launch rule in one piece; null where the work may not be split."""
    if advice.splitting is None:
        return None
    test = advice.splitting.test
    return {
        **result_document(test.over_one if test else Result(0), advice.workload.count),
        "split_share": rounded(test.share) if test else None,
        "worth_it": test is not None and test.worth_it,
        "sentence": wording.splitting(advice),
    }


def _backtest(advice: Advice) -> Document:
    test, count = advice.backtest, advice.workload.count
    mine = result_document(test.advice, count)
    return {
        "decisions": test.advice.decisions,
        "realised_saving_pct": mine["saving_pct"],
        "low": mine["low"],
        "high": mine["high"],
        "lost_share": mine["lost_share"],
        "first_decision": None if test.first_us is None else iso(from_us(test.first_us)),
        "last_decision": None if test.last_us is None else iso(from_us(test.last_us)),
        "strategies": {
            "advice": mine,
            **{name: result_document(result, count) for name, result in test.rivals},
        },
    }
