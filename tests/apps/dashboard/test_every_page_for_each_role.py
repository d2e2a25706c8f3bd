"""Every page with every role, with nobody and from another organisation: the table of roles holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, Team, User
from apps.accounts.roles import ROLE_ACTIONS, Action, Role
from apps.accounts.services import api_key_create
from apps.api import urls as api
from apps.billing.models import Budget, BudgetScope, SavedView
from apps.costchecks.models import CheckPolicy, CostCheck
from apps.costchecks.services import Question, cost_check_make
from apps.dashboard import urls
from apps.ingest.models import Feed, FeedKind, IngestRun
from apps.recommendations.models import DealRule
from tests.support.plans import plan

pytestmark = pytest.mark.django_db
SignIn = Callable[..., Client]
NOWHERE = 999_999
PARAMETER = re.compile(r"<(?:int|id):(\w+)>")
WORD = re.compile(r"<(?:slug|str):\w+>")
# Pages that need a sign-in and no role: the first page, which leads on, and light or dark.
ANY_MEMBER = {"home", "appearance"}


def pages() -> Iterator[tuple[str, str, Action | None]]:
    """(name, address of something that is not there, the action that its view asks for)."""
    for pattern in urls.urlpatterns:
        needed = getattr(pattern.callback, "required_action", None)
        address = "/" + WORD.sub("nowhere", PARAMETER.sub(str(NOWHERE), str(pattern.pattern)))
        yield str(pattern.name), address, needed


def status(client: Client, address: str) -> int:
    """Of a GET, of a POST where the page takes only that."""
    code: int = client.get(address).status_code
    return client.post(address).status_code if code == 405 else code


def test_every_page_says_which_action_it_needs() -> None:
    assert {name for name, _address, needed in pages() if needed is None} == ANY_MEMBER


@pytest.mark.parametrize("role", list(Role))
def test_a_role_sees_what_its_actions_say_and_nothing_else(
    role: Role, sign_in: SignIn, empty_lake: object
) -> None:
    browser, tried = sign_in(role.value), 0
    for name, address, needed in pages():
        got = status(browser, address)
        may = needed is None or needed in ROLE_ACTIONS[role]
        assert (got != 403) == may, (role, name, got)
        assert got < 500, (name, got)
        tried += 1
    assert tried > 100


def test_nobody_without_an_account_sees_anything(db: None) -> None:
    for name, address, _needed in pages():
        browser = Client()
        for response in (browser.get(address), browser.post(address)):
            told = response.status_code, response.get("Location", "")[:22]
            assert told in ((302, "/accounts/login/?next="), (405, "")), (name, told)


def test_somebody_without_an_organisation_sees_nothing(db: None) -> None:
    browser = Client()
    browser.force_login(User.objects.create_user("stray@example.test", "correct horse battery"))
    for name, address, needed in pages():
        if needed is not None:
            assert status(browser, address) == 403, name


Rows = dict[str, Any]


@pytest.fixture
def theirs(db: None) -> Rows:
    """A row of another organisation for each of these parameters of addresses."""
    other = Organisation.objects.create(name="Other", slug="other")
    owner = User.objects.create_user("theirs@example.test", "correct horse battery")
    member = Membership.objects.create(user=owner, organisation=other, role="admin")
    Team.objects.create(organisation=other, name="Theirs", slug="theirs")
    feed = Feed.objects.create(
        organisation=other, name="theirs", provider="aws", kind=FeedKind.BILLS, regions=["us-east-1"],
        bucket="theirs", interval=timedelta(hours=6),
    )  # fmt: skip
    key, _token = api_key_create(
        organisation=other, actor=Actor.system("t"), name="x", scopes=["read:audit"], now=timezone.now()
    )
    return {
        "feed_id": feed,
        "member_id": member,
        "key_id": key,
        "view_id": SavedView.objects.create(organisation=other, owner=owner, name="x", query="by=team"),
        "budget_id": Budget.objects.create(
            organisation=other, name="x", scope=BudgetScope.ORGANISATION, amount=Decimal(1), currency="USD",
            period="month", basis="amortised", valid_from=date(2026, 1, 1),
        ),
        "rule_id": DealRule.objects.create(organisation=other, name="x", min_saving_pct=1),
        "check_id": cost_check_make(
            organisation=other, question=Question(plan()), at=datetime(2026, 11, 30, tzinfo=UTC)
        ),
        "policy_id": CheckPolicy.objects.create(
            organisation=other, kind="all_priced", rule={"kind": "all_priced", "level": "deny"}
        ),
    }  # fmt: skip


def named(patterns: Any, rows: Rows, prefix: str) -> Iterator[tuple[Any, str, Any]]:
    """(pattern, address of the other organisation's row, the row)."""
    for pattern in patterns:
        route = str(pattern.pattern)
        found = PARAMETER.findall(route)
        if len(found) == 1 and found[0] in rows and not WORD.search(route):
            yield pattern, prefix + PARAMETER.sub(str(rows[found[0]].pk), route), rows[found[0]]


def unchanged(row: Any, before: dict[str, Any]) -> None:
    row.refresh_from_db()
    assert {name: getattr(row, name) for name in before} == before, row


def test_rows_of_another_organisation_are_not_there_by_page_or_api(sign_in: SignIn, theirs: Rows) -> None:
    browser = sign_in("admin")
    before = {
        name: {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
        for name, row in theirs.items()
    }
    seen: set[str] = set()
    for pattern, address, _row in named(urls.urlpatterns, theirs, "/"):
        assert status(browser, address) == 404, (pattern.name, address)
        seen |= set(PARAMETER.findall(str(pattern.pattern)))
    for pattern, address, _row in named(api.urlpatterns, theirs, "/api/v1/"):
        for method in pattern.callback.cls.endpoints:
            body = "" if method in ("GET", "DELETE") else "{}"
            got = browser.generic(method, address, body, content_type="application/json").status_code
            # A body that is refused before the row is looked for tells nothing of the row.
            assert got in ((404,) if method in ("GET", "DELETE") else (404, 400)), (method, address, got)
        seen |= set(PARAMETER.findall(str(pattern.pattern)))
    assert seen == set(theirs)
    for name, row in theirs.items():
        unchanged(row, before[name])
    for model in (Budget, CostCheck, SavedView, DealRule):
        assert model._default_manager.count() == 1
    assert not IngestRun.objects.exists()
