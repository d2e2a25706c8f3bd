"""In which steps a run is counted, and what a start costs at least."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.series import US_PER_HOUR, exact_cost
from finops.frames.billed_time import increment_of
from finops.frames.products import products

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "seconds", "billed"),
    [
        ("Linux/UNIX", "30", 60),
        ("Linux/UNIX (Amazon VPC)", "60", 60),
        ("linux/unix", "60.000001", 61),
        ("Windows", "59", 60),
        ("Windows with SQL Server Web", "1", 60),
        ("Red Hat Enterprise Linux", "90.5", 91),
        ("SUSE Linux", "30", 3600),
        ("SUSE Linux (Amazon VPC)", "3601", 7200),
        ("Red Hat Enterprise Linux with HA", "3600", 3600),
        ("Linux/UNIX", "28800", 28800),
    ],
)
def test_aws_counts_as_its_pricing_page_says(text: str, seconds: str, billed: int) -> None:
    counted = increment_of("aws", text)
    assert counted is not None
    assert counted.billed_us(int(Decimal(seconds) * SECOND)) == billed * SECOND


def test_terms_that_are_not_known_are_not_guessed() -> None:
    assert increment_of("gcp", "Linux/UNIX") is None
    assert increment_of("aws", "Plan 9") is None
    assert increment_of("aws", "") is None


@settings(max_examples=50)
@given(
    text=st.sampled_from([one.text for one in products() if one.provider == "aws"]),
    length=st.integers(1, 10**12),
)
def test_nobody_is_billed_for_less_than_the_run_or_for_a_step_more(text: str, length: int) -> None:
    counted = increment_of("aws", text)
    assert counted is not None
    billed = counted.billed_us(length)
    assert billed >= max(length, counted.minimum * SECOND)
    assert billed - max(length, counted.minimum * SECOND) < counted.seconds * SECOND


def test_time_that_is_billed_and_not_run_has_the_last_price_for_each_instance() -> None:
    half = US_PER_HOUR // 2
    rows = [0, half, 2 * half], [Decimal("0.040"), Decimal("0.100"), Decimal("9")]
    known = [(0, 2 * half)]  # nothing is known of the time after the run
    run = exact_cost(*rows, known, start_us=0, end_us=2 * half, count=2, billed_us=4 * half)
    assert run.value == 2 * (Decimal("0.02") + Decimal("0.05") + Decimal("0.1"))
    shorter = exact_cost(*rows, known, start_us=0, end_us=half, billed_us=1)
    assert shorter.value == Decimal("0.02")
