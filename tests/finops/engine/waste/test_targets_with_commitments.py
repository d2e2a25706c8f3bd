"""Each target on demand, with own commitments and on Spot; what is covered frees nothing by moving away."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.waste.judge import ASK
from finops.engine.waste.model import Candidate, Kept, World
from finops.engine.waste.rightsizing import priced
from finops.frames.waste import OwnedPart, TypeFacts, waste_rules
from tests.support.waste_uses import measured, use, world

D = Decimal
LINUX = ("us-east-1", "Linux/UNIX")


def facts(name: str, vcpus: int, gib: int, price: str, **more: Any) -> TypeFacts:
    given: dict[str, Any] = {"architectures": ("x86_64",), "burstable": name.startswith("t"), "gpus": 0}
    return TypeFacts(name, vcpus, gib * 1024, price=D(price), **given | more)


TYPES = {
    one.name: one
    for one in (
        facts("m5.xlarge", 4, 16, "0.192"), facts("m5.large", 2, 8, "0.096", spot=D("0.04")),
        facts("c5.large", 2, 4, "0.085"), facts("c6g.large", 2, 4, "0.068", architectures=("arm64",)),
        facts("t3.xlarge", 4, 16, "0.1664"), facts("t3.large", 2, 8, "0.0832"),
        facts("t3.medium", 2, 4, "0.0416"),
    )
}  # fmt: skip
CALM = {"i-1": {"cpu": measured("cpu", 20), "memory": measured("memory", 15)}}
RESERVED = OwnedPart("ri-1", "reserved", "us-east-1", "", "Linux/UNIX", "default", "m5.xlarge")
COMPUTE = OwnedPart("sp-1", "savings-plan", "", "", "", "", "", "compute")


def asked(rule: str, found: World) -> list[Any]:
    return list(ASK[rule](found, waste_rules()[rule]))


def half(**more: Any) -> Any:
    """Half of the hours at 0.192 on demand, half paid at 0.12."""
    given = {"covered": D(360), "covered_cost": D("0.12") * 360, "cost": D("0.312") * 360, **more}
    return use(**given)


def only(found: World, rule: str = "instance-too-large") -> Candidate:
    (one,) = asked(rule, found)
    assert isinstance(one, Candidate), one
    return one


def test_every_target_has_its_prices() -> None:
    one = only(world(use(), types={LINUX: TYPES}, measured=CALM))
    assert [(t.name, t.on_demand, t.spot, t.architecture) for t in one.targets] == [
        ("c5.large", D("0.085") * 730, None, False),
        ("c6g.large", D("0.068") * 730, None, True),
        ("m5.large", D("0.096") * 730, D("0.04") * 730, False),
    ]
    assert one.saving.quantize(D("1e-9")) == D("0.107") * 730
    assert one.effort == ""


def test_another_architecture_is_more_work() -> None:
    few = {LINUX: {name: TYPES[name] for name in ("m5.xlarge", "c6g.large")}}
    one = only(world(use(), types=few, measured=CALM))
    assert (one.target, one.effort) == ({"type": "c6g.large"}, "high")


def test_a_flexible_reservation_of_half_the_hours_pays_the_smaller_size_whole() -> None:
    """m5.large has half the units: nothing is paid for it any more. c5.large would cost 62.05 beside it."""
    one = only(world(half(commitment="ri-1"), types={LINUX: TYPES}, measured=CALM, commitments=[RESERVED]))
    assert one.target == {"type": "m5.large"}
    assert one.saving == D("0.192") * 365
    assert {t.name: t.with_commitments for t in one.targets}["m5.large"] == 0
    assert {t.name: t.with_commitments for t in one.targets}["c5.large"] == D("0.085") * 730


def test_a_reservation_that_would_stand_idle_leaves_little_or_nothing() -> None:
    """Without flexible sizes c5.large costs 62.05 where 70.08 is paid today: 8.03."""
    zonal = replace(RESERVED, zone="us-east-1a")
    found = world(half(commitment="ri-1"), types={LINUX: TYPES}, measured=CALM, commitments=[zonal])
    assert only(found).saving.quantize(D("0.0001")) == D("8.03")
    most = use(covered=D(600), covered_cost=D(72), cost=D(72) + D("0.192") * 120)
    (kept,) = asked("instance-too-large", world(most, types={LINUX: TYPES}, measured=CALM))
    assert isinstance(kept, Kept)
    assert kept.code == "covered"


def test_a_plan_for_all_compute_follows_and_a_spare_reservation_is_shown_not_counted() -> None:
    planned = half(commitment="sp-1", plan_covered=D(360))
    one = only(world(planned, types={LINUX: TYPES}, measured=CALM, commitments=[COMPUTE]))
    assert one.saving == D("0.192") * 365
    spare = replace(RESERVED, id="ri-2", spare=D(1))
    other = only(world(use(), types={LINUX: TYPES}, measured=CALM, commitments=[spare]))
    targets = {t.name: t for t in other.targets}
    assert (targets["m5.large"].with_commitments, targets["m5.large"].spare_share) == (0, 1)
    assert other.saving.quantize(D("1e-9")) == D("0.107") * 730


def test_an_older_generation_under_a_reservation_is_not_left_for_nothing() -> None:
    """m5.xlarge paid for 300 of 720 hours: m6a.xlarge costs all of them at 0.1728, 126.14 for 81.76."""
    types = {LINUX: {**TYPES, "m6a.xlarge": facts("m6a.xlarge", 4, 16, "0.1728")}}
    some = use(covered=D(300), covered_cost=D(36), cost=D(36) + D("0.192") * 420)
    (kept,) = asked("old-generation", world(some, types=types))
    assert isinstance(kept, Kept)


def test_surplus_credits_against_a_type_that_does_not_burst() -> None:
    """t3.xlarge 121.472 and credits 73 a month; m5.xlarge 140.16: 54.312."""
    burst = use(instance_type="t3.xlarge", usage_type="BoxUsage:t3.xlarge", cost=D("0.1664") * 720)
    credits = use(kind="cpu-credits", usage_type="CPUCredits:t3", quantity=D(1440), cost=D(72))
    one = only(world(burst, credits, types={LINUX: TYPES}), "burst-surplus")
    assert (one.target, one.saving.quantize(D("0.0001"))) == ({"type": "m5.xlarge"}, D("54.312"))
    few = replace(credits, cost=D("0.5"))
    assert asked("burst-surplus", world(burst, few, types={LINUX: TYPES})) == []
    cheap = replace(credits, cost=D(15))
    assert asked("burst-surplus", world(burst, cheap, types={LINUX: TYPES})) == []


def test_a_burstable_type_shrinks_only_where_its_credits_last() -> None:
    """t3.xlarge: p95 16 % of 4 x 1.3 = 0.83 vCPU; t3.large earns 0.6, t3.medium 0.4."""
    burst = use(instance_type="t3.xlarge", cost=D("0.1664") * 720)
    types = {LINUX: {name: one for name, one in TYPES.items() if one.burstable}}
    assert asked("instance-too-large", world(burst, types=types, measured=CALM)) == []
    calmer = {"i-1": {**CALM["i-1"], "cpu": measured("cpu", 14)}}
    one = only(world(burst, types=types, measured=calmer))
    assert (one.target, one.notes) == ({"type": "t3.large"}, ("burst",))


@given(covered=st.integers(0, 719), spare=st.integers(0, 3), plan=st.booleans())
@settings(max_examples=50, deadline=None)
def test_commitments_never_make_a_target_dearer_than_on_demand(covered: int, spare: int, plan: bool) -> None:
    paid = D("0.192") * (720 - covered)
    one = use(
        covered=D(covered), covered_cost=D("0.1") * covered, cost=paid + D("0.1") * covered,
        plan_covered=D(covered if plan else 0), commitment="sp-1" if plan else "ri-1",
    )  # fmt: skip
    parts = [RESERVED, COMPUTE, replace(RESERVED, id="ri-2", spare=D(spare))]
    found = world(one, types={LINUX: TYPES}, commitments=parts)
    for name in ("m5.large", "c5.large", "t3.medium"):
        target = priced(found, one, TYPES["m5.xlarge"], TYPES[name])
        assert target is not None
        assert 0 <= target.with_commitments <= target.on_demand
        assert 0 <= target.kept_share <= 1
