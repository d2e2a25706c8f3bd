"""A workload: what is to run, where it may run and until when.

Times are aware UTC datetimes; lengths are hours or minutes as the field says; amounts of data are GiB.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from finops.engine.series import Ints, PriceBook, SeriesKey, hours_to_us, to_us

MAX_HOURS = 24 * 92  # the feed keeps 90 days: a longer run cannot be tested on it
MAX_SLACK_HOURS = 24 * 31
# Spot prices began in 2009; past 2100 somebody mistyped, and the calendar's own end would soon be reached.
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
MAX_CHECKPOINT_MINUTES = 60 * MAX_HOURS


class WorkloadError(ValueError):
    """A workload that cannot be judged as written: `field` names the input, the message the way out."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True)
class Workload:
    """One run of `count` equal instances for `hours`, started between `earliest` and `earliest` + slack.

    Either `types` or at least one of `min_vcpu`, `min_memory_gib`, `gpu`/`gpus` says what it runs on. The
    first of `types` is what it runs on today: savings "against home" compare with that type in `home_zone`.
    `at` is the decision time: nothing later is looked at. Of `slack_hours` and `deadline` exactly one is
    given; with a deadline the slack is what is left of it after the work.
    """

    hours: float
    regions: tuple[str, ...]
    product: str
    at: datetime
    provider: str = "aws"
    types: tuple[str, ...] = ()
    min_vcpu: int | None = None
    min_memory_gib: float | None = None
    gpu: str = ""
    gpus: int | None = None
    zones: tuple[str, ...] = ()
    home_zone: str = ""
    count: int = 1
    earliest: datetime | None = None
    slack_hours: float | None = None
    deadline: datetime | None = None
    interruptible: bool = True
    splittable: bool = False
    checkpoint_minutes: float | None = None
    restart_minutes: float = 0.0
    data_gib: float | None = None
    data_region: str = ""
    discount_pct: float = 0.0
    hazard_per_hour: float | None = None

    def __post_init__(self) -> None:
        _check_size(self)
        _check_times(self)
        _check_running(self)

    @property
    def at_us(self) -> int:
        return to_us(self.at)

    @property
    def earliest_us(self) -> int:
        """The first possible start: the past cannot be started, so never before `at`."""
        return max(self.at_us, to_us(self.earliest)) if self.earliest else self.at_us

    @property
    def length_us(self) -> int:
        return hours_to_us(self.hours)

    @property
    def slack_us(self) -> int:
        """Microseconds the start may wait after `earliest`; 0 = start at once."""
        if self.deadline is not None:
            return max(0, to_us(self.deadline) - self.length_us - self.earliest_us)
        return hours_to_us(self.slack_hours or 0.0)

    @property
    def by_size(self) -> bool:
        """Whether the types follow from minimum sizes, not from a list of names."""
        return not self.types


def _check_size(w: Workload) -> None:
    if not (math.isfinite(w.hours) and 0 < w.hours <= MAX_HOURS):
        raise WorkloadError("hours", f"Hours of work must be above 0 and at most {MAX_HOURS}.")
    if w.count < 1:
        raise WorkloadError("count", "The number of instances must be 1 or more.")
    if not w.regions:
        raise WorkloadError("regions", "Name at least one region.")
    if not w.product:
        raise WorkloadError("product", "Name the product, for example Linux/UNIX.")
    sized = any(value is not None for value in (w.min_vcpu, w.min_memory_gib, w.gpus)) or bool(w.gpu)
    if not w.types and not sized:
        raise WorkloadError("types", "Name instance types, or give a minimum of vCPU, memory or GPUs.")
    if w.types and sized:
        raise WorkloadError("types", "Give instance types or minimum sizes, not both.")
    for field in ("min_vcpu", "min_memory_gib", "gpus"):
        value = getattr(w, field)
        if value is not None and not value > 0:
            raise WorkloadError(field, "A minimum must be above 0; leave it out if there is none.")


def _check_times(w: Workload) -> None:
    for field in ("at", "earliest", "deadline"):
        value = getattr(w, field)
        if value is not None and value.tzinfo is None:
            raise WorkloadError(field, "The time needs a zone, for example 2020-03-06T09:00:00Z.")
        if value is not None and not FIRST <= value <= LAST:
            raise WorkloadError(field, "The time must be between the years 2000 and 2100.")
    if (w.slack_hours is None) == (w.deadline is None):
        raise WorkloadError("slack_hours", "Give either slack hours or a deadline.")
    if w.slack_hours is not None and not 0 <= w.slack_hours <= MAX_SLACK_HOURS:
        raise WorkloadError("slack_hours", f"Slack must be between 0 and {MAX_SLACK_HOURS} hours.")
    if w.deadline is not None:
        end = max(w.at, w.earliest or w.at) + timedelta(microseconds=w.length_us)
        if end > w.deadline:
            raise WorkloadError(
                "deadline",
                f"{w.hours:g} h of work cannot end by then: the earliest end is {end:%Y-%m-%dT%H:%M:%SZ}. "
                "Move the deadline or split the work.",
            )
        if w.slack_us > hours_to_us(MAX_SLACK_HOURS):
            raise WorkloadError("deadline", f"The start may wait at most {MAX_SLACK_HOURS} hours.")


def _check_running(w: Workload) -> None:
    if w.checkpoint_minutes is not None and not 0 < w.checkpoint_minutes <= MAX_CHECKPOINT_MINUTES:
        raise WorkloadError(
            "checkpoint_minutes",
            f"Minutes between checkpoints must be above 0 and at most {MAX_CHECKPOINT_MINUTES}.",
        )
    if not 0 <= w.restart_minutes <= 24 * 60:
        raise WorkloadError("restart_minutes", "A restart takes between 0 and 1440 minutes.")
    if w.splittable and not w.interruptible:
        raise WorkloadError("splittable", "Work that may not be interrupted cannot run in pieces.")
    if w.data_gib is not None and not (math.isfinite(w.data_gib) and w.data_gib >= 0):
        raise WorkloadError("data_gib", "The amount of data must be 0 GiB or more.")
    if (w.data_gib is None) != (not w.data_region):
        field = "data_region" if w.data_gib is not None else "data_gib"
        raise WorkloadError(field, "Give both the amount of data and the region where it is.")
    if not 0 <= w.discount_pct < 100:
        raise WorkloadError("discount_pct", "The discount must be at least 0 % and below 100 %.")
    if w.hazard_per_hour is not None and not (math.isfinite(w.hazard_per_hour) and w.hazard_per_hour >= 0):
        raise WorkloadError("hazard_per_hour", "Interruptions an hour must be 0 or more.")


def candidate_series(
    book: PriceBook, *, types: Iterable[str], zones: Iterable[str] = (), regions: Iterable[str] = ()
) -> Ints:
    """Indices of the series of these types, in these zones (zone keys; empty = any) and regions (same)."""
    wanted, in_zones, in_regions = set(types), set(zones), set(regions)

    def allowed(key: SeriesKey) -> bool:
        return (
            key.instance_type in wanted
            and (not in_zones or key.zone in in_zones)
            and (not in_regions or key.region in in_regions)
        )

    return np.array([i for i, key in enumerate(book.keys) if allowed(key)], np.int64)
