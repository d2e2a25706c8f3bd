"""What a lifecycle policy costs over twelve months for the objects that lie there now.

A policy is a list of steps, each at an age of the object: move to a class, or delete. Objects older than a
step make it on the first day. For every cell of the histogram, with x in months from now:

    bill(x) = storage in each class until x (smallest billable size, overheads, monitoring, automatic tiers)
            + reads until x (requests, retrieval) at the price of the class that the object then lies in
            + transition requests, and minimum days that a move or a deletion leaves unused

Reads come from `outlook`; they are expected values, so money is float64 here. Objects that come into
Intelligent-Tiering begin in its first tier, whatever their idle time: that is what makes its first months
dear. New objects are not in it: they are the same for every policy until they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finops.engine.storage.bill import StorageError
from finops.engine.storage.outlook import Outlook
from finops.engine.storage.rates import MONTH_DAYS
from finops.frames.storage import GIB, KIB, StorageCell
from finops.frames.storage_terms import StorageTerms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MONTHS = 12
# Month ends in days, from the first day on.
ENDS: Floats = np.asarray(np.arange(MONTHS + 1) * MONTH_DAYS, dtype=np.float64)
DELETE = "delete"
# Points that stand for the ages of a band; beyond `OLD_DAYS` no age makes a difference.
AGE_POINTS = 4
OLD_DAYS = 365


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """At `after_days` of age: into the class `to`, or `DELETE`."""

    after_days: int
    to: str


@dataclass(frozen=True, slots=True)
class Policy:
    """Steps in order of age, for objects of at least `from_bytes`; without steps everything stays."""

    steps: tuple[Step, ...] = ()
    from_bytes: int = 0

    @property
    def deletes(self) -> bool:
        """Whether it deletes anything."""
        return any(step.to == DELETE for step in self.steps)


STAY = Policy()


@dataclass(frozen=True)
class Lot:
    """The cells of one group as arrays, one entry per cell and point of its age band.

    `start` is the row of the outlook (`idle_starts`) that the entry begins with.
    """

    storage_class: str
    objects: Floats
    gib: Floats
    size_from: Ints
    size_to: Ints
    age: Ints
    start: Ints
    idle_starts: tuple[int, ...]

    def where(self, kept: NDArray[np.bool_]) -> Lot:
        """Only some of the entries."""
        return Lot(
            self.storage_class,
            self.objects[kept],
            self.gib[kept],
            self.size_from[kept],
            self.size_to[kept],
            self.age[kept],
            self.start[kept],
            self.idle_starts,
        )

    @property
    def edges(self) -> list[int]:
        """The lower ends of the size bands that hold objects."""
        return sorted({int(size) for size in self.size_from})


def idle_starts(cells: Sequence[StorageCell]) -> tuple[int, ...]:
    """The idle days that stand for the cells' bands; since the writing where they are not known."""
    return tuple(sorted({_idle(cell) for cell in cells}))


def lot(storage_class: str, cells: Sequence[StorageCell], starts: Sequence[int]) -> Lot:
    """The cells of one group; `starts`: `idle_starts` of these cells and perhaps others.

    Ages within a band lie evenly; an unknown age is 0, the one that makes minimum days and waiting dearest.
    An open size band is taken as it is: where a class asks for the size, `StorageError` is raised then.
    """
    rows: list[tuple[float, float, int, int, int, int]] = []
    for cell in cells:
        points = _ages(cell)
        for age in points:
            rows.append(
                (
                    cell.objects / len(points),
                    cell.bytes / GIB / len(points),
                    cell.size_from,
                    cell.size_to if cell.size_to is not None else np.iinfo(np.int64).max,
                    age,
                    starts.index(_idle(cell)),
                )
            )
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    amounts = [np.array(column, dtype=np.float64) for column in columns[:2]]
    bands = [np.array(column, dtype=np.int64) for column in columns[2:]]
    return Lot(storage_class, amounts[0], amounts[1], bands[0], bands[1], bands[2], bands[3], tuple(starts))


def _ages(cell: StorageCell) -> list[int]:
    low = cell.age_from or 0
    if cell.age_to is None or cell.age_to - low <= 1 or low >= OLD_DAYS:
        return [low]
    count = min(AGE_POINTS, cell.age_to - low)
    return [low + int((cell.age_to - low) * (i + 0.5) / count) for i in range(count)]


def _idle(cell: StorageCell) -> int:
    if cell.idle_from is None:
        return cell.age_from or 0
    if cell.idle_to is None:
        return cell.idle_from
    return (cell.idle_from + cell.idle_to - 1) // 2


@dataclass(frozen=True)
class Use:
    """How objects are read: the outlook of the lot's `idle_starts`, requests and share of bytes a read."""

    outlook: Outlook
    requests: float
    share: float


@dataclass(frozen=True)
class Courses:
    """A policy's bill per entry of a lot: `total[i, m]` up to the end of month m (0: the fees of the first
    day), `fees` the part of it that transitions and unused minimum days make, both cumulative; `moved[i]`
    objects change class or go.
    """

    total: Floats
    fees: Floats
    moved: Floats

    def sum(self, which: NDArray[np.bool_] | None = None) -> Course:
        """The sum over all entries, or over some."""
        if which is None:
            return Course(self.total.sum(axis=0), self.fees.sum(axis=0), float(self.moved.sum()))
        return Courses(self.total[which], self.fees[which], self.moved[which]).sum()


@dataclass(frozen=True)
class Course:
    """The sum of `Courses`."""

    total: Floats
    fees: Floats
    moved: float

    def plus(self, other: Course) -> Course:
        """Both together."""
        return Course(self.total + other.total, self.fees + other.fees, self.moved + other.moved)


NOTHING = Course(np.zeros(MONTHS + 1), np.zeros(MONTHS + 1), 0.0)


def courses(objects: Lot, steps: Sequence[Step], use: Use, terms: StorageTerms) -> Courses:
    """What the entries cost under the steps, whatever their size."""
    return _Walk(objects, use, terms).go(steps)


class _Walk:
    """One lot through the steps of one policy."""

    def __init__(self, objects: Lot, use: Use, terms: StorageTerms) -> None:
        self.lot, self.use, self.terms = objects, use, terms
        shape = (len(objects.objects), MONTHS + 1)
        self.total, self.fees = np.zeros(shape), np.zeros(shape)
        self.moved = np.zeros(len(objects.objects))

    def go(self, steps: Sequence[Step]) -> Courses:
        """Segment by segment: `entered` is the day an object came into its class, negative before today."""
        entered = -self.lot.age.astype(np.float64)
        since = np.zeros(len(entered))
        place = self.lot.storage_class
        for index, step in enumerate(steps):
            if not self._may(place, step.to):
                continue
            at = np.maximum(step.after_days - self.lot.age, 0).astype(np.float64)
            # Two steps that are due together are one: the last class it may go to from here.
            later = [s for s in steps[index + 1 :] if self._may(place, s.to)]
            if later:
                due = np.maximum(later[0].after_days - self.lot.age, 0)
                skipped = due <= at
                if skipped.all():
                    continue
                if skipped.any():
                    return self._split(steps, skipped)
            self._stay(place, entered, since, at)
            self._leave(place, entered, at)
            if step.to == DELETE:
                return self._done()
            self._arrive(step.to, at)
            place, entered, since = step.to, at, at
        self._stay(place, entered, since, np.full(len(entered), np.inf))
        return self._done()

    def _split(self, steps: Sequence[Step], which: NDArray[np.bool_]) -> Courses:
        """Objects that skip a step and those that make it go their own ways."""
        for mask in (which, ~which):
            part = _Walk(self.lot.where(mask), self.use, self.terms).go(steps)
            self.total[mask], self.fees[mask], self.moved[mask] = part.total, part.fees, part.moved
        return self._done()

    def _may(self, place: str, to: str) -> bool:
        return to == DELETE or (to in self.terms.classes and (place, to) in self.terms.moves)

    def _done(self) -> Courses:
        return Courses(self.total, self.fees, self.moved)

    def _stay(self, place: str, entered: Floats, since: Floats, until: Floats) -> None:
        """Storage and reads in a class from day `since` to day `until`."""
        low = np.minimum(since[:, None], ENDS)
        high = np.maximum(np.minimum(until[:, None], ENDS), low)
        found = self.terms.classes.get(place)
        if found is None:
            raise StorageError("class", f"no price is known for the class {place}")
        if place in self.terms.tiers:
            self._tiers(place, entered, low, high)
        else:
            self.total += day_rate(self.lot, place, self.terms)[:, None] * (high - low)
        outlook, start = self.use.outlook, self.lot.start
        read = outlook.reads_before(start, high) - outlook.reads_before(start, low)
        each = self.lot.objects * self.use.requests / 1000 * float(found.get_per_1000)
        each += self.lot.gib * self.use.share * float(found.retrieval_per_gib)
        self.total += each[:, None] * read

    def _tiers(self, place: str, entered: Floats, low: Floats, high: Floats) -> None:
        """Storage in a class with tiers: in tier k no earlier than its idle days after the arrival."""
        tiers, lot_ = self.terms.tiers[place], self.lot
        monitored = _monitored(lot_, place, self.terms)
        fee = float(self.terms.classes[place].monitoring_per_1000) / 1000 * lot_.objects * monitored
        first = float(tiers[0].per_gib_month)
        self.total += ((lot_.gib * first + fee) / MONTH_DAYS)[:, None] * (high - low)
        before = first
        for tier in tiers[1:]:
            price = float(tier.per_gib_month)
            opens = entered[:, None] + tier.after_idle_days
            there = self._idle(tier.after_idle_days, np.maximum(high, opens)) - self._idle(
                tier.after_idle_days, np.maximum(low, opens)
            )
            self.total += (lot_.gib * monitored * (price - before) / MONTH_DAYS)[:, None] * there
            before = price

    def _idle(self, threshold: int, days: Floats) -> Floats:
        return self.use.outlook.idle_before(threshold, self.lot.start, np.clip(days, 0, ENDS[-1]))

    def _leave(self, place: str, entered: Floats, at: Floats) -> None:
        """Minimum days that are not over are billed when the object goes."""
        least = self.terms.classes[place].min_days
        if least:
            left = np.maximum(least - (at - entered), 0.0)
            self._fee(day_rate(self.lot, place, self.terms) * left, at)
        self.moved = np.where(at <= ENDS[-1], self.lot.objects, self.moved)

    def _arrive(self, to: str, at: Floats) -> None:
        per_object = float(self.terms.classes[to].transition_in_per_1000) / 1000
        self._fee(self.lot.objects * per_object, at)

    def _fee(self, amount: Floats, at: Floats) -> None:
        paid = amount[:, None] * (at[:, None] <= ENDS)
        self.total += paid
        self.fees += paid


def day_rate(objects: Lot, place: str, terms: StorageTerms) -> Floats:
    """Storage of a day in a class of one price, per entry: exact where no size band holds the class's
    smallest billable size inside. Raises StorageError where one does.
    """
    found = terms.classes[place]
    least = int(found.min_billable_kib * KIB)
    small = objects.size_to <= least
    if np.any(~small & (objects.size_from < least)):
        raise StorageError("size", f"a size band holds {least} bytes, the smallest that {place} bills")
    billed = np.where(small, objects.objects * least / GIB, objects.gib)
    own = objects.objects * float(found.own_overhead_kib) * KIB / GIB
    month = (billed + own) * float(found.per_gib_month)
    if found.standard_overhead_kib:
        there = objects.objects * float(found.standard_overhead_kib) * KIB / GIB
        month = month + there * float(terms.standard.per_gib_month)
    if found.monitoring_per_1000:
        fees = objects.objects / 1000 * float(found.monitoring_per_1000)
        month = month + fees * _monitored(objects, place, terms)
    return np.asarray(month / MONTH_DAYS)


def _monitored(objects: Lot, place: str, terms: StorageTerms) -> NDArray[np.bool_]:
    """Which entries are monitored, and moved between tiers."""
    least = int(terms.classes[place].min_monitored_kib * KIB)
    if np.any((objects.size_from < least) & (objects.size_to > least)):
        raise StorageError("size", f"a size band holds {least} bytes, the smallest that {place} monitors")
    return np.asarray(objects.size_from >= least)
