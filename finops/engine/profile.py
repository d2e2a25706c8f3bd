"""Hour-of-week profile: how the price moves with the time of week, relative to its own mean, and whether
that is real.

Weeks (or days) are counted back from the end of the window, each 7 x 24 h of elapsed time, so that every
week holds every hour of the week once (not once in a week in which the local clock changes: there an hour is
missing or double, as it was). A price counts as long as it stood, in known time only; several series weigh
by their known seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from finops.engine.calendar import zone_of
from finops.engine.hour_pattern import (
    DEFAULT,
    Evidence,
    OffPeak,
    PatternConfig,
    evidence,
    intervals,
    patterns,
    weeks_of,
)
from finops.engine.hour_sums import DAY_US, WEEK_US, Frame, HourSums, frame_of, hour_sums
from finops.engine.runs import slice_book
from finops.engine.series import US_PER_HOUR, Floats, PriceBook

HOURS_A_WEEK = 168
Basis = Literal["week", "day"]
Verdict = Literal["pattern", "no pattern", "too little data"]
DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# Cells (series x weeks x hours) summed at once when all series are judged: 8M float64 are 64 MB.
JUDGE_CELLS = 8_000_000


@dataclass(frozen=True)
class Sentence:
    """One plain sentence: `template` is the message to translate, `values` go into it as they are shown."""

    template: str
    values: Mapping[str, str | int]

    def __str__(self) -> str:
        return self.template % self.values


@dataclass(frozen=True)
class ProfileHour:
    """One hour of the local week, 0 = Monday 00:00.

    `relative`: mean price in the hour / the mean of its weeks; `low`, `high`: 90 %. None: never seen (or,
    for the interval, seen in one week only).
    """

    hour_of_week: int
    relative: float | None
    low: float | None
    high: float | None
    seconds_observed: float


@dataclass(frozen=True)
class Profile:
    """A profile with its verdict. `p_value`, `swing`, `later_swing`, `off_peak`: see `hour_pattern`; None if
    unknown.

    `weeks`: weeks with enough known time for the verdict; `resamples`: draws behind the intervals; window in
    us.
    """

    hours: tuple[ProfileHour, ...]
    verdict: Verdict
    sentence: Sentence
    zone: str
    basis: Basis
    series: int
    weeks: int
    resamples: int
    p_value: float | None
    swing: float | None
    later_swing: float | None
    off_peak: OffPeak | None
    start_us: int
    end_us: int


@dataclass(frozen=True)
class ProfileTable:
    """Profiles of all series: `relative` (series, 168), nan where never seen; `seconds` the same shape."""

    relative: Floats
    seconds: Floats
    zone: str
    basis: Basis
    start_us: int
    end_us: int


def _frame(end_us: int, days: int, zone: str, basis: Basis) -> Frame:
    if days < 1:
        raise ValueError("a profile needs at least one day")
    if basis not in ("week", "day"):
        raise ValueError(f"a profile is relative to the week or the day, not {basis!r}")
    block = WEEK_US if basis == "week" else DAY_US
    return frame_of(end_us - days * DAY_US, end_us, zone_of(zone), period=HOURS_A_WEEK, block=block)


def profile_all(
    book: PriceBook,
    *,
    end_us: int,
    days: int = 28,
    zone: str = "UTC",
    basis: Basis = "week",
    threads: int = 1,
) -> ProfileTable:
    """The profile of every series at once, without intervals: exact, O(changes + series * 168)."""
    frame = _frame(end_us, days, zone, basis)
    sums = hour_sums(book, frame, threads=threads)
    relative = np.full_like(sums.relative, np.nan)
    np.divide(sums.relative, sums.seconds, out=relative, where=sums.seconds > 0)
    return ProfileTable(relative, sums.seconds, zone, basis, frame.start, frame.end)


def profile(
    book: PriceBook,
    *,
    end_us: int,
    days: int = 28,
    zone: str = "UTC",
    basis: Basis = "week",
    config: PatternConfig = DEFAULT,
) -> Profile:
    """The profile of a book as one: a single series, or a region's series together.

    Looks at nothing at or after `end_us`. `days` back from it; a rest that is no whole week is a shorter
    oldest week. Raises ValueError for an unknown zone.
    """
    frame = _frame(end_us, days, zone, basis)
    relative, seconds = _by_week(hour_sums(book, frame, by_block=True), frame)
    pooled, observed = relative.sum(axis=0), seconds.sum(axis=0)
    weeks = weeks_of(pooled[None], observed[None], _first_slot(frame), config)
    shown = evidence(weeks, config)
    pattern = bool(patterns(shown, config)[0])
    mean, low, high = intervals(pooled, observed, config)
    total = observed.sum(axis=0)
    hours = tuple(
        ProfileHour(h, _known(mean[h]), _known(low[h]), _known(high[h]), float(total[h]))
        for h in range(HOURS_A_WEEK)
    )
    stretch = shown.off_peak[0] if pattern else None
    return Profile(
        hours=hours,
        verdict="pattern" if pattern else "no pattern" if shown.enough[0] else "too little data",
        sentence=_sentence(shown, stretch, zone, config),
        zone=zone,
        basis=basis,
        series=int((seconds.sum(axis=(1, 2)) > 0).sum()),
        weeks=int(shown.weeks[0]),
        resamples=config.resamples if np.isfinite(low).any() else 0,
        p_value=_known(shown.p[0]),
        swing=_known(shown.swing[0]),
        later_swing=_known(shown.later_swing[0]),
        off_peak=stretch,
        start_us=frame.start,
        end_us=frame.end,
    )


@dataclass(frozen=True)
class SeriesVerdicts:
    """The verdict of every series of a book by itself, with what it rests on."""

    verdicts: tuple[Verdict, ...]
    evidence: Evidence


def judge_all(
    book: PriceBook,
    *,
    end_us: int,
    days: int = 28,
    zone: str = "UTC",
    basis: Basis = "week",
    config: PatternConfig = DEFAULT,
) -> SeriesVerdicts:
    """The verdict of every series by itself; the share of false patterns is held at `config.level`."""
    frame = _frame(end_us, days, zone, basis)
    step = max(1, JUDGE_CELLS // (frame.blocks * HOURS_A_WEEK))
    parts = []
    for low in range(0, len(book), step):
        part = slice_book(book, low, min(low + step, len(book)))
        relative, seconds = _by_week(hour_sums(part, frame, by_block=True), frame)
        parts.append(evidence(weeks_of(relative, seconds, _first_slot(frame), config), config))
    if not parts:
        none, blank = np.zeros(0, np.int64), np.zeros(0)
        return SeriesVerdicts((), Evidence(none, none > 0, blank, blank, blank, ()))
    shown = Evidence.join(parts)
    found = patterns(shown, config)
    names: tuple[Verdict, ...] = tuple(
        "pattern" if has else "no pattern" if enough else "too little data"
        for has, enough in zip(found.tolist(), shown.enough.tolist(), strict=True)
    )
    return SeriesVerdicts(names, shown)


def _by_week(sums: HourSums, frame: Frame) -> tuple[Floats, Floats]:
    """Sums by block as (series, weeks, slots), oldest week first; days are added up to weeks from the end."""
    blocks_a_week = WEEK_US // frame.block
    weeks = -(-frame.blocks // blocks_a_week)
    spare = weeks * blocks_a_week - frame.blocks

    def folded(values: Floats) -> Floats:
        by_block = values.reshape(-1, frame.blocks, frame.period)
        padded = np.pad(by_block, ((0, 0), (spare, 0), (0, 0)))
        whole: Floats = padded.reshape(-1, weeks, blocks_a_week, frame.period).sum(axis=2)
        return whole

    return folded(sums.relative), folded(sums.seconds)


def _first_slot(frame: Frame) -> int:
    """The local hour of week at which the blocks begin; before a clock change, an hour beside it."""
    return int(frame.local(np.array([frame.end]))[0] // US_PER_HOUR % frame.period)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def hour_name(slot: int) -> str:
    """ "Sat 02:00" for hour 122 of the week."""
    return f"{DAY_NAMES[slot // 24 % 7]} {slot % 24:02d}:00"


def _off_peak_sentence(stretch: OffPeak, zone: str) -> Sentence:
    first, last = stretch.first_slot, stretch.first_slot + stretch.slots
    values = {"zone": zone, "saving": f"{100 * stretch.saving:.1f}"}
    if stretch.daily:
        values |= {"start": f"{first:02d}:00", "end": f"{last % 24:02d}:00"}
        return Sentence(
            "Off-peak is %(start)s to %(end)s every day (%(zone)s): %(saving)s %% under the weekly mean.",
            values,
        )
    values |= {"start": hour_name(first), "end": hour_name(last)}
    return Sentence(
        "Off-peak is %(start)s to %(end)s (%(zone)s): %(saving)s %% under the weekly mean.", values
    )


def _sentence(shown: Evidence, stretch: OffPeak | None, zone: str, config: PatternConfig) -> Sentence:
    if not shown.enough[0]:
        return Sentence(
            "Cannot judge: %(weeks)s of %(needed)s whole weeks of prices are known.",
            {"weeks": int(shown.weeks[0]), "needed": config.min_weeks},
        )
    if stretch is not None:
        return _off_peak_sentence(stretch, zone)
    moved = max(0.0, float(np.nan_to_num(shown.swing[0])))
    if moved >= config.material and shown.p[0] > config.level:
        return Sentence("No off-peak hour: what one week shows, the other weeks do not repeat.", {})
    if moved >= config.material:
        return Sentence(
            "No off-peak hour to rely on: it did not hold or could not be used in later weeks.", {}
        )
    return Sentence(
        "No off-peak hour: time of week moves the price by %(moved)s %%.", {"moved": f"{100 * moved:.1f}"}
    )
