"""Numbers and times, in both languages, to the letter."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from apps.dashboard import format as fmt

AT = datetime(2020, 3, 6, 9, 0, tzinfo=UTC)
NOW = datetime(2020, 3, 6, 9, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "currency", "decimals", "text"),
    [
        (Decimal("2963.33"), "USD", 2, "$2,963.33"),
        ("1200", "CHF", 2, "CHF 1,200.00"),
        ("1660.4", "USD", None, "$1,660"),
        ("7.97", "USD", None, "$7.97"),
        ("99.995", "USD", None, "$100.00"),
        ("-1190", "USD", None, "−$1,190"),
        (None, "USD", None, "—"),
        (0, "USD", 2, "$0.00"),
        ("5", "EUR", None, "€5.00"),
    ],
)
def test_money(value: str | None, currency: str, decimals: int | None, text: str) -> None:
    assert fmt.money(value, currency, decimals=decimals) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("0.98670", "0.9867"), ("3.06", "3.0600"), ("0.0031", "0.00310"), ("0.05", "0.0500"), (None, "—")],
)
def test_hourly_prices_have_four_decimals_and_at_least_three_digits(value: str | None, text: str) -> None:
    assert fmt.hourly(value) == text


def test_percent_has_a_narrow_space_in_english_and_none_in_chinese() -> None:
    assert fmt.percent(16.2) == "16.2\u202f%"
    assert fmt.percent(16.2, "zh-hans") == "16.2%"
    assert fmt.percent("28.1", sign=True) == "+28.1\u202f%"
    assert fmt.percent(-0.1) == "\u22120.1\u202f%"
    assert fmt.percent(float("nan")) == "—"


def test_minus_is_the_sign_and_nothing_is_ever_minus_zero() -> None:
    assert fmt.number(-446) == "\u2212446"
    assert fmt.number("-0.04", 1) == "0.0"
    assert fmt.number("-0.05", 1) == "\u22120.1"
    assert fmt.number("0.125", 2) == "0.13"


def test_ranges() -> None:
    assert fmt.span(980, 2210) == "980–2,210"
    assert fmt.span("-0.4", "0.3", decimals=1) == "\u22120.4 to 0.3"
    assert fmt.span("-0.4", "0.3", "zh-hans", decimals=1) == "\u22120.4 至 0.3"
    assert fmt.span(9.5, 12.6, decimals=1, words=True) == "9.5 to 12.6"
    assert fmt.span(None, 3) == "—"


def test_compact_numbers_of_axes() -> None:
    assert [fmt.compact(v) for v in (950, 4000, 1_200_000)] == ["950", "4k", "1.2M"]
    assert fmt.compact(1_200_000, "zh-hans") == "120万"
    assert [fmt.compact(v) for v in (999_949, 999_950, -999_999_999, 999.96)] == [
        "999.9k",
        "1M",
        "\u22121B",
        "1k",
    ]
    assert [fmt.compact(v, "zh-hans") for v in (9_999, 99_999_999)] == ["9,999", "1亿"]


def test_times_stand_in_the_chosen_zone() -> None:
    assert fmt.moment(AT) == "6 Mar 09:00 UTC"
    assert fmt.moment(AT, lang="zh-hans") == "3月6日 09:00 UTC"
    assert fmt.moment(AT, ZoneInfo("Europe/Berlin")) == "6 Mar 10:00 CET"
    assert fmt.moment(AT + timedelta(days=120), ZoneInfo("Europe/Berlin")) == "4 Jul 11:00 CEST"
    assert fmt.moment(AT, ZoneInfo("Asia/Kathmandu")) == "6 Mar 14:45 GMT+5:45"
    assert fmt.moment(AT, weekday=True, named=False) == "Fri 6 Mar 09:00"
    assert fmt.moment(AT, lang="zh-hans", weekday=True, named=False) == "3月6日 周五 09:00"
    assert fmt.moment(None) == "—"


def test_ages() -> None:
    assert fmt.age(AT, NOW) == "4 min old"
    assert fmt.age(AT, NOW, "zh-hans") == "4 分钟前"
    assert fmt.age(AT, AT + timedelta(hours=9)) == "9 h old"
    assert fmt.age(AT, AT + timedelta(hours=47)) == "47 h old"
    assert fmt.age(AT, AT + timedelta(days=18)) == "18 d old"
    assert fmt.age(AT, AT - timedelta(seconds=3)) == "0 s old"


def test_day_ranges() -> None:
    assert fmt.day_range(datetime(2019, 12, 22, tzinfo=UTC), AT) == "22 Dec 2019 – 6 Mar 2020"
    assert fmt.day_range(datetime(2020, 1, 19, tzinfo=UTC), AT) == "19 Jan – 6 Mar 2020"
    assert fmt.day_range(datetime(2020, 3, 3, tzinfo=UTC), AT) == "3–6 Mar 2020"
    assert fmt.day_range(AT, AT) == "6 Mar 2020"
    assert (
        fmt.day_range(datetime(2019, 12, 22, tzinfo=UTC), AT, lang="zh-hans") == "2019年12月22日–2020年3月6日"
    )


def test_hours_drop_trailing_zeros() -> None:
    assert [fmt.hours(v) for v in (8, 8.0, 0.25, "10", 1234.5)] == ["8", "8", "0.25", "10", "1,234.5"]


@pytest.mark.parametrize(
    ("text", "en", "zh"),
    [
        ("mon-fri", "Mon–Fri", "周一至周五"),
        ("sat,sun", "Sat, Sun", "周六、周日"),
        ("fri-mon, wed", "Fri–Mon, Wed", "周五至周一、周三"),
        ("every", "every day", "每天"),
        ("daily", "every day", "每天"),
        ("", "every day", "每天"),
        ("now and then", "now and then", "now and then"),
    ],
)
def test_weekdays(text: str, en: str, zh: str) -> None:
    assert (fmt.weekdays(text), fmt.weekdays(text, "zh-hans")) == (en, zh)
