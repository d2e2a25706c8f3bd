"""What looks like waste and is not: copies, volumes of several machines, old measurements."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from finops.engine.waste.judge import ASK
from finops.engine.waste.model import Candidate, Outcome, Unjudged, World
from finops.frames.waste import Listed, waste_rules
from tests.support.waste_uses import END, START, measured, use, world

D = Decimal


def asked(rule: str, found: World) -> list[Outcome]:
    return list(ASK[rule](found, waste_rules()[rule]))


@pytest.mark.parametrize("origin", ["vol-ffffffff", "vol-ffffffffffffffff"])
def test_a_copied_snapshot_names_no_volume(origin: str) -> None:
    """EC2 names an arbitrary volume for copies, which are the backups in another region."""
    snapshot = use("arn:aws:ec2:us-east-1:1:snapshot/snap-1", "snapshot", cost=D(5))
    listed = {"snap-1": Listed("snap-1", "snapshot", volume=origin, image="")}
    outcomes = asked("snapshot-of-deleted-volume", world(snapshot, listed=listed))
    assert not any(isinstance(one, Candidate) for one in outcomes)
    gone = {"snap-1": Listed("snap-1", "snapshot", volume="vol-9", image="")}
    (one,) = asked("snapshot-of-deleted-volume", world(snapshot, listed=gone))
    assert isinstance(one, Candidate)


def test_a_volume_of_two_machines_is_in_use_while_one_runs() -> None:
    volume = use("vol-1", "volume-io", usage_type="EBS:VolumeUsage.io2", cost=D(10))
    stopped = {"first": START, "last": START + timedelta(days=3)}
    listed = {"vol-1": Listed("vol-1", "volume", attached_to="i-1,i-2")}
    one_runs = world(volume, use("i-1", **stopped), use("i-2"), listed=listed)
    assert asked("volume-of-stopped-instance", one_runs) == []
    none_runs = world(volume, use("i-1", **stopped), use("i-2", **stopped), listed=listed)
    assert len(asked("volume-of-stopped-instance", none_runs)) == 1


def test_a_bill_that_writes_arns_means_the_same_machines() -> None:
    volume = use("arn:aws:ec2:us-east-1:1:volume/vol-1", "volume-gp3", cost=D(8))
    machine = use("arn:aws:ec2:us-east-1:1:instance/i-1")
    listed = {"vol-1": Listed("vol-1", "volume", attached_to="i-1")}
    found = world(volume, machine, listed=listed)
    assert asked("volume-of-stopped-instance", found) == []
    assert asked("volume-unattached", found) == []


def test_what_was_measured_before_the_judged_days_says_nothing_of_them() -> None:
    """A machine that was idle a year ago works today."""
    year = timedelta(days=365)
    old = {
        name: replace(made, start=made.start - year, end=END - year)
        for name in ("cpu", "network")
        for made in [measured(name, 0.01)]
    }
    (one,) = asked("instance-idle", world(use(), measured={"i-1": old}))
    assert isinstance(one, Unjudged)
    assert one.code == "no-metrics"
    now = {name: measured(name, 0.01) for name in ("cpu", "network")}
    (found,) = asked("instance-idle", world(use(), measured={"i-1": now}))
    assert isinstance(found, Candidate)
