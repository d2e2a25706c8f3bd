"""Durations of commitments. Each one says its unit, and each conversion is here.

A buyer's value counts in exact hours left; a resale in whole calendar months left, rounded down. 730 hours
a month is an input of somebody's sentence ("8 months left"), never a conversion made on the way.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, timedelta
from decimal import Decimal

MONTHS_PER_YEAR = 12
HOURS_PER_YEAR = 8760  # a term of one year has 365 days, leap year or not: AWS gives 31,536,000 seconds
SECONDS_PER_HOUR = 3600
MEAN_MONTH_HOURS = Decimal(HOURS_PER_YEAR) / MONTHS_PER_YEAR


def hours_between(start: datetime, end: datetime) -> Decimal:
    """Exact hours from `start` to `end`, negative where `end` is before it. Both aware."""
    if start.tzinfo is None or end.tzinfo is None:
        raise ValueError("times need a zone")
    passed = end - start
    seconds = Decimal(passed.days) * 86400 + passed.seconds + Decimal(passed.microseconds) / 1_000_000
    return seconds / SECONDS_PER_HOUR


def hours_left(start: datetime, end: datetime, now: datetime) -> Decimal:
    """Hours of the term [start, end) that are still to come at `now`, in exact hours."""
    return max(Decimal(0), hours_between(max(start, now), end))


def months_later(start: datetime, months: int) -> datetime:
    """The same day and time `months` calendar months on; the last day of a month that is too short.

    >>> from datetime import UTC
    >>> months_later(datetime(2026, 1, 31, tzinfo=UTC), 1).isoformat()
    '2026-02-28T00:00:00+00:00'
    """
    index = start.year * MONTHS_PER_YEAR + start.month - 1 + months
    year, month = divmod(index, MONTHS_PER_YEAR)
    return start.replace(year=year, month=month + 1, day=min(start.day, monthrange(year, month + 1)[1]))


def whole_months(start: datetime, end: datetime) -> int:
    """Whole calendar months in [start, end), rounded down; 0 where `end` is not after `start`.

    >>> from datetime import UTC
    >>> whole_months(datetime(2025, 8, 15, tzinfo=UTC), datetime(2026, 5, 15, tzinfo=UTC))
    9
    """
    if end <= start:
        return 0
    months = (end.year - start.year) * MONTHS_PER_YEAR + end.month - start.month
    return months if months_later(start, months) <= end else months - 1


def months_begun(start: datetime, now: datetime) -> int:
    """Calendar months from `start` to `now`, a month begun counted; 0 where `now` is not after `start`."""
    months = whole_months(start, now)
    return months + int(months_later(start, months) < now)


def last_with_months(end: datetime, months: int) -> datetime:
    """The last instant with `months` whole months left before `end`; an end on a month's last day is one of
    any month's last day.

    >>> from datetime import UTC
    >>> last_with_months(datetime(2026, 11, 30, tzinfo=UTC), 6).isoformat()
    '2026-05-31T00:00:00+00:00'
    """
    found = months_later(end, -months)
    if end.day == monthrange(end.year, end.month)[1]:
        return found.replace(day=monthrange(found.year, found.month)[1])
    return found


def term_months(hours: Decimal) -> int:
    """Months of a term given in hours: 12 for a year of 365 days, 36 for three, rounded to the nearest month.

    >>> term_months(Decimal(94_608_000) / 3600), term_months(Decimal(31_536_000) / 3600)
    (36, 12)
    """
    return int((hours / MEAN_MONTH_HOURS).to_integral_value())


# Years of 365 days are short of the calendar by a leap day, and an end may be named as the last second.
_SHORT_OF_THE_CALENDAR = timedelta(days=1, seconds=1)


def counted_end(start: datetime, end: datetime) -> datetime:
    """The end from which the months of a term are counted: that of its calendar months where `end` is short
    of it by a leap day or a last second only, else `end`.
    """
    if end <= start:
        return end
    whole = months_later(start, term_months(hours_between(start, end)))
    return whole if timedelta(0) <= whole - end <= _SHORT_OF_THE_CALENDAR else end
