"""How pages write numbers, times and ranges: as mails and commands do (`finops.text.display`)."""

from decimal import Decimal

from finops.text.display import (
    CURRENCY_ZH,
    DASH,
    DAYS,
    DAYS_ZH,
    MINUS,
    MONTHS,
    NARROW,
    SYMBOLS,
    UNKNOWN,
    Number,
    age,
    axis_value,
    compact,
    currency_word,
    day,
    day_range,
    decimal_of,
    duration,
    hourly,
    hourly_decimals,
    hours,
    is_zh,
    moment,
    money,
    money_hourly,
    number,
    percent,
    span,
    zone_name,
)

__all__ = [
    "CURRENCY_ZH",
    "DASH",
    "DAYS",
    "DAYS_ZH",
    "MINUS",
    "MONTHS",
    "NARROW",
    "SYMBOLS",
    "UNKNOWN",
    "Number",
    "age",
    "axis_value",
    "compact",
    "currency_word",
    "day",
    "day_range",
    "decimal_of",
    "duration",
    "hourly",
    "hourly_decimals",
    "hours",
    "is_zh",
    "moment",
    "money",
    "money_hourly",
    "number",
    "paid",
    "percent",
    "span",
    "zone_name",
]


def paid(value: Number | None, currency: str) -> str:
    """What something cost: to the cent, below ten cents to four digits, so that little is not nothing."""
    exact = decimal_of(value)
    small = exact is not None and 0 < abs(exact) < Decimal("0.1")
    return money(value, currency, decimals=4 if small else 2)
