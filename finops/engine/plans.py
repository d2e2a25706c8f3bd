"""Plans for one workload: what each place, type and market costs now, with an interval, rework and moving
data.

The forecast of a run is the price standing at the decision time, held: on Spot prices of today nothing
beats it for the level. Its interval comes from the same forecast made every hour of the last four weeks for
the same series: the 5 % and 95 % quantiles of (what the run cost) / (what holding the price had said). Two
plans are compared over the same past hours, so what moves both prices does not count as a difference.

Money is float64 in the market's currency for all instances of the workload together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from finops.engine.policy.calibrate import TAIL, calibrated_tail
from finops.engine.rework import Hazard, measured_hazard, rework_hours
from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook, SeriesKey
from finops.engine.transfer import TransferPrices, transfer_cost
from finops.engine.workload import Workload

SPOT: Literal["spot"] = "spot"
ON_DEMAND: Literal["on-demand"] = "on-demand"
ERROR_HOURS = 28 * 24
MIN_ERRORS = 24  # fewer past forecasts than a day's give no interval and no probability
# A live feed answers every few minutes to hours; a price older than a day is no forecast for a start now.
MAX_AGE_US = 24 * US_PER_HOUR


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """On-demand price of one instance-hour before any discount; `later` when its list is dated after `at`.

    `negotiated`: the price under a contract, where a row of the table of negotiated rates holds for it.
    """

    per_hour: float
    currency: str
    as_of: str = ""
    later: bool = False
    negotiated: float | None = None

    def paid(self, discount_pct: float) -> float:
        """The price of an hour that is paid: negotiated, else less the percentage that the question gives."""
        return self.per_hour * (1 - discount_pct / 100) if self.negotiated is None else self.negotiated


@dataclass(frozen=True)
class Market:
    """All that is known about prices and risks where the workload may run.

    Keys are (region, instance type). `fitting`: types of the sizes a workload asks for, when it names none.
    `stand_ins`: types that can do the work of a type; one that is not in it has no known facts. `flags`:
    series that must not be recommended, with the reason; `home_flags`: those that no saving may be
    measured against, None for the same ones. `invalid`: types whose rows were refused because their
    price is none (0, empty, negative), with the reason.
    """

    book: PriceBook
    list_prices: Mapping[tuple[str, str], ListedPrice] = field(default_factory=dict)
    fitting: tuple[str, ...] = ()
    stand_ins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hazards: Mapping[tuple[str, str], Hazard] = field(default_factory=dict)
    transfer: TransferPrices = field(default_factory=dict)
    flags: Mapping[SeriesKey, str] = field(default_factory=dict)
    home_flags: Mapping[SeriesKey, str] | None = None
    invalid: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a plan stands where it stands: a code and the values of its sentence."""

    code: str
    values: tuple[tuple[str, float | str], ...] = ()


@dataclass(frozen=True)
class Plan:
    """One way to run the workload. `rank` None: shown, not recommended.

    cost = compute + transfer + rework, where a part that is unknown (None) is left out and named in
    `missing`. `low`..`high` is a 90 % interval of `cost`; None without enough history. Savings in percent
    of the other's cost. `series` None for on-demand. `price` is what an instance-hour costs at `price_us`,
    the time it was last seen.
    """

    series: int | None
    region: str
    zone: str
    instance_type: str
    market: Literal["spot", "on-demand"]
    start_us: int
    price: float
    price_us: int
    currency: str
    compute: float
    transfer: float | None
    rework: float | None
    low: float | None
    high: float | None
    rank: int | None = None
    saving_vs_home_pct: float | None = None
    saving_vs_zone_now_pct: float | None = None
    saving_vs_on_demand_pct: float | None = None
    probability_cheaper: float | None = None
    reason: Reason = Reason("")
    pieces: tuple[tuple[int, int], ...] = ()

    @property
    def cost(self) -> float:
        return self.compute + (self.transfer or 0.0) + (self.rework or 0.0)

    @property
    def missing(self) -> tuple[str, ...]:
        parts = (("transfer", self.transfer), ("rework", self.rework))
        return tuple(name for name, value in parts if value is None)


def carried(book: PriceBook, at_us: int, start_us: int) -> PriceBook:
    """The book up to `at_us`, where a price last seen within a day before is held to `start_us`.

    For forecasts only: what a run in the past cost is never read from it.
    """
    past = book.until(at_us)
    last = past.known_offsets[1:][np.diff(past.known_offsets) > 0] - 1
    known_to = past.known_to.copy()
    fresh = last[known_to[last] >= at_us - MAX_AGE_US]
    known_to[fresh] = np.maximum(at_us, start_us)
    return replace(past, known_to=known_to)


@dataclass(frozen=True)
class Forecaster:
    """Forecasts at one decision time. `past` ends at `at_us`; `seen` holds its prices to the first start."""

    past: PriceBook
    seen: PriceBook
    at_us: int
    length_us: int

    @classmethod
    def at(cls, book: PriceBook, *, at_us: int, start_us: int, length_us: int) -> Forecaster:
        return cls(book.until(at_us), carried(book, at_us, start_us), at_us, length_us)

    def prices(self, series: Ints) -> Floats:
        """Price an instance-hour standing at the decision time; nan where it is unknown or older than a
        day.
        """
        return self.seen.price_at(series, self.at_us)

    def seen_us(self, series: int) -> int:
        """When the price of `series` was last seen, at most the decision time."""
        low, high = self.past.known_offsets[series], self.past.known_offsets[series + 1]
        return int(self.past.known_to[high - 1]) if high > low else self.at_us

    def times(self, longest_lead_us: int, hours: int = ERROR_HOURS) -> Ints:
        """Past decision hours whose outcome was known by the decision time, newest first."""
        last = self.at_us - longest_lead_us - self.length_us
        return last - US_PER_HOUR * np.arange(hours, dtype=np.int64)

    def ratios(self, series: Ints, times: Ints, lead_us: int) -> Floats:
        """Shape (series, times): cost of the run started `lead_us` later, over the cost at the price then
        standing.
        """
        grid = series[:, None]
        standing = self.past.price_at(grid, times[None, :])
        cost = self.past.cost(grid, times[None, :] + lead_us, self.length_us)
        return cost / (standing * (self.length_us / US_PER_HOUR))


def interval(ratios: Floats, *, lag: int | None = None) -> tuple[float, float] | None:
    """90 % interval by past ratios, newest first; never without 1, the forecast itself. None with too few.

    The newest `ERROR_HOURS` count. With `lag` (hours until an outcome was complete) and older ratios behind
    them the tails are those that would have held 90 % of the newest ones, else 5 % on each side.
    """
    known = ratios[:ERROR_HOURS][np.isfinite(ratios[:ERROR_HOURS])]
    if len(known) < MIN_ERRORS:
        return None
    tail = TAIL
    if lag is not None:
        tail = calibrated_tail(ratios[::-1], lag=lag, window=ERROR_HOURS, least=MIN_ERRORS)
    low, high = np.quantile(known, (tail, 1 - tail))
    return min(float(low), 1.0), max(float(high), 1.0)


def chance_cheaper(costs: Floats, others: Floats, *, days_each: float = 1.0) -> float | None:
    """Chance that a plan costs less, from past hours in which both were known; never 0 or 1.

    Hours of one day, and runs that overlap, are one observation told many times. So the share of hours won
    counts as `days` = hours / (24 `days_each`) observations: (share x days + 1) / (days + 2). `days_each`:
    days that a run lasts, where over one.
    """
    known = np.isfinite(costs) & np.isfinite(others)
    if known.sum() < MIN_ERRORS:
        return None
    share = float((costs[known] < others[known]).mean())
    days = int(known.sum()) / (24 * max(1.0, days_each))
    return (share * days + 1) / (days + 2)


def hazard_of(workload: Workload, market: Market, region: str, instance_type: str) -> Hazard | None:
    """The measured hazard where the workload brings one, else the band of the type in the region, else
    None.
    """
    if workload.hazard_per_hour is not None:
        return measured_hazard(workload.hazard_per_hour)
    return market.hazards.get((region, instance_type))


def rework_factors(workload: Workload, hazard: Hazard | None) -> tuple[float, float, float] | None:
    """Expected rework as a share of the work: (low, expected, high); None when the hazard is unknown.

    Without a checkpoint interval, or when the work may not be interrupted, the whole run is done again.
    """
    if hazard is None:
        return None
    checkpoint = workload.checkpoint_minutes if workload.interruptible else None
    low, expected, high = (
        rework_hours(
            workload.hours,
            rate,
            checkpoint_hours=None if checkpoint is None else checkpoint / 60,
            restart_hours=workload.restart_minutes / 60,
        )
        / workload.hours
        for rate in (hazard.low, hazard.expected, hazard.high)
    )
    return low, expected, high


def spot_plan(
    workload: Workload,
    market: Market,
    forecaster: Forecaster,
    series: int,
    *,
    price: float,
    start_us: int,
    ratios: Floats,
    level: float = 1.0,
    lag: int | None = None,
) -> Plan:
    """Running on Spot in one series from `start_us`.

    `level`: expected price over the run / price standing now (1 = held); `ratios`: that series' past
    forecast errors for this lead, as `interval` takes them with `lag`.
    """
    key = forecaster.past.keys[series]
    held = price * workload.hours * workload.count
    compute = held * level
    factors = rework_factors(workload, hazard_of(workload, market, key.region, key.instance_type))
    moving = transfer_cost(
        workload.data_gib, workload.data_region, key.region, market.transfer, currency=key.currency
    )
    spread = interval(ratios / level, lag=lag)
    low = high = None
    if spread is not None:
        less, more = (factors[0], factors[2]) if factors else (0.0, 0.0)
        low = compute * spread[0] * (1 + less) + (moving or 0.0)
        high = compute * spread[1] * (1 + more) + (moving or 0.0)
    return Plan(
        series=series,
        region=key.region,
        zone=key.zone,
        instance_type=key.instance_type,
        market=SPOT,
        start_us=start_us,
        price=price,
        price_us=forecaster.seen_us(series),
        currency=key.currency,
        compute=compute,
        transfer=moving,
        rework=None if factors is None else compute * factors[1],
        low=low,
        high=high,
    )


def on_demand_plan(
    workload: Workload,
    market: Market,
    *,
    region: str,
    zone: str,
    instance_type: str,
    currency: str,
) -> Plan | None:
    """Running on demand from the earliest start, less the negotiated discount; None without a list price.

    The price is the same in every zone of a region and does not move, so the interval is the price itself;
    on-demand instances are not reclaimed, so there is no rework.
    """
    listed = market.list_prices.get((region, instance_type))
    if listed is None or listed.currency != currency:
        return None
    price = listed.paid(workload.discount_pct)
    compute = price * workload.hours * workload.count
    moving = transfer_cost(
        workload.data_gib, workload.data_region, region, market.transfer, currency=currency
    )
    total = compute + (moving or 0.0)
    return Plan(
        series=None,
        region=region,
        zone=zone,
        instance_type=instance_type,
        market=ON_DEMAND,
        start_us=workload.earliest_us,
        price=price,
        price_us=workload.at_us,
        currency=currency,
        compute=compute,
        transfer=moving,
        rework=0.0,
        low=total,
        high=total,
    )


def saving_pct(cost: float | None, other: float | None) -> float | None:
    """How much less `cost` is than `other`, in percent of `other`; None when one of them is unknown."""
    if cost is None or other is None or other <= 0:
        return None
    return (other - cost) / other * 100
