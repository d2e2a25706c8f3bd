"""Storage lines of a bill as GiB-months and mean GiB per class, and against a listing.

    mean GiB = sum of GiB-months x days of the month / days that the lines cover

A day's line of "GB-Mo" is what lay there divided by the days of its month. The newest days before the listing
count, a week of them, since a listing is of one day; a line of a whole month counts as a whole.
"""

from __future__ import annotations

import calendar
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from finops.engine.storage.bill import StorageError
from finops.engine.storage.listing import TOLERANCE, gib_months, rate_is_plausible, reconcile
from finops.frames.storage import GIB, INCOMPLETE, NONCURRENT, StorageCharge
from finops.frames.storage_usage import STAGING, STORED, storage_usage

ZERO = Decimal(0)
WINDOW = timedelta(days=7)
_DAY = timedelta(days=1)
# A line of a day may last 25 hours where a bill counts local days.
_A_DAY = timedelta(hours=26)


@dataclass(frozen=True, slots=True)
class BillLine:
    """Lines of one bucket, usage type, operation, unit and period, added up. The second quantity and unit are
    those of pricing, where a bill tells both; `cost` at list price where it is told, else as billed.
    """

    usage_type: str
    operation: str
    start: datetime
    end: datetime
    quantity: Decimal
    unit: str
    pricing_quantity: Decimal | None
    pricing_unit: str
    cost: Decimal
    billed: Decimal
    currency: str


@dataclass
class Billed:
    """A bucket's storage by class: GiB-months and cost of [`start`, `end`), mean GiB, and the other lines.

    `bad_unit` and `bad_rate` name a line that cannot be believed; "" where all can.
    """

    months: dict[str, Decimal] = field(default_factory=dict)
    gib: dict[str, Decimal] = field(default_factory=dict)
    cost: dict[str, Decimal] = field(default_factory=dict)
    currency: str = ""
    start: date | None = None
    end: date | None = None
    charges: tuple[StorageCharge, ...] = ()
    bad_unit: str = ""
    bad_rate: str = ""


def billed_of(
    lines: Sequence[BillLine], provider: str, *, listed_on: date, prices: Mapping[tuple[str, str], Decimal]
) -> Billed:
    """The lines of the newest days before a listing. `prices`: list price per GiB-month by (class, tier)."""
    storage = [one for one in lines if _is_stored(one, provider)]
    chosen, start, end = _window(storage, listed_on)
    found = Billed(start=start, end=end)
    sums: dict[str, Decimal] = defaultdict(Decimal)
    means: dict[str, Decimal] = defaultdict(Decimal)
    cost: dict[str, Decimal] = defaultdict(Decimal)
    for line in chosen:
        usage = storage_usage(provider, line.usage_type, line.operation)
        assert usage is not None  # noqa: S101 - chosen among lines that have one
        found.currency = found.currency or line.currency
        months = _months(line)
        if months is None:
            # Nothing is billed by a line that costs nothing: old bills leave the unit of free ones blank.
            if line.cost:
                found.bad_unit = found.bad_unit or f"{line.usage_type}: {line.unit or 'blank'}"
            continue
        known = prices.get((usage.storage_class, usage.tier))
        if known and line.cost > 0 and not rate_is_plausible(line.cost, months, known):
            rate = line.cost / months if months else ZERO
            found.bad_rate = found.bad_rate or f"{line.usage_type}: {rate:.6f}"
        sums[usage.storage_class] += months
        means[usage.storage_class] += months * _month_days(line.start)
        cost[usage.storage_class] += line.billed
    days = _covered_days(chosen)
    found.months, found.cost = dict(sums), dict(cost)
    found.gib = {name: value / days for name, value in means.items()}
    found.charges = _charges(lines, provider, start, end)
    return found


def _is_stored(line: BillLine, provider: str) -> bool:
    usage = storage_usage(provider, line.usage_type, line.operation)
    return usage is not None and usage.kind in (STORED, STAGING)


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _window(lines: Iterable[BillLine], listed_on: date) -> tuple[list[BillLine], date | None, date | None]:
    """The lines to compare with, and the days [first, end) that they cover."""
    before = [one for one in lines if _day(one.start) <= listed_on]
    if not before:
        return [], None, None
    newest = max(one.start for one in before)
    if any(one.end - one.start > _A_DAY for one in before if one.start == newest):
        chosen = [one for one in before if one.start == newest]
        return chosen, _day(newest), max(_day(one.end) for one in chosen)
    end = _day(newest) + timedelta(days=1)
    start = end - WINDOW
    chosen = [one for one in before if _day(one.start) >= start and one.end - one.start <= _A_DAY]
    return chosen, min(_day(one.start) for one in chosen), end


def _covered_days(lines: Iterable[BillLine]) -> Decimal:
    """Days that the lines cover together: a day that was not delivered is no day of nothing."""
    covered, until = timedelta(0), None
    for start, end in sorted(
        (one.start, one.end if one.end > one.start else one.start + _DAY) for one in lines
    ):
        begins = start if until is None else max(start, until)
        if end > begins:
            covered, until = covered + (end - begins), end
    return Decimal(covered // timedelta(seconds=1)) / 86400 if covered else Decimal(1)


def _month_days(moment: datetime) -> Decimal:
    day = _day(moment)
    return Decimal(calendar.monthrange(day.year, day.month)[1])


def _months(line: BillLine) -> Decimal | None:
    """GiB-months by the unit column; None when neither unit is known."""
    hours = _month_days(line.start) * 24
    for quantity, unit in ((line.quantity, line.unit), (line.pricing_quantity, line.pricing_unit)):
        if quantity is None:
            continue
        try:
            return gib_months(quantity, unit, hours)
        except StorageError:
            continue
    return None


def _charges(
    lines: Iterable[BillLine], provider: str, start: date | None, end: date | None
) -> tuple[StorageCharge, ...]:
    sums: dict[tuple[str, str, str, str, str], list[Decimal]] = {}
    for line in lines:
        usage = storage_usage(provider, line.usage_type, line.operation)
        if usage is None or usage.kind in (STORED, STAGING):
            continue
        if start is None or end is None or not start <= _day(line.start) < end:
            continue
        key = (usage.kind, usage.storage_class, line.usage_type, line.unit, line.currency)
        both = sums.setdefault(key, [ZERO, ZERO])
        both[0] += line.quantity
        both[1] += line.billed
    return tuple(
        StorageCharge(kind, storage_class, usage_type, both[0], unit, both[1], currency)
        for (kind, storage_class, usage_type, unit, currency), both in sorted(sums.items())
    )


@dataclass(frozen=True)
class Gap:
    """Billed less listed. `code`: "gap" or "", `missing`: the parts that the listing does not hold."""

    gap_bytes: int
    share: Decimal
    code: str
    missing: tuple[str, ...]


def gap_of(
    billed: Mapping[str, Decimal], listed: Mapping[tuple[str, str], int], *, states: Iterable[str]
) -> Gap:
    """Billed GiB by class against listed bytes by (class, state); `states`: what the listing can hold.

    Over `TOLERANCE` of the bill in either direction it blocks, as does a class of that share that nothing
    lists. Raises StorageError when nothing was billed.
    """
    parts: dict[str, Decimal] = dict.fromkeys(states, ZERO)
    by_class: dict[str, int] = defaultdict(int)
    for (storage_class, state), size in listed.items():
        parts[state] = parts.get(state, ZERO) + Decimal(size) / GIB
        by_class[storage_class] += size
    found = reconcile(billed, parts)
    unlisted = [
        f"class {name}"
        for name, gib in sorted(billed.items())
        if not by_class.get(name) and gib > TOLERANCE * found.billed_gib
    ]
    code = "gap" if found.blocked or unlisted else ""
    missing: list[str] = []
    if code and found.gap_gib > 0:
        missing = [part for part in (NONCURRENT, INCOMPLETE) if part in found.missing]
    return Gap(int(found.gap_gib * GIB), found.gap_share, code, tuple([*missing, *unlisted] if code else []))
