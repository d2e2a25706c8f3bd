"""A long queue of own machines gets help on demand inside the guards, once, and scales to zero after."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation
from apps.catalog.models import Pool
from apps.launches.models import Launch, LaunchBurst, LaunchPlan, LaunchRule, LaunchState, PlanState, Work
from apps.launches.services.bursts import burst_save, burst_step
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from tests.support.launches import target

pytestmark = pytest.mark.django_db
ACTOR = Actor.system("test")


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A simulated market that says its price, with on-demand machines at 0.5 an hour."""
    offer = {
        "market": "on-demand", "region": "z", "zone": "z", "type": "m5.large", "price": "0.5",
        "currency": "USD", "cost": "1", "cost_low": None, "cost_high": None, "start": None,
    }  # fmt: skip
    place = target(name="market", executor="simulated", account="",
                   settings={"pools": {"z": "1"}, "begins": "2026-01-01T00:00:00Z"})  # fmt: skip
    monkeypatch.setattr("apps.launches.services.planning.advise_launch", lambda **given: {})

    def offers(advice: Any, question: Any, *given: Any, **more: Any) -> list[dict[str, Any]]:
        cost = Decimal("0.5") * Decimal(str(question["hours"])) * question["count"]
        return [{**offer, "cost": str(cost)}]

    monkeypatch.setattr("apps.launches.services.planning.offers_from_advice", offers)
    return place


def rule(place: Any, **changes: Any) -> LaunchBurst:
    free = Decimal(0)
    pool = Pool.objects.create(
        organisation=place.organisation, name="rack", kind="own", units=2, currency="USD", power=free,
        wear=free,
    )  # fmt: skip
    given = {
        "name": "help", "pool": pool, "target": place, "team": None, "start": 2.0, "stop": 1.0, "most": 3,
        "hours": 4.0, "job": {"types": ["m5.large"], "regions": ["z"], "product": "Linux/UNIX"}, **changes,
    }  # fmt: skip
    return burst_save(organisation=place.organisation, actor=ACTOR, **given)


def approves(place: Any) -> None:
    LaunchRule.objects.create(
        organisation=place.organisation, limit=Decimal("100"), currency="USD", made_by="test"
    )


def work(row: LaunchBurst, count: int) -> None:
    """Pieces of work of an hour each that wait."""
    held = Work.objects.count()
    for number in range(held, held + count):
        Work.objects.create(pool=row.pool, token=f"t{number}", document={"name": "w"})


def test_help_is_bought_once_runs_and_scales_to_zero(market: Any) -> None:
    """10 h wait for 2 units: 5 h of backlog, above 2; 10 / 1 - 2 = 8 units wanted, 3 allowed."""
    row, now = rule(market), timezone.now()
    approves(market)
    work(row, 10)
    assert burst_step(burst_id=row.pk, now=now) == (3, 0)
    assert burst_step(burst_id=row.pk, now=now) == (0, 0)
    row.refresh_from_db()
    assert (row.bursting, row.backlog, row.message) == (True, 5.0, "full")
    plan = LaunchPlan.objects.get()
    assert (plan.burst_id, plan.count, plan.state, plan.cost_high) == (row.pk, 3, PlanState.APPROVED, 6)
    for one in Launch.objects.all():
        assert launch_run(launch_id=one.pk, now=timezone.now()) == LaunchState.RUNNING
    assert {one.attempts.get().market for one in Launch.objects.all()} == {"on-demand"}
    # Drained: ten idle minutes later all of it ends, and its machines with the next look.
    Work.objects.all().delete()
    later = timezone.now()
    assert burst_step(burst_id=row.pk, now=later) == (0, 0)
    assert burst_step(burst_id=row.pk, now=later + timedelta(minutes=9)) == (0, 0)
    assert burst_step(burst_id=row.pk, now=later + timedelta(minutes=11)) == (0, 3)
    assert {one.state for one in Launch.objects.all()} == {LaunchState.COMPLETED}
    assert reconcile_all(now=later + timedelta(minutes=12))["stopped"] == 3
    assert burst_step(burst_id=row.pk, now=later + timedelta(minutes=13)) == (0, 0)
    row.refresh_from_db()
    assert (row.bursting, row.message) == (False, "off")


def test_without_a_rule_it_waits_for_a_person_and_asks_once(market: Any) -> None:
    row, now = rule(market), timezone.now()
    work(row, 10)
    assert burst_step(burst_id=row.pk, now=now) == (3, 0)
    assert burst_step(burst_id=row.pk, now=now + timedelta(minutes=5)) == (0, 0)
    assert LaunchPlan.objects.get().state == PlanState.REQUESTED
    assert not Launch.objects.exists()
    # No longer needed: nobody is asked any more.
    Work.objects.all().delete()
    assert burst_step(burst_id=row.pk, now=now + timedelta(minutes=6)) == (0, 3)
    assert LaunchPlan.objects.get().state == PlanState.CANCELLED


def test_a_helper_at_work_is_not_ended_and_one_that_lived_its_hours_is(market: Any) -> None:
    row, now = rule(market, most=1), timezone.now()
    approves(market)
    work(row, 6)
    burst_step(burst_id=row.pk, now=now)
    one = Launch.objects.get()
    assert launch_run(launch_id=one.pk, now=timezone.now()) == LaunchState.RUNNING
    # Three pieces are in hand, two of them by the own units: the helper is at work.
    for piece in Work.objects.all()[:3]:
        Work.objects.filter(pk=piece.pk).update(state="leased", lease=1, lease_until=now + timedelta(hours=9))
    Work.objects.filter(state="queued").delete()
    for minutes in (1, 30, 60):
        assert burst_step(burst_id=row.pk, now=timezone.now() + timedelta(minutes=minutes)) == (0, 0)
    assert burst_step(burst_id=row.pk, now=timezone.now() + timedelta(hours=4, minutes=1)) == (0, 1)
    one.refresh_from_db()
    assert (one.state, one.why) == (LaunchState.COMPLETED, "drained")


def test_switched_off_it_buys_nothing(market: Any) -> None:
    row = rule(market, active=False)
    work(row, 50)
    assert burst_step(burst_id=row.pk, now=timezone.now()) == (0, 0)
    assert not LaunchPlan.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "name"), ({"start": 1.0, "stop": 2.0}, "start"), ({"start": float("nan")}, "start"),
        ({"most": 0}, "most"), ({"hours": 0.0}, "hours"), ({"job": {"count": 9}}, "job"),
    ],
)  # fmt: skip
def test_odd_rules_are_refused_by_field(market: Any, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        rule(market, **changes)
    assert field in refused.value.message_dict
    assert not LaunchBurst.objects.exists()
    assert not AuditEntry.objects.filter(action="launch_burst.save").exists()


def test_of_another_organisation_nothing_can_be_named(market: Any) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    row = rule(market)
    with pytest.raises(ValidationError) as refused:
        burst_save(
            organisation=other, actor=ACTOR, name="theirs", pool=row.pool, target=row.target, team=None,
            start=2.0, stop=1.0, most=1, hours=1.0, job={},
        )  # fmt: skip
    assert set(refused.value.message_dict) == {"pool", "target"}


def test_the_verb_makes_changes_and_shows(market: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rule(market)
    call_command("launch_bursts", "help", "--most", "7", "--active", "no", "--json")
    (one,) = json.loads(capsys.readouterr().out)["bursts"]
    assert (one["name"], one["pool"], one["most"], one["start"], one["active"]) == (
        "help",
        "rack",
        7,
        2.0,
        False,
    )
