"""How numbers, times and ranges are written, in English and in Simplified Chinese.

Pure functions: value and language in, text out. `None` (and nan) is unknown and becomes an em dash, never 0.
Rounding happens here and nowhere before: half up on the decimal text, so 0.125 shows as 0.13.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal

MINUS = "\u2212"
NARROW = "\u202f"  # narrow no-break space before the percent sign
DASH = "\u2013"
UNKNOWN = "\u2014"
SYMBOLS = {"USD": "$", "EUR": "\u20ac", "GBP": "\u00a3"}
CURRENCY_ZH = {"USD": "美元", "EUR": "欧元", "GBP": "英镑", "CNY": "人民币"}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAYS_ZH = ("周一", "周二", "周三", "周四", "周五", "周六", "周日")

Number = Decimal | int | float | str


def is_zh(lang: str) -> bool:
    """Whether texts are in Chinese."""
    return lang.lower().startswith("zh")


def decimal_of(value: Number | None) -> Decimal | None:
    """The exact value; None for unknown (also nan). A float counts with its shortest decimal form."""
    if value is None or value == "":
        return None
    found = value if isinstance(value, Decimal) else Decimal(str(value))
    return found if found.is_finite() else None


def number(value: Number | None, decimals: int = 0, *, sign: bool = False) -> str:
    """`1,234.50`; minus as U+2212; with `sign` a plus before what is above 0; nothing is ever shown as −0."""
    exact = decimal_of(value)
    if exact is None:
        return UNKNOWN
    rounded = exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    text = f"{abs(rounded):,.{decimals}f}"
    if rounded < 0:
        return MINUS + text
    return "+" + text if sign and rounded > 0 else text


def percent(value: Number | None, lang: str = "en", *, decimals: int = 1, sign: bool = False) -> str:
    """`16.2 %` with U+202F in English, `16.2%` in Chinese; the value is already in percent."""
    if decimal_of(value) is None:
        return UNKNOWN
    return f"{number(value, decimals, sign=sign)}{'' if is_zh(lang) else NARROW}%"


def hourly_decimals(value: Number | None) -> int:
    """Decimals of an hourly price: 4, more where the first three digits that matter lie further right."""
    exact = decimal_of(value)
    if exact is None or exact == 0:
        return 4
    return max(4, 2 - math.floor(math.log10(abs(exact))))


def hourly(value: Number | None) -> str:
    """A price of an hour without its currency: `0.9867`, `0.00310`."""
    return number(value, hourly_decimals(value))


def axis_value(value: Number | None) -> str:
    """Where a price axis begins: `0.90`, with more decimals where it would show as 0.00."""
    exact = decimal_of(value)
    small = exact is not None and 0 < abs(exact) < Decimal("0.1")
    return number(exact, hourly_decimals(exact) if small else 2).rstrip("0" if small else "")


def money(value: Number | None, currency: str, *, decimals: int | None = None, sign: bool = False) -> str:
    """`$2,963.33`, `CHF 1,200.00`; in sentences (decimals None) whole from 100 on, else two decimals."""
    exact = decimal_of(value)
    if exact is None:
        return UNKNOWN
    if decimals is None:
        decimals = 0 if abs(exact) >= 100 else 2
    text = number(exact, decimals, sign=sign)
    symbol = SYMBOLS.get(currency)
    lead = text[0] if text[0] in (MINUS, "+") else ""
    return f"{lead}{symbol}{text[len(lead) :]}" if symbol else f"{currency} {text}"


def paid(value: Number | None, currency: str) -> str:
    """What something cost: to the cent, below ten cents to four digits, so that little is not nothing."""
    exact = decimal_of(value)
    small = exact is not None and Decimal("0.00005") <= abs(exact) < Decimal("0.1")
    return money(exact, currency, decimals=4 if small else 2)


def money_hourly(value: Number | None, currency: str) -> str:
    """`$0.9867`: the price of an hour with its currency."""
    return money(value, currency, decimals=hourly_decimals(value))


def currency_word(currency: str, lang: str = "en") -> str:
    """What stands in a table's head."""
    return CURRENCY_ZH.get(currency, currency) if is_zh(lang) else currency


def span(
    low: Number | None, high: Number | None, lang: str = "en", *, decimals: int = 0, words: bool = False
) -> str:
    """`980–2,210`; with a sign, or where `words` asks for it: `−0.4 to 0.3`, `−0.4 至 0.3`."""
    first, last = decimal_of(low), decimal_of(high)
    if first is None or last is None:
        return UNKNOWN
    left, right = number(first, decimals), number(last, decimals)
    if words or left.startswith(MINUS) or right.startswith(MINUS):
        return f"{left} {'至' if is_zh(lang) else 'to'} {right}"
    return f"{left}{DASH}{right}"


def compact(value: Number | None, lang: str = "en") -> str:
    """For axes only: `4k`, `1.2M`; `120万`."""
    exact = decimal_of(value)
    if exact is None:
        return UNKNOWN
    units = (("万", 10**4), ("亿", 10**8)) if is_zh(lang) else (("k", 10**3), ("M", 10**6), ("B", 10**9))
    text, former = "", Decimal(0)
    for unit, size in (("", 1), *units):
        short = (exact / size).quantize(Decimal("0.1"), rounding=ROUND_HALF_UP)
        # A unit is taken up where it shows as 1 or more of the former's: 999,960 is 1M and not 1,000k.
        if text and abs(former) < size:
            break
        text, former = number(short, 0 if short == short.to_integral_value() else 1) + unit, short * size
    return text


def zone_name(moment: datetime, zone: tzinfo) -> str:
    """The zone's short name at that moment: `UTC`, `CET`, `GMT+8` where it has only an offset."""
    name = moment.astimezone(zone).tzname() or "UTC"
    if name[0] in "+-":
        hours, minutes = name[1:3].lstrip("0") or "0", name[3:]
        return f"GMT{name[0].replace('-', MINUS)}{hours}{':' + minutes if minutes.strip('0') else ''}"
    return name


def day(
    moment: datetime, zone: tzinfo = UTC, lang: str = "en", *, year: bool = False, weekday: bool = False
) -> str:
    """`6 Mar`, `Fri 6 Mar`, `6 Mar 2020`; `3月6日`, `3月6日 周五`, `2020年3月6日`."""
    local = moment.astimezone(zone)
    if is_zh(lang):
        text = f"{local.year}年" if year else ""
        text += f"{local.month}月{local.day}日"
        return f"{text} {DAYS_ZH[local.weekday()]}" if weekday else text
    text = f"{local.day} {MONTHS[local.month - 1]}"
    text = f"{DAYS[local.weekday()]} {text}" if weekday else text
    return f"{text} {local.year}" if year else text


def moment(
    at: datetime | None,
    zone: tzinfo = UTC,
    lang: str = "en",
    *,
    year: bool = False,
    weekday: bool = False,
    named: bool = True,
) -> str:
    """`6 Mar 09:00 UTC`; `named=False` leaves the zone out where the column's head has it."""
    if at is None:
        return UNKNOWN
    local = at.astimezone(zone)
    text = f"{day(at, zone, lang, year=year, weekday=weekday)} {local:%H:%M}"
    return f"{text} {zone_name(at, zone)}" if named else text


def day_range(first: datetime, last: datetime, zone: tzinfo = UTC, lang: str = "en") -> str:
    """`22 Dec 2019 – 6 Mar 2020`, `19 Jan – 3 Mar 2020`, `3–9 Mar 2020`; `2019年12月22日–2020年3月6日`."""
    a, b = first.astimezone(zone), last.astimezone(zone)
    end = day(last, zone, lang, year=True)
    if a.date() == b.date():
        return end
    if is_zh(lang):
        start = day(first, zone, lang, year=True)
        return f"{start}{DASH}{day(last, zone, lang, year=a.year != b.year)}"
    if (a.year, a.month) == (b.year, b.month):
        return f"{a.day}{DASH}{end}"
    return f"{day(first, zone, lang, year=a.year != b.year)} {DASH} {end}"


def weekdays(text: str, lang: str = "en") -> str:
    """`mon-fri` as `Mon–Fri`, `周一至周五`; `every` as `every day`; other words as they are."""
    zh = is_zh(lang)
    names = dict(zip((one.lower() for one in DAYS), DAYS_ZH if zh else DAYS, strict=True))
    plain = text.strip().lower()
    if plain in {"", "every", "daily"}:
        return "每天" if zh else "every day"
    parts = [[names.get(end.strip()[:3]) for end in part.split("-")] for part in plain.split(",")]
    if any(None in part or len(part) > 2 for part in parts):
        return text
    return ("、" if zh else ", ").join(("至" if zh else DASH).join(map(str, part)) for part in parts)


def duration(length: timedelta, lang: str = "en") -> str:
    """The largest whole unit: `4 min`, `9 h`, `18 d`, `6 y`; `4 分钟`. Under a minute: seconds."""
    seconds = max(0, int(length.total_seconds()))
    units = (
        (365 * 86400, "y", "年"),
        (86400, "d", "天"),
        (3600, "h", "小时"),
        (60, "min", "分钟"),
        (1, "s", "秒"),
    )
    for size, en, zh in units:
        # Hours up to two days and days up to two years keep the finer unit.
        floor = 2 * size if en in ("d", "y") else size
        if seconds >= floor:
            return f"{seconds // size} {zh if is_zh(lang) else en}"
    return f"0 {'秒' if is_zh(lang) else 's'}"


def age(at: datetime, now: datetime, lang: str = "en") -> str:
    """`4 min old`; `4 分钟前`."""
    text = duration(now - at, lang)
    return f"{text}前" if is_zh(lang) else f"{text} old"


def hours(value: Number | None) -> str:
    """`8`, `0.25`: hours without trailing zeros."""
    exact = decimal_of(value)
    if exact is None:
        return UNKNOWN
    plain = exact.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP).normalize()
    return number(plain, max(0, -int(plain.as_tuple().exponent)))
