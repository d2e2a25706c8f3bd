"""Decimal comma: what people type is read by the stated locale, and refused where it can mean two things."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.text.csv_cells import Column, csv_lines
from finops.text.numbers import LOCALES, NumberError, format_decimal, parse_decimal


@pytest.mark.parametrize(
    ("locale", "typed", "expected"),
    [
        ("de", "10,00", "10.00"),
        ("de", "1.234,56", "1234.56"),
        ("en", "1,234.56", "1234.56"),
        ("de-CH", "1'234.50", "1234.50"),
        ("de_CH", "1’234.50", "1234.50"),
        ("zh-hans", "1,234.5", "1234.5"),
        ("fr", "1 234,5", "1234.5"),
        ("en", "\u22123.5", "-3.5"),
        ("en", "-0.00", "-0.00"),
        ("en", "1,234", "1234"),
        ("de", "1.234", "1234"),
        ("en", "  7 ", "7"),
        (None, "12.5", "12.5"),
        (None, "12,5", "12.5"),
        (None, "1,234.56", "1234.56"),
        (None, "1.234,56", "1234.56"),
        (None, "0.125", "0.125"),
        (None, "1,234,567", "1234567"),
        ("tlh", "10,5", "10.5"),
        ("es-MX", "1,234", "1234"),
        ("es_MX", "1.234", "1.234"),
        ("es-ES", "1.234", "1234"),
        ("en-DE", "1.234,5", "1234.5"),
    ],
)
def test_typed_numbers(locale: str | None, typed: str, expected: str) -> None:
    assert str(parse_decimal(typed, locale)) == expected


@pytest.mark.parametrize("typed", ["1,234", "1.234", "12.345", "-1,234", "999,999"])
@pytest.mark.parametrize("locale", [None, "en-ZA", "es-419"])
def test_without_a_stated_rule_an_ambiguous_number_is_refused(typed: str, locale: str | None) -> None:
    with pytest.raises(NumberError) as refused:
        parse_decimal(typed, locale)
    assert refused.value.code == "ambiguous"


@pytest.mark.parametrize(
    ("locale", "typed"),
    [
        ("en", "10,00"),
        ("en", "1,23,456"),
        ("en", "1.2.3"),
        ("de", "1.23,4"),
        ("de", "12,5.0"),
        ("en", ""),
        ("en", "-"),
        ("en", "1e3"),
        ("en", "0x10"),
        ("en", "NaN"),
        ("en", "١٢"),
        ("en", ".5"),
        ("en", "5."),
        ("en", "0,123"),
        (None, "1 000 0"),
    ],
)
def test_a_separator_in_the_wrong_place_is_refused_not_dropped(locale: str | None, typed: str) -> None:
    with pytest.raises(NumberError) as refused:
        parse_decimal(typed, locale)
    assert refused.value.code == "invalid"


def test_files_for_machines_have_a_point_and_pages_the_locale() -> None:
    value = Decimal("12.5")
    assert list(csv_lines([Column("v", "v", "number")], [{"v": value}]))[1] == "12.5\r\n"
    assert json.dumps({"v": str(value)}) == '{"v": "12.5"}'
    assert format_decimal(value, "de", places=2) == "12,50"
    assert format_decimal(Decimal("1234567.005"), "de", places=2) == "1.234.567,01"
    assert format_decimal(Decimal("-1234.5"), "fr", places=1) == "\u22121\u202f234,5"
    assert format_decimal(Decimal("-0.001"), "en", places=2) == "0.00"


@given(
    st.decimals(min_value=-(10**12), max_value=10**12, places=3),
    st.sampled_from(sorted(LOCALES)),
)
def test_what_a_page_shows_can_be_typed_back(value: Decimal, locale: str) -> None:
    assert parse_decimal(format_decimal(value, locale, places=3), locale) == value
