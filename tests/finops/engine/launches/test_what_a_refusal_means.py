"""From error code to next step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from finops.engine.launches.failure import Bounds, Next, Step, Trying, next_step
from finops.frames.launch_errors import Meaning, launch_error, launch_errors

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
# A deadline in 30 minutes, 20 minutes of run: 10 minutes of slack; 12 pools, one tried.
LATEST = NOW + timedelta(minutes=30) - timedelta(minutes=20)


def step(code: str, **more: Any) -> Step:
    at: dict[str, Any] = {"attempts": 1, "same": 1, "pools_left": 11, "latest_start": LATEST, "draw": 0.5}
    return next_step(launch_error("aws", code), Trying(**(at | more)), now=NOW)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("MaxSpotInstanceCountExceeded", Step(Next.ON_DEMAND)),
        ("InsufficientInstanceCapacity", Step(Next.NEXT_POOL)),
        ("UnfulfillableCapacity", Step(Next.NEXT_POOL)),
        ("RequestLimitExceeded", Step(Next.WAIT, timedelta(seconds=3.75))),
        ("InvalidParameterValue", Step(Next.FAIL, alert=True)),
        ("VcpuLimitExceeded", Step(Next.STOP, alert=True)),
        ("IdempotentParameterMismatch", Step(Next.LOOK)),
        ("UnknownNewError", Step(Next.WAIT, timedelta(seconds=3.75))),
        # A subnet without addresses and a zone without volumes: another zone may have them.
        ("InsufficientFreeAddressesInSubnet", Step(Next.NEXT_POOL)),
        ("InsufficientVolumeCapacity", Step(Next.NEXT_POOL)),
        ("ReservationCapacityExceeded", Step(Next.NEXT_POOL)),
        ("ThrottlingException", Step(Next.WAIT, timedelta(seconds=3.75))),
        ("Unavailable", Step(Next.LOOK)),
        # The account or an id in the request: the same again fails again.
        ("AuthFailure", Step(Next.FAIL, alert=True)),
        ("PendingVerification", Step(Next.FAIL, alert=True)),
        ("InvalidAMIID.NotFound", Step(Next.FAIL, alert=True)),
    ],
)
def test_each_code_has_its_step(code: str, expected: Step) -> None:
    assert step(code) == expected


def test_a_job_with_twelve_pools_tries_no_other_one_at_the_account_limit() -> None:
    attempts, pools_left, found = 1, 11, step("MaxSpotInstanceCountExceeded")
    while found.next is Next.NEXT_POOL:
        attempts, pools_left = attempts + 1, pools_left - 1
        found = step("MaxSpotInstanceCountExceeded", attempts=attempts, pools_left=pools_left)
    assert (attempts, found.next) == (1, Next.ON_DEMAND)


def test_the_account_limit_is_waited_out_where_there_is_time() -> None:
    plenty = NOW + timedelta(minutes=31)
    assert step("MaxSpotInstanceCountExceeded", latest_start=plenty) == Step(Next.WAIT, timedelta(minutes=5))
    assert step("MaxSpotInstanceCountExceeded", latest_start=NOW + timedelta(minutes=30)) == Step(
        Next.ON_DEMAND
    )


def test_an_unknown_code_is_tried_a_few_times_and_then_told() -> None:
    assert [step("Nobody'sIdea", same=n, attempts=n).next for n in (1, 2, 3)] == [
        Next.WAIT, Next.WAIT, Next.STOP,
    ]  # fmt: skip
    assert step("Nobody'sIdea", same=3).alert


def test_without_pools_it_is_on_demand_and_attempts_are_bounded() -> None:
    assert step("InsufficientInstanceCapacity", pools_left=0) == Step(Next.ON_DEMAND)
    assert step("InsufficientInstanceCapacity", attempts=12) == Step(Next.STOP, alert=True)
    assert step("RequestLimitExceeded", attempts=12) == Step(Next.STOP, alert=True)


def test_waits_double_to_a_bound_with_jitter_and_never_pass_the_latest_start() -> None:
    waits = [step("RequestLimitExceeded", same=n, draw=0.0).after.total_seconds() for n in range(1, 9)]
    assert waits == [2.5, 5, 10, 20, 40, 80, 150, 150]
    assert step("RequestLimitExceeded", latest_start=NOW + timedelta(seconds=3)) == Step(Next.ON_DEMAND)
    assert step("RequestLimitExceeded", latest_start=None).next is Next.WAIT
    assert Bounds().longest_wait == timedelta(minutes=5)


def test_the_table_is_dated_names_its_sources_and_has_a_row_for_every_other_code() -> None:
    rows = launch_errors().values()
    assert all(row.source and row.basis in {"documented", "policy"} for row in rows)
    assert launch_error("aws", "NeverSeen").meaning is Meaning.UNKNOWN
    assert {row.meaning for row in rows} == set(Meaning)
    with pytest.raises(KeyError):
        launch_error("nobody", "NeverSeen")
