"""What checkpoints of a run cost by class and by what is kept, and whether a claimed saving holds.

Bytes are written to a class at once and deleted after a known time D (days). With a chance p of a whole read
a day, the same every day:

    class of one price  max(D, minimum days) x day rate + p D x (retrieval + requests)
    automatic tiers     first price x D + sum over tiers of (price - price before) x (1 - p)^(k - 1) x (D - k)
                        for each tier that opens after k < D days without a read, + monitoring

Checkpoint i of a run of n, one every h hours, is written at i h. Kept are the last `keep_last` while the run
lasts, and those that are left at its end for `keep_days` more. S3 itself can keep the newest versions of one
key, not the newest of several keys: with a key for each checkpoint the job deletes the old ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from finops.engine.storage.bill import StorageError
from finops.engine.storage.rates import MONTH_DAYS
from finops.frames.storage import GIB, KIB
from finops.frames.storage_terms import StorageTerms

HOURS = 24
MAX_MONTHS, MAX_CHECKPOINTS = 120, 10_000
MAX_GIB, MAX_OBJECTS, MAX_HOURS = 1e9, 10**10, 87_660.0
# Months in whose steps the keep time of a claim is looked for.
STEP_MONTHS = 0.05


@dataclass(frozen=True)
class Kept:
    """`gib` in `objects` files kept for `days` days, read as a whole with chance `read_chance` on each."""

    gib: float
    objects: int
    days: float
    read_chance: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.gib <= MAX_GIB and 1 <= self.objects <= MAX_OBJECTS):
            raise StorageError("gib", "a checkpoint holds something, and less than all there is")
        if not 0 < self.days <= MAX_MONTHS * MONTH_DAYS + 1:
            raise StorageError("keep", f"kept for more than 0 and at most {MAX_MONTHS} months")
        if not 0 <= self.read_chance <= 1:
            raise StorageError("reads", "a checkpoint is read on at most every day")


@dataclass(frozen=True)
class InClass:
    """What `Kept` costs in a class: storage with monitoring and minimum days, reads, writing; `saving_share`
    against Standard, None where that costs nothing.
    """

    storage_class: str
    storage: float
    reads: float
    writing: float
    saving_share: float | None = None

    @property
    def total(self) -> float:
        """All of it."""
        return self.storage + self.reads + self.writing


@dataclass(frozen=True)
class Claim:
    """Whether Intelligent-Tiering saves `claimed` (a share) for this keep time: what it saves, and the months
    from which on it would, None where not within ten years.
    """

    claimed: float
    saving: float
    holds: bool
    from_months: float | None


def in_class(kept: Kept, name: str, terms: StorageTerms) -> InClass:
    """What it costs in one class. Raises StorageError for a class without a price."""
    found = terms.classes.get(name)
    if found is None:
        raise StorageError("class", f"no price is known for the class {name}")
    each = kept.gib / kept.objects * GIB
    billed = max(each, float(found.min_billable_kib) * KIB) * kept.objects / GIB
    own = kept.objects * float(found.own_overhead_kib) * KIB / GIB
    month = (billed + own) * float(found.per_gib_month)
    month += (
        kept.objects * float(found.standard_overhead_kib) * KIB / GIB * float(terms.standard.per_gib_month)
    )
    monitored = each >= float(found.min_monitored_kib) * KIB
    fee = kept.objects / 1000 * float(found.monitoring_per_1000) * monitored
    storage = (month + fee) * max(kept.days, found.min_days) / MONTH_DAYS
    if monitored:
        before = float(found.per_gib_month)
        for tier in terms.tiers.get(name, ())[1:]:
            price, opens = float(tier.per_gib_month), tier.after_idle_days
            idle = (1 - kept.read_chance) ** (opens - 1) * max(kept.days - opens, 0)
            storage += kept.gib * (price - before) * idle / MONTH_DAYS
            before = price
    a_read = kept.gib * float(found.retrieval_per_gib) + kept.objects / 1000 * float(found.get_per_1000)
    writing = kept.objects / 1000 * float(found.put_per_1000)
    return InClass(name, storage, kept.read_chance * kept.days * a_read, writing)


def by_class(kept: Kept, terms: StorageTerms, *, instant: bool = True) -> list[InClass]:
    """Every class, the cheapest first; `instant`: only those that need no restore."""
    names = [name for name, one in terms.classes.items() if one.instant or not instant]
    base = in_class(kept, terms.standard.name, terms).total
    found = [in_class(kept, name, terms) for name in names]
    shared = [
        InClass(
            one.storage_class, one.storage, one.reads, one.writing, 1 - one.total / base if base else None
        )
        for one in found
    ]
    return sorted(shared, key=lambda one: (one.total, one.storage_class))


def claim(kept: Kept, terms: StorageTerms, *, claimed: float, name: str) -> Claim:
    """The claim that the class `name` saves `claimed` against Standard."""

    def saving(days: float) -> float:
        one = Kept(kept.gib, kept.objects, days, kept.read_chance)
        return 1 - in_class(one, name, terms).total / in_class(one, terms.standard.name, terms).total

    steps = int(MAX_MONTHS / STEP_MONTHS)
    months = next(
        (n * STEP_MONTHS for n in range(1, steps + 1) if saving(n * STEP_MONTHS * MONTH_DAYS) >= claimed),
        None,
    )
    here = saving(kept.days)
    return Claim(claimed, here, here >= claimed, None if months is None else round(months, 2))


@dataclass(frozen=True)
class Run:
    """A run of `hours` that writes a checkpoint of `gib` in `objects` files every `every_hours`."""

    gib: float
    objects: int
    every_hours: float
    hours: float
    keep_last: int
    keep_days: float
    read_chance: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.every_hours <= self.hours <= MAX_HOURS:
            raise StorageError(
                "every_hours", "the first checkpoint comes within the run, a run within 10 years"
            )
        if self.count > MAX_CHECKPOINTS:
            raise StorageError("every_hours", f"more than {MAX_CHECKPOINTS} checkpoints in a run")
        if self.keep_last < 1 or not self.keep_days > 0:
            raise StorageError("keep", "at least the last checkpoint is kept, and after the run")

    @property
    def count(self) -> int:
        """How many checkpoints it writes."""
        return int(self.hours / self.every_hours + 1e-9)


@dataclass(frozen=True)
class KeepPlan:
    """What one way of keeping costs for a whole run: `keep` "all" or "last", the class of those that are
    kept, `gib_months` stored, `deleted` checkpoints that go while the run lasts, `saving_share` against
    keeping all in Standard.
    """

    keep: str
    storage_class: str
    cost: float
    gib_months: float
    deleted: int
    saving_share: float


def keep_plans(run: Run, terms: StorageTerms, classes: Sequence[str]) -> list[KeepPlan]:
    """All kept or the last ones only, in each class, the cheapest first. Those that go while the run lasts
    lie in Standard: they live too short for minimum days.
    """
    standard = terms.standard.name
    plans = [
        _plan(run, keep, name, terms)
        for keep in ("all", "last")
        for name in dict.fromkeys([standard, *classes])
    ]
    base = next(one.cost for one in plans if (one.keep, one.storage_class) == ("all", standard))
    found = [
        KeepPlan(p.keep, p.storage_class, p.cost, p.gib_months, p.deleted, 1 - p.cost / base) for p in plans
    ]
    return sorted(found, key=lambda one: (one.cost, one.keep, one.storage_class))


def _plan(run: Run, keep: str, name: str, terms: StorageTerms) -> KeepPlan:
    cost = months = 0.0
    deleted = 0
    for place in range(1, run.count + 1):
        written = place * run.every_hours
        until = run.hours + run.keep_days * HOURS
        where = name
        if keep == "last" and place <= run.count - run.keep_last:
            until, where, deleted = (
                (place + run.keep_last) * run.every_hours,
                terms.standard.name,
                deleted + 1,
            )
        days = (until - written) / HOURS
        cost += in_class(Kept(run.gib, run.objects, days, run.read_chance), where, terms).total
        months += run.gib * days / MONTH_DAYS
    return KeepPlan(keep, name, cost, months, deleted, 0.0)
