"""Back-test of buying over time: a demand file and prices in, every policy's cost out."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.recommendations.services.document import Document, decimal_text, evidence, rounded
from finops.engine.commitments.buying import BuyingConfig, compare, repeated
from finops.engine.workload import WorkloadError
from finops.providers.files.demand_files import demand_of

HORIZON_HOURS = 2 * 8760
# An hour more costs the linear programme variables; ten years take minutes.
LONGEST_HOURS = 10 * 8760


def backtest_commitments(
    *,
    demand: str,
    term_hours: int,
    upfront: Decimal,
    on_demand: Decimal,
    hourly: Decimal = Decimal(0),
    horizon_hours: int | None = None,
    currency: str = "USD",
    at: datetime | None = None,
) -> Document:
    """The document of `backtest_commitments`. The demand is repeated or cut to `horizon_hours` (two years).

    Raises WorkloadError (wrong input) and UnreadableError (the file says no demand).
    """
    horizon = HORIZON_HOURS if horizon_hours is None else horizon_hours
    _check(term_hours, upfront, on_demand, hourly, horizon)
    seen = demand_of(demand)
    hours = repeated(seen, horizon)
    price = (upfront + hourly * term_hours) / on_demand
    result = compare(hours, term=term_hours, price=float(price))
    config = BuyingConfig()
    return {
        "policies": {
            name: {
                "cost": decimal_text(one.cost * float(on_demand)),
                "cost_share": rounded(one.cost_share),
                "ratio_to_optimum": rounded(one.ratio_to_optimum),
            }
            for name, one in result.items()
        },
        "currency": currency,
        "demand": {
            "hours_seen": int(seen.size),
            "hours": horizon,
            "repeated": seen.size < horizon,
            "mean": rounded(float(hours.mean())),
            "maximum": rounded(float(hours.max())),
            "unit": "instance-hours an hour",
        },
        "commitment": {
            "term_hours": term_hours,
            "upfront": decimal_text(upfront),
            "hourly": decimal_text(hourly),
            "on_demand": decimal_text(on_demand),
            "break_even_utilisation_pct": rounded(float(price) / term_hours * 100),
        },
        "evidence": evidence(
            {},
            at or timezone.now(),
            later_prices=None,
            policy={
                "decides_every_hours": config.every,
                "guard": config.guard,
                "half_life_hours": [config.shortest_half_life, config.longest_half_life],
                "random_draws": config.random_draws,
                "seed": config.seed,
            },
        ),
    }


def _check(term: int, upfront: Decimal, on_demand: Decimal, hourly: Decimal, horizon: int) -> None:
    limits: dict[str, tuple[Any, bool]] = {
        "term_hours": (term, 1 <= term <= LONGEST_HOURS),
        "horizon_hours": (horizon, 1 <= horizon <= LONGEST_HOURS),
        "upfront": (upfront, upfront.is_finite() and upfront >= 0),
        "hourly": (hourly, hourly.is_finite() and hourly >= 0),
        "on_demand": (on_demand, on_demand.is_finite() and on_demand > 0),
    }
    for field, (value, fits) in limits.items():
        if not fits:
            raise WorkloadError(field, _("Out of range: %(value)s") % {"value": value})
    if upfront + hourly * term <= 0:
        raise WorkloadError("upfront", _("A commitment that costs nothing is always bought."))
