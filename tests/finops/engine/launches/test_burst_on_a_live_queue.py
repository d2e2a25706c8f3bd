"""A live queue buys help by its backlog: two limits, nothing twice, nothing ended at work, back to zero."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.burst import BurstRule, BurstStep, BurstWhy, QueueSeen, step_burst

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
RULE = BurstRule(start=2, stop=1, most=24, idle=timedelta(minutes=10))


def _seen(
    waiting: float, bought: int = 0, idle: int = 0, *, on: bool = False, since: int | None = None
) -> QueueSeen:
    return QueueSeen(waiting, 10, bought, idle, on, None if since is None else NOW - timedelta(minutes=since))


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        # 20 unit-hours on 10 units are 2 h: at the limit, not above it.
        (_seen(20), BurstStep(False, 0, 0, None, 2.0, BurstWhy.OFF)),
        # 3 h: 30 units would be down to 1 h, 10 are ours.
        (_seen(30), BurstStep(True, 20, 0, None, 3.0, BurstWhy.ON)),
        # Asked for at the last look, not here yet: nothing more.
        (_seen(30, 20, on=True), BurstStep(True, 0, 0, None, 3.0, BurstWhy.ON)),
        (_seen(50), BurstStep(True, 24, 0, None, 5.0, BurstWhy.FULL)),
        (_seen(50, 24, on=True), BurstStep(True, 0, 0, None, 5.0, BurstWhy.FULL)),
        # Between the limits: on stays on, off stays off.
        (_seen(15, 2, on=True), BurstStep(True, 3, 0, None, 1.5, BurstWhy.ON)),
        (_seen(15), BurstStep(False, 0, 0, None, 1.5, BurstWhy.OFF)),
        # Down to the lower limit: who works goes on, the idle ones' clock starts.
        (_seen(10, 5, on=True), BurstStep(False, 0, 0, None, 1.0, BurstWhy.DRAINING)),
        (_seen(0, 5, 2, on=True), BurstStep(False, 0, 0, NOW, 0.0, BurstWhy.DRAINING)),
        (_seen(0, 5, 2, since=9), BurstStep(False, 0, 0, NOW - timedelta(minutes=9), 0.0, BurstWhy.DRAINING)),
        (_seen(0, 5, 2, since=10), BurstStep(False, 0, 2, None, 0.0, BurstWhy.IDLE)),
        (_seen(0, 5, 5, since=10), BurstStep(False, 0, 5, None, 0.0, BurstWhy.ZERO)),
        # It bursts again: what is idle is used, its clock is set back.
        (_seen(30, 5, 5, since=9), BurstStep(True, 15, 0, None, 3.0, BurstWhy.ON)),
    ],
    ids=lambda one: str(one.why) if isinstance(one, BurstStep) else f"{one.waiting}_{one.bought}_{one.idle}",
)  # fmt: skip
def test_a_look_at_a_queue(seen: QueueSeen, told: BurstStep) -> None:
    assert step_burst(RULE, seen, now=NOW) == told


def test_a_queue_without_own_units_buys_and_a_full_one_with_a_limit_of_none_does_not() -> None:
    waiting = QueueSeen(3, 0, 0, 0, bursting=False, idle_since=None)
    assert step_burst(BurstRule(2, 1), waiting, now=NOW).start == 3
    assert step_burst(BurstRule(2, 1, most=0), waiting, now=NOW).start == 0


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 100)), min_size=1, max_size=30),
    st.integers(0, 5), st.integers(0, 5), st.one_of(st.none(), st.integers(0, 20)), st.integers(0, 30),
)  # fmt: skip
def test_a_queue_over_time(
    looks: list[tuple[int, int]], stop: int, above: int, most: int | None, idle: int
) -> None:
    """Never past the limit, never below none; a look repeated buys nothing; an empty queue ends at zero."""
    rule = BurstRule(stop + above, stop, most, timedelta(minutes=idle))
    bought, on, since, now = 0, False, None, NOW
    for waiting, share in [*looks, (0, 100), (0, 100)]:
        free = bought * share // 100 if waiting == 0 else 0
        step = step_burst(rule, QueueSeen(waiting, 4, bought, free, on, since), now=now)
        assert 0 <= step.end <= free
        assert not (step.start and step.end)
        bought += step.start - step.end
        assert bought >= 0
        assert most is None or not step.start or bought <= most
        on, since = step.bursting, step.idle_since
        free = min(free, bought) if not step.end else 0
        again = step_burst(rule, QueueSeen(waiting, 4, bought, free, on, since), now=now)
        assert again.start == 0
        now += timedelta(minutes=idle + 1)
    assert bought == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BurstRule(1, 2),
        lambda: BurstRule(2, 1, idle=timedelta(seconds=-1)),
        lambda: QueueSeen(-1, 1, 0, 0, False, None),
        lambda: QueueSeen(float("nan"), 1, 0, 0, False, None),
        lambda: QueueSeen(1, 1, 2, 3, False, None),
    ],
    ids=["limits", "idle", "waiting", "nan", "more_idle_than_bought"],
)
def test_what_cannot_be_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"burst|idle|waits"):
        wrong()  # type: ignore[operator]
