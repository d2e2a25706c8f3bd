"""What the Market page says, from a price book: one row a series, the weeks' dearest, profile and claim.

Everything is cut at the page's moment first. Means are weighed by how long a price stood; time without a
known price is left out of them, never bridged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

import numpy as np

from finops.engine.claim import ClaimResult, check_claim
from finops.engine.profile import Profile, profile
from finops.engine.series import US_PER_HOUR, PriceBook, from_us, to_us

US_PER_DAY = 24 * US_PER_HOUR
US_PER_WEEK = 7 * US_PER_DAY
SPARK_DAYS, SPARK_POINTS = 30, 30
TABLE_STEPS = 30
PERIODS = (7, 30, 92)
FLAT = 0.01  # a heat map whose cells all lie within 1 % of the mean stays blank
MIN_PROFILE_DAYS = 28  # the profile needs three whole weeks, whatever period the chart shows


@dataclass(frozen=True)
class ZoneRow:
    """One series in the window. Prices per instance-hour, None unknown; `since`: of the standing price."""

    key: str
    zone: str
    region: str
    now: float | None
    since: datetime | None
    mean_7: float | None
    mean: float | None
    low: float | None
    high: float | None
    changes: int
    spark: tuple[float | None, ...]
    of_on_demand_pct: float | None
    above_cheapest_pct: float | None
    steps: tuple[tuple[int, float | None], ...] = field(repr=False)

    @property
    def newest_steps(self) -> list[tuple[datetime, float]]:
        """The last changes for the table beside the chart, newest first."""
        points = [(at, price) for at, price in self.steps[:-1] if price is not None]
        return [(from_us(at), price) for at, price in points[: -TABLE_STEPS - 1 : -1]]


@dataclass(frozen=True)
class Listed:
    """A list price beside the Spot prices of its region."""

    price: float
    listed_on: datetime
    later: bool
    source: str


@dataclass(frozen=True)
class MarketFacts:
    """All of the page: rows cheapest now first, what the weeks say, the profile, the claim."""

    currency: str
    start: datetime
    end: datetime
    rows: tuple[ZoneRow, ...]
    weeks: int
    weekly_dearest: tuple[tuple[str, int], ...]
    profile: Profile | None
    listed: Mapping[str, Listed]
    changes: int

    @property
    def cheapest(self) -> ZoneRow | None:
        """The row with the lowest standing price."""
        return next((row for row in self.rows if row.now is not None), None)

    def by_mean(self) -> list[ZoneRow]:
        """Rows with a mean, cheapest mean first."""
        return sorted((r for r in self.rows if r.mean is not None), key=lambda r: (r.mean or 0.0, r.zone))

    @property
    def spread_pct(self) -> float | None:
        """How much the dearest zone's mean lies above the cheapest one's, in percent."""
        ordered = self.by_mean()
        if len(ordered) < 2:
            return None
        low, high = ordered[0].mean or 0.0, ordered[-1].mean or 0.0
        return (high / low - 1) * 100

    @property
    def hour_range_pct(self) -> tuple[float, float] | None:
        """Cheapest and dearest hour of the week against the week's mean, in percent."""
        if self.profile is None:
            return None
        known = [h.relative for h in self.profile.hours if h.relative is not None]
        return ((min(known) - 1) * 100, (max(known) - 1) * 100) if known else None

    @property
    def flat(self) -> bool:
        """Whether no cell of the hour-of-week map leaves the mean by more than FLAT."""
        reach = self.hour_range_pct
        return reach is not None and max(abs(reach[0]), abs(reach[1])) <= FLAT * 100


def _segments(book: PriceBook, i: int, start: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pieces of constant known price of series `i` inside [start, end): starts, ends, prices."""
    low, high = int(book.offsets[i]), int(book.offsets[i + 1])
    times, prices = book.times[low:high], book.prices[low:high]
    ends = np.append(times[1:], np.iinfo(np.int64).max)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for k in range(int(book.known_offsets[i]), int(book.known_offsets[i + 1])):
        first, last = max(start, int(book.known_from[k])), min(end, int(book.known_to[k]))
        keep = (times < last) & (ends > first)
        if first < last and keep.any():
            parts.append((np.maximum(times[keep], first), np.minimum(ends[keep], last), prices[keep]))
    if not parts:
        none = np.zeros(0, np.int64)
        return none, none, np.zeros(0)
    starts, stops, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return starts, stops, values


def _mean(starts: np.ndarray, ends: np.ndarray, prices: np.ndarray, since: int, until: int) -> float | None:
    held = np.minimum(ends, until) - np.maximum(starts, since)
    held = np.maximum(held, 0)
    total = int(held.sum())
    return float((prices * held).sum() / total) if total else None


def _steps(starts: np.ndarray, ends: np.ndarray, prices: np.ndarray) -> tuple[tuple[int, float | None], ...]:
    """Change points for a stepped line; None where known time breaks off, and a last point at the end."""
    steps: list[tuple[int, float | None]] = []
    for i in range(len(starts)):
        if i and starts[i] > ends[i - 1]:
            steps += [(int(ends[i - 1]), float(prices[i - 1])), (int(ends[i - 1]), None)]
        if not steps or steps[-1][1] != float(prices[i]):
            steps.append((int(starts[i]), float(prices[i])))
    if len(starts):
        steps.append((int(ends[-1]), float(prices[-1])))
    return tuple(steps)


def _spark(starts: np.ndarray, ends: np.ndarray, prices: np.ndarray, end: int) -> tuple[float | None, ...]:
    edges = np.linspace(end - SPARK_DAYS * US_PER_DAY, end, SPARK_POINTS + 1).astype(np.int64)
    return tuple(_mean(starts, ends, prices, int(a), int(b)) for a, b in pairwise(edges))


def _row(
    book: PriceBook, i: int, names: Mapping[str, str], listed: Mapping[str, Listed], start: int, end: int
) -> tuple[ZoneRow, list[float | None]]:
    key = book.keys[i]
    earliest = min(start, end - SPARK_DAYS * US_PER_DAY)
    starts, ends, prices = _segments(book, i, earliest, end)
    inside = ends > start
    seen = prices[inside]
    now = float(book.price_at(i, end))
    row_at = int(book.row_at(i, end))
    low, high = int(book.offsets[i]), int(book.offsets[i + 1])
    times = book.times[low:high]
    price = now if np.isfinite(now) else None
    on_demand = listed.get(key.region)
    weekly = [
        _mean(starts[inside], ends[inside], seen, end - (w + 1) * US_PER_WEEK, end - w * US_PER_WEEK)
        for w in range((end - start) // US_PER_WEEK)
    ]
    return ZoneRow(
        key=key.zone,
        zone=names.get(key.zone, key.zone) or key.zone,
        region=key.region,
        now=price,
        since=from_us(int(book.times[row_at])) if price is not None and row_at >= 0 else None,
        mean_7=_mean(starts, ends, prices, end - US_PER_WEEK, end),
        mean=_mean(starts, ends, prices, start, end),
        low=float(seen.min()) if len(seen) else None,
        high=float(seen.max()) if len(seen) else None,
        changes=int(((times > start) & (times <= end)).sum()),
        spark=_spark(starts, ends, prices, end),
        of_on_demand_pct=price / on_demand.price * 100 if price is not None and on_demand else None,
        above_cheapest_pct=None,
        steps=_steps(np.maximum(starts[inside], start), ends[inside], seen),
    ), weekly


def market_facts(
    book: PriceBook,
    *,
    at: datetime,
    days: int,
    zone: str = "UTC",
    names: Mapping[str, str] | None = None,
    listed: Mapping[str, Listed] | None = None,
    with_profile: bool = True,
) -> MarketFacts:
    """The facts of one instance type over the `days` before `at`; hours of the week in IANA zone `zone`."""
    end = to_us(at)
    start = end - days * US_PER_DAY
    book = book.until(end)
    if len(book.known_to):
        end_known = int(book.known_to.max())
        # The instant itself is the last that is known; asking one later would find no price.
        end = min(end, end_known)
    made = [_row(book, i, names or {}, listed or {}, start, end) for i in range(len(book))]
    rows = [row for row, _ in made if row.mean is not None]
    least = min((row.mean for row in rows if row.mean is not None), default=None)
    ranked = sorted(
        (_above(row, least) for row in rows),
        key=lambda r: (r.now is None, r.now or 0.0, r.mean or 0.0, r.zone),
    )
    weekly = {row.zone: means for row, means in made if row.mean is not None}
    weeks, dearest = _dearest(weekly)
    shown = None
    if len(book) and with_profile:
        span = min(days, (end - int(book.known_from.min())) // US_PER_DAY) if len(book.known_from) else days
        whole = max(MIN_PROFILE_DAYS, int(span) // 7 * 7)
        shown = profile(book, end_us=end, days=whole, zone=zone)
    return MarketFacts(
        currency=book.keys[0].currency if len(book) else "",
        start=from_us(start),
        end=from_us(end),
        rows=tuple(ranked),
        weeks=weeks,
        weekly_dearest=dearest,
        profile=shown,
        listed=dict(listed or {}),
        changes=sum(row.changes for row in rows),
    )


def _above(row: ZoneRow, least: float | None) -> ZoneRow:
    if row.mean is None or not least:
        return row
    return replace(row, above_cheapest_pct=(row.mean / least - 1) * 100)


def _dearest(weekly: Mapping[str, list[float | None]]) -> tuple[int, tuple[tuple[str, int], ...]]:
    """How many weeks can be compared (two zones known), and in how many each zone was the dearest."""
    count: Counter[str] = Counter()
    weeks = 0
    for w in range(max((len(means) for means in weekly.values()), default=0)):
        known = {zone: means[w] for zone, means in weekly.items() if w < len(means) and means[w] is not None}
        if len(known) > 1:
            weeks += 1
            count[max(known, key=lambda z: (known[z] or 0.0, z))] += 1
    return weeks, tuple(count.most_common())


def claim_of(book: PriceBook, *, at: datetime) -> ClaimResult | None:
    """The popular claim about dear evening hours, on every series of the book; None without any."""
    if not len(book) or not len(book.known_to):
        return None
    end = min(to_us(at), int(book.known_to.max()))
    return check_claim(book, end_us=end)
