"""Client tokens of launch calls."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finops.engine.launches.token import launch_token

CALL = {"type": "c5.xlarge", "zone": "us-east-1a", "count": 1, "groups": ["sg-1", "sg-2"]}


def test_a_repeat_has_the_same_token_and_another_type_another() -> None:
    first = launch_token("42", 1, CALL)
    assert launch_token("42", 1, dict(reversed(CALL.items()))) == first
    assert launch_token("42", 2, CALL | {"type": "m5.xlarge"}) != first
    assert len(first) == 64


@pytest.mark.parametrize(
    "other",
    [
        ("43", 1, CALL),
        ("42", 2, CALL),
        ("42", 1, CALL | {"type": "m5.xlarge"}),
        ("42", 1, CALL | {"count": "1"}),
        ("42", 1, CALL | {"groups": ["sg-2", "sg-1"]}),
        ("42", 1, CALL | {"user_data": None}),
    ],
)
def test_whatever_differs_makes_another_token(other: tuple[str, int, dict[str, Any]]) -> None:
    assert launch_token(*other) != launch_token("42", 1, CALL)


@pytest.mark.parametrize("value", [0.1, Decimal("0.1"), {1: "x"}, ("a",), {"deep": [0.5]}])
def test_values_that_may_read_back_otherwise_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="parameters"):
        launch_token("42", 1, {"price": value})


def test_attempts_count_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        launch_token("42", 0, CALL)
