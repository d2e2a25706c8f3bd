"""The replayed market, and launch calls made against it as the rules say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from finops.engine.launches.failure import Next, Trying, next_step
from finops.engine.launches.reconcile import Fate, OpenAttempt, settle
from finops.engine.launches.token import launch_token
from finops.frames.availability import AvailabilityTrace
from finops.frames.launch_errors import launch_error
from finops.frames.launches import ATTEMPT, JOB, Ending, LaunchCall, MachineState
from finops.providers.launching import Executor, LaunchOutcomeUnknownError, LaunchRefusedError
from finops.providers.simulated.executor import ON_DEMAND, SPOT, SimulatedExecutor

T0 = datetime(2026, 11, 30, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
POOLS = {
    "a": AvailabilityTrace(600, np.array([True, True, False, True])),
    "b": AvailabilityTrace(600, np.array([False, True, True, True])),
}


def call(pool: str = "a", market: str = SPOT, *, attempt: int = 1, kind: str = "c5.xlarge") -> LaunchCall:
    parameters = {"pool": pool, "market": market, "type": kind}
    tags = {JOB: "42", ATTEMPT: str(attempt)}
    return LaunchCall(
        launch_token("42", attempt, parameters | {"tags": tags}), pool, market, parameters, tags
    )


def code_of(executor: Executor, made: LaunchCall, now: datetime) -> str:
    with pytest.raises(LaunchRefusedError) as refused:
        executor.launch(made, now=now)
    return refused.value.code


def test_spot_is_lost_at_the_first_tick_without_it_and_on_demand_is_not() -> None:
    market = SimulatedExecutor(POOLS, T0)
    spot = market.launch(call(), now=T0)
    demand = market.launch(call(market=ON_DEMAND, attempt=2), now=T0)
    assert [one.id for one in market.running(now=T0 + 19 * MINUTE)] == [spot.id, demand.id]
    assert [one.id for one in market.running(now=T0 + 20 * MINUTE)] == [demand.id]
    # It does not come back with the market.
    assert [one.id for one in market.running(now=T0 + 30 * MINUTE)] == [demand.id]
    market.end(demand.id, now=T0 + 31 * MINUTE)
    assert market.running(now=T0 + 31 * MINUTE) == []
    market.end("i-nobody", now=T0)


def test_a_refusal_launches_nothing_and_says_why() -> None:
    market = SimulatedExecutor(POOLS, T0, on_demand_limit=1)
    assert code_of(market, call("b"), T0) == "InsufficientInstanceCapacity"
    assert code_of(market, call("nowhere"), T0) == "InvalidParameterValue"
    assert code_of(market, call(), T0 + 40 * MINUTE) == "InsufficientInstanceCapacity"
    assert market.running(now=T0) == []
    market.launch(call(market=ON_DEMAND), now=T0)
    assert code_of(market, call(market=ON_DEMAND, attempt=2), T0) == "VcpuLimitExceeded"


def test_the_same_call_again_gives_the_same_machine_and_another_type_is_another_attempt() -> None:
    """A timeout, the same again, then another type, then a doubled event with other tags."""
    market = SimulatedExecutor(POOLS, T0, lose_answer=1.0)
    first, third = call("b"), call("a", attempt=2, kind="m5.xlarge")
    assert code_of(market, first, T0) == "InsufficientInstanceCapacity"
    with pytest.raises(LaunchOutcomeUnknownError):
        market.launch(third, now=T0)
    market.lose_answer = 0.0
    assert call("b").token == first.token
    assert third.token != first.token
    again = market.launch(third, now=T0 + MINUTE)
    doubled = replace(third, tags={**third.tags, "Name": "other"})
    assert code_of(market, doubled, T0 + MINUTE) == "IdempotentParameterMismatch"
    at = Trying(attempts=4, same=1, pools_left=1, latest_start=None, draw=0.0)
    mismatch = launch_error("aws", "IdempotentParameterMismatch")
    assert next_step(mismatch, at, now=T0 + MINUTE).next is Next.LOOK
    seen = market.find({JOB: "42"}, now=T0 + MINUTE)
    found = settle(OpenAttempt("42", 2, third.token, T0, 0), seen, now=T0 + MINUTE)
    assert (found.fate, found.machine) == (Fate.ADOPT, again)
    assert len(market.running(now=T0 + MINUTE)) == 1


def test_a_machine_shows_late_and_the_token_finds_it_at_once() -> None:
    market = SimulatedExecutor(POOLS, T0, shows_after=2 * MINUTE)
    made = market.launch(call(), now=T0)
    assert market.find({JOB: "42"}, now=T0 + MINUTE) == []
    assert market.launch(call(), now=T0 + MINUTE) == made
    assert market.find({JOB: "42"}, now=T0 + 2 * MINUTE) == [made]
    assert market.find({JOB: "43"}, now=T0 + 2 * MINUTE) == []
    assert market.find({JOB: "42"}, now=T0 + 20 * MINUTE) == [
        replace(made, state=MachineState.ENDED, ending=Ending.INTERRUPTED)
    ]


def test_a_seed_repeats_the_same_losses() -> None:
    def lost(seed: int) -> list[bool]:
        market, found = SimulatedExecutor(POOLS, T0, seed=seed, lose_answer=0.5), []
        for attempt in range(1, 21):
            try:
                market.launch(call(attempt=attempt), now=T0)
                found.append(False)
            except LaunchOutcomeUnknownError:
                found.append(True)
        assert len(market.running(now=T0)) == 20
        return found

    assert lost(7) == lost(7)
    assert lost(7) != lost(8)
