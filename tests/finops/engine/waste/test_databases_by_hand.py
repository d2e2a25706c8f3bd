"""Databases and tables worked by hand as in docs/algorithms/waste.md, and what must hold of any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.waste.judge import ASK
from finops.engine.waste.model import Candidate, Kept, Outcome, Unjudged, World
from finops.frames.waste import TypeFacts, Use, meter_of, waste_rules
from tests.support.waste_uses import END, START, measured, use, world

D = Decimal
SCALE = D(720) / 730
DB = "arn:aws:rds:us-east-1:1:db:shop"
TABLE = "arn:aws:dynamodb:us-east-1:1:table/orders"
SHARES = {"rds-gp3/rds-io1": D("0.115") / D("0.125")}
SIZES = {
    name: TypeFacts(name, vcpus, gib * 1024, ("x86_64",), name.startswith("t"), 0)
    for name, vcpus, gib in (
        ("r5.large", 2, 16), ("r5.xlarge", 4, 32), ("r5.2xlarge", 8, 64), ("t3.medium", 2, 4),
        ("t3.large", 2, 8),
    )
}  # fmt: skip


def asked(rule: str, found: World) -> list[Outcome]:
    return list(ASK[rule](found, waste_rules()[rule]))


def only(outcomes: Sequence[Outcome]) -> Candidate:
    (one,) = outcomes
    assert isinstance(one, Candidate), one
    return one


def database(kind: str = "r5.2xlarge", **more: Any) -> Use:
    """0.96 an hour over the thirty days, PostgreSQL."""
    given: dict[str, Any] = {
        "usage_type": f"InstanceUsage:db.{kind}", "instance_type": f"db.{kind}",
        "operation": "CreateDBInstance:0014", "cost": D("0.96") * 720, **more,
    }  # fmt: skip
    return use(DB, "database", **given)


def io(iops: int, gib: int = 500) -> list[Use]:
    """io1: 0.125 a GiB, 0.10 an IOPS a month."""
    storage = use(DB, "database-io-storage", quantity=gib * SCALE, cost=D("0.125") * gib * SCALE)
    return [storage, use(DB, "database-iops", quantity=iops * SCALE, cost=D("0.1") * iops * SCALE)]


def test_io1_of_a_database_within_what_gp3_gives() -> None:
    """500 GiB 62.50, 8,000 IOPS 800.00; PostgreSQL from 400 GiB on has 12,000; gp3 57.50: 805.00 less."""
    found = world(database(), *io(8000), shares=SHARES)
    one = only(asked("database-provisioned", found))
    assert one.saving.quantize(D("0.0001")) == D(805)
    assert one.facts["included"] == "12000"
    unknown = world(database(operation="CreateDBInstance:0005"), *io(8000), shares=SHARES)
    assert asked("database-provisioned", unknown) == []
    small = world(database(), *io(8000, gib=300), shares=SHARES)
    assert asked("database-provisioned", small) == []


def test_unused_iops_of_a_database() -> None:
    """8,000 at 800.00, p99 2,000 x 1.3: 67.5 % of it."""
    found = world(*io(8000), measured={"shop": {"iops": measured("iops", 2000)}})
    one = only(asked("database-unused-iops", found))
    assert one.saving.quantize(D("0.0001")) == D(540)
    assert one.target == {"iops": "2600"}


def test_a_stopped_database_pays_for_its_storage() -> None:
    storage = use(DB, "database-storage", quantity=100 * SCALE, cost=D("11.5") * SCALE)
    one = only(asked("database-stopped", world(storage)))
    assert (one.low, one.saving.quantize(D("1e-9"))) == (0, D("11.5"))
    ran = database(last=START + timedelta(days=10))
    assert only(asked("database-stopped", world(storage, ran))).facts["since"].startswith("2026-03-11")
    late = database(last=END - timedelta(days=10))
    assert asked("database-stopped", world(storage, late)) == []
    (unnamed,) = asked(
        "database-stopped", world(storage, replace(database(), key=replace(storage.key, resource="")))
    )
    assert isinstance(unnamed, Unjudged)


METRICS = {"shop": {"cpu": measured("cpu", 15), "memory_free": measured("memory_free", 50, low=45)}}


def test_a_smaller_class_holds_cpu_and_the_memory_used() -> None:
    """8 x 0.15 x 1.3 = 1.56 vCPU, (64 - 45) x 1.3 = 24.7 GiB: db.r5.xlarge, half of the price."""
    one = only(asked("database-too-large", world(database(), measured=METRICS, sizes=SIZES)))
    assert one.target == {"type": "db.r5.xlarge"}
    assert one.saving == D("0.48") * 730


def test_without_memory_or_a_known_engine_a_database_is_not_judged() -> None:
    blind = {"shop": {"cpu": measured("cpu", 15)}}
    (one,) = asked("database-too-large", world(database(), measured=blind, sizes=SIZES))
    assert isinstance(one, Unjudged)
    assert one.code == "no-memory"
    oracle = database(operation="CreateDBInstance:0005")
    (other,) = asked("database-too-large", world(oracle, measured=METRICS, sizes=SIZES))
    assert isinstance(other, Unjudged)
    assert other.code == "no-engine"


def test_a_reservation_of_half_of_the_hours_covers_the_smaller_class_whole() -> None:
    """Half of the hours are reserved: the class of half the size needs nothing beside it."""
    half = database(covered=D(360), covered_cost=D("0.5") * 360, cost=D("0.96") * 360 + D("0.5") * 360)
    one = only(asked("database-too-large", world(half, measured=METRICS, sizes=SIZES)))
    assert one.saving == D("0.96") * 365
    assert "kept" in one.notes
    whole = database(covered=D(720), covered_cost=D("0.5") * 720, cost=D("0.5") * 720)
    (kept,) = asked("database-too-large", world(whole, measured=METRICS, sizes=SIZES))
    assert isinstance(kept, Kept)
    assert kept.code == "covered"


@given(cpu=st.floats(0.1, 100), free=st.floats(0, 64), covered=st.integers(0, 719))
@settings(max_examples=50, deadline=None)
def test_a_smaller_class_always_holds_and_never_saves_more_than_is_paid(
    cpu: float, free: float, covered: int
) -> None:
    paid = D("0.96") * (720 - covered)
    one = database(covered=D(covered), covered_cost=D(covered) / 2, cost=paid + D(covered) / 2)
    metrics = {"cpu": measured("cpu", cpu), "memory_free": measured("memory_free", 64, low=free)}
    found = asked("database-too-large", world(one, measured={"shop": metrics}, sizes=SIZES))
    for candidate in found:
        if isinstance(candidate, Candidate):
            target = SIZES[candidate.target["type"].removeprefix("db.")]
            assert (target.vcpus or 0) >= 8 * cpu / 100 * 1.3
            assert (target.memory_mib or 0) >= (64 - free) * 1024 * 1.3 - 1e-6
            assert 0 < candidate.saving <= paid / 720 * 730


def test_a_burstable_class_earns_the_credits_that_p95_spends() -> None:
    """t3.large to t3.medium: 20 % of 2 vCPU are 0.4; p95 20 % of 2 x 1.3 = 0.52 is above it."""
    one = database("t3.large")
    busy = {"shop": {"cpu": measured("cpu", 25), "memory_free": measured("memory_free", 7, low=6)}}
    assert asked("database-too-large", world(one, measured=busy, sizes=SIZES)) == []
    calm = {"shop": {**busy["shop"], "cpu": measured("cpu", 15)}}
    found = only(asked("database-too-large", world(one, measured=calm, sizes=SIZES)))
    assert (found.target, found.notes) == ({"type": "db.t3.medium"}, ("burst",))


def capacity(reads: int, writes: int) -> list[Use]:
    """0.00013 a read unit an hour, 0.00065 a write unit."""
    return [
        use(TABLE, "table-reads", quantity=D(reads) * 720, cost=D("0.00013") * reads * 720),
        use(TABLE, "table-writes", quantity=D(writes) * 720, cost=D("0.00065") * writes * 720),
    ]


def test_a_table_with_more_capacity_than_it_uses() -> None:
    """1,000 read units 94.90, p99 100 x 1.3: 87 %; 100 write units 47.45, p99 90 x 1.3 = 117: none."""
    metrics = {"orders": {"reads": measured("reads", 100), "writes": measured("writes", 90)}}
    found = world(*capacity(1000, 100), measured=metrics)
    one = only(asked("table-capacity-unused", found))
    assert one.saving.quantize(D("0.0001")) == D("82.563")
    assert one.target == {"reads": "130", "writes": "100"}
    assert asked("table-idle", found) == []


def test_a_table_that_nobody_asks_costs_nothing_on_demand() -> None:
    metrics = {"orders": {"reads": measured("reads", 0), "writes": measured("writes", 0)}}
    found = world(*capacity(1000, 100), measured=metrics)
    assert only(asked("table-idle", found)).saving.quantize(D("0.0001")) == D("142.35")
    assert asked("table-capacity-unused", found) == []
    half = world(*capacity(1000, 100), measured={"orders": {"reads": measured("reads", 0)}})
    for rule in ("table-idle", "table-capacity-unused"):
        (one,) = asked(rule, half)
        assert isinstance(one, Unjudged)


@given(reads=st.integers(1, 5000), p99=st.floats(0, 6000))
@settings(max_examples=50, deadline=None)
def test_capacity_is_never_lowered_below_use(reads: int, p99: float) -> None:
    metrics = {"orders": {"reads": measured("reads", p99, high=p99 + 1), "writes": measured("writes", 1)}}
    for one in asked("table-capacity-unused", world(*capacity(reads, 10), measured=metrics)):
        assert isinstance(one, Candidate)
        assert D(one.target["reads"]) >= min(D(repr(p99)), D(reads))
        assert one.saving <= one.uncovered


def test_a_short_name_of_two_databases_measures_neither() -> None:
    other = replace(database(), key=replace(database().key, resource="arn:aws:rds:us-east-1:2:db:shop"))
    none = {"shop": {"connections": measured("connections", 0)}}
    assert isinstance(asked("database-idle", world(database(), measured=none))[0], Candidate)
    (one,) = asked("database-idle", world(database(), other, measured=none))
    assert isinstance(one, Unjudged)
    assert one.facts["n"] == "2"


@pytest.mark.parametrize(
    ("product", "usage_type", "kind"),
    [
        ("AmazonRDS", "EU-RDS:Multi-AZ-PIOPS", "database-iops"),
        ("AmazonRDS", "RDS:IO2-PIOPS", "database-iops"),
        ("AmazonRDS", "RDS:PIOPS-Storage-IO2", "database-io-storage"),
        ("AmazonRDS", "RDS:Multi-AZ-GP3-Storage", "database-storage"),
        ("AmazonRDS", "RDS:GP3-PIOPS", None),
        ("AmazonRDS", "Aurora:StorageUsage", None),
        ("AmazonDynamoDB", "USW2-WriteCapacityUnit-Hrs", "table-writes"),
        ("AmazonDynamoDB", "ReadRequestUnits", None),
        ("AmazonEC2", "USE2-CPUCredits:t3a", "cpu-credits"),
        ("AmazonRedshift", "Node:ra3.xlplus", "warehouse"),
    ],
)
def test_usage_types_of_databases_are_told_apart(product: str, usage_type: str, kind: str | None) -> None:
    found = meter_of(product, usage_type)
    assert (found.kind if found else None) == kind
