"""Patterns of a usage file: stars stand for anything, the longest fitting wins, none takes for ever."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.frames.cost_items import CheckInputError
from finops.frames.usage_file import MAX_PATTERNS, usage_of, word_of


def said(address: str, *patterns: str) -> str:
    found = usage_of({"resources": {name: {"region": name or "empty"} for name in patterns}})
    return word_of(found.of(address), "region")


@settings(max_examples=50)
@given(st.text("ab*", max_size=7), st.text("ab", max_size=8))
def test_a_pattern_fits_as_its_regular_expression_does(pattern: str, address: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), address) is not None
    assert bool(said(address, pattern)) is expected


def test_the_longest_pattern_wins() -> None:
    assert said("aws_instance.etl[0]", "*", "aws_instance.*", "aws_instance.etl[*", "aws_nat*") == (
        "aws_instance.etl[*"
    )
    assert said("aws_instance.a", "aws_instance.a", "aws*") == "aws_instance.a"
    assert said("a", "*a*", "a") == "*a*"


def test_many_stars_take_no_time() -> None:
    started = time.monotonic()
    assert said("aws_instance." + "a" * 900 + "b", "*a" * 60) == ""
    assert time.monotonic() - started < 2


def test_more_patterns_than_can_be_held_against_each_resource_are_refused() -> None:
    rows = {f"aws_instance.a{i}*": {"hours": 1} for i in range(MAX_PATTERNS + 1)}
    with pytest.raises(CheckInputError) as refused:
        usage_of({"resources": rows})
    assert refused.value.field == "resources"
    assert usage_of({"resources": {name[:-1]: values for name, values in rows.items()}}).of("aws_instance.a7")
