"""Tests a claim of the form "from 18:00 to 22:00 UTC prices are 2 to 3 times higher" on the prices at hand.

The measure is the ratio of the time-weighted mean price inside the claimed hours to that of all other known
time, for each series and for all together (each series relative to its own mean, so that dear types do not
outweigh the others). Intervals are 90 %: whole weeks are drawn with replacement, for the ratio of all
together series are drawn as well; with few weeks they are stretched as in `hour_pattern.intervals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from finops.engine.calendar import zone_of
from finops.engine.hour_sums import DAY_US, WEEK_US, frame_of, hour_sums
from finops.engine.profile import Sentence
from finops.engine.series import Floats, PriceBook

ClaimVerdict = Literal["true here", "false here", "cannot judge"]
SLOTS = 24
# Series whose draws are held at once: 500 x 2000 float64 in four arrays are 32 MB.
SERIES_AT_ONCE = 2000


@dataclass(frozen=True)
class Claim:
    """Hours [start_hour, end_hour) of each local day cost `low` to `high` times the rest.

    Over midnight when the end is not after the start.
    """

    start_hour: int
    end_hour: int
    zone: str
    low: float
    high: float

    def __post_init__(self) -> None:
        zone_of(self.zone)
        if not (0 <= self.start_hour < 24 and 0 < self.end_hour <= 24) or self.start_hour == self.end_hour:
            raise ValueError("claimed hours run from 0-23 to 1-24 and leave some of the day out")
        if (self.end_hour - self.start_hour) % 24 == 0:
            raise ValueError("claimed hours must leave some of the day out")
        if not 0 < self.low <= self.high:
            raise ValueError("a claim needs 0 < low <= high")

    def slots(self) -> np.ndarray:
        """Mask of the claimed hours of the day."""
        hour = np.arange(SLOTS)
        return (hour - self.start_hour) % SLOTS < (self.end_hour - self.start_hour) % SLOTS


POPULAR = Claim(18, 22, "UTC", 2.0, 3.0)


@dataclass(frozen=True)
class ClaimConfig:
    """`min_weeks`: fewer weeks cannot show a daily habit. `min_coverage` of a week's time, for it to be
    drawn.

    `resamples`: draws of weeks (and series); `seed` fixes them.
    """

    min_weeks: int = 3
    min_coverage: float = 0.5
    resamples: int = 500
    seed: int = 7


DEFAULT = ClaimConfig()


@dataclass(frozen=True)
class ClaimResult:
    """Ratio of all series together with its interval (None: cannot be formed) and verdict.

    Per series (n,): `ratios`, `lows`, `highs` (nan unknown) and `verdicts`. `true_share`: share of the
    judged series for which the claim is true; None when none can be judged. `weeks`: with enough known time.
    Window in us.
    """

    claim: Claim
    ratio: float | None
    low: float | None
    high: float | None
    verdict: ClaimVerdict
    sentence: Sentence
    weeks: int
    resamples: int
    ratios: Floats
    lows: Floats
    highs: Floats
    verdicts: tuple[ClaimVerdict, ...]
    true_share: float | None
    start_us: int
    end_us: int


@dataclass(frozen=True)
class _Sums:
    """By series and week, inside and outside the hours: price / own mean x seconds, and seconds."""

    inside: Floats
    inside_seconds: Floats
    outside: Floats
    outside_seconds: Floats

    def rows(self, low: int, high: int) -> _Sums:
        return _Sums(*(part[low:high] for part in self._parts()))

    def columns(self, weeks: np.ndarray) -> _Sums:
        return _Sums(*(part[:, weeks] for part in self._parts()))

    def _parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.inside, self.inside_seconds, self.outside, self.outside_seconds

    def drawn(self, series: Floats | None, weeks: Floats) -> Floats:
        """Ratios of draws: (draws,) with weights for series and weeks, (draws, series) for weeks only."""

        def total(part: Floats) -> Floats:
            if series is None:
                return weeks @ part.T
            summed: Floats = ((series @ part) * weeks).sum(axis=1)
            return summed

        above, above_s, below, below_s = (total(part) for part in self._parts())
        out = np.full(above.shape, np.nan)
        np.divide(above * below_s, below * above_s, out=out, where=(above_s > 0) & (below_s > 0))
        return out


def _sums(book: PriceBook, claim: Claim, start: int, end: int) -> _Sums:
    frame = frame_of(start, end, zone_of(claim.zone), period=SLOTS, block=WEEK_US)
    found = hour_sums(book, frame, by_block=True)
    shape = (len(book), frame.blocks, SLOTS)
    seconds = found.seconds.reshape(shape)
    price = found.relative.reshape(shape) * np.nan_to_num(found.block_mean)[:, :, None]
    known = seconds.sum(axis=(1, 2))
    mean = np.ones(len(book))
    np.divide(price.sum(axis=(1, 2)), known, out=mean, where=known > 0)
    price /= mean[:, None, None]
    mask = claim.slots()
    return _Sums(
        price[:, :, mask].sum(axis=2),
        seconds[:, :, mask].sum(axis=2),
        price[:, :, ~mask].sum(axis=2),
        seconds[:, :, ~mask].sum(axis=2),
    )


def _interval(centre: Floats, draws: Floats, weeks: int) -> tuple[Floats, Floats]:
    if weeks < 2:
        blank = np.full(np.shape(centre), np.nan)
        return blank, blank.copy()
    held = np.where(np.isfinite(draws), draws, centre)
    low, high = np.percentile(held, (5, 95), axis=0)
    stretch = float(stdtrit(weeks - 1, 0.95)) / 1.6448536 * np.sqrt(weeks / (weeks - 1))
    return np.maximum(centre - (centre - low) * stretch, 0.0), centre + (high - centre) * stretch


def _verdict(claim: Claim, low: float, high: float) -> ClaimVerdict:
    if not (np.isfinite(low) and np.isfinite(high)):
        return "cannot judge"
    if low >= claim.low and high <= claim.high:
        return "true here"
    if high < claim.low or low > claim.high:
        return "false here"
    return "cannot judge"


def check_claim(
    book: PriceBook, claim: Claim = POPULAR, *, end_us: int, days: int = 91, config: ClaimConfig = DEFAULT
) -> ClaimResult:
    """The claim against the prices of [end - days, end).

    True here: the whole interval lies inside the claimed range; false here: none of it does; otherwise, and
    with too few weeks, it cannot be judged. Raises ValueError for an empty window.
    """
    if days < 1:
        raise ValueError("a claim needs at least one day of prices")
    start = end_us - days * DAY_US
    sums = _sums(book, claim, start, end_us)
    observed = sums.inside_seconds + sums.outside_seconds
    by_week = observed.sum(axis=0)
    weeks = by_week >= config.min_coverage * max(float(by_week.max(initial=0.0)), WEEK_US / 1e6)
    count = int(weeks.sum())
    random = np.random.default_rng(config.seed)
    draws = (
        random.multinomial(count, np.full(count, 1 / count), config.resamples) if count else np.zeros((1, 0))
    )
    ratios, lows, highs, verdicts = _each(sums, claim, draws.astype(np.float64), weeks, observed, config)
    used = sums.columns(weeks)
    everyone = np.ones((1, len(book)))
    ratio = used.drawn(everyone, np.ones((1, count)))[0] if count and len(book) else float("nan")
    low = high = float("nan")
    if np.isfinite(ratio) and count >= config.min_weeks:
        picks = random.multinomial(len(book), np.full(len(book), 1 / len(book)), config.resamples)
        bounds = _interval(
            np.array([ratio]), used.drawn(picks.astype(np.float64), draws.astype(np.float64))[:, None], count
        )
        low, high = float(bounds[0][0]), float(bounds[1][0])
    verdict = _verdict(claim, low, high)
    judged = [one for one in verdicts if one != "cannot judge"]
    return ClaimResult(
        claim=claim,
        ratio=_known(ratio),
        low=_known(low),
        high=_known(high),
        verdict=verdict,
        sentence=_sentence(claim, verdict, ratio, low, high),
        weeks=count,
        resamples=config.resamples if np.isfinite(low) else 0,
        ratios=ratios,
        lows=lows,
        highs=highs,
        verdicts=verdicts,
        true_share=judged.count("true here") / len(judged) if judged else None,
        start_us=start,
        end_us=end_us,
    )


def _each(
    sums: _Sums, claim: Claim, draws: Floats, weeks: np.ndarray, observed: Floats, config: ClaimConfig
) -> tuple[Floats, Floats, Floats, tuple[ClaimVerdict, ...]]:
    count = len(sums.inside)
    ratios, lows, highs = (np.full(count, np.nan) for _ in range(3))
    used = sums.columns(weeks)
    number = draws.shape[1]
    for first in range(0, count if number else 0, SERIES_AT_ONCE):
        part = slice(first, first + SERIES_AT_ONCE)
        rows = used.rows(first, first + SERIES_AT_ONCE)
        ratios[part] = rows.drawn(None, np.ones((1, number)))[0]
        lows[part], highs[part] = _interval(ratios[part], rows.drawn(None, draws), number)
    whole = (observed >= config.min_coverage * WEEK_US / 1e6).sum(axis=1)
    lows[whole < config.min_weeks] = np.nan
    highs[whole < config.min_weeks] = np.nan
    verdicts = tuple(_verdict(claim, low, high) for low, high in zip(lows, highs, strict=True))
    return ratios, lows, highs, verdicts


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _sentence(claim: Claim, verdict: ClaimVerdict, ratio: float, low: float, high: float) -> Sentence:
    values = {
        "hours": f"{claim.start_hour:02d}:00-{claim.end_hour:02d}:00 {claim.zone}",
        "claimed": f"{claim.low:g}-{claim.high:g}",
        "ratio": f"{ratio:.2f}",
        "low": f"{low:.2f}",
        "high": f"{high:.2f}",
    }
    if not np.isfinite(low):
        return Sentence("Cannot judge: too few whole weeks of prices for %(hours)s.", values)
    if verdict == "true here":
        return Sentence(
            "True here: %(hours)s costs %(ratio)s times the other hours (%(low)s-%(high)s).", values
        )
    if verdict == "false here":
        return Sentence(
            "False here: %(hours)s costs %(ratio)s times the other hours (%(low)s-%(high)s), "
            "not %(claimed)s.",
            values,
        )
    return Sentence(
        "Cannot judge: %(hours)s costs %(low)s-%(high)s times the other hours, claimed are %(claimed)s.",
        values,
    )
