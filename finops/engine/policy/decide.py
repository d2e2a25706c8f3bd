"""One decision, with its interval and evidence, and the rule as a chooser over many decision times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from finops.engine.policy.calibrate import TAIL, calibrated_tail
from finops.engine.policy.config import DEFAULT, Job, PolicyConfig, grid_before
from finops.engine.policy.panel import Panel, make_panel
from finops.engine.policy.rule import FALLING, KINDS, NOW, PATTERN, SPIKE, UNKNOWN, Course, follow
from finops.engine.series import Floats, Ints, PriceBook, hours_to_us

# Steps a wait is said to last when none has been seen yet: half a day, two changes of a modern Spot price.
USUAL_WAIT = 12


@dataclass(frozen=True)
class Decision:
    """Start now or wait. Money of one instance in the currency of the chosen series.

    `start_us`: now, or when following the rule is expected to start; a wait is looked at again every step,
    at `recheck_us` first. `low`..`high`: 90 % interval of the cost from what the rule's own past decisions
    of this kind cost; nan with too few (`samples`). `probability_cheaper`: share of those in which the plan
    beat starting now at home (in the chosen place when home is None). `threshold`: price per instance-hour
    at or below which a spike is over; None for other kinds. `expected_saving`: share of the cost of
    starting now in the cheapest place.
    """

    verdict: Literal["now", "wait"]
    series: int
    start_us: int
    expected_cost: float
    low: float
    high: float
    probability_cheaper: float
    threshold: float | None
    why: str
    kind: Literal["now", "falling", "spike", "pattern"]
    expected_saving: float
    samples: int
    recheck_us: int | None


def decide(
    book: PriceBook,
    candidates: NDArray[np.int64] | Sequence[int],
    *,
    home: int | None,
    hours: float,
    now_us: int,
    slack_us: int,
    config: PolicyConfig = DEFAULT,
    waiting: bool = False,
) -> Decision:
    """The rule at `now_us` for a job of `hours` that may start up to `slack_us` later in any candidate.

    Looks at nothing after `now_us` and no further back than `config.history_us`. `home` wins ties when it
    is a candidate. `waiting`: an earlier decision said wait, so a lower saving is enough to go on. Raises
    ValueError when no candidate has a price at `now_us`.
    """
    job = Job(hours_to_us(hours), slack_us)
    past = book.until(now_us)
    series = np.asarray(candidates, np.int64)
    if home is not None and home not in series:
        series = np.append(series, home)
    first = now_us - config.history_us(length_us=job.length_us, slack_us=job.slack_us)
    if len(past.times):
        first = max(first, int(past.times.min()))
    grid = grid_before(min(first, now_us), now_us, now_us, config.step_us)
    panel = make_panel(past, series, grid, config)
    rows = np.arange(len(candidates))
    course = follow(panel, [rows], job)
    pick = int(course.signals.pick[0, -1])
    if pick < 0:
        raise ValueError("no candidate has a price at the decision time")
    return _Judge(panel, course, job, home, now_us).decision(pick, waiting)


@dataclass(frozen=True)
class _Judge:
    panel: Panel
    course: Course
    job: Job
    home: int | None
    now_us: int

    def decision(self, pick: int, waiting: bool) -> Decision:
        course, panel = self.course, self.panel
        kind = int(course.kind[0, -1])
        if waiting and kind == NOW and self.job.slack_us >= panel.config.step_us and course.waiting[0, -1]:
            kind = SPIKE if course.signals.spike[0, -1] else FALLING
        if kind == NOW:
            pick = self._tie(pick)
        scale = float(course.signals.best[0, -1]) * self.job.hours
        plan, now = self._past(kind)
        forecast = float(course.forecast[0, -1])
        expected = forecast * float(plan.mean()) if len(plan) else forecast
        tail = self._tail()
        low, high = np.quantile(plan * forecast, (tail, 1 - tail)) if len(plan) else (np.nan, np.nan)
        here = forecast * float(now.mean()) if len(now) else scale
        saving = 1 - expected / here if kind != NOW else 0.0
        if kind == FALLING:
            saving = max(saving, 0.0) if len(plan) else float(course.signals.fall[0, -1])
        normal = float(course.signals.normal[0, -1])
        return Decision(
            verdict="now" if kind == NOW else "wait",
            series=int(panel.series[pick]),
            start_us=self.now_us + self._lead(kind) * panel.config.step_us,
            expected_cost=expected,
            low=min(float(low), expected) if np.isfinite(low) else float("nan"),
            high=max(float(high), expected) if np.isfinite(high) else float("nan"),
            probability_cheaper=self._chance(kind, pick, plan, forecast),
            threshold=panel.config.spike_ratio * normal if kind == SPIKE else None,
            why=self._why(kind, saving),
            kind=KINDS[kind],  # type: ignore[arg-type]
            expected_saving=saving,
            samples=len(plan),
            recheck_us=None if kind == NOW else self.now_us + panel.config.step_us,
        )

    def _tie(self, pick: int) -> int:
        """Home, where it costs no more than the cheapest place: moving for nothing is no advice."""
        if self.home is None:
            return pick
        at = np.flatnonzero(self.panel.series == self.home)
        level = self.panel.price[at[0], -1]
        return int(at[0]) if level <= self.course.signals.best[0, -1] else pick

    def _rows_of(self, kind: int) -> NDArray[np.bool_]:
        """Past decisions of this kind whose outcome is known; all kinds where there are too few."""
        config = self.panel.config
        known = np.isfinite(self.course.start_cost()[0]) & np.isfinite(self.course.cost[0])
        known[: max(0, len(known) - config.steps(config.error_days * 24))] = False
        same = known & (self.course.kind[0] == kind)
        if kind == PATTERN:  # what waiting for the cheap hours costs depends on the hour one waits from
            day = config.steps(24)
            hour = same & ((len(known) - 1 - np.arange(len(known))) % day == 0)
            return hour if hour.sum() >= config.pattern_least_days else same
        return same if same.sum() >= config.error_least else known

    def _tail(self) -> float:
        """Of the interval on each side: what would have held 90 % of the rule's outcomes so far."""
        config, job = self.panel.config, self.job
        return calibrated_tail(
            self.course.start_cost()[0] / self.course.forecast[0],
            lag=-(-(job.slack_us + job.length_us) // config.step_us),
            window=config.steps(config.error_days * 24),
            least=config.error_least,
        )

    def _past(self, kind: int) -> tuple[Floats, Floats]:
        """Costs over forecasts of past decisions: of the rule, and of starting now instead."""
        rows = self._rows_of(kind)
        base = self.course.forecast[0, rows]
        return self.course.start_cost()[0, rows] / base, self.course.cost[0, rows] / base

    def _chance(self, kind: int, pick: int, plan: Floats, forecast: float) -> float:
        rows = self._rows_of(kind)
        if self.home is None or self.panel.series[pick] == self.home:
            other, level = self.course.cost[0, rows] / self.course.forecast[0, rows], forecast
            if kind == NOW:
                return 0.0
        else:
            at = int(np.flatnonzero(self.panel.series == self.home)[0])
            level = float(self.panel.price[at, -1]) * self.job.hours
            held = self.panel.price[at, rows] * self.job.hours
            other = self.panel.cost(np.array([at]), self.job.length_us)[0, rows] / held
        both = np.isfinite(other)
        won = int((plan[both] * forecast < other[both] * level * (1 - 1e-9)).sum())
        return (won + 0.5) / (int(both.sum()) + 1)

    def _lead(self, kind: int) -> int:
        """Steps until the start: known for a pattern, else what waits of this kind took, at most the
        slack.
        """
        course, slack = self.course, self.job.slack_us // self.panel.config.step_us
        last = course.kind.shape[1] - 1
        if kind == NOW:
            return 0
        if kind == PATTERN:
            return min(slack, int(course.start[0, last]) - last)
        return usual_wait(course, kind, last, slack)

    def _why(self, kind: int, saving: float) -> str:
        percent = f"{saving * 100:.1f} %"
        if kind == FALLING:
            return f"the cheapest price is falling and has kept falling before: waiting saves about {percent}"
        if kind == SPIKE:
            normal = float(self.course.signals.normal[0, -1])
            return (
                f"the cheapest price is {float(self.course.signals.best[0, -1]) / normal:.2f} times its "
                f"usual level of the last days: waiting saves about {percent}"
            )
        if kind == PATTERN:
            return f"these hours were dearer on past days: waiting saves about {percent}"
        if self.job.slack_us < self.panel.config.step_us:
            return "there is no time to wait"
        return "no window: nothing in past prices says that waiting pays"


def plan_costs(
    book: PriceBook,
    candidates: NDArray[np.int64] | Sequence[int],
    *,
    hours: float,
    now_us: int,
    config: PolicyConfig = DEFAULT,
) -> pd.DataFrame:
    """What starting now would cost in each candidate: columns series, price, expected, low, high, samples.

    One row a candidate in the given order; nan where the price or enough past is unknown. The forecast is
    the standing price with its learnt drift; `low`..`high` is the 90 % range of what past forecasts of the
    same series missed by.
    """
    job = Job(hours_to_us(hours), 0)
    past = book.until(now_us)
    series = np.asarray(candidates, np.int64)
    first = now_us - config.history_us(length_us=job.length_us, slack_us=0)
    if len(past.times):
        first = max(first, int(past.times.min()))
    panel = make_panel(past, series, grid_before(min(first, now_us), now_us, now_us, config.step_us), config)
    course = follow(panel, [np.array([i]) for i in range(len(series))], job)
    rows = []
    for i in range(len(series)):
        errors = course.cost[i] / course.forecast[i]
        errors = errors[np.isfinite(errors)][-config.steps(config.error_days * 24) :]
        forecast = float(course.forecast[i, -1])
        enough = len(errors) >= config.error_least
        expected = forecast * float(errors.mean()) if enough else forecast
        low, high = np.quantile(errors, (TAIL, 1 - TAIL)) * forecast if enough else (np.nan, np.nan)
        rows.append((int(series[i]), float(panel.price[i, -1]), expected, low, high, len(errors)))
    return pd.DataFrame(rows, columns=["series", "price", "expected", "low", "high", "samples"])


def choose(
    book: PriceBook,
    candidates: Ints,
    times: ArrayLike,
    *,
    length_us: int,
    slack_us: int,
    config: PolicyConfig = DEFAULT,
) -> tuple[Ints, Ints]:
    """Series and start of following the rule from each of `times` (us); series -1 where none has a price.

    Each start comes from prices up to that start only: a wait is looked at again every step. Where the book
    ends before a wait does, the usual length of such waits stands in.
    """
    at = np.asarray(times, np.int64)
    series, start = np.full(len(at), -1, np.int64), at.copy()
    if not len(candidates) or not len(at):
        return series, start
    job = Job(length_us, slack_us)
    history = config.history_us(length_us=length_us, slack_us=slack_us)
    ends = book.known_to.max() if len(book.known_to) else at.max()
    for offset in np.unique(at % config.step_us).tolist():
        mine = np.flatnonzero(at % config.step_us == offset)
        last = max(int(at[mine].max()), min(int(at[mine].max()) + slack_us + length_us, int(ends)))
        first = max(int(at[mine].min()) - history, int(book.times.min()) if len(book.times) else 0)
        grid = grid_before(min(first, int(at[mine].min())), last, int(at[mine[0]]), config.step_us)
        panel = make_panel(book, np.asarray(candidates, np.int64), grid, config)
        course = follow(panel, [np.arange(len(candidates))], job)
        where = (at[mine] - grid[0]) // config.step_us
        begun = _expected_starts(course, where, job, config)
        pick = course.signals.pick[0, np.minimum(begun, len(grid) - 1)]
        pick = np.where((begun < len(grid)) & (pick >= 0), pick, course.signals.pick[0, where])
        series[mine] = np.where(pick >= 0, panel.series[np.maximum(pick, 0)], -1)
        start[mine] = at[mine] + (begun - where) * config.step_us
    return series, start


def _expected_starts(course: Course, where: Ints, job: Job, config: PolicyConfig) -> Ints:
    start = course.start[0, where]
    slack = job.slack_us // config.step_us
    for i in np.flatnonzero(start == UNKNOWN).tolist():
        start[i] = where[i] + usual_wait(course, int(course.kind[0, where[i]]), int(where[i]), slack)
    return start


def usual_wait(course: Course, kind: int, now: int, slack: int) -> int:
    """Median steps that waits of this kind took which were over by `now`; 1 to the slack."""
    at = np.flatnonzero((course.kind[0, :now] == kind) & (course.start[0, :now] <= now))
    usual = int(np.median(course.start[0, at] - at)) if len(at) else USUAL_WAIT
    return max(1, min(slack, usual))
