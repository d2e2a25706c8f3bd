"""Plans, limits and rules of odd words: refused by field, nothing is kept."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.catalog.models import Pool
from apps.launches.models import LaunchBudget, LaunchPlan, LaunchRule
from apps.launches.services.planning import Wish, plan_draft, plan_make
from apps.launches.services.switches import budget_save, guard_save, rule_save, target_save
from finops.engine.workload import WorkloadError
from tests.support.launches import target

pytestmark = pytest.mark.django_db
ACTOR = Actor.system("test")


def wish(**changes: Any) -> Wish:
    """Two hours on servers of one's own."""
    organisation = Organisation.default()
    Pool.objects.get_or_create(
        organisation=organisation, name="rack",
        defaults={"kind": "own", "power": Decimal(1), "wear": Decimal(0), "currency": "USD"},
    )  # fmt: skip
    place = organisation.launch_targets.filter(name="own").first() or target(
        name="own", executor="celery", settings={"pool": "rack", "price": "1", "currency": "USD"}
    )
    question = {"hours": 2.0, **changes.pop("question", {})}
    job = {"command": "true", **changes.pop("job", {})}
    return Wish(target=place, name="Nightly", question=question, job=job, **changes)


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({"hours": -1.0}, "hours"),
        ({"hours": float("nan")}, "hours"),
        ({"hours": 1e308}, "hours"),
        ({"slack_hours": 1e30}, "slack_hours"),
        ({"slack_hours": -1.0}, "slack_hours"),
        ({"checkpoint_minutes": 0.0}, "checkpoint_minutes"),
        ({"restart_minutes": 1e9}, "restart_minutes"),
        ({"interruptible": False, "splittable": True}, "splittable"),
    ],
    ids=["negative", "nan", "long", "slack", "no-slack", "checkpoint", "restart", "pieces"],
)
def test_work_on_own_machines_has_the_limits_of_all_work(question: dict[str, Any], field: str) -> None:
    with pytest.raises(WorkloadError) as refused:
        plan_make(
            organisation=Organisation.default(), actor=ACTOR, wish=wish(question=question),
            now=timezone.now(),
        )  # fmt: skip
    assert refused.value.field == field
    assert LaunchPlan.objects.count() == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"question": {"count": 0}}, "count"),
        ({"question": {"count": -1}}, "count"),
        ({"question": {"count": 2**63}}, "count"),
        ({"start": timedelta(days=-300)}, "start"),
        ({"start": timedelta(days=365 * 1000)}, "start"),
        ({"budget": Decimal(2**63)}, "budget"),
        ({"job": {"max_price": "0"}}, "max_price"),
        ({"job": {"max_price": "-1"}}, "max_price"),
        ({"start_minutes": 0}, "start_minutes"),
    ],
    ids=["none", "negative", "many", "past", "far", "budget", "free", "below", "at-once"],
)
def test_a_plan_that_cannot_be_is_refused_by_field(changes: dict[str, Any], field: str) -> None:
    now = timezone.now()
    given = {key: now + value if isinstance(value, timedelta) else value for key, value in changes.items()}
    with pytest.raises(ValidationError) as refused:
        plan_make(organisation=Organisation.default(), actor=ACTOR, wish=wish(**given), now=now)
    assert list(refused.value.message_dict) == [field]
    assert LaunchPlan.objects.count() == 0


def test_amounts_that_no_column_holds_are_refused() -> None:
    organisation, huge = Organisation.default(), Decimal(10) ** 14
    for call in (
        lambda: guard_save(organisation=organisation, actor=ACTOR, max_price=huge, currency="USD"),
        lambda: budget_save(organisation=organisation, actor=ACTOR, team=None, monthly=huge, currency="USD"),
        lambda: rule_save(organisation=organisation, actor=ACTOR, limit=huge, currency="USD"),
    ):
        with pytest.raises(ValidationError):
            call()
    assert LaunchBudget.objects.count() == LaunchRule.objects.count() == 0


def test_a_key_with_other_work_is_not_answered_by_the_former_plan() -> None:
    organisation, now = Organisation.default(), timezone.now()
    first = plan_make(organisation=organisation, actor=ACTOR, wish=wish(request_key="k"), now=now)
    again = plan_make(organisation=organisation, actor=ACTOR, wish=wish(request_key="k"), now=now)
    assert again.pk == first.pk
    for other in ({"question": {"hours": 200.0}}, {"job": {"command": "false"}}):
        with pytest.raises(ValidationError) as refused:
            plan_make(organisation=organisation, actor=ACTOR, wish=wish(request_key="k", **other), now=now)
        assert list(refused.value.message_dict) == ["state"]
    assert LaunchPlan.objects.count() == 1


def test_a_plan_of_today_is_as_before() -> None:
    made = plan_draft(
        organisation=Organisation.default(), actor=ACTOR, now=timezone.now(),
        wish=wish(question={"count": 3, "deadline": timezone.now() + timedelta(hours=9)}),
    )  # fmt: skip
    assert (made.cost_high, made.currency, made.count) == (Decimal(6), "USD", 3)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"price": "-1"}, "price"),
        ({"price": "NaN"}, "price"),
        ({"price": "cheap"}, "price"),
        ({"price": {"a": 1}}, "price"),
        ({"price": "1e30"}, "price"),
        ({"currency": ""}, "currency"),
        ({"currency": "dollars"}, "currency"),
    ],
    ids=["negative", "nan", "word", "object", "huge", "no-currency", "other-currency"],
)
def test_the_price_of_ones_own_place_is_an_amount(changes: dict[str, Any], field: str) -> None:
    """A negative or odd price would let any budget hold it, or break every plan."""
    organisation = Organisation.default()
    Pool.objects.create(
        organisation=organisation, name="rack", kind="own", power=Decimal(1), wear=Decimal(0), currency="USD"
    )
    settings = {"pool": "rack", "price": "1", "currency": "USD", **changes}
    with pytest.raises(ValidationError) as refused:
        target_save(
            organisation=organisation, actor=ACTOR, name="own",
            values={"executor": "celery", "settings": settings},
        )  # fmt: skip
    assert field in str(refused.value.message_dict["settings"])
    assert organisation.launch_targets.count() == 0
    target_save(
        organisation=organisation, actor=ACTOR, name="own",
        values={"executor": "celery", "settings": {"pool": "rack", "price": "0", "currency": "USD"}},
    )  # fmt: skip
    assert organisation.launch_targets.count() == 1
