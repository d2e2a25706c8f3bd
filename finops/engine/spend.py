"""Amounts of money compared, explained and rounded: pure, exact decimals, one currency at a time.

An amount of None means that there was nothing of the kind, which is not the same as 0: it counts as 0 in a
difference and is named (`new`, `gone`) beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Generic, TypeVar

# What an amount is stored with (DECIMAL(38, 18)); sums of such amounts need more than the default 28 digits.
SCALE = 18
_UNIT = Decimal(1).scaleb(-SCALE)
EXACT = Context(prec=60)
ZERO = Decimal(0)

Key = TypeVar("Key", bound=Hashable)


def total(amounts: Iterable[Decimal | None]) -> Decimal:
    """The exact sum; None counts as nothing.

    >>> total([Decimal("1.005"), None, Decimal("2")])
    Decimal('3.005')
    """
    found = ZERO
    for amount in amounts:
        if amount is not None:
            found = EXACT.add(found, amount)
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """Two amounts of one currency. `percent` is None unless the base is above 0; `label`: new, gone or ""."""

    before: Decimal | None
    after: Decimal | None
    delta: Decimal
    percent: Decimal | None
    label: str


def compare(before: Decimal | None, after: Decimal | None) -> Change:
    """The change from `before` to `after`, delta = after - before, percent = 100 delta / before.

    Against nothing, against 0 and against a credit there is no percentage: -3 of -5 is no "-60 %".

    >>> compare(Decimal(40), Decimal(30)).percent
    Decimal('-25')
    >>> compare(None, Decimal(12)).label, compare(None, Decimal(12)).percent
    ('new', None)
    """
    delta = EXACT.subtract(after or ZERO, before or ZERO)
    percent = None
    if before is not None and before > 0:
        percent = EXACT.divide(EXACT.multiply(delta, Decimal(100)), before)
    label = ""
    if before is None and after is not None:
        label = "new"
    elif before is not None and after is None:
        label = "gone"
    return Change(before, after, delta, percent, label)


@dataclass(frozen=True, slots=True)
class Driver(Generic[Key]):
    """One value of a dimension and its part of a change; `share` of the whole change, None where that is 0.

    A share is negative or above 1 where parts work against each other.
    """

    key: Key
    change: Change
    share: Decimal | None


def drivers(
    before: Mapping[Key, Decimal | None], after: Mapping[Key, Decimal | None]
) -> tuple[Change, list[Driver[Key]]]:
    """The whole change and its parts, largest amount first; the parts' deltas sum to the whole exactly.

    Sorted by the size of the amount, never by percent; ties by the text of the key.
    """
    whole = compare(
        total(before.values()) if before else None,
        total(after.values()) if after else None,
    )
    parts = [(key, compare(before.get(key), after.get(key))) for key in {**before, **after}]
    parts.sort(key=lambda part: str(part[0]))
    parts.sort(key=lambda part: abs(part[1].delta), reverse=True)
    return whole, [
        Driver(key, change, EXACT.divide(change.delta, whole.delta) if whole.delta else None)
        for key, change in parts
    ]


def sorted_by_amount(
    rows: Iterable[Key], amount: Callable[[Key], Decimal | None], name: Callable[[Key], str]
) -> list[Key]:
    """Largest amount first, unknown last, ties by name."""
    return sorted(rows, key=lambda row: (amount(row) is None, -(amount(row) or ZERO), name(row)))


def rounded(amount: Decimal, places: int = 2) -> Decimal:
    """Half up (away from zero), the one rule for display.

    >>> rounded(Decimal("3.015")), rounded(Decimal("-0.005"))
    (Decimal('3.02'), Decimal('-0.01'))
    """
    return amount.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=EXACT)


def rounded_parts(parts: Sequence[Decimal], places: int = 2) -> tuple[list[Decimal], Decimal]:
    """Parts as they are shown beside their total, and the total: the shown parts add up to it.

    The total is the exact sum, rounded half up once. Each part is cut down to `places`, then those with the
    largest remainder get one unit more, the first of equal ones first, until the sum is reached. So no part
    is shown further than one unit from its exact value, and an exact part is shown as it is.

    >>> rounded_parts([Decimal("1.005")] * 3)
    ([Decimal('1.01'), Decimal('1.01'), Decimal('1.00')], Decimal('3.02'))
    """
    whole = rounded(total(parts), places)
    unit = Decimal(1).scaleb(-places)
    shown = [part.quantize(unit, rounding=ROUND_FLOOR, context=EXACT) for part in parts]
    missing = int((whole - total(shown)) / unit)
    order = sorted(range(len(parts)), key=lambda i: (shown[i] - parts[i], i))
    for i in order[:missing]:
        shown[i] += unit
    return shown, whole


def split(amount: Decimal, weights: Sequence[Decimal]) -> list[Decimal] | None:
    """The amount in parts by weight that sum to it exactly, at full precision (18 decimals).

    Cut towards minus infinity, then the largest remainders get one unit more, the first of equal ones first.
    A weight below 0 counts as 0; None where no weight is above 0: there is nothing to split by.

    >>> split(Decimal("100.00"), [Decimal(1)] * 3)[0]
    Decimal('33.333333333333333334')
    """
    counted = [max(weight, ZERO) for weight in weights]
    whole = sum((Fraction(weight) for weight in counted), Fraction(0))
    if whole == 0:
        return None
    units = Fraction(amount) / Fraction(_UNIT)
    exact = [units * Fraction(weight) / whole for weight in counted]
    cut = [part.numerator // part.denominator for part in exact]
    # An amount finer than the scale leaves a rest below one unit; it goes to the part with the largest rest.
    missing = units - sum(cut)
    order = sorted(range(len(exact)), key=lambda i: (cut[i] - exact[i], i))
    for i in order[: missing.numerator // missing.denominator]:
        cut[i] += 1
    parts = [EXACT.multiply(Decimal(part), _UNIT) for part in cut]
    rest = EXACT.subtract(amount, total(parts))
    if rest:
        parts[order[0]] = EXACT.add(parts[order[0]], rest)
    return parts


@dataclass(frozen=True, slots=True)
class Week:
    """An ISO week, Monday to Sunday. `label` is `2018-W47`; `last` is its Sunday."""

    label: str
    first: date
    last: date


def week_of(day: date) -> Week:
    """The ISO week of a day: it belongs to the year of its Thursday.

    >>> week_of(date(2018, 12, 31)).label
    '2019-W01'
    """
    year, number, weekday = day.isocalendar()
    first = day - timedelta(days=weekday - 1)
    return Week(f"{year}-W{number:02d}", first, first + timedelta(days=6))


@dataclass(frozen=True, slots=True)
class Window:
    """Days from `start` to `end`, excluded."""

    start: date
    end: date

    @property
    def days(self) -> int:
        """How many."""
        return (self.end - self.start).days


def month_start(day: date) -> date:
    """The first of the day's month."""
    return day.replace(day=1)


def next_month(day: date) -> date:
    """The first of the month after the day's."""
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1)


def months_of(window: Window) -> list[date]:
    """First days of the calendar months that the window touches."""
    found: list[date] = []
    first = month_start(window.start)
    while window.days > 0 and first < window.end:
        found.append(first)
        first = next_month(first)
    return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two windows of the same number of days. `cut`: the asked window is longer than what is compared."""

    after: Window
    before: Window
    cut: bool


def comparison(asked: Window, *, known_to: date | None, against: str = "previous") -> Comparison | None:
    """What to compare with what: always the same number of days; None where no day can be compared.

    Days from `known_to` on (the day after the last delivered one) are left out. `against`: "previous" is the
    days just before; "month" the same days of the calendar month before, for a window inside one month: a
    shorter month before (February) cuts both. Other windows are compared with the days just before.
    """
    end = asked.end if known_to is None else min(asked.end, known_to)
    if end <= asked.start:
        return None
    after = Window(asked.start, end)
    first = month_start(asked.start)
    if against == "month" and asked.end <= next_month(asked.start):
        earlier = month_start(first - timedelta(days=1))
        start = earlier + (asked.start - first)
        days = min(after.days, (first - start).days)
        if days <= 0:
            return None
        after = Window(asked.start, asked.start + timedelta(days=days))
        return Comparison(after, Window(start, start + timedelta(days=days)), after != asked)
    before = Window(asked.start - timedelta(days=after.days), asked.start)
    return Comparison(after, before, after != asked)
