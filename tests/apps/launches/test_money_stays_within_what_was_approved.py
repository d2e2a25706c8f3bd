"""Prices that move, machines that are lost again and again: never more than was approved, else it asks."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from apps.accounts.models import AuditEntry, Membership, User
from apps.accounts.roles import Role
from apps.launches.models import AttemptState, Launch, LaunchGuard, LaunchRule, LaunchState
from apps.launches.selectors.money import standing_of
from apps.launches.services import fresh_prices
from apps.launches.services.raising import launch_raise
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from faults.cloud import Cloud
from tests.support.launches import NOW, OFFER, ON_DEMAND_OFFER, approved, launch

State = LaunchState
pytestmark = pytest.mark.django_db


def due(**changes: Any) -> Launch:
    """A launch that has been due for a second; 0.08 expected, 0.3 approved."""
    return launch(approved(due_at=timezone.now() - timedelta(seconds=1), **changes))


def run(one: Launch) -> str:
    Launch.objects.filter(pk=one.pk).update(next_at=timezone.now())
    state = launch_run(launch_id=one.pk, now=timezone.now())
    one.refresh_from_db()
    return state


def lost(one: Launch, hours: float) -> None:
    """Its machine ran so long and was taken back."""
    attempt = one.attempts.get(state=AttemptState.RUNNING)
    ended = attempt.started_at + timedelta(hours=hours)  # type: ignore[operator]
    one.attempts.filter(pk=attempt.pk).update(state="ended", ending="interrupted", ended_at=ended)
    Launch.objects.filter(pk=one.pk).update(state="interrupted")


def priced(monkeypatch: pytest.MonkeyPatch, **by_market: str | None) -> None:
    """Prices of an hour now, by market; None is not known."""

    def price(plan: Any, offer: Any, snapshots: Any, now: Any) -> Decimal | None:
        found = by_market.get(offer["market"].replace("-", "_"))
        return None if found is None else Decimal(found)

    monkeypatch.setattr(fresh_prices, "_price", price)


REPEATS: dict[str, Any] = {"repeat": "daily", "clock": "09:00", "timezone": "UTC", "requested_at": NOW}


def test_a_turn_whose_price_doubled_asks_again(ec2: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.1 h on Spot at 0.2 lost once, then 2.1 h on demand at 0.25: 0.42 + 0.525; 0.3 were approved."""
    priced(monkeypatch, spot="0.2", on_demand="0.25")
    one = due(**REPEATS)
    assert (run(one), one.why) == (State.QUEUED, "above_plan")
    assert (one.why_values["cost"], one.why_values["high"]) == ("0.945", "0.3")
    assert one.asked_high == Decimal("0.945")
    assert ec2.launched() == {}


def test_a_turn_takes_the_price_of_now(ec2: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.1 x 0.03 lost, then 2.1 x 0.1: 0.273 of 0.3."""
    priced(monkeypatch, spot="0.03", on_demand="0.1")
    one = due(**REPEATS)
    assert run(one) == State.RUNNING
    assert one.attempts.get().price == Decimal("0.03")


def test_a_turn_without_a_fresh_price_is_not_started(ec2: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    priced(monkeypatch)
    one = due(**REPEATS)
    assert (run(one), one.why) == (State.QUEUED, "price_old")
    assert ec2.asked("RunInstances") == []
    # On the day on which it was planned, the plan's own prices hold.
    type(one.plan).objects.filter(pk=one.plan_id).update(requested_at=timezone.now())
    assert run(one) == State.RUNNING


def test_a_rule_holds_a_turn_that_costs_more_as_long_as_it_is_within_the_rule(
    ec2: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced(monkeypatch, spot="0.05", on_demand="0.12")  # 2.1 x 0.05 + 2.1 x 0.12 = 0.357
    one = due(**REPEATS)
    rule = LaunchRule.objects.create(
        organisation=one.organisation, limit=Decimal("0.356"), currency="USD", made_by="test"
    )
    type(one.plan).objects.filter(pk=one.plan_id).update(approved_by_rule=rule)
    assert (run(one), one.why) == (State.QUEUED, "above_plan")
    LaunchRule.objects.update(limit=Decimal("0.357"))
    assert run(one) == State.RUNNING
    assert one.asked_high is None


def test_lost_again_and_again_it_goes_on_demand_while_that_is_paid_for(ec2: Cloud) -> None:
    """One run lost, 0.08; another Spot run lost and on demand would be 0.08 + 0.084 + 0.21 > 0.3."""
    one = due(deadline_hours=40.0)
    assert run(one) == State.RUNNING
    lost(one, 2.0)
    assert run(one) == State.RUNNING
    assert [attempt.market for attempt in one.attempts.order_by("number")] == ["spot", "on-demand"]
    # 0.08 + 1 h x 0.1 = 0.18; 2.1 h more on Spot are 0.264 but leave nothing for on demand: it asks.
    lost(one, 1.0)
    assert (run(one), one.why) == (State.INTERRUPTED, "above_plan")
    assert one.asked_high == Decimal("0.39")  # 0.18 + 2.1 h x 0.1
    assert len(ec2.boxes) == 2


def test_without_a_deadline_it_stays_on_spot_until_the_money_is_gone(ec2: Cloud) -> None:
    one = due(deadline_hours=None, document={"offers": [OFFER]}, cost_high=Decimal("0.2"))
    for machines in (1, 2):
        assert run(one) == State.RUNNING
        lost(one, 2.0)
        assert len(ec2.boxes) == machines
    # 0.16 spent, 2.1 h more cost 0.084.
    assert (run(one), one.why, one.asked_high) == (State.INTERRUPTED, "above_plan", Decimal("0.244"))
    assert len(ec2.boxes) == 2


def member(one: Launch, role: Role) -> Membership:
    user = User.objects.create_user(f"{role}@raise.example", "pw")
    return Membership.objects.create(user=user, organisation=one.organisation, role=role)


def asking(ec2: Cloud, monkeypatch: pytest.MonkeyPatch) -> Launch:
    priced(monkeypatch, spot="0.2", on_demand="0.25")
    one = due(**REPEATS)
    run(one)
    return one


def test_people_raise_it_and_it_goes_on(ec2: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    one = asking(ec2, monkeypatch)
    launch_raise(launch=one, membership=member(one, Role.FINANCE), high=Decimal("0.945"), now=timezone.now())
    one.refresh_from_db()
    assert (one.approved_high, one.asked_high) == (Decimal("0.945"), None)
    assert AuditEntry.objects.filter(action="launch.raise").count() == 1
    standing = standing_of(one.organisation, None, at=one.due_at, currency="USD")
    assert standing.promised == Decimal("0.945")
    assert run(one) == State.RUNNING


def test_above_the_limit_two_roles_raise_it(
    ec2: Cloud, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.LAUNCH_SECOND_APPROVAL_ABOVE = "0.5 USD"
    one = asking(ec2, monkeypatch)
    finance, now = member(one, Role.FINANCE), timezone.now()
    for _ in range(2):
        launch_raise(launch=one, membership=finance, high=Decimal("0.945"), now=now)
    one.refresh_from_db()
    assert (one.approved_high, one.yeses.count()) == (None, 1)
    assert (run(one), one.why) == (State.QUEUED, "above_plan")
    admin = Membership.objects.get(user__email=f"admin@{one.organisation.slug}.example")
    launch_raise(launch=one, membership=admin, high=Decimal("0.945"), now=now)
    one.refresh_from_db()
    assert one.approved_high == Decimal("0.945")


@pytest.mark.parametrize(("role", "high", "field"), [
    (Role.ENGINEER, "0.945", "approval"), (Role.FINANCE, "0.9", "state"), (Role.FINANCE, "5", "state"),
])  # fmt: skip
def test_a_yes_of_no_right_or_to_another_amount_changes_nothing(
    ec2: Cloud, monkeypatch: pytest.MonkeyPatch, role: Role, high: str, field: str
) -> None:
    one = asking(ec2, monkeypatch)
    with pytest.raises(ValidationError) as refused:
        launch_raise(launch=one, membership=member(one, role), high=Decimal(high), now=timezone.now())
    assert list(refused.value.message_dict) == [field]
    one.refresh_from_db()
    assert (one.approved_high, one.asked_high, one.yeses.count()) == (None, Decimal("0.945"), 0)
    assert not AuditEntry.objects.filter(action="launch.raise").exists()


def max_price(ec2: Cloud) -> str | None:
    return ec2.asked("RunInstances")[-1].get("InstanceMarketOptions.SpotOptions.MaxPrice")


@pytest.mark.parametrize(
    ("own", "cap", "high", "sent"),
    [
        (None, None, "0.3", None),  # 0.15 an hour is more than on demand
        ("0.5", None, "0.3", "0.15"),  # what is approved for an hour
        ("0.06", None, "0.3", "0.06"),
        ("0.5", "0.07", "0.3", "0.07"),
        (None, "0.07", "0.3", "0.07"),
        (None, None, "0.16", "0.08"),
        ("0.06", "0.09", "0.16", "0.06"),
    ],
)
def test_the_highest_price_of_a_spot_call(
    ec2: Cloud, own: str | None, cap: str | None, high: str, sent: str | None
) -> None:
    """The lowest of the job's own, the organisation's cap and what was approved for an hour (of 2)."""
    job = {"hours": 2.0, "product": "Linux/UNIX", "provider": "aws", "restart_minutes": 6.0}
    one = due(job=job | ({"max_price": own} if own else {}), cost_high=Decimal(high))
    if cap is not None:
        LaunchGuard.objects.create(organisation=one.organisation, max_price=Decimal(cap), currency="USD")
    assert run(one) == State.RUNNING
    assert max_price(ec2) == sent


def test_a_machine_whose_tags_were_taken_away_is_not_launched_again(ec2: Cloud) -> None:
    one = due()
    assert run(one) == State.RUNNING
    ec2.boxes["i-000001"].tags.clear()
    now = timezone.now()
    for minutes in (1, 3, 5, 7, 9):
        assert reconcile_all(now=now + timedelta(minutes=minutes))["running"] == 1
    one.refresh_from_db()
    assert one.state == State.RUNNING
    assert list(one.events.filter(kind="tags_gone").values_list("document__machine", flat=True)) == [
        "i-000001"
    ]
    ec2.boxes["i-000001"].ended_at, ec2.boxes["i-000001"].reason = now, "Server.SpotInstanceTermination"
    assert reconcile_all(now=now + timedelta(minutes=11))["ended"] == 1
    one.refresh_from_db()
    assert one.state == State.INTERRUPTED


def test_a_call_without_an_answer_is_found_by_its_token_where_tags_were_taken_away(ec2: Cloud) -> None:
    ec2.faults = ["cut", "cut"]
    one = due()
    assert run(one) == State.UNKNOWN
    ec2.boxes["i-000001"].tags.clear()
    assert reconcile_all(now=timezone.now())["adopted"] == 1
    one.refresh_from_db()
    assert (one.state, one.attempts.get().machine) == (State.RUNNING, "i-000001")
    assert len(ec2.boxes) == 1


def test_the_fallback_is_at_hand_at_the_first_start(ec2: Cloud) -> None:
    """Of a plan that runs once, the first offer's own cost decides: 2 h x 0.04 of 0.3."""
    one = due(document={"offers": [OFFER, ON_DEMAND_OFFER]})
    assert run(one) == State.RUNNING
    assert one.attempts.get().market == "spot"
