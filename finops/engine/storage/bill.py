"""What objects of one size cost in a class, and what moving them costs: docs/algorithms/storage.md.

    monthly = objects x (max(size, minimum) + own overhead) x price
              + objects x overhead in Standard x Standard's price + monitored objects x fee
    one-time = objects x transition request
    break-even month = the first month after which the sum of savings has paid the one-time cost

Money is not rounded here. Sizes are KiB, 1 GiB = 1024 x 1024 KiB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from finops.frames.storage_classes import StorageClass

KIB_PER_GIB = Decimal(1024 * 1024)
THOUSAND = Decimal(1000)
ZERO = Decimal(0)


class StorageError(ValueError):
    """The question cannot be answered; `field` names the input that is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Cell:
    """`objects` of about one size: `kib` is the size of each, `reads` whole-object reads a month of all."""

    objects: int
    kib: Decimal
    reads: Decimal = ZERO

    def __post_init__(self) -> None:
        if self.objects < 0 or self.kib < 0 or self.reads < 0:
            raise StorageError("cell", "objects, size and reads cannot be negative")

    @property
    def gib(self) -> Decimal:
        """What the objects hold together."""
        return self.objects * self.kib / KIB_PER_GIB


@dataclass(frozen=True)
class Monthly:
    """A month in one class, by its parts."""

    storage: Decimal
    overhead: Decimal
    monitoring: Decimal
    requests: Decimal
    retrieval: Decimal

    @property
    def total(self) -> Decimal:
        """All of it."""
        return self.storage + self.overhead + self.monitoring + self.requests + self.retrieval


@dataclass(frozen=True)
class Move:
    """A move of a histogram from one class to another: the three figures that every such advice needs.

    `break_even_month` is None when it never pays; `saving` is a month's.
    """

    before: Decimal
    after: Decimal
    one_time: Decimal
    break_even_month: int | None

    @property
    def saving(self) -> Decimal:
        """Per month, negative where the move costs."""
        return self.before - self.after


def monthly(cells: Sequence[Cell], where: StorageClass, standard: StorageClass) -> Monthly:
    """A month of these objects in class `where`; `standard` prices the overhead that lies there."""
    storage = overhead = monitoring = requests = retrieval = ZERO
    for cell in cells:
        billed = max(cell.kib, where.min_billable_kib) * cell.objects / KIB_PER_GIB
        storage += billed * where.per_gib_month
        overhead += cell.objects * where.own_overhead_kib / KIB_PER_GIB * where.per_gib_month
        overhead += cell.objects * where.standard_overhead_kib / KIB_PER_GIB * standard.per_gib_month
        if cell.kib >= where.min_monitored_kib:
            monitoring += cell.objects / THOUSAND * where.monitoring_per_1000
        requests += cell.reads / THOUSAND * where.get_per_1000
        retrieval += cell.reads * cell.kib / KIB_PER_GIB * where.retrieval_per_gib
    return Monthly(storage, overhead, monitoring, requests, retrieval)


def move(cells: Sequence[Cell], start: StorageClass, to: StorageClass, standard: StorageClass) -> Move:
    """What moving all of these objects by lifecycle costs and saves."""
    before, after = monthly(cells, start, standard).total, monthly(cells, to, standard).total
    one_time = sum((cell.objects / THOUSAND * to.transition_in_per_1000 for cell in cells), ZERO)
    return Move(before, after, one_time, break_even(one_time, before - after))


def break_even(one_time: Decimal, saving: Decimal) -> int | None:
    """The month at whose end the savings have paid the one-time cost; 0 when nothing is to be paid."""
    if saving <= 0:
        return None
    return int((one_time / saving).to_integral_value(rounding=ROUND_CEILING))


@dataclass(frozen=True)
class Life:
    """Objects that are written on day 0, perhaps moved, read and deleted. Days count from the writing.

    `reads` are the days of whole reads; `move_day` is None for objects that stay.
    """

    gib: Decimal
    objects: int
    delete_day: int
    move_day: int | None = None
    reads: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.gib < 0 or self.objects < 0 or self.delete_day < 0:
            raise StorageError("life", "size, objects and days cannot be negative")


def life_cost(
    life: Life,
    start: StorageClass,
    to: StorageClass | None = None,
    *,
    standard: StorageClass | None = None,
    month_days: Decimal = Decimal(30),
) -> Decimal:
    """What the objects cost from writing to deletion: storage by the day, minimum days, transition, reads.

    Storage is that of the objects' mean size: smallest billable size, overhead (Standard's part at the price
    of `standard`, else of `start`) and monitoring included. A deletion before the minimum is billed to its
    end; a read costs what the class of that day asks for, on the last day too. Raises StorageError when the
    days contradict each other.
    """
    moved, end = life.move_day, life.delete_day
    if any(not 0 <= day <= end for day in life.reads):
        raise StorageError("reads", f"a read is not between writing and deletion (day {end})")
    base = standard or start
    if moved is None or to is None:
        held = max(end, start.min_days)
        return _month(life, start, base) * held / month_days + _reads(life, start, 0, end + 1)
    if not 0 <= moved <= end:
        raise StorageError("move_day", f"day {moved} is not between writing and deletion")
    cost = _month(life, start, base) * max(moved, start.min_days) / month_days
    cost += _reads(life, start, 0, moved)
    cost += life.objects / THOUSAND * to.transition_in_per_1000
    cost += _month(life, to, base) * max(end - moved, to.min_days) / month_days
    return cost + _reads(life, to, moved, end + 1)


def _month(life: Life, where: StorageClass, standard: StorageClass) -> Decimal:
    """A month of the objects in a class without reads."""
    cost = max(life.gib, life.objects * where.min_billable_kib / KIB_PER_GIB) * where.per_gib_month
    cost += life.objects * where.own_overhead_kib / KIB_PER_GIB * where.per_gib_month
    cost += life.objects * where.standard_overhead_kib / KIB_PER_GIB * standard.per_gib_month
    if life.gib * KIB_PER_GIB >= life.objects * where.min_monitored_kib:
        cost += life.objects / THOUSAND * where.monitoring_per_1000
    return cost


def _reads(life: Life, where: StorageClass, first: int, before: int) -> Decimal:
    count = sum(first <= day < before for day in life.reads)
    return count * (life.gib * where.retrieval_per_gib + life.objects / THOUSAND * where.get_per_1000)
