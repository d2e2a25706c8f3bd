"""A bill with 200 planted wastes and 200 things that look alike: all of the first and none of the second."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple

import pytest

from apps.waste.services.gather import Beside, gather
from finops.engine.waste.judge import Judged, judge
from finops.engine.waste.model import World
from finops.frames.waste import Listed, meter_of, waste_rules
from tests.support.waste_bill import END, Thing, bill_of

DEV = {"user:env": "dev"}
OLD = END - timedelta(days=400)
# A place where nothing runs.
EMPTY = "eu-north-1"
IDLE = "PublicIPv4:IdleAddress"


class Planted(NamedTuple):
    """What is on the bill, what lists say, and what has to be found: (rule, resource)."""

    things: list[Thing]
    listed: dict[str, Listed]
    waste: set[tuple[str, str]]
    alike: set[str]

    def add(self, rule: str, thing: Thing, *others: Thing, listed: Listed | None = None) -> None:
        """A waste of a rule, or of no rule ("") something that only looks like it."""
        self.things.extend((thing, *others))
        if rule:
            self.waste.add((rule, thing.resource))
        else:
            self.alike.add(thing.resource)
        if listed is not None:
            self.listed[thing.resource.rpartition("/")[2]] = listed


def _volume(name: str, **more: object) -> Thing:
    given: dict[str, object] = {"quantity": "0.1370", "cost": "0.010960", **more}
    return Thing(name, "EBS:VolumeUsage.gp3", **given)  # type: ignore[arg-type]


def _instance(name: str, **more: object) -> Thing:
    given: dict[str, object] = {
        "operation": "RunInstances", "instance_type": "m7i.large", "cost": "0.1008", **more
    }  # fmt: skip
    return Thing(name, "BoxUsage:m7i.large", **given)  # type: ignore[arg-type]


def _traffic(name: str, usage_type: str, quantity: str, **more: object) -> Thing:
    return Thing(name, usage_type, quantity=quantity, cost="0.001", **more)  # type: ignore[arg-type]


def _wastes(found: Planted) -> None:
    for n in range(10):
        volume = f"vol-free{n}"
        found.add("volume-unattached", _volume(volume), listed=Listed(volume, "volume", attached_to=""))
    for n in range(10):
        found.add("volume-unattached", _volume(f"vol-lone{n}", region=EMPTY))
    for n in range(20):
        name = {"user:Name": f"old-box-{n}"}
        stopped = _instance(f"i-stopped{n}", pattern="first:3", tags=name)
        found.add("volume-of-stopped-instance", _volume(f"vol-stopped{n}", tags=name), stopped)
    for n in range(10):
        found.add(
            "gateway-idle",
            Thing(f"arn:aws:ec2:us-east-1:1:natgateway/nat-idle{n}", "NatGateway-Hours", cost="0.045"),
        )
    for n in range(15):
        balancer = f"arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/app/idle{n}/1"
        few = _traffic(balancer, "LCUUsage", "0.001", product="AWSELB")
        found.add("balancer-idle", Thing(balancer, "LoadBalancerUsage", cost="0.0225", product="AWSELB"), few)
    for n in range(10):
        found.add("private-endpoint-idle", Thing(f"vpce-idle{n}", "VpcEndpoint-Hours", product="AmazonVPC"))
    for n in range(15):
        address = f"arn:aws:ec2:us-east-1:1:elastic-ip/eipalloc-idle{n}"
        found.add("address-idle", Thing(address, IDLE, cost="0.005", product="AmazonVPC"))


def _other_wastes(found: Planted) -> None:
    for n in range(10):
        endpoint = f"arn:aws:glue:us-east-1:1:devEndpoint/left-on{n}"
        found.add(
            "development-endpoint-always-on", Thing(endpoint, "USE1-DEVED-DPU-Hour", "5", "2.2", "AWSGlue")
        )
    for n in range(5):
        notebook = f"arn:aws:sagemaker:us-east-1:1:notebook-instance/left-on{n}"
        usage = "USE1-Notebk:ml.t3.medium"
        found.add("development-endpoint-always-on", Thing(notebook, usage, "1", "0.05", "AmazonSageMaker"))
    for n in range(15):
        found.add("nights-and-weekends", _instance(f"i-dev{n}", tags=DEV))
    for n in range(15):
        volume = f"vol-gp2-{n}"
        thing = Thing(volume, "EBS:VolumeUsage.gp2", quantity="0.1370", cost="0.0137")
        found.add("volume-gp2", thing, listed=Listed(volume, "volume", attached_to="i-prod0"))
    for n in range(10):
        snapshot = f"arn:aws:ec2:us-east-1:1:snapshot/snap-old{n}"
        listed = Listed(f"snap-old{n}", "snapshot", created_at=OLD, image="")
        found.add("snapshot-old", Thing(snapshot, "EBS:SnapshotUsage", "0.1", "0.005"), listed=listed)
    for n in range(5):
        database = f"arn:aws:rds:us-east-1:1:db:old{n}"
        usage = "USE1-ExtendedSupport:Yr1-Yr2:MySQL5.7"
        found.add("extended-support", Thing(database, usage, "2", "0.2", "AmazonRDS"))
    for n in range(5):
        group = f"arn:aws:logs:us-east-1:1:log-group:/app/{n}"
        stored = Thing(group, "TimedStorage-ByteHrs", "0.2", "0.006", "AmazonCloudWatch", pattern="grow")
        found.add("logs-without-retention", stored)


def _database(name: str, iops: str, **more: object) -> list[Thing]:
    """100 GiB of io1 with so many IOPS, in hours: the month has 730 of them."""
    given = {"product": "AmazonRDS", **more}
    running = Thing(name, "InstanceUsage:db.r5.large", "1", "0.24", **given)  # type: ignore[arg-type]
    quantity = str(Decimal(iops) / 730)[:12]
    return [
        Thing(name, "RDS:PIOPS-Storage", "0.1370", "0.0171", "AmazonRDS"),
        Thing(name, "RDS:PIOPS", quantity, str(Decimal(quantity) / 10)[:10], "AmazonRDS"),
        running,
    ]


def _wastes_of_five(found: Planted) -> None:
    """Five of each other rule that needs nothing but a bill."""
    for n in range(5):
        found.add("database-provisioned", *_database(f"arn:aws:rds:us-east-1:1:db:io{n}", "2000"))
        stopped = f"arn:aws:rds:us-east-1:1:db:stopped{n}"
        found.add("database-stopped", Thing(stopped, "RDS:GP2-Storage", "0.1370", "0.0157", "AmazonRDS"))
        volume = Thing(f"vol-io{n}", "EBS:VolumeUsage.piops", "0.1370", "0.0171")
        iops = Thing(f"vol-io{n}", "EBS:VolumeP-IOPS.piops", "5.4795", "0.3562")
        found.add("volume-provisioned", volume, iops)
        found.add("transit-idle", Thing(f"tgw-idle{n}", "TransitGateway-Hours", "1", "0.05", "AmazonVPC"))
        endpoint = f"arn:aws:sagemaker:us-east-1:1:endpoint/idle{n}"
        found.add("model-endpoint-idle", Thing(endpoint, "Host:ml.m5.large", "1", "0.115", "AmazonSageMaker"))
        found.add("capacity-unused", Thing(f"cr-unused{n}", "UnusedBox:m5.large", "1", "0.096"))
        found.add("fast-restore", Thing(f"snap-fast{n}", "EBS:FastSnapshotRestore", "1", "0.75"))
        found.add("transfer-between-zones", Thing(f"i-far{n}", "DataTransfer-Regional-Bytes", "10", "0.1"))
        paid = Thing(f"i-was-free{n}", "BoxUsage:t2.micro", "1", "0.0116")
        found.add("free-tier-leftover", paid, _free(f"i-was-free{n}", "BoxUsage:t2.micro", "before:10"))


def _free(name: str, usage_type: str, pattern: str) -> Thing:
    told = "$0.00 per hour under monthly free tier"
    return Thing(name, usage_type, "1", "0", pattern=pattern, description=told)


def _alikes_of_five(found: Planted) -> None:
    """Beyond gp3, running under a reservation, busy, too few days, too little money, still free."""
    reserved = {"line_type": "DiscountedUsage", "commitment": "arn:aws:rds:us-east-1:1:ri:1"}
    for n in range(5):
        found.add("", *_database(f"arn:aws:rds:us-east-1:1:db:fast{n}", "20000"))
        covered = f"arn:aws:rds:us-east-1:1:db:covered{n}"
        storage = Thing(covered, "RDS:GP2-Storage", "0.1370", "0.0157", "AmazonRDS")
        found.add(
            "", storage, Thing(covered, "InstanceUsage:db.r5.large", "1", "0.1", "AmazonRDS", **reserved)
        )
        volume = Thing(f"vol-fast{n}", "EBS:VolumeUsage.io2", "0.1370", "0.0171")
        found.add("", volume, Thing(f"vol-fast{n}", "EBS:VolumeP-IOPS.io2", "27.4", "1.781"))
        transit = Thing(f"tgw-busy{n}", "TransitGateway-Hours", "1", "0.05", "AmazonVPC")
        found.add("", transit, _traffic(f"tgw-busy{n}", "TransitGateway-Bytes", "1", product="AmazonVPC"))
        name = f"arn:aws:sagemaker:us-east-1:1:endpoint/busy{n}"
        endpoint = Thing(name, "Host:ml.m5.large", "1", "0.115", "AmazonSageMaker")
        found.add("", endpoint, _traffic(name, "Hst:Data-Bytes-In", "0.01", product="AmazonSageMaker"))
        found.add("", Thing(f"cr-new{n}", "UnusedBox:m5.large", "1", "0.096", pattern="last:2"))
        found.add("", Thing(f"snap-brief{n}", "EBS:FastSnapshotRestore", "1", "0.75", pattern="last:10"))
        found.add("", Thing(f"i-near{n}", "DataTransfer-Regional-Bytes", "1", "0.01"))
        paid = Thing(f"i-beyond{n}", "BoxUsage:t3.micro", "1", "0.0104")
        found.add("", paid, _free(f"i-beyond{n}", "BoxUsage:t3.micro", "last:20"))


def _alike(found: Planted) -> None:
    for n in range(20):  # a commitment pays for it at night too
        paid = {
            "line_type": "DiscountedUsage",
            "commitment": f"arn:aws:ec2:us-east-1:1:reserved-instances/{n}",
        }
        found.add("", _instance(f"i-covered{n}", tags=DEV, **paid))
    for n in range(20):  # a policy keeps the volume of a stopped instance
        name = {"user:Name": f"kept-box-{n}"}
        stopped = _instance(f"i-kept{n}", pattern="first:3", tags=name)
        found.add("", _volume(f"vol-kept{n}", tags={**name, "user:Keep": "legal hold"}), stopped)
    for n in range(10):
        gateway = f"arn:aws:ec2:us-east-1:1:natgateway/nat-busy{n}"
        found.add(
            "", Thing(gateway, "NatGateway-Hours", cost="0.045"), _traffic(gateway, "NatGateway-Bytes", "2.5")
        )
    for n in range(10):
        balancer = f"arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/net/busy{n}/1"
        busy = _traffic(balancer, "LCUUsage", "0.4", product="AWSELB")
        found.add("", Thing(balancer, "LoadBalancerUsage", cost="0.0225", product="AWSELB"), busy)
    for n in range(10):  # three days old: too young to be called idle
        gateway = f"arn:aws:ec2:us-east-1:1:natgateway/nat-new{n}"
        found.add("", Thing(gateway, "NatGateway-Hours", cost="0.045", pattern="last:3"))
    for n in range(15):  # idle for two days while it moved from one instance to the next
        address = f"arn:aws:ec2:us-east-1:1:elastic-ip/eipalloc-moved{n}"
        found.add(
            "", Thing(address, "PublicIPv4:IdleAddress", cost="0.005", product="AmazonVPC", pattern="last:2")
        )


def _other_alike(found: Planted) -> None:
    for n in range(10):  # released eleven days ago
        address = f"arn:aws:ec2:us-east-1:1:elastic-ip/eipalloc-gone{n}"
        found.add(
            "",
            Thing(address, "PublicIPv4:IdleAddress", cost="0.005", product="AmazonVPC", pattern="first:19"),
        )
    for n in range(10):
        found.add("", _instance(f"i-daytime{n}", tags=DEV, pattern="work"))
    for n in range(5):
        found.add("", _instance(f"i-prod{n}", tags={"user:env": "production"}))
    for n in range(10):
        endpoint = f"arn:aws:glue:us-east-1:1:devEndpoint/daytime{n}"
        found.add("", Thing(endpoint, "USE1-DEVED-DPU-Hour", "5", "2.2", "AWSGlue", pattern="work"))
    for n in range(10):
        volume = f"vol-used{n}"
        found.add("", _volume(volume), listed=Listed(volume, "volume", attached_to=f"i-prod{n % 5}"))
    for n in range(10):
        snapshot = f"arn:aws:ec2:us-east-1:1:snapshot/snap-new{n}"
        listed = Listed(f"snap-new{n}", "snapshot", created_at=END - timedelta(days=90), image="")
        found.add("", Thing(snapshot, "EBS:SnapshotUsage", "0.1", "0.005"), listed=listed)
    for n in range(5):
        snapshot = f"arn:aws:ec2:us-east-1:1:snapshot/snap-image{n}"
        listed = Listed(f"snap-image{n}", "snapshot", created_at=OLD, image="ami-1")
        found.add("", Thing(snapshot, "EBS:SnapshotUsage", "0.1", "0.005"), listed=listed)
    for n in range(10):
        group = f"arn:aws:logs:us-east-1:1:log-group:/kept/{n}"
        found.add(
            "", Thing(group, "TimedStorage-ByteHrs", "0.2", "0.006", "AmazonCloudWatch", pattern="sawtooth")
        )


@pytest.fixture(scope="module")
def planted() -> Planted:
    """200 of each."""
    found = Planted([], {}, set(), set())
    plants = (_wastes, _other_wastes, _wastes_of_five, _alike, _other_alike, _alikes_of_five)
    for plant in plants:
        plant(found)
    return found


@pytest.fixture(scope="module")
def world(planted: Planted) -> World:
    """What is gathered from the bill."""
    con = bill_of(planted.things)
    return gather(con, END, Beside(listed=planted.listed, history=OLD)).world


@pytest.fixture(scope="module")
def judged(world: World) -> Judged:
    """What the rules say."""
    return judge(world)


def test_there_are_two_hundred_of_each(planted: Planted) -> None:
    assert (len(planted.waste), len(planted.alike)) == (200, 200)


def test_every_rule_that_a_bill_is_enough_for_is_planted(planted: Planted) -> None:
    enough = {rule.id for rule in waste_rules().values() if rule.needs == "bill"}
    assert {rule for rule, _resource in planted.waste} == enough


def test_precision_and_recall_are_one(planted: Planted, judged: Judged) -> None:
    found = Counter((one.rule, one.key.resource) for one in judged.candidates)
    assert set(found) - planted.waste == set()
    assert planted.waste - set(found) == set()
    assert set(found.values()) == {1}


def test_covered_kept_and_gone_are_told_and_save_nothing(judged: Judged) -> None:
    codes = Counter((one.rule, one.code) for one in judged.kept)
    assert codes == {
        ("nights-and-weekends", "covered"): 20,
        ("volume-of-stopped-instance", "keep-tag"): 20,
        ("address-idle", "gone"): 10,
    }


def test_every_finding_costs_what_an_independent_sum_says(planted: Planted, judged: Judged) -> None:
    """Hours x price of an hour, as planted, against what came through the lake's questions."""
    by_name: dict[str, list[Thing]] = {}
    for thing in planted.things:
        by_name.setdefault(thing.resource, []).append(thing)
    for one in judged.candidates:
        if one.rule == "logs-without-retention":
            continue
        hourly = Decimal(0)
        for thing in by_name[one.key.resource]:
            meter = meter_of(thing.product, thing.usage_type)
            hourly += Decimal(thing.cost) if meter is not None and meter.kind in one.kinds else 0
        assert one.monthly_cost.quantize(Decimal("1e-12")) == (hourly * 730).quantize(Decimal("1e-12")), one
