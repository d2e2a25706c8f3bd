"""Launch calls without an answer and machines without a job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from finops.engine.launches.reconcile import Fate, OpenAttempt, Orphan, Settled, orphans, settle
from finops.frames.launches import ATTEMPT, EXPIRES, JOB, OWNER, Machine, MachineState

T0 = datetime(2026, 11, 30, 10, tzinfo=UTC)
TAGS = {OWNER: "home", JOB: "42", ATTEMPT: "1", EXPIRES: "2026-11-30T12:00:00+00:00"}
MACHINE = Machine("i-9", None, TAGS, MachineState.RUNNING, T0 + timedelta(seconds=1))
ATTEMPT_1 = OpenAttempt("42", 1, "T1", T0, looks=0)


def after(seconds: int) -> datetime:
    return T0 + timedelta(seconds=seconds)


def test_a_machine_that_shows_late_is_adopted_and_nothing_was_launched_meanwhile() -> None:
    """Killed after the call: empty at T+60, there at T+120."""
    assert settle(ATTEMPT_1, [], now=after(60)) == Settled(Fate.OPEN)
    assert settle(replace(ATTEMPT_1, looks=1), [MACHINE], now=after(120)) == Settled(Fate.ADOPT, MACHINE)
    assert orphans([MACHINE], owner="home", live_jobs={"42"}, now=after(120)) == []


def test_absent_takes_several_looks_and_minutes() -> None:
    assert settle(replace(ATTEMPT_1, looks=9), [], now=after(299)).fate is Fate.OPEN
    assert settle(replace(ATTEMPT_1, looks=1), [], now=after(3600)).fate is Fate.OPEN
    assert settle(replace(ATTEMPT_1, looks=2), [], now=after(300)).fate is Fate.ABSENT


def test_a_token_says_more_than_tags_and_other_attempts_are_not_taken() -> None:
    other_token = replace(MACHINE, token="T2")
    other_attempt = replace(MACHINE, tags=TAGS | {ATTEMPT: "2"})
    assert settle(ATTEMPT_1, [other_token, other_attempt], now=after(60)).fate is Fate.OPEN
    by_token = replace(MACHINE, token="T1", tags={})
    assert settle(ATTEMPT_1, [by_token], now=after(60)) == Settled(Fate.ADOPT, by_token)


def test_of_two_machines_the_oldest_stays_and_an_ended_one_is_said_to_be() -> None:
    second = replace(MACHINE, id="i-10", launched_at=after(5))
    assert settle(ATTEMPT_1, [second, MACHINE], now=after(60)) == Settled(Fate.ADOPT, MACHINE, (second,))
    ended = replace(MACHINE, state=MachineState.ENDED)
    assert settle(ATTEMPT_1, [ended], now=after(60)) == Settled(Fate.ENDED, ended)


def test_orphans_are_reported_and_only_our_own_expired_ones_ended() -> None:
    expiry = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert orphans([MACHINE], owner="home", live_jobs=set(), now=expiry - timedelta(seconds=1)) == [
        Orphan(MACHINE, end=False)
    ]
    assert orphans([MACHINE], owner="home", live_jobs=set(), now=expiry) == [Orphan(MACHINE, end=True)]
    others = replace(MACHINE, tags=TAGS | {OWNER: "elsewhere"})
    unreadable = [replace(MACHINE, tags=TAGS | {EXPIRES: text}) for text in ("", "soon", "2026-11-30T12:00")]
    found = orphans([others, *unreadable], owner="home", live_jobs=set(), now=after(10**6))
    assert [one.end for one in found] == [False, False, False, False]
    ended = replace(MACHINE, state=MachineState.ENDED)
    untagged = replace(MACHINE, tags={})
    assert orphans([ended, untagged], owner="home", live_jobs=set(), now=expiry) == []
