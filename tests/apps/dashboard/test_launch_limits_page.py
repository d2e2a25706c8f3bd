"""Targets, limits, budgets and rules on their page: by role, with a tick, audited; a plan's dry run."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import AuditEntry, Organisation, Team
from apps.accounts.roles import Role
from apps.launches.models import LaunchBudget, LaunchGrant, LaunchGuard, LaunchRule, LaunchTarget, PlanState
from finops.frames.launches import Trial, Tried
from tests.apps.dashboard.test_launch_pages import signed_in
from tests.support.launches import approved, launch, plan, target

pytestmark = pytest.mark.django_db
PAGE = "/launches/limits/"
SURE = {"sure": "on"}
TARGET = {
    "name": "cloud", "executor": "aws", "account": "111122223333", "role": "arn:aws:iam::111122223333:role/x",
    "settings": '{"images": {"us-east-1": "ami-1"}}', "active": "on",
}  # fmt: skip
GUARD = {"max_instances": "7", "max_price": "0.5", "currency": "USD", "regions": "us-east-1, eu-central-1"}


def counts() -> tuple[int, ...]:
    models = (LaunchTarget, LaunchBudget, LaunchRule, AuditEntry)
    return *(one.objects.count() for one in models), LaunchGuard.objects.exclude(max_instances=None).count()


def test_an_admin_names_a_target_and_changes_it() -> None:
    client = signed_in(Role.ADMIN)
    answer = client.post(f"{PAGE}target/", TARGET | SURE)
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    row = LaunchTarget.objects.get()
    assert (row.name, row.credentials, row.settings) == (
        "cloud", "arn:aws:iam::111122223333:role/x", {"images": {"us-east-1": "ami-1"}},
    )  # fmt: skip
    LaunchTarget.objects.update(external_id="x-74-secret")
    page = client.get(f"{PAGE}?change=cloud").content.decode()
    assert 'value="111122223333"' in page
    assert "x-74-secret" not in page
    client.post(f"{PAGE}target/", TARGET | SURE | {"max_instances": "3"})
    row.refresh_from_db()
    assert (row.max_instances, row.external_id) == (3, "x-74-secret")
    assert AuditEntry.objects.filter(action="launch_target.save").count() == 2


def test_limits_budgets_and_rules_are_kept() -> None:
    organisation = Organisation.default()
    team = Team.objects.create(organisation=organisation, name="ML", slug="ml")
    client = signed_in(Role.ADMIN)
    client.post(f"{PAGE}guard/", GUARD | SURE)
    guard = LaunchGuard.objects.get()
    assert (guard.max_instances, guard.max_price, guard.regions) == (
        7, Decimal("0.5"), ["eu-central-1", "us-east-1"],
    )  # fmt: skip
    client.post(f"{PAGE}budget/", {"team": "ml", "monthly": "100", "currency": "USD"} | SURE)
    assert LaunchBudget.objects.get().team == team
    client.post(f"{PAGE}rule/", {"team": "ml", "workload": "", "limit": "5", "currency": "USD"} | SURE)
    rule = LaunchRule.objects.get()
    assert (rule.team, rule.limit, rule.active) == (team, Decimal("5"), True)
    page = client.get(PAGE).content.decode()
    for words in ("eu-central-1, us-east-1", "ML", "$100.00", "$5.00"):
        assert words in page
    client.post(f"{PAGE}budget/", {"team": "ml", "monthly": "", "currency": ""} | SURE)
    assert not LaunchBudget.objects.exists()
    client.post(f"{PAGE}rule/{rule.pk}/end/")
    rule.refresh_from_db()
    assert not rule.active
    actions = list(AuditEntry.objects.filter(action__startswith="launch_").values_list("action", flat=True))
    assert sorted(actions) == [
        "launch_budget.remove", "launch_budget.save", "launch_guard.save", "launch_rule.create",
        "launch_rule.off",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("target/", TARGET),
        ("target/", TARGET | SURE | {"role": ""}),  # the installation's own credentials
        ("target/", TARGET | SURE | {"settings": "[1]"}),
        ("target/", TARGET | SURE | {"settings": "{"}),
        ("target/", TARGET | SURE | {"account": "1"}),
        ("target/", TARGET | SURE | {"name": "a\x00b"}),
        ("guard/", GUARD),
        ("guard/", GUARD | SURE | {"max_price": "-1"}),
        ("guard/", GUARD | SURE | {"currency": ""}),
        ("guard/", GUARD | SURE | {"max_price": "NaN"}),
        ("guard/", GUARD | SURE | {"regions": "us-east-1, <b>anywhere</b>"}),
        ("budget/", {"monthly": "5", "currency": "USD"}),
        ("budget/", {"monthly": "5", "currency": ""} | SURE),
        ("budget/", {"monthly": "5", "currency": "USD", "team": "nobody"} | SURE),
        ("rule/", {"limit": "5", "currency": "USD"}),
        ("rule/", {"limit": "0", "currency": "USD"} | SURE),
        ("rule/", {"limit": "5", "currency": "USD", "workload": "99"} | SURE),
    ],
)
def test_what_is_not_sure_or_wrong_is_refused(address: str, body: dict[str, Any]) -> None:
    client, before = signed_in(Role.ADMIN), counts()
    answer = client.post(f"{PAGE}{address}", body)
    assert answer.status_code == 422
    assert 'class="error"' in answer.content.decode() or "form-errors" in answer.content.decode()
    assert counts() == before


def test_a_currency_that_is_none_is_told_in_words() -> None:
    answer = signed_in(Role.ADMIN).post(f"{PAGE}budget/", {"monthly": "5", "currency": "XXQ"} | SURE)
    assert "Not a currency: write three letters, for example USD." in answer.content.decode()


@pytest.mark.parametrize(
    ("role", "allowed"),
    [(Role.VIEWER, set()), (Role.ENGINEER, set()), (Role.FINANCE, {"budget/", "rule/"})],
)
def test_each_role_changes_its_own(role: Role, allowed: set[str]) -> None:
    client, before = signed_in(role), counts()
    bodies: dict[str, dict[str, str]] = {
        "target/": TARGET, "guard/": GUARD, "budget/": {"monthly": "5", "currency": "USD"},
        "rule/": {"limit": "5", "currency": "USD"},
    }  # fmt: skip
    for address, body in bodies.items():
        answer = client.post(f"{PAGE}{address}", body | SURE)
        assert answer.status_code == (302 if address in allowed else 403), address
    if not allowed:
        assert counts() == before
    page = client.get(PAGE).content.decode()
    assert ("Keep this target" in page, "Let this rule approve" in page) == (False, bool(allowed))


def test_another_organisation_sees_and_ends_nothing() -> None:
    rule = LaunchRule.objects.create(
        organisation=Organisation.default(), limit=Decimal("5"), currency="USD", made_by="us"
    )
    target(name="ours")
    client = signed_in(Role.ADMIN, Organisation.objects.create(name="Other", slug="other"))
    assert "ours" not in client.get(PAGE).content.decode()
    assert client.post(f"{PAGE}rule/{rule.pk}/end/").status_code == 404
    rule.refresh_from_db()
    assert rule.active
    # A grant of one organisation is nobody else's.
    assert LaunchGrant.objects.exists()
    assert client.post(f"{PAGE}target/", TARGET | SURE | {"role": ""}).status_code == 422


class Place:
    def __init__(self, answer: Tried) -> None:
        self.answer, self.calls = answer, 0

    def tried(self, call: Any, *, now: Any) -> Tried:
        self.calls += 1
        return self.answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Tried(Trial.ALLOWED), "would be taken"),
        (Tried(Trial.PERMISSION, "UnauthorizedOperation", "no"), "The role may not send this call."),
        (Tried(Trial.QUOTA, "VcpuLimitExceeded", "no"), "A limit of the account forbids this call."),
    ],
    ids=["allowed", "permission", "quota"],
)
def test_a_plan_shows_what_the_place_said_to_its_call(
    monkeypatch: pytest.MonkeyPatch, answer: Tried, words: str
) -> None:
    made, place = plan(target(), state=PlanState.REQUESTED), Place(answer)
    monkeypatch.setattr("apps.launches.services.trials.executor_of", lambda *_: place)
    client = signed_in(Role.ENGINEER)
    assert client.post(f"/launches/plans/{made.pk}/try/").status_code == 302
    made.refresh_from_db()
    assert made.trial is not None
    assert (made.trial["verdict"], made.trial["place"], place.calls) == (answer.verdict, "us-east-1a", 1)
    page = client.get(f"/launches/plans/{made.pk}/").content.decode()
    assert words in page
    assert AuditEntry.objects.filter(action="launch_plan.try").count() == 1
    assert not made.launches.exists()


def test_a_viewer_tries_nothing() -> None:
    made = plan(target(), state=PlanState.REQUESTED)
    assert signed_in(Role.VIEWER).post(f"/launches/plans/{made.pk}/try/").status_code == 403
    made.refresh_from_db()
    assert made.trial is None


def test_finance_raises_what_a_launch_asks_for_on_its_page() -> None:
    one = launch(approved(), why="above_plan", asked_high=Decimal("0.925"), due_at=timezone.now())
    finance, viewer = signed_in(Role.FINANCE), signed_in(Role.VIEWER)
    address = f"/launches/{one.pk}/"
    assert "Approve up to $0.93" in finance.get(address).content.decode()
    assert "Approve up to" not in viewer.get(address).content.decode()
    assert viewer.post(f"{address}raise/", {"high": "0.925"}).status_code == 403
    for given, fault in (({}, "Amount: This field is required."), ({"high": "x"}, "Amount: Enter a number.")):
        answer = finance.post(f"{address}raise/", given)
        assert answer.status_code == 422
        assert f'role="alert">{fault}</div>' in answer.content.decode()
    by_rest = finance.post(f"/api/v1/launches/{one.pk}/raise", "{}", content_type="application/json")
    assert by_rest.status_code == 400
    assert [found["field"] for found in by_rest.json()["error"]["fields"]] == ["high"]
    finance.post(f"{address}raise/", {"high": "0.9"})
    one.refresh_from_db()
    assert one.approved_high is None
    finance.post(f"{address}raise/", {"high": "0.925"})
    one.refresh_from_db()
    assert (one.approved_high, one.asked_high) == (Decimal("0.925"), None)
