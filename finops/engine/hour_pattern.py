"""Is there an hour of the week that is cheaper, also in weeks that were not used to find it?

Input are deviations from the weekly mean by hour of week, one row a week. Three questions, all about unseen
data:

1. Could it be chance? The weeks are turned against each other by random whole hours (which keeps each week
as jumpy and as slow as it was, and destroys only what is tied to the clock). p is the share of turned sets
whose weeks agree at least as well as the real ones. The agreement is the sum of the products of each week
with the mean of the others, so it is a leave-one-week-out statistic. Many series at once: Benjamini-Hochberg
over their p. 2. Is it worth anything? The dearest against the cheapest quarter of the hours, both picked in
the other weeks and measured in the week left out: the swing. 3. Does it last? Quarters picked in the first
half of the weeks, measured in the second.

A steady drift of the price makes every week start dear and end cheap; that is no hour of the week, so each
week's straight line is taken out first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from finops.engine.series import Floats, Ints

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class PatternConfig:
    """Limits of the test, each with its reason.

    `min_weeks`: with two weeks a daily rhythm of noise agrees by chance in 1 of 24 turns, so nothing could be
    shown at 5 %. `min_coverage`: a week known for less has too different a mean. `material`: on AWS Spot of
    2020-2022 the time of week moves prices by about 1 %, which no user can collect; a pattern has to be worth
    twice that, and half of it in a stretch that can be named: `night_hours` of every day or `weekend_hours`
    of the week. `level`: on made-up noise a nominal 5 % passes 5-9 % of cases and 3 % passes 3-7 %; with the
    other conditions 3 % leaves at most 4 % false patterns. `drift_degree`: see `weeks_of`. `turns`: p in
    steps of 0.0005. `resamples`: draws of whole weeks behind an interval.
    """

    min_weeks: int = 3
    min_coverage: float = 0.8
    material: float = 0.02
    drift_degree: int = 3
    night_hours: int = 8
    weekend_hours: int = 48
    level: float = 0.03
    turns: int = 1999
    resamples: int = 1000
    seed: int = 7


DEFAULT = PatternConfig()


@dataclass(frozen=True)
class Weeks:
    """Deviations of g groups, shape (g, weeks, slots), oldest week first.

    `deviation`: price / own weekly mean - 1, the week's drift taken out, 0 where unknown. `seconds` weigh
    it, 0 in weeks that are not used. `used` (g, weeks).
    """

    deviation: Floats
    seconds: Floats
    used: Bools


def weeks_of(relative: Floats, seconds: Floats, first_slot: int, config: PatternConfig = DEFAULT) -> Weeks:
    """From sums by week and hour (g, weeks, slots), see `hour_sums`. `first_slot`: the slot at which a week
    begins.

    A group that is many series together is measured against its own best known week. The first slot is left
    out: it may be half the week's start and half its end. The drift is a polynomial of `drift_degree`: 3
    takes out steady and slowing moves (with 1, jumps that stay gave 5 % false patterns, with 3 under 1 %)
    and leaves what repeats daily.
    """
    slots = seconds.shape[2]
    known = seconds.sum(axis=2)
    whole = np.maximum(known.max(axis=1, initial=0.0), slots * 3600.0)
    used = known >= config.min_coverage * whole[:, None]
    weight = np.where(used[:, :, None], seconds, 0.0)
    weight[:, :, first_slot] = 0.0
    deviation = np.zeros_like(weight)
    np.divide(relative, seconds, out=deviation, where=weight > 0)
    deviation -= weight > 0
    at: Floats = ((np.arange(slots) - first_slot) % slots + 0.5) / slots
    return Weeks(_without_drift(deviation, weight, at, config.drift_degree), weight, used)


def _without_drift(deviation: Floats, weight: Floats, at: Floats, degree: int) -> Floats:
    """The deviations less their polynomial in time, weighed by seconds, term by term, each orthogonal."""
    rest = deviation
    basis: list[Floats] = []
    for power in range(degree + 1):
        term = np.broadcast_to((at - 0.5) ** power, weight.shape).copy()
        for done in basis:
            term -= _share(term, done, weight) * done
        basis.append(term)
        rest = rest - _share(rest, term, weight) * term
    flat: Floats = np.where(weight > 0, rest, 0.0)
    return flat


def _share(values: Floats, term: Floats, weight: Floats) -> Floats:
    size = (weight * term * term).sum(axis=2, keepdims=True)
    share = np.zeros_like(size)
    np.divide((weight * values * term).sum(axis=2, keepdims=True), size, out=share, where=size > 1e-9)
    return share


def _mean(deviation: Floats, seconds: Floats) -> Floats:
    """Mean over weeks by slot (g, slots), weighed by seconds; 0 where nothing is known."""
    total = seconds.sum(axis=1)
    out = np.zeros_like(total)
    np.divide((deviation * seconds).sum(axis=1), total, out=out, where=total > 0)
    return out


def _quarters(mean: Floats) -> tuple[Bools, Bools]:
    """(cheapest, dearest) quarter of the slots of each row; ties go to the earlier slot."""
    count = mean.shape[1] // 4
    order = np.argsort(mean, axis=1, kind="stable")
    cheap, dear = np.zeros(mean.shape, np.bool_), np.zeros(mean.shape, np.bool_)
    np.put_along_axis(cheap, order[:, :count], True, axis=1)
    np.put_along_axis(dear, order[:, -count:], True, axis=1)
    return cheap, dear


def _gap(weeks: Weeks, cheap: Bools, dear: Bools, week: int) -> tuple[Floats, Floats]:
    """(dear - cheap, cheap) mean deviation of one week (g,), nan where that week lacks one of them."""
    values, seconds = weeks.deviation[:, week], weeks.seconds[:, week]

    def mean(mask: Bools) -> Floats:
        total = (seconds * mask).sum(axis=1)
        out = np.full(len(total), np.nan)
        np.divide((values * seconds * mask).sum(axis=1), total, out=out, where=total > 0)
        return out

    low = mean(cheap)
    return mean(dear) - low, low


def _mean_known(parts: list[Floats], count: int) -> Floats:
    if not parts:
        return np.full(count, np.nan)
    stacked = np.stack(parts)
    known = np.isfinite(stacked)
    total = known.sum(axis=0)
    out = np.full(count, np.nan)
    np.divide(np.where(known, stacked, 0.0).sum(axis=0), total, out=out, where=total > 0)
    return out


def swing(weeks: Weeks) -> Floats:
    """Dearest minus cheapest quarter of the week (g,), picked in the other weeks, measured in each week left
    out.

    A share of the weekly mean; 0 is expected without a pattern and it may be negative; nan below two weeks.
    """
    parts = []
    for week in range(weeks.used.shape[1]):
        rest = weeks.seconds.copy()
        rest[:, week] = 0.0
        usable = weeks.used[:, week] & (rest.sum(axis=(1, 2)) > 0)
        gap, _ = _gap(weeks, *_quarters(_mean(weeks.deviation, rest)), week)
        parts.append(np.where(usable, gap, np.nan))
    return _mean_known(parts, len(weeks.used))


def later_swing(weeks: Weeks) -> Floats:
    """As `swing`, the quarters picked in the first half of the used weeks and measured in the second half."""
    rank: Ints = np.cumsum(weeks.used, axis=1)
    early: Bools = np.asarray(weeks.used & (rank <= rank[:, -1:] // 2), np.bool_)
    picked = _quarters(_mean(weeks.deviation, weeks.seconds * early[:, :, None]))
    late = weeks.used & ~early & early.max(axis=1, keepdims=True)
    count = weeks.used.shape[1]
    return _mean_known(
        [np.where(late[:, w], _gap(weeks, *picked, w)[0], np.nan) for w in range(count)], len(weeks.used)
    )


@dataclass(frozen=True)
class OffPeak:
    """The cheapest stretch of the week of one of two shapes, and what choosing it that way was worth.

    `daily`: `slots` hours from `first_slot` (0-23) of every day; else once a week from `first_slot` (0-167).
    `saving`: share under the weekly mean, measured in weeks not used to choose; nan below two weeks.
    """

    daily: bool
    first_slot: int
    slots: int
    saving: float


def off_peak(deviation: Floats, seconds: Floats, config: PatternConfig = DEFAULT) -> OffPeak:
    """The off-peak stretch of one group's used weeks (weeks, slots): of two shapes the better."""
    shapes = [(True, config.night_hours), (False, config.weekend_hours)]
    found = [
        OffPeak(d, _cheapest(deviation, seconds, d, n), n, _worth(deviation, seconds, d, n))
        for d, n in shapes
    ]
    return max(found, key=lambda one: -np.inf if np.isnan(one.saving) else one.saving)


def _by_turn(values: Floats, daily: bool) -> Floats:
    return values.reshape(-1, 24).sum(axis=0) if daily else values


def _cheapest(deviation: Floats, seconds: Floats, daily: bool, length: int) -> int:
    """First slot of the cheapest `length` hours on the circle of the day or week; ties: the earliest."""
    weight = _by_turn(seconds.sum(axis=0), daily)
    total = _by_turn((deviation * seconds).sum(axis=0), daily)

    def rolling(values: Floats) -> Floats:
        sums = np.concatenate(([0.0], np.cumsum(np.concatenate((values, values[: length - 1])))))
        return sums[length:] - sums[:-length]

    known = rolling(weight)
    mean = np.full(len(known), np.inf)
    np.divide(rolling(total), known, out=mean, where=known > 0)
    # 12 digits: equal prices must tie, whatever the running sums left behind.
    return int(np.argmin(np.round(mean, 12)))


def _worth(deviation: Floats, seconds: Floats, daily: bool, length: int) -> float:
    savings = []
    for week in range(len(seconds) if len(seconds) > 1 else 0):
        rest = seconds.copy()
        rest[week] = 0.0
        slots = _cheapest(deviation, rest, daily, length) + np.arange(length)
        chosen = np.isin(np.arange(seconds.shape[1]) % (24 if daily else 168), slots % (24 if daily else 168))
        weight = seconds[week] * chosen
        if weight.sum() > 0:
            savings.append(-float(np.average(deviation[week], weights=weight)))
    return float(np.mean(savings)) if savings else float("nan")


def agreement(weeks: Weeks) -> tuple[Floats, Floats]:
    """(agreement, its z) per group: the sum of products of all pairs of weeks, and that over its spread by
    turning.

    Under random turns pairs are uncorrelated and each product has mean 0, so the spread is exact; z is a
    quick look, the shape of its distribution is not normal.
    """
    spectrum = np.fft.rfft(weeks.deviation, axis=2)
    slots = weeks.deviation.shape[2]
    power = np.abs(spectrum) ** 2
    fold = np.full(power.shape[2], 2.0)
    fold[0] = 1.0
    if slots % 2 == 0:
        fold[-1] = 1.0
    total = (np.abs(spectrum.sum(axis=1)) ** 2 @ fold - (power @ fold).sum(axis=1)) / (2 * slots)
    # Mean square of a pair's circular correlation: by Parseval over the product of their spectra.
    pairs = np.zeros(len(total))
    for first in range(power.shape[1]):
        for second in range(first):
            pairs += (power[:, first] * power[:, second]) @ fold / slots**2
    z = np.zeros(len(total))
    np.divide(total, np.sqrt(pairs), out=z, where=pairs > 0)
    return total, z


def turning_p(deviation: Floats, config: PatternConfig = DEFAULT) -> float:
    """p of one group (weeks, slots): share of random turns whose weeks agree as well; 1 when all is flat."""
    spread = float(np.abs(deviation).max(initial=0.0))
    if spread < 1e-12:
        return 1.0
    weeks, slots = deviation.shape
    spectrum = np.fft.rfft(deviation / spread, axis=1)
    frequency = np.arange(spectrum.shape[1])
    fold = np.full(spectrum.shape[1], 2.0)
    fold[0] = 1.0
    if slots % 2 == 0:
        fold[-1] = 1.0
    random = np.random.default_rng(config.seed)
    # Only turns against the first week matter.
    turns = random.integers(0, slots, (config.turns, weeks - 1))
    phase = np.exp(-2j * np.pi * frequency / slots)
    table = phase[None, :] ** np.arange(slots)[:, None]
    turned = np.repeat(spectrum[:1], config.turns, axis=0)
    for week in range(1, weeks):
        turned = turned + table[turns[:, week - 1]] * spectrum[week]
    drawn = np.abs(turned) ** 2 @ fold
    real = float(np.abs(spectrum.sum(axis=0)) ** 2 @ fold)
    return float((1 + np.count_nonzero(drawn >= real * (1 - 1e-12))) / (config.turns + 1))


def false_discovery(p: Floats, level: float) -> Bools:
    """Benjamini-Hochberg: which of the p are found at a share `level` of false ones. nan is never found."""
    found = np.zeros(len(p), np.bool_)
    judged = np.flatnonzero(np.isfinite(p))
    if not len(judged):
        return found
    order = judged[np.argsort(p[judged], kind="stable")]
    passed = np.flatnonzero(p[order] <= level * np.arange(1, len(order) + 1) / len(order))
    if len(passed):
        found[order[: passed[-1] + 1]] = True
    return found


@dataclass(frozen=True)
class Evidence:
    """Per group: used weeks, whether they are enough, p (nan: too little data), swing and later swing.

    `off_peak`: the stretch, for groups whose weeks agree more than chance lets them; else None.
    """

    weeks: Ints
    enough: Bools
    p: Floats
    swing: Floats
    later_swing: Floats
    off_peak: tuple[OffPeak | None, ...]

    @classmethod
    def join(cls, parts: Sequence[Evidence]) -> Evidence:
        """The groups of all parts, in order."""
        return cls(
            np.concatenate([part.weeks for part in parts]),
            np.concatenate([part.enough for part in parts]),
            np.concatenate([part.p for part in parts]),
            np.concatenate([part.swing for part in parts]),
            np.concatenate([part.later_swing for part in parts]),
            tuple(one for part in parts for one in part.off_peak),
        )


def evidence(weeks: Weeks, config: PatternConfig = DEFAULT) -> Evidence:
    """What each group's weeks show."""
    count = weeks.used.sum(axis=1)
    enough = count >= config.min_weeks
    _, z = agreement(weeks)
    p = np.where(enough, 1.0, np.nan)
    # z below 1 is a p far above any level: those groups keep p = 1, which only makes the test stricter.
    for group in np.flatnonzero(enough & (z > 1.0)).tolist():
        p[group] = turning_p(weeks.deviation[group][weeks.used[group]], config)
    stretches: list[OffPeak | None] = [None] * len(p)
    for group in np.flatnonzero(p <= config.level).tolist():
        used = weeks.used[group]
        stretches[group] = off_peak(weeks.deviation[group][used], weeks.seconds[group][used], config)
    return Evidence(count, enough, p, swing(weeks), later_swing(weeks), tuple(stretches))


def patterns(found: Evidence, config: PatternConfig = DEFAULT) -> Bools:
    """Which groups have a pattern: not by chance (at most a share `level` of them is), worth it, lasting."""
    lasting = (found.swing >= config.material) & (found.later_swing >= config.material / 2)
    useful = np.array(
        [one is not None and one.saving >= config.material / 2 for one in found.off_peak], np.bool_
    )
    return false_discovery(found.p, config.level) & lasting & useful


def intervals(
    relative: Floats, seconds: Floats, config: PatternConfig = DEFAULT
) -> tuple[Floats, Floats, Floats]:
    """(mean, low, high) by slot of sums by week and slot (weeks, slots), 90 %: whole weeks drawn with
    replacement.

    Few weeks drawn with replacement vary too little, by sqrt((n-1)/n) and by the normal against Student's t;
    the percentiles are stretched round the mean by both. nan where a slot was never seen; low and high nan
    with one week.
    """
    used = seconds.sum(axis=1) > 0
    relative, seconds = relative[used], seconds[used]
    total = seconds.sum(axis=0)
    mean = np.full(seconds.shape[1], np.nan)
    np.divide(relative.sum(axis=0), total, out=mean, where=total > 0)
    weeks = len(seconds)
    if weeks < 2:
        blank = np.full_like(mean, np.nan)
        return mean, blank, blank.copy()
    drawn = np.random.default_rng(config.seed).multinomial(weeks, np.full(weeks, 1 / weeks), config.resamples)
    below = drawn @ seconds
    values = np.broadcast_to(mean, below.shape).copy()
    np.divide(drawn @ relative, below, out=values, where=below > 0)
    low, high = np.percentile(values, (5, 95), axis=0)
    stretch = float(stdtrit(weeks - 1, 0.95)) / 1.6448536 * np.sqrt(weeks / (weeks - 1))
    seen_twice = np.count_nonzero(seconds > 0, axis=0) > 1
    low = np.where(seen_twice, np.maximum(mean - (mean - low) * stretch, 0.0), np.nan)
    high = np.where(seen_twice, mean + (high - mean) * stretch, np.nan)
    return mean, low, high
