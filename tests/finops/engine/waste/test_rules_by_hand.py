"""The worked examples of docs/algorithms/waste.md that need more than a bill, and what must hold of any
rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.waste.judge import ASK, ELSEWHERE, judge
from finops.engine.waste.model import Candidate, Kept, Outcome, Setting, Unjudged, World, interval
from finops.frames.waste import Key, Listed, Told, TypeFacts, Use, meter_of, newer_families, waste_rules
from tests.support.waste_uses import END, KEY, START, measured, use, world

D = Decimal
LINUX = ("us-east-1", "Linux/UNIX")


def facts(name: str, vcpus: int, gib: int, price: str, **more: Any) -> TypeFacts:
    given: dict[str, Any] = {"architectures": ("x86_64",), "burstable": False, "gpus": 0, **more}
    return TypeFacts(name, vcpus, gib * 1024, price=D(price), **given)


TYPES = {
    LINUX: {
        one.name: one
        for one in (
            facts("m5.xlarge", 4, 16, "0.192"),
            facts("m5.large", 2, 8, "0.096"),
            facts("c5.large", 2, 4, "0.085"),
            facts("c6g.large", 2, 4, "0.068", architectures=("arm64",)),
            facts("t3.large", 2, 8, "0.0832", burstable=True),
            facts("m6i.xlarge", 4, 16, "0.192"),
            facts("m6a.xlarge", 4, 16, "0.1728"),
        )
    }
}


def asked(rule: str, found: World) -> list[Outcome]:
    return list(ASK[rule](found, waste_rules()[rule]))


def only(outcomes: Sequence[Outcome]) -> Candidate:
    (one,) = outcomes
    assert isinstance(one, Candidate), one
    return one


def test_a_smaller_type_holds_p99_with_head_room() -> None:
    """m5.xlarge: CPU p99 30 % of 4 x 1.3 = 1.56 cores, memory p99 20 % of 16 x 1.3 = 4.16 GiB: m5.large."""
    metrics = {"i-1": {"cpu": measured("cpu", 30), "memory": measured("memory", 20)}}
    one = only(asked("instance-too-large", world(use(), types=TYPES, measured=metrics)))
    assert one.target == {"type": "m5.large"}
    assert one.saving == D("0.096") * 730
    assert one.notes == ()


def test_without_memory_the_target_keeps_it_and_confidence_is_halved() -> None:
    metrics = {"i-1": {"cpu": measured("cpu", 30)}}
    one = only(asked("instance-too-large", world(use(), types=TYPES, measured=metrics)))
    assert (one.target, one.confidence) == ({"type": "m6a.xlarge"}, 0.5)
    whole = (D("0.192") - D("0.1728")) * 730
    assert one.saving.quantize(D("1e-9")) == (whole / 2).quantize(D("1e-9"))
    assert one.high is not None
    assert one.high.quantize(D("1e-9")) == whole.quantize(D("1e-9"))
    assert one.notes == ("no-memory",)


def test_another_architecture_comes_only_where_none_of_the_own_fits() -> None:
    metrics = {"i-1": {"cpu": measured("cpu", 10), "memory": measured("memory", 10)}}
    few = {LINUX: {name: one for name, one in TYPES[LINUX].items() if name in ("m5.xlarge", "c6g.large")}}
    one = only(asked("instance-too-large", world(use(), types=few, measured=metrics)))
    assert (one.target, one.notes) == ({"type": "c6g.large"}, ("architecture",))
    both = only(asked("instance-too-large", world(use(), types=TYPES, measured=metrics)))
    assert (both.target, both.notes) == ({"type": "c5.large"}, ())


def test_a_busy_instance_and_one_measured_too_shortly_are_left_alone() -> None:
    busy = {"i-1": {"cpu": measured("cpu", 90), "memory": measured("memory", 80)}}
    assert asked("instance-too-large", world(use(), types=TYPES, measured=busy)) == []
    short = {"i-1": {"cpu": measured("cpu", 5, days=6), "memory": measured("memory", 5, days=6)}}
    (one,) = asked("instance-too-large", world(use(), types=TYPES, measured=short))
    assert isinstance(one, Unjudged)
    assert one.code == "no-metrics"


def test_what_a_reservation_pays_frees_nothing() -> None:
    metrics = {"i-1": {"cpu": measured("cpu", 1), "network": measured("network", 0.01)}}
    covered = use(covered=D(720), covered_cost=D("0.192") * 720)
    (one,) = asked("instance-idle", world(covered, measured=metrics))
    assert isinstance(one, Kept)
    assert one.code == "covered"
    half = use(covered=D(360), covered_cost=D("0.12") * 360, cost=D("0.12") * 360 + D("0.192") * 360)
    found = only(asked("instance-idle", world(half, measured=metrics)))
    assert found.saving == D("0.192") * 365
    assert found.notes == ("partly-covered",)


def test_an_idle_instance_is_told_by_cpu_and_network_together() -> None:
    quiet = {"i-1": {"cpu": measured("cpu", 2.9), "network": measured("network", 0.05)}}
    assert only(asked("instance-idle", world(use(), measured=quiet))).saving == D("0.192") * 730
    talking = {"i-1": {"cpu": measured("cpu", 2.9), "network": measured("network", 5)}}
    assert asked("instance-idle", world(use(), measured=talking)) == []


def test_a_database_without_connections_is_idle_and_is_found_by_its_short_name() -> None:
    arn = "arn:aws:rds:us-east-1:1:db:shop"
    database = use(arn, "database", usage_type="InstanceUsage:db.r4.large")
    none = {"shop": {"connections": measured("connections", 0)}}
    assert only(asked("database-idle", world(database, measured=none))).key.resource == arn
    one = {"shop": {"connections": measured("connections", 0, high=1)}}
    assert asked("database-idle", world(database, measured=one)) == []


def test_the_next_generation_is_advised_where_the_list_says_it_is_cheaper() -> None:
    one = only(asked("old-generation", world(use(), types=TYPES)))
    assert one.target == {"type": "m6a.xlarge"}
    assert one.saving.quantize(D("1e-9")) == (D("0.192") * 730 * (1 - D("0.1728") / D("0.192"))).quantize(
        D("1e-9")
    )
    (missing,) = asked("old-generation", world(use()))
    assert isinstance(missing, Unjudged)
    assert missing.facts["types"] == "m5.xlarge (us-east-1)"


def test_a_later_list_is_no_reason_to_move_where_the_own_price_is_of_then() -> None:
    later = {LINUX: {**TYPES[LINUX], "m6a.xlarge": replace(TYPES[LINUX]["m6a.xlarge"], later=True)}}
    assert asked("old-generation", world(use(), types=later)) == []


def test_spot_takes_the_mean_price_of_the_cheapest_zone() -> None:
    types = {LINUX: {"m5.xlarge": replace(TYPES[LINUX]["m5.xlarge"], spot=D("0.07"))}}
    told = {KEY: Told({"user:workload-type": "batch"})}
    one = only(asked("spot-eligible", world(use(), types=types, told=told)))
    assert one.saving == (D("0.192") - D("0.07")) * 730
    (none,) = asked("spot-eligible", world(use(), types=types))
    assert isinstance(none, Unjudged)
    assert none.code == "no-tags"


def test_unused_iops_are_what_is_above_p99_with_head_room() -> None:
    """1000 provisioned at 65.00 a month, p99 200 x 1.3 = 260 needed: 0.74 of it."""
    iops = use("vol-1", "volume-iops", quantity=D(1000) * 720 / 730, cost=D(65) * 720 / 730)
    found = world(iops, measured={"vol-1": {"iops": measured("iops", 200)}})
    one = only(asked("volume-unused-iops", found))
    assert one.saving.quantize(D("0.0001")) == D("48.1")
    assert one.target == {"iops": "260"}


def test_credits_that_ran_out_are_a_warning() -> None:
    small = use(instance_type="t3.large")
    (one,) = asked("burst-credits", world(small, measured={"i-1": {"credits": measured("credits", 9)}}))
    assert isinstance(one, Kept)
    assert one.code == "credits"


def test_io1_within_gp3_and_beyond_it() -> None:
    """100 GiB io1 (12.50) with 4000 IOPS (260.00): gp3 8.00 + 1000 x 0.005 = 13.00; 259.50 less."""
    scale = D(720) / 730
    shares = {"gp3/io1": D("0.08") / D("0.125"), "iops/io1": D("0.005") / D("0.125")}
    volume = use(
        "vol-1", "volume-io", usage_type="EBS:VolumeUsage.piops", quantity=100 * scale, cost=D("12.5") * scale
    )
    iops = use("vol-1", "volume-iops", quantity=4000 * scale, cost=D(260) * scale)
    one = only(asked("volume-provisioned", world(volume, iops, shares=shares)))
    assert one.saving.quantize(D("0.0001")) == D("259.5")
    many = replace(iops, quantity=20_000 * scale)
    assert asked("volume-provisioned", world(volume, many, shares=shares)) == []


def test_gp2_with_the_iops_that_gp2_gives() -> None:
    """2000 GiB: 200.00; gp3 160.00 + 3000 IOPS more 15.00 = 175.00; low: also 125 MB/s more, 5.00."""
    scale = D(720) / 730
    shares = {"gp3/gp2": D("0.8"), "iops/gp2": D("0.05"), "throughput/gp2": D("0.4")}
    volume = use(
        "vol-1", "volume-gp2", usage_type="EBS:VolumeUsage.gp2", quantity=2000 * scale, cost=200 * scale
    )
    one = only(asked("volume-gp2", world(volume, shares=shares)))
    assert one.low is not None
    assert one.high is not None
    assert [x.quantize(D("0.0001")) for x in (one.low, one.saving, one.high)] == [D(20), D(25), D(40)]


def test_a_snapshot_of_a_deleted_volume_and_one_of_a_volume_that_is_there() -> None:
    snapshot = use("arn:aws:ec2:us-east-1:1:snapshot/snap-1", "snapshot")
    volume = use("vol-9", "volume-gp3")
    listed = {"snap-1": Listed("snap-1", "snapshot", volume="vol-9", image="")}
    assert asked("snapshot-of-deleted-volume", world(snapshot, volume, listed=listed)) == []
    one = only(asked("snapshot-of-deleted-volume", world(snapshot, listed=listed)))
    assert one.facts == {"volume": "vol-9"}
    used = {"snap-1": replace(listed["snap-1"], image="ami-1")}
    assert asked("snapshot-of-deleted-volume", world(snapshot, listed=used)) == []


def test_a_free_tier_ends_with_a_month_without_free_lines() -> None:
    small = use("i-1", cost=D("8.352"), usage_type="BoxUsage:t2.micro")
    key = (KEY.account, "BoxUsage:t2.micro")
    over = {key: (START - timedelta(days=1), START - timedelta(days=20))}
    one = only(asked("free-tier-leftover", world(small, free=over)))
    assert (one.low, one.saving) == (0, D("8.352") / 720 * 730)
    this_month = {key: (END - timedelta(days=20), START)}
    assert asked("free-tier-leftover", world(small, free=this_month)) == []


def test_transfer_between_zones_is_an_assumption_and_says_so() -> None:
    moved = use("i-1", "zone-transfer", cost=D(72), quantity=D(7200))
    one = only(asked("transfer-between-zones", world(moved)))
    assert (one.low, one.saving, one.high) == (0, D("36.5"), D(73))
    assert one.notes == ("assumption",)


def test_a_rule_is_not_asked_before_what_it_advises_exists() -> None:
    old = world(use(), end=END.replace(year=2018), start=START.replace(year=2018))
    codes = {one.rule: one.code for one in judge(old).unjudged if one.code == "not-yet"}
    assert codes.keys() >= {"volume-gp2", "extended-support"}


def test_a_team_overrides_its_organisation() -> None:
    metrics = {"i-1": {"cpu": measured("cpu", 4), "network": measured("network", 0.01)}}
    told = {KEY: Told(team="web")}
    whole = Setting("instance-idle", thresholds={"cpu_p99": "5"})
    strict = Setting("instance-idle", team="web", thresholds={"cpu_p99": "1"})
    assert len(asked("instance-idle", world(use(), measured=metrics, told=told, settings=[whole]))) == 1
    assert asked("instance-idle", world(use(), measured=metrics, told=told, settings=[strict, whole])) == []


SHARES = {"snapshot/gp3": D("0.05") / D("0.08"), "snapshot/st1": D("0.05") / D("0.045")}
SCALE = D(720) / 730


def volume(name: str, kind: str = "gp3", **more: Any) -> Use:
    """100 GiB at 8.00 a month."""
    usage = f"EBS:VolumeUsage.{kind}"
    family = "volume-other" if kind == "st1" else f"volume-{kind}"
    given = {"quantity": 100 * SCALE, "cost": 8 * SCALE, "usage_type": usage, **more}
    return use(name, family, **given)


def test_a_volume_costs_what_it_does_less_a_snapshot_of_its_size() -> None:
    listed = {"vol-1": Listed("vol-1", "volume", attached_to="")}
    one = only(asked("volume-unattached", world(volume("vol-1"), listed=listed, shares=SHARES)))
    assert one.low is not None
    assert one.high is not None
    assert [x.quantize(D("1e-9")) for x in (one.low, one.saving, one.high)] == [D(3), D(3), D(8)]
    cheap = only(asked("volume-unattached", world(volume("vol-1", "st1"), listed=listed, shares=SHARES)))
    assert (cheap.low, cheap.notes) == (0, ("snapshot-dearer",))
    assert cheap.saving.quantize(D("1e-9")) == D(8)


def test_where_instances_run_a_bill_alone_says_nothing_of_a_volume() -> None:
    (one,) = asked("volume-unattached", world(volume("vol-1"), use()))
    assert isinstance(one, Unjudged)
    assert (one.code, one.facts["n"]) == ("no-list", "1")
    elsewhere = asked("volume-unattached", world(volume("vol-1"), use(region="eu-west-1"), shares=SHARES))
    assert only(elsewhere).facts["by"] == "bill"


def test_a_name_of_two_instances_links_nothing() -> None:
    stopped = {"first": START, "last": START + timedelta(days=3)}
    names = ("vol-1", "i-1", "i-2")
    told = {replace(KEY, resource=name): Told({"Name": "box"}) for name in names}
    first, second = use("i-1", **stopped), use("i-2", **stopped)
    one = world(volume("vol-1"), first, told=told, shares=SHARES)
    assert only(asked("volume-of-stopped-instance", one)).facts["instance"] == "i-1"
    both = world(volume("vol-1"), first, second, told=told, shares=SHARES)
    assert asked("volume-of-stopped-instance", both) == []
    runs = world(volume("vol-1"), use("i-1"), told=told, shares=SHARES)
    assert asked("volume-of-stopped-instance", runs) == []


def test_a_development_endpoint_costs_its_nights_and_at_most_all() -> None:
    nights = len(world().nights)
    endpoint = use(
        "arn:aws:glue:us-east-1:1:devEndpoint/x", "development-endpoint", cost=D(720), night_hours=nights,
        night_cost=D(nights),
    )  # fmt: skip
    one = only(asked("development-endpoint-always-on", world(endpoint)))
    assert nights == 468
    assert (one.saving, one.high) == (D("474.5"), D(730))
    daily = replace(endpoint, hours=None)
    (missing,) = asked("development-endpoint-always-on", world(daily))
    assert isinstance(missing, Unjudged)
    assert missing.code == "by-day"


def test_a_retention_keeps_thirty_days_of_the_growth_seen() -> None:
    """21 days from 1.00 on, 0.01 more a day: thirty days keep 0.30 of 1.19. Ten times the growth keeps
    all.
    """
    slow = tuple(D(1) + D("0.01") * n for n in range(21))
    group = use("arn:aws:logs:us-east-1:1:log-group:/a", "log-storage", series=slow, quantity=sum(slow, D(0)),
        cost=D(72), days=21)  # fmt: skip
    one = only(asked("logs-without-retention", world(group)))
    last, kept = slow[-2], D("0.01") * 30
    now = D(73) * last / (sum(slow, D(0)) / 21)
    assert one.saving.quantize(D("1e-9")) == (now * (1 - kept / last)).quantize(D("1e-9"))
    fast = tuple(D(1) + D("0.1") * n for n in range(21))
    assert asked("logs-without-retention", world(replace(group, series=fast))) == []


def test_every_rule_is_asked_by_something_and_is_whole() -> None:
    rules = waste_rules()
    assert set(ASK) | set(ELSEWHERE) == set(rules)
    for rule in rules.values():
        assert rule.doing in {"delete", "stop", "shrink", "change"}
        assert rule.effort in {"low", "medium", "high"}
        assert rule.reversible in {"full", "partly", "none"}
        assert rule.source.startswith("https://")
        assert rule.since < date(2026, 1, 1)
        assert all((rule.question, rule.inputs, rule.condition, rule.saving, rule.needs))
    assert all(newer for newer in newer_families().values())


@pytest.mark.parametrize(
    ("product", "usage_type", "kind"),
    [
        ("AmazonEC2", "BoxUsage:m5.large", "instance"),
        ("AmazonEC2", "EUC1-BoxUsage:m5.large", "instance"),
        ("AmazonEC2", "EU-EBS:VolumeUsage.gp2", "volume-gp2"),
        ("AmazonEC2", "EBS:VolumeUsage", "volume-other"),
        ("AmazonEC2", "USW2-EBS:SnapshotUsage", "snapshot"),
        ("AWSGlue", "USE1-DEVED-DPU-Hour", "development-endpoint"),
        ("AmazonVPC", "USE1-PublicIPv4:IdleAddress", "address-idle"),
        ("AWSELB", "APN1-LCUUsage", "balancer-traffic"),
        ("AmazonCloudWatch", "USE1-DataProcessing-Bytes", "log-ingest"),
        ("AmazonRDS", "USE1-ExtendedSupport:Yr1-Yr2:MySQL5.7", "database-extended"),
        ("AmazonEC2", "DataTransfer-Regional-Bytes", "zone-transfer"),
        ("AmazonS3", "TimedStorage-ByteHrs", None),
        ("AmazonEC2", "HeavyUsage:m5.large", None),
    ],
)
def test_usage_types_are_told_apart(product: str, usage_type: str, kind: str | None) -> None:
    found = meter_of(product, usage_type)
    assert (found.kind if found else None) == kind


days = st.lists(st.decimals("0", "100", places=2), min_size=0, max_size=31)


@given(days=days, saving=st.decimals("0.01", "1000", places=2))
@settings(max_examples=50, deadline=None)
def test_an_interval_holds_its_saving_and_grows_only_downwards_with_doubt(days: list[D], saving: D) -> None:
    one = Candidate("instance-idle", KEY, ("instance",), "USD", saving, saving)
    low, high = interval(one, days)
    assert 0 <= low <= saving <= high
    doubted = interval(replace(one, confidence=0.5), days)
    assert doubted[0] <= low
    assert doubted[1] == high


@given(
    cpu=st.floats(0.1, 100), memory=st.floats(0.1, 100), room=st.sampled_from(["0", "0.3", "1"]),
    covered=st.integers(0, 720),
)  # fmt: skip
@settings(max_examples=50, deadline=None)
def test_a_smaller_target_always_holds_and_never_saves_more_than_is_paid(
    cpu: float, memory: float, room: str, covered: int
) -> None:
    paid = D("0.192") * (720 - covered)
    one_use = use(covered=D(covered), covered_cost=D("0.1") * covered, cost=paid + D("0.1") * covered)
    metrics = {"i-1": {"cpu": measured("cpu", cpu), "memory": measured("memory", memory)}}
    head = Setting("instance-too-large", thresholds={"head_room": room})
    for one in asked("instance-too-large", world(one_use, types=TYPES, measured=metrics, settings=[head])):
        if isinstance(one, Candidate):
            target = TYPES[LINUX][one.target["type"]]
            assert (target.vcpus or 0) >= 4 * cpu / 100 * (1 + float(room))
            assert (target.memory_mib or 0) >= 16384 * memory / 100 * (1 + float(room)) - 1e-6
            assert one.saving <= paid / 720 * 730
            assert not target.burstable


def test_two_resources_of_one_name_in_two_accounts_are_two() -> None:
    first = use()
    second = replace(first, key=Key("aws", "999", "us-east-1", "i-1"))
    metrics = {"i-1": {"cpu": measured("cpu", 1), "network": measured("network", 0.01)}}
    found = asked("instance-idle", world(first, second, measured=metrics))
    assert len({one.key for one in found if isinstance(one, Candidate)}) == 2
