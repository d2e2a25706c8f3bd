"""A commitment in one billing month: what it bought, what was used, what stood idle and what that cost.

Reservations count in hours of their own size, savings plans and commitments of exports without fee lines in
money. A month that is looked at in part (the decision time or the newest line lies in it) counts its hours
up to there; a whole one takes the bill's own sums to the last digit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from apps.billing.selectors.commitment_lines import CommitmentLines, PaidUse, PlanFee, ReservedFee
from finops.engine.commitments.utilisation import exact_hours
from finops.engine.spend import next_month
from finops.frames.sizes import size_table

ZERO = Decimal(0)
HOUR_SECONDS, DAY_SECONDS = 3600, 86400
# Bills give hours with six decimals; a share of them is no finer.
HOUR_DIGITS = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class MonthUse:
    """[start, end) of a billing month; the commitment was there for `hours` of them.

    `unit` is "hour" (of the reservation's own size) or "money". bought = used + idle (idle is net, see the
    engine's `utilisation`). `cost` is amortised; `idle_cost` the part that nothing used; `list_cost` what
    the use that was paid for costs on demand, None where a line has no such price. `grain`: the longest
    line, "hour", "day" or "month". `rate`: amortised cost of one hour bought (of a plan: its money an
    hour). `billed_idle`: idle hours as the bill itself counts them, where it does.
    """

    month: date
    start: datetime
    end: datetime
    whole: bool
    unit: str
    grain: str
    bought: Decimal
    used: Decimal
    idle: Decimal
    cost: Decimal
    used_cost: Decimal
    idle_cost: Decimal
    list_cost: Decimal | None
    rate: Decimal | None
    hours: Decimal
    billed_idle: Decimal | None = None

    @property
    def utilisation(self) -> Decimal | None:
        """The used part, at most 1 (the hour of the purchase may be used beyond it); None: nothing bought."""
        return min(Decimal(1), self.used / self.bought) if self.bought > 0 else None


def midnight(day: date) -> datetime:
    """The first instant of a day in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def grain_of(seconds: int) -> str:
    """The word for the length of a line."""
    if seconds <= HOUR_SECONDS:
        return "hour"
    return "day" if seconds <= DAY_SECONDS else "month"


def month_uses(lines: CommitmentLines) -> dict[str, list[MonthUse]]:
    """The months of every commitment that a line names, oldest first, by the bill's name for it."""
    uses: dict[tuple[str, date], list[PaidUse]] = defaultdict(list)
    for use in lines.uses:
        uses[use.id, use.month].append(use)
    steps = _steps(lines.uses)
    found: dict[str, dict[date, MonthUse]] = defaultdict(dict)
    for key, fees in _together(lines.reserved).items():
        month = _reserved_month(fees, uses.pop(key, []), lines, steps)
        found[key[0]][key[1]] = month
    for key, plan_fees in _together(lines.plans).items():
        found[key[0]][key[1]] = _plan_month(plan_fees, uses.pop(key, []), lines, steps)
    for key in {*uses, *lines.unused}:
        if key[1] not in found[key[0]]:
            found[key[0]][key[1]] = _money_month(key, uses.get(key, []), lines, steps)
    return {name: [by[month] for month in sorted(by)] for name, by in found.items()}


def _together(
    fees: Iterable[ReservedFee] | Iterable[PlanFee],
) -> dict[tuple[str, date], list[ReservedFee | PlanFee]]:
    """Fees of one commitment and month: several reports may bill parts of it."""
    found: dict[tuple[str, date], list[ReservedFee | PlanFee]] = defaultdict(list)
    for fee in fees:
        found[fee.id, fee.month].append(fee)
    return found


def _steps(uses: Sequence[PaidUse]) -> dict[str, int]:
    """The longest line of each report: what its export's grain is."""
    found: dict[str, int] = {}
    for use in uses:
        found[use.report] = max(found.get(use.report, 0), use.step_seconds)
    return found


def _span(report: str, month: date, lines: CommitmentLines, step: int) -> tuple[datetime, datetime, bool]:
    """(start, end, whether it is the whole month) of what is looked at: whole steps that began before the
    cut and that the bill reaches.
    """
    start, last = midnight(month), midnight(next_month(month))
    length = timedelta(seconds=max(step, HOUR_SECONDS))
    newest = lines.reach.get((report, month))
    reach = last if newest is None or grain_of(step) == "month" else _up(newest, start, length, inside=True)
    end = min(last, reach, _up(lines.cut, start, length, inside=False))
    return start, max(start, end), end >= last


def _up(moment: datetime, start: datetime, step: timedelta, *, inside: bool) -> datetime:
    """The end of the step that `moment` begins (`inside`), or the first end of a step not before it."""
    passed, rest = divmod(moment - start, step)
    return start + (passed + (1 if inside or rest else 0)) * step


def _sums(uses: Sequence[PaidUse]) -> tuple[Decimal, Decimal | None]:
    """(amortised cost, cost on demand) of what was paid for."""
    cost = sum((use.cost for use in uses), ZERO)
    if any(use.list_missing for use in uses):
        return cost, None
    return cost, sum((use.list_cost or ZERO for use in uses), ZERO)


def _reserved_month(
    fees: Sequence[ReservedFee | PlanFee],
    uses: Sequence[PaidUse],
    lines: CommitmentLines,
    steps: Mapping[str, int],
) -> MonthUse:
    own = [fee for fee in fees if isinstance(fee, ReservedFee)]
    first = own[0]
    step = steps.get(first.report, HOUR_SECONDS)
    start, end, whole = _span(first.report, first.month, lines, step)
    # What the fee says is of its own charge period, which may be shorter than the month.
    settled = whole or end > max(fee.end for fee in own)
    hours = sum((fee.hours for fee in own), ZERO)
    bought = hours if settled else sum((_bought(fee, start, end) for fee in own), ZERO)
    used = _used_hours(own, uses)
    used_cost, list_cost = _sums(uses)
    unused = sum((fee.unused_cost for fee in own), ZERO)
    rate = _rate(own, hours, used_cost + unused)
    idle = max(ZERO, (bought - used).quantize(HOUR_DIGITS))
    idle_cost = unused if settled else (idle * rate if rate is not None else ZERO)
    told = [fee.unused_units for fee in own if fee.unused_units is not None]
    return MonthUse(
        first.month, start, end, whole, "hour", grain_of(step), bought, used, idle,
        used_cost + idle_cost, used_cost, idle_cost, list_cost, rate,
        _active(own, start, end), sum(told, ZERO) if told and settled else None,
    )  # fmt: skip


def _active(fees: Sequence[ReservedFee], start: datetime, end: datetime) -> Decimal:
    """Hours of the span in which the commitment was there."""
    begin, stop = min(fee.begin for fee in fees), max(fee.end for fee in fees) + timedelta(seconds=1)
    return exact_hours(1, begin, stop, start, end)


def count_of(fee: ReservedFee) -> int:
    """How many reservations stand under the id: as the bill says, else by hours and time."""
    told = fee.facts.get("count") or fee.count_by_time
    return max(1, round(told)) if told is not None else 1


def _bought(fee: ReservedFee, start: datetime, end: datetime) -> Decimal:
    # The last second that is charged is named, not the first that is not.
    return exact_hours(count_of(fee), fee.begin, fee.end + timedelta(seconds=1), start, end)


def _used_hours(fees: Sequence[ReservedFee], uses: Sequence[PaidUse]) -> Decimal:
    """Hours of the reservation's own size that were used."""
    each = units_each(fees)
    return sum((_hours_of(use, fees[0].instance_type, each) for use in uses), ZERO)


def units_each(fees: Sequence[ReservedFee]) -> Decimal | None:
    """Normalised units of one hour, as the bill counts them; None where it does not."""
    units = sum((fee.normalised or ZERO for fee in fees), ZERO)
    hours = sum((fee.hours for fee in fees), ZERO)
    return units / hours if units and hours else None


def _hours_of(use: PaidUse, instance_type: str, each: Decimal | None) -> Decimal:
    if each and use.normalised is not None and not use.normalised_missing:
        return use.normalised / each
    return use.quantity * _ratio(use.provider, use.instance_type, instance_type)


def own_hours(
    own_type: str,
    used_type: str,
    provider: str,
    quantity: float | None,
    normalised: float | None,
    each: Decimal | None,
) -> float:
    """Use of an instance type in hours of the reservation's own; `each` as of `units_each`."""
    if each and normalised is not None:
        return normalised / float(each)
    return (quantity or 0.0) * float(_ratio(provider, used_type, own_type))


def _ratio(provider: str, used: str, own: str) -> Decimal:
    sizes = size_table(provider or "aws")
    of_use, of_own = sizes.factor(used), sizes.factor(own)
    return of_use / of_own if of_use and of_own else Decimal(1)


def _rate(fees: Sequence[ReservedFee], hours: Decimal, amortised: Decimal) -> Decimal | None:
    """Amortised cost of one hour: the fee's own parts, else what was used and what was not."""
    if not hours:
        return None
    parts = [fee.amortised_upfront for fee in fees]
    if all(part is not None for part in parts):
        upfront = sum((part for part in parts if part is not None), ZERO)
        return (upfront + sum((fee.billed for fee in fees), ZERO)) / hours
    return amortised / hours


def _plan_month(
    fees: Sequence[ReservedFee | PlanFee],
    uses: Sequence[PaidUse],
    lines: CommitmentLines,
    steps: Mapping[str, int],
) -> MonthUse:
    first = fees[0]
    step = steps.get(first.report, HOUR_SECONDS)
    start, end, whole = _span(first.report, first.month, lines, step)
    used, list_cost = _sums(uses)
    idle = sum((fee.unused_cost for fee in fees), ZERO)
    begin = max(start, min(fee.begin for fee in fees))
    hours = exact_hours(1, begin, end, start, end)
    bought = used + idle
    return MonthUse(
        first.month, start, end, whole, "money", grain_of(step), bought, used, idle,
        bought, used, idle, list_cost, bought / hours if hours else None, hours,
    )  # fmt: skip


def _money_month(
    key: tuple[str, date], uses: Sequence[PaidUse], lines: CommitmentLines, steps: Mapping[str, int]
) -> MonthUse:
    """Of an export whose lines say Used or Unused and that has no fees."""
    name, month = key
    report = uses[0].report if uses else ""
    step = steps.get(report, DAY_SECONDS)
    start, end, whole = _span(report, month, lines, step)
    used, list_cost = _sums(uses)
    idle = lines.unused.get((name, month), ZERO)
    hours = exact_hours(1, start, end, start, end)
    return MonthUse(
        month, start, end, whole, "money", grain_of(step), used + idle, used, idle, used + idle, used,
        idle, list_cost, None, hours,
    )  # fmt: skip
