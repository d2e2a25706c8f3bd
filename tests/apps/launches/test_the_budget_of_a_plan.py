"""A plan's own budget below its worst case would stop each launch of it: said when the plan is made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone, translation

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import Role
from apps.catalog.models import Pool
from apps.launches.models import LaunchPlan, LaunchRule, LaunchTarget, PlanState
from apps.launches.services.approving import own_budget_fault, plan_approve, plan_by_rule
from apps.launches.services.guards import stop_of
from apps.launches.services.planning import Wish, plan_draft, plan_make
from apps.launches.services.raising import launch_raise
from tests.support.launches import approved, launch, plan, target

pytestmark = pytest.mark.django_db
ACTOR = Actor.system("test")
NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


def own(**settings: Any) -> LaunchTarget:
    """Servers of one's own; a machine costs 1 an hour."""
    Pool.objects.create(
        organisation=Organisation.default(), name="rack", kind="own", power=Decimal(1), wear=Decimal(0),
        currency="USD",
    )  # fmt: skip
    return target(name="own", executor="celery", settings={"pool": "rack", **settings})


def made(place: LaunchTarget, budget: str, make: Any = plan_make) -> LaunchPlan:
    """Two machines for two hours: 4 in the worst case where an hour costs 1."""
    wish = Wish(target=place, name="Nightly", question={"hours": 2.0, "count": 2}, job={"command": "true"},
                budget=Decimal(budget))  # fmt: skip
    row: LaunchPlan = make(organisation=place.organisation, actor=ACTOR, wish=wish, now=NOW)
    return row


def member(role: Role) -> Membership:
    user = User.objects.create_user(f"{role}@budget.example", "pw")
    return Membership.objects.create(user=user, organisation=Organisation.default(), role=role)


def test_a_plan_that_its_own_budget_never_lets_start_is_refused() -> None:
    place = own(price="1", currency="USD")
    for make in (plan_make, plan_draft):
        with pytest.raises(ValidationError) as refused:
            made(place, "3.999", make)
        assert refused.value.message_dict == {
            "budget": ["The worst case of one turn is $4.00, the budget of this plan $3.999: it would never "
                       "start. Give a higher budget, or none."]
        }  # fmt: skip
    with translation.override("zh-hans"), pytest.raises(ValidationError) as refused:
        made(place, "3")
    assert refused.value.messages == [
        "每次运行的最坏情况为 $4.00，而本计划的预算为 $3.00：它永远不会启动。请提高预算，或不填预算。"
    ]
    assert not LaunchPlan.objects.exists()
    assert made(place, "4").cost_high == Decimal(4)


def test_where_the_worst_case_is_not_known_no_budget_is_held() -> None:
    with pytest.raises(ValidationError) as refused:
        made(own(), "100")
    assert refused.value.message_dict == {
        "budget": ["What it costs in the worst case is not known: no budget can be held. Leave it out."]
    }


@pytest.mark.parametrize(("budget", "starts"), [("0.2999", False), ("0.3", True)])
def test_what_is_refused_is_what_the_guards_stop(budget: str, starts: bool) -> None:
    """The worst case of `approved` is 0.3; of three machines each has a third of both."""
    row = approved(budget=Decimal(budget), count=3)
    stop = stop_of(launch(row), now=NOW)
    assert (stop is None) is starts
    assert (own_budget_fault(row) == "") is starts
    if stop is not None:
        assert stop.code == "plan_budget"


def test_a_plan_kept_before_is_not_approved_by_anybody() -> None:
    row = plan(state=PlanState.REQUESTED, budget=Decimal("0.2"), valid_until=NOW + timedelta(days=7))
    LaunchRule.objects.create(organisation=row.organisation, limit=Decimal(5), currency="USD", made_by="test")
    assert plan_by_rule(row, now=NOW) is False
    with pytest.raises(ValidationError) as refused:
        plan_approve(plan=row, membership=member(Role.ADMIN), now=NOW)
    assert list(refused.value.message_dict) == ["budget"]
    row.refresh_from_db()
    assert (row.state, row.approvals.count()) == (PlanState.REQUESTED, 0)


def test_a_yes_above_the_budget_of_the_plan_would_not_start_it() -> None:
    row = approved(budget=Decimal("0.4"))
    one = launch(row, why="above_plan", asked_high=Decimal("0.5"))
    with pytest.raises(ValidationError) as refused:
        launch_raise(launch=one, membership=member(Role.FINANCE), high=Decimal("0.5"), now=timezone.now())
    assert refused.value.message_dict == {
        "budget": ["The plan's own budget is $0.40, and it needs up to $0.50: a yes would not start it. "
                   "Cancel it and make a plan with a higher budget."]
    }  # fmt: skip
    assert one.yeses.count() == 0
