"""Plans come from the product's own advice; approval, budgets and rules stand before every launch."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, Team, User
from apps.accounts.roles import Role
from apps.ingest import services as ingest
from apps.launches.models import (
    Launch,
    LaunchEvent,
    LaunchPlan,
    LaunchRule,
    LaunchState,
    LaunchTarget,
    PlanState,
)
from apps.launches.services.approving import launch_cancel, plan_approve, plan_cancel
from apps.launches.services.grants import grant_save
from apps.launches.services.planning import Wish, plan_draft, plan_make
from apps.launches.services.switches import budget_save, rule_off, rule_save, target_save
from apps.launches.services.turns import missed_end, plan_turns, turns_make
from apps.prices.models import ListPrice
from tests.support.lake import fresh_lake
from tests.support.launches import target

T0 = datetime(2026, 1, 1, tzinfo=UTC)
NOW = T0 + timedelta(days=40)
ACTOR = Actor.system("ada")
QUESTION = {
    "hours": 2.0, "types": ["m5.large"], "regions": ["us-east-1"], "product": "Linux/UNIX",
    "slack_hours": 6.0, "restart_minutes": 6.0, "hazard_per_hour": 0.05,
}  # fmt: skip
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _advice(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice that `prices` gives, without loading them: most tests are about what follows."""
    if "prices" not in request.fixturenames:
        monkeypatch.setattr("apps.launches.services.planning.advise_launch", _advised)


def _advised(**question: Any) -> dict[str, Any]:
    work = Decimal(repr(question["hours"])) * (question.get("count") or 1)

    def plan(rank: int, market: str, zone: str | None, price: str) -> dict[str, Any]:
        cost = format(Decimal(price) * work, "f")
        return {
            "rank": rank, "market": market, "region": "us-east-1", "zone": zone, "zone_name": zone,
            "type": "m5.large", "price": price, "currency": "USD", "cost": cost, "cost_low": cost,
            "cost_high": cost, "start": None, "reason": "",
        }  # fmt: skip

    plans = [
        plan(1, "spot", "us-east-1a", "0.04"), plan(2, "spot", "us-east-1b", "0.05"),
        plan(3, "on-demand", "us-east-1a", "0.096"),
    ]  # fmt: skip
    return {"sentence": "Now.", "plans": plans}


@pytest.fixture
def prices(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    """Forty days of two zones, 1a cheaper; on demand 0.096."""
    import json

    rows = [
        {
            "Timestamp": f"{T0 + timedelta(days=day):%Y-%m-%dT%H:%M:%SZ}", "SpotPrice": price,
            "AvailabilityZone": zone, "InstanceType": "m5.large", "ProductDescription": "Linux/UNIX",
        }
        for day in range(40)
        for zone, price in (("us-east-1a", "0.040000"), ("us-east-1b", "0.050000"))
    ]  # fmt: skip
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"SpotPriceHistory": rows}))
    with fresh_lake(settings, tmp_path / "lake"):
        options = ingest.ImportOptions(request_start=T0, request_end=NOW)
        ingest.prices_import(source=str(path), provider="aws", options=options)
        ListPrice.objects.create(
            provider="aws", region="us-east-1", instance_type="m5.large", operating_system="linux",
            licence="none", tenancy="shared", currency="USD", effective_from=T0, source="made up",
            price=Decimal("0.096"),
        )  # fmt: skip
        yield


@pytest.fixture
def organisation() -> Organisation:
    return Organisation.default()


def wish(place: LaunchTarget | None = None, **changes: Any) -> Wish:
    question = {**QUESTION, **changes.pop("question", {})}
    place = place or LaunchTarget.objects.first() or target()
    return Wish(target=place, name="Nightly", question=question, **changes)


def make(organisation: Organisation, **changes: Any) -> LaunchPlan:
    return plan_make(organisation=organisation, actor=ACTOR, wish=wish(**changes), now=NOW)


def member(organisation: Organisation, role: Role) -> Membership:
    user = User.objects.create_user(f"{role}@{organisation.slug}.example", "pw")
    return Membership.objects.create(user=user, organisation=organisation, role=role)


def test_when_where_what_and_what_it_costs(organisation: Organisation, prices: None) -> None:
    plan = make(organisation)
    offers = plan.document["offers"]
    assert [(one["market"], one["zone"], one["price"]) for one in offers] == [
        ("spot", "us-east-1a", "0.04"),
        ("spot", "us-east-1b", "0.05"),
        ("on-demand", None, "0.096"),
    ]
    assert (plan.state, plan.due_at, plan.deadline_hours) == (PlanState.REQUESTED, NOW, 8.0)
    # Slack 6 h less a start of 6 min and a look of 5 min.
    assert plan.document["fallback_at"] == "2026-02-10T05:49:00Z"
    # A run lost on Spot, then all of it on demand with its start.
    expected = plan.cost
    assert expected is not None
    assert plan.cost_high == ((expected + Decimal("0.192")) * Decimal("1.05")).quantize(Decimal("1E-10"))
    assert plan.document["high_is"] == "a run lost on Spot, then all of it on demand"
    # 1 + 5.9 // 2.1 = 3 whole runs fit: 1 - (1 - exp(-0.05 x 2.1))^3.
    assert plan.document["chance_on_spot"] == pytest.approx(0.99901, abs=1e-5)
    assert plan.document["evidence"]["snapshots"]
    assert Launch.objects.count() == 0


def test_a_tight_deadline_goes_on_demand_from_the_start(organisation: Organisation) -> None:
    plan = make(organisation, question={"slack_hours": 0.5})
    assert [one["market"] for one in plan.document["offers"]] == ["on-demand"]
    assert plan.document["fallback_at"] is None
    assert plan.cost == plan.cost_high == Decimal("0.192")
    never = make(organisation, question={"interruptible": False})
    assert [one["market"] for one in never.document["offers"]] == ["on-demand"]


def test_nothing_is_stored_for_what_cannot_be(organisation: Organisation) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    team = Team.objects.create(organisation=other, name="Theirs", slug="theirs")
    for field, given in (
        ("name", {"name": "x\x00"}), ("priority", {"priority": 1001}), ("team", {"team": team}),
        ("budget", {"budget": Decimal(0)}), ("repeat", {"repeat": "mon-fri"}),
        ("clock", {"repeat": "daily", "clock": "25:00", "timezone": "UTC"}),
        ("timezone", {"repeat": "daily", "clock": "22:00", "timezone": "+02:00"}),
        ("retry", {"retry": {"attempts": 0}}), ("checkpoint_location", {"checkpoint_marker": "_DONE"}),
        ("deadline", {"question": {"slack_hours": None, "deadline": NOW + timedelta(hours=1)}}),
        ("target", {"place": target(other, name="theirs")}),
    ):  # fmt: skip
        given = {"place": LaunchTarget.objects.filter(organisation=organisation).first() or target(), **given}
        base = wish(**{key: value for key, value in given.items() if key != "name"})
        if "name" in given:
            base = Wish(**{**base.__dict__, "name": given["name"]})
        with pytest.raises((ValidationError, ValueError)) as caught:
            plan_make(organisation=organisation, actor=ACTOR, wish=base, now=NOW)
        told = getattr(caught.value, "message_dict", None) or {caught.value.field: ""}  # type: ignore[union-attr]
        assert field in told, (field, told)
    assert LaunchPlan.objects.count() == 0


def test_the_same_key_again_is_the_same_plan(organisation: Organisation) -> None:
    first = make(organisation, request_key="k")
    assert make(organisation, request_key="k").pk == first.pk
    with pytest.raises(ValidationError) as caught:
        make(organisation, request_key="k", priority=7)
    assert "state" in caught.value.message_dict
    assert LaunchPlan.objects.count() == 1


def test_one_yes_makes_its_launches_and_dear_plans_take_two(
    organisation: Organisation, settings: Any
) -> None:
    finance, admin = member(organisation, Role.FINANCE), member(organisation, Role.ADMIN)
    engineer = member(organisation, Role.ENGINEER)
    plan = make(organisation, question={"count": 3})
    with pytest.raises(ValidationError):
        plan_approve(plan=plan, membership=engineer, now=NOW)
    plan_approve(plan=plan, membership=finance, now=NOW)
    plan.refresh_from_db()
    assert plan.state == PlanState.APPROVED
    rows = list(Launch.objects.filter(plan=plan).values_list("part", "due_at", "start_by"))
    assert rows == [(part, NOW, NOW + timedelta(hours=1)) for part in (1, 2, 3)]
    settings.LAUNCH_SECOND_APPROVAL_ABOVE = "0.01 USD"
    dear = make(organisation)
    assert dear.approvals_needed == 2
    plan_approve(plan=dear, membership=finance, now=NOW)
    dear.refresh_from_db()
    assert (dear.state, dear.launches.count()) == (PlanState.REQUESTED, 0)
    plan_approve(plan=dear, membership=admin, now=NOW)
    dear.refresh_from_db()
    assert (dear.state, dear.launches.count()) == (PlanState.APPROVED, 1)
    actions = list(
        AuditEntry.objects.filter(action__startswith="launch_plan").values_list("action", flat=True)
    )
    assert sorted(actions) == ["launch_plan.approve"] * 3 + ["launch_plan.request"] * 2


def test_a_rule_approves_what_it_holds_and_nothing_else(organisation: Organisation) -> None:
    team = Team.objects.create(organisation=organisation, name="Data", slug="data")
    rule = rule_save(organisation=organisation, actor=ACTOR, limit=Decimal("0.5"), currency="USD", team=team)
    assert make(organisation).state == PlanState.REQUESTED
    mine = make(organisation, team=team)
    assert (mine.state, mine.approved_by_rule_id) == (PlanState.APPROVED, rule.pk)
    assert make(organisation, team=team, question={"count": 9}).state == PlanState.REQUESTED
    rule_off(rule=rule, actor=ACTOR)
    assert make(organisation, team=team).state == PlanState.REQUESTED
    assert LaunchRule.objects.get().active is False


def test_a_budget_that_is_full_forbids_the_yes(organisation: Organisation) -> None:
    admin = member(organisation, Role.ADMIN)
    first, second = make(organisation), make(organisation)
    assert first.cost_high is not None
    budget_save(
        organisation=organisation,
        actor=ACTOR,
        team=None,
        monthly=first.cost_high * Decimal("1.5"),
        currency="USD",
    )
    plan_approve(plan=first, membership=admin, now=NOW)
    with pytest.raises(ValidationError) as caught:
        plan_approve(plan=second, membership=admin, now=NOW)
    assert list(caught.value.message_dict) == ["budget"]
    second.refresh_from_db()
    assert (second.state, second.approvals.count()) == (PlanState.REQUESTED, 0)


def test_cancelling_a_plan_cancels_what_is_not_over(organisation: Organisation) -> None:
    plan = make(organisation)
    plan_approve(plan=plan, membership=member(organisation, Role.ADMIN), now=NOW)
    plan_cancel(plan=plan, actor=ACTOR, now=NOW, reason="not needed")
    assert Launch.objects.get().state == LaunchState.CANCELLED
    with pytest.raises(ValidationError):
        launch_cancel(launch=make_launch(organisation), actor=ACTOR, now=NOW, reason=" ")


def make_launch(organisation: Organisation) -> Launch:
    plan = make(organisation)
    plan.state = PlanState.APPROVED
    plan.save()
    plan_turns(plan_id=plan.pk, now=NOW)
    return plan.launches.get()


def test_repeating_plans_after_an_outage(organisation: Organisation) -> None:
    """t5-11: up again at 11:05, at 14:00, and after three days at 11:10."""
    plan = make(organisation, repeat="daily", clock="11:00", timezone="UTC", start_minutes=30)
    assert plan.due_at == datetime(2026, 2, 10, 11, tzinfo=UTC)
    LaunchPlan.objects.filter(pk=plan.pk).update(state=PlanState.APPROVED)

    def states(at: datetime) -> dict[str, int]:
        LaunchEvent.objects.all().delete()
        Launch.objects.all().delete()
        LaunchPlan.objects.filter(pk=plan.pk).update(made_until=plan.due_at - timedelta(days=1))
        plan_turns(plan_id=plan.pk, now=at)
        past = Launch.objects.filter(due_at__lte=at)
        return {state: past.filter(state=state).count() for state in ("queued", "missed")}

    assert states(plan.due_at + timedelta(minutes=5)) == {"queued": 1, "missed": 0}
    assert states(plan.due_at + timedelta(minutes=30)) == {"queued": 1, "missed": 0}
    assert states(plan.due_at + timedelta(hours=3)) == {"queued": 0, "missed": 1}
    third = plan.due_at + timedelta(days=2, minutes=10)
    assert states(third) == {"queued": 1, "missed": 2}
    assert Launch.objects.get(state="queued", due_at__lte=third).due_at == plan.due_at + timedelta(days=2)
    assert turns_make(now=third) == 0


def test_of_two_turns_that_wait_only_the_newest_runs(organisation: Organisation) -> None:
    plan = make(organisation, repeat="daily", clock="00:30", timezone="UTC", start_minutes=10_000)
    LaunchPlan.objects.filter(pk=plan.pk).update(state=PlanState.APPROVED)
    plan_turns(plan_id=plan.pk, now=NOW)
    assert Launch.objects.count() == 7
    # The database's clock is past all of them.
    assert missed_end(now=NOW + timedelta(days=9)) in {6, 7}
    assert Launch.objects.filter(why="superseded").count() + Launch.objects.filter(why="missed").count() >= 6


def test_the_clock_of_a_zone_keeps_its_hour(organisation: Organisation) -> None:
    plan = make(organisation, repeat="mon-fri", clock="22:00", timezone="Europe/Berlin")
    assert plan.due_at == datetime(2026, 2, 10, 21, tzinfo=UTC)
    LaunchPlan.objects.filter(pk=plan.pk).update(state=PlanState.APPROVED)
    spring = datetime(2026, 3, 27, 12, tzinfo=UTC)
    LaunchPlan.objects.filter(pk=plan.pk).update(made_until=spring)
    plan_turns(plan_id=plan.pk, now=spring)
    due = [f"{one.due_at:%a %d %H:%M}" for one in Launch.objects.order_by("due_at")]
    assert due == ["Fri 27 21:00", "Mon 30 20:00", "Tue 31 20:00", "Wed 01 20:00", "Thu 02 20:00"]


def test_a_draft_stores_nothing(organisation: Organisation) -> None:
    plan = plan_draft(organisation=organisation, actor=ACTOR, wish=wish(), now=NOW)
    assert plan.pk is None
    assert LaunchPlan.objects.count() == 0


def test_targets_are_checked(organisation: Organisation) -> None:
    def save(**values: Any) -> LaunchTarget:
        return target_save(organisation=organisation, actor=ACTOR, name="cloud", values=values)

    for values, field in (
        ({"executor": "aws", "account": "1"}, "settings"),
        ({"executor": "aws", "account": "1", "settings": {"images": {"us-east-1": "ami-1"}}}, "account"),
        ({"executor": "aws", "account": "1" * 12, "settings": {"imagse": {}}}, "settings"),
        ({"executor": "nowhere"}, "executor"),
        # Without a role it would be the installation's own credentials.
        ({"executor": "aws", "account": "1" * 12, "settings": {"images": {"us-east-1": "ami-1"}}}, "role"),
        ({"executor": "kubernetes", "credentials": "prod", "settings": {"namespace": "jobs"}}, "role"),
        ({"executor": "kubernetes", "credentials": "../prod", "settings": {"namespace": "jobs"}}, "role"),
    ):
        with pytest.raises(ValidationError) as caught:
            save(**values)
        assert list(caught.value.message_dict) == [field]
    assert LaunchTarget.objects.count() == 0
    grant_save(organisation=organisation, actor=ACTOR, kind="own-credentials")
    row = save(executor="aws", account="1" * 12, settings={"images": {"us-east-1": "ami-1"}})
    assert save(active=False).pk == row.pk
    assert AuditEntry.objects.filter(action="launch_target.save").count() == 2


def test_verbs_go_the_whole_way(
    organisation: Organisation, prices: None, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    target()
    admin = member(organisation, Role.ADMIN)

    def verb(name: str, *words: str) -> dict[str, Any]:
        capsys.readouterr()
        call_command(name, *words, "--json")
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    asked = ["--hours", "2", "--types", "m5.large", "--regions", "us-east-1", "--product", "Linux/UNIX",
             "--slack-hours", "6", "--name", "Nightly"]  # fmt: skip
    dry = verb("plan_launch", *asked, "--dry-run", "--at", NOW.isoformat())
    assert (dry["stored"], dry["plan"]["due_at"]) == (False, "2026-02-10T00:00:00Z")
    made = verb("plan_launch", *asked)["plan"]
    assert made["state"] == "requested"
    approved = verb("approve_launch", str(made["id"]))["plan"]
    assert (approved["state"], approved["approvals"][0]["by"]) == ("approved", admin.user.email)
    listed = verb("launches")
    assert [one["id"] for one in listed["launches"]] == [one["id"] for one in approved["launches"]]
    number = str(listed["launches"][0]["id"])
    assert verb("launch", number)["launch"]["timeline"][0]["kind"] == "made"
    assert verb("cancel_launch", number, "--reason", "test")["launch"]["state"] == "cancelled"
    assert verb("reconcile")["strays"] == []
