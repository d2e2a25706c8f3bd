"""Every endpoint with every role and every single scope: what the tables of roles say is what happens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import ROLE_ACTIONS, Action, Role, Scope
from apps.api import urls
from apps.api.endpoint import Endpoint
from apps.api.views.device_work import DeviceView
from apps.api.views.machines import MachineView
from apps.billing.models import SavedView
from apps.dashboard import urls as pages
from apps.ingest.models import Feed, FeedKind

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]
NOWHERE = 999_999


@pytest.fixture(autouse=True)
def _no_limit(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.API_THROTTLE_PER_MINUTE = 1_000_000


def endpoints() -> Iterator[tuple[str, str, Endpoint]]:
    """(method, address of something that is not there, declaration)."""
    for pattern in urls.urlpatterns:
        view = getattr(pattern.callback, "cls", None)
        # Machines of a launch and devices have no role: who may there is looked at in tests of their own.
        if view is not None and not issubclass(view, MachineView | DeviceView):
            address = "/api/v1/" + re.sub(r"<id:\w+>", str(NOWHERE), str(pattern.pattern))
            for method, endpoint in view.endpoints.items():
                yield method, address, endpoint


def status(client: Client, method: str, address: str) -> int:
    body = None if method in ("GET", "DELETE") else {}
    code: int = client.generic(
        method, address, "" if body is None else "{}", content_type="application/json"
    ).status_code
    return code


@pytest.mark.parametrize("role", list(Role))
def test_a_role_may_what_its_actions_say_and_nothing_else(role: Role, sign_in: Make) -> None:
    client, tried = sign_in(role.value), 0
    for method, address, endpoint in endpoints():
        got = status(client, method, address)
        may = endpoint.action in ROLE_ACTIONS[role]
        assert (got != 403) == may, (role, method, address, got)
        assert got < 500, (method, address, got)
        tried += 1
    assert tried > 60


@pytest.mark.parametrize("scope", list(Scope))
def test_a_key_may_what_its_scope_says_and_nothing_else(scope: Scope, with_key: Make) -> None:
    client = with_key(scope)
    for method, address, endpoint in endpoints():
        got = status(client, method, address)
        may = endpoint.scope in ("any", scope)
        assert (got != 403) == may, (scope, method, address, got)
        assert got < 500, (method, address, got)


def test_nobody_without_an_account_gets_anything() -> None:
    for method, address, _endpoint in endpoints():
        assert status(Client(), method, address) == 401, (method, address)


# What a page about bills can change, and where REST changes it; the verb `call` reaches each of these.
BY_REST = {
    "budget-keep": ("POST", "budgets"),
    "budget-remove": ("DELETE", "budget"),
    "anomaly-snooze": ("POST", "anomaly-snooze"),
    "anomaly-close": ("POST", "anomaly-close"),
    "anomaly-reopen": ("POST", "anomaly-reopen"),
    "allocation-try": ("POST", "allocation-dry-run"),
    "allocation-keep": ("POST", "allocation-rules"),
    "allocation-remove": ("DELETE", "allocation-rule"),
    "allocation-team": ("POST", "teams"),
    "spend-view-keep": ("POST", "spend-views"),
    "spend-view-remove": ("DELETE", "spend-view"),
    "bill-feed-add": ("POST", "bill-feeds"),
    "bill-feed-ask": ("POST", "feed-collect"),
    "bill-feed-check": ("POST", "feed-check"),
    "invoice-total": ("PUT", "delivery-invoice"),
    "account-names-load": ("POST", "account-names-import"),
    "account-names-ask": ("POST", "feed-names"),
    "rate-enter": ("POST", "rates"),
    "rates-load": ("POST", "rates-import"),
    "rate-change": ("PATCH", "rate"),
    "exchange-enter": ("POST", "exchange-rates"),
    "exchange-load": ("POST", "exchange-rates-import"),
    "exchange-drop": ("DELETE", "exchange-rate"),
    "feed-add": ("POST", "price-feeds"),
    "feed-switch": ("PATCH", "feed"),
}
AREAS = ("budgets", "anomalies", "allocation", "spend", "connect", "bill_tables", "bill_changes", "tags")


def test_what_a_page_about_bills_changes_rest_changes_too() -> None:
    declared = {
        pattern.name: pattern.callback.cls.endpoints
        for pattern in urls.urlpatterns
        if hasattr(pattern.callback, "cls")
    }
    changing = {
        pattern.name
        for pattern in pages.urlpatterns
        if pattern.callback.__module__.rpartition(".")[2] in AREAS
        and Client(enforce_csrf_checks=False).get(f"/{_filled(str(pattern.pattern))}").status_code == 405
    }
    assert changing - set(BY_REST) == set()
    for page, (method, name) in BY_REST.items():
        assert method in declared[name], page


def _filled(route: str) -> str:
    return re.sub(r"<int:\w+>", str(NOWHERE), route)


def test_another_organisation_is_not_there(sign_in: Make, organisation: Organisation) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    feed = Feed.objects.create(
        organisation=other, name="theirs", provider="aws", kind=FeedKind.BILLS, regions=["us-east-1"],
        bucket="theirs", interval="06:00:00",
    )  # fmt: skip
    owner = User.objects.create_user("theirs@example.test", "correct horse battery")
    Membership.objects.create(user=owner, organisation=other, role="admin")
    view = SavedView.objects.create(organisation=other, owner=owner, name="theirs", query="by=team")
    client = sign_in("admin")
    assert client.get("/api/v1/feeds").json()["results"] == []
    for method, address in (
        ("GET", f"feeds/{feed.pk}"), ("PATCH", f"feeds/{feed.pk}"), ("POST", f"feeds/{feed.pk}/collect"),
        ("POST", f"feeds/{feed.pk}/check"), ("GET", f"feeds/{feed.pk}/deliveries"),
        ("POST", f"feeds/{feed.pk}/account-names"), ("DELETE", f"spend/views/{view.pk}"),
    ):  # fmt: skip
        body = '{"paused": true}' if method == "PATCH" else "{}" if method == "POST" else ""
        response = client.generic(method, f"/api/v1/{address}", body, content_type="application/json")
        assert response.status_code == 404, address
    feed.refresh_from_db()
    assert feed.state == "new"
    assert SavedView.objects.count() == 1


def test_every_action_is_somewhere() -> None:
    assert {action for actions in ROLE_ACTIONS.values() for action in actions} == set(Action)
