"""Purchases by REST: keys ask, people approve, the states are kept, organisations do not see each other's."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from tenacity import wait_none

from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.recommendations.models import BuyingAccount, Purchase
from tests.apps.recommendations.test_purchases import seen
from tests.support.purchase_server import ACCOUNT, Market, market

pytestmark = pytest.mark.django_db
BODY = {"account": ACCOUNT, "region": "us-east-1", "offer": "offer-1", "quantity": 2}
Signed = Callable[..., Client]


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Market]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("finops.providers.aws.reserved_offers.BACK_OFF", wait_none())
    with market() as running:
        settings.AWS_ENDPOINT_URL = running.url
        yield running


@pytest.fixture(autouse=True)
def _offer() -> None:
    BuyingAccount.objects.create(organisation=Organisation.default(), provider="aws", account=ACCOUNT)
    seen()


def signed(role: str, organisation: Organisation | None = None) -> Client:
    where = organisation or Organisation.default()
    user = User.objects.create_user(f"{role}@{where.slug}.example", "long-enough-word")
    Membership.objects.create(user=user, organisation=where, role=role)
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, address: str, body: dict[str, Any] | None = None) -> Any:
    return client.post(f"/api/v1/{address}", json.dumps(body or {}), content_type="application/json")


def ask(client: Client | None = None, **more: Any) -> int:
    answer = post(client or signed("engineer"), "purchases", {**BODY, **more})
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


def test_an_engineer_asks_finance_approves_and_it_is_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[int] = []
    monkeypatch.setattr("apps.api.views.purchases.recommendations_purchase_hand_out", handed.append)
    number = ask(reason="steady use")
    finance = signed("finance")
    answer = post(finance, f"purchases/{number}/approve").json()
    assert (answer["state"], answer["committed"], answer["limit"], answer["approvals_needed"]) == (
        "approved", "200", "200", 1,
    )  # fmt: skip
    assert [(one["by"], one["role"]) for one in answer["approvals"]] == [
        ("finance@default.example", "finance")
    ]
    assert finance.get(f"/api/v1/purchases/{number}").json() == answer
    listed = finance.get("/api/v1/purchases?state=approved").json()
    assert (listed["count"], listed["results"][0]["id"]) == (1, number)


@pytest.mark.parametrize(
    ("role", "address", "body", "status"),
    [
        ("viewer", "purchases", BODY, 403),
        ("viewer", "purchases/{n}/dry-run", {}, 403),
        ("viewer", "purchases/{n}/cancel", {"reason": "no"}, 403),
        ("engineer", "purchases/{n}/approve", {}, 403),
        ("engineer", "purchases/{n}/resolve", {"reason": "no", "reservations": []}, 403),
        ("finance", "buying-accounts", {"account": ACCOUNT}, 403),
        ("finance", "purchases/{n}/resolve", {"reason": "no", "reservations": []}, 409),
        ("finance", "purchases", {**BODY, "quantity": 3}, 400),
        ("finance", "purchases", {**BODY, "account": "000000000000"}, 400),
        ("finance", "purchases", {**BODY, "recommendation": 99}, 400),
        ("admin", "buying-accounts", {"account": "12"}, 400),
        ("admin", "buying-accounts", {"account": ACCOUNT, "role": "arn:aws:iam::999988887777:role/x"}, 400),
    ],
)
def test_what_is_not_allowed_or_makes_no_sense_changes_nothing(
    role: str, address: str, body: dict[str, Any], status: int
) -> None:
    number = ask(signed("admin", None) if role != "admin" else signed("engineer"))
    before = Purchase.objects.values().get(pk=number)
    answer = post(signed(role), address.format(n=number), body)
    assert answer.status_code == status, answer.content
    assert Purchase.objects.values().get() == before
    assert BuyingAccount.objects.count() == 1


def test_another_organisation_finds_nothing() -> None:
    number = ask()
    other = Organisation.objects.create(name="Other", slug="other")
    admin = signed("admin", other)
    assert admin.get("/api/v1/purchases").json()["count"] == 0
    assert admin.get("/api/v1/buying-accounts").json()["count"] == 0
    assert admin.get(f"/api/v1/purchases/{number}").status_code == 404
    for verb in ("approve", "dry-run"):
        assert post(admin, f"purchases/{number}/{verb}").status_code == 404
    answer = post(admin, "buying-accounts", {"account": ACCOUNT})
    assert (answer.status_code, BuyingAccount.objects.get().organisation.slug) == (400, "default")


def test_a_dry_run_by_rest_and_by_verb(shop: Market) -> None:
    number = ask()
    trial = post(signed("finance"), f"purchases/{number}/dry-run").json()["dry_run"]
    assert (trial["once"], trial["allowed"]) == ("200", True)
    out = io.StringIO()
    call_command("purchases", str(number), "--dry-run", "--json", stdout=out)
    [told] = json.loads(out.getvalue())["purchases"]
    assert (told["dry_run"]["allowed"], told["state"], shop.orders()) == (True, "requested", [])


def test_the_freeze_switch_is_an_admins_and_audited() -> None:
    admin = signed("admin")
    answer = post(admin, "buying-accounts", {"account": ACCOUNT, "active": False}).json()
    assert (answer["active"], BuyingAccount.objects.get().active) == (False, False)
    entry = AuditEntry.objects.get(action="buying_account.save")
    assert (entry.before["active"], entry.after["active"]) == (True, False)


def test_a_cancelled_one_cannot_be_approved() -> None:
    number, finance = ask(), signed("finance")
    assert post(finance, f"purchases/{number}/cancel", {"reason": "not now"}).json()["state"] == "cancelled"
    answer = post(finance, f"purchases/{number}/approve")
    assert (answer.status_code, b"cancelled" in answer.content) == (409, True)
