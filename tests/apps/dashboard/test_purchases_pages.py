"""Pages of purchases: asking, approving, trying, cancelling; who may what; both languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from tenacity import wait_none

from apps.accounts.models import Membership, Organisation, User
from apps.recommendations.models import BuyingAccount, Purchase, PurchaseState
from tests.apps.recommendations.test_purchases import ask, seen
from tests.support.purchase_server import ACCOUNT, Market, market

pytestmark = pytest.mark.django_db
OFFER = {
    "region": "us-east-1",
    "offer": "offer-1",
    "account": ACCOUNT,
    "quantity": "2",
    "limit": "",
    "reason": "",
}


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Market]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("finops.providers.aws.reserved_offers.BACK_OFF", wait_none())
    with market() as running:
        settings.AWS_ENDPOINT_URL = running.url
        yield running


@pytest.fixture(autouse=True)
def handed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Approved purchases go nowhere; what would be handed out is kept."""
    found: list[int] = []
    monkeypatch.setattr("apps.dashboard.views.purchases.recommendations_purchase_hand_out", found.append)
    return found


@pytest.fixture
def buyer(db: None) -> BuyingAccount:
    seen()
    return BuyingAccount.objects.create(organisation=Organisation.default(), provider="aws", account=ACCOUNT)


def signed(role: str, language: str = "en") -> Client:
    user = User.objects.create_user(f"{role}@example.com", "long-enough-word", language=language)
    Membership.objects.create(user=user, organisation=Organisation.default(), role=role)
    client = Client()
    client.force_login(user)
    return client


def text_of(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def asked(buyer: BuyingAccount) -> Purchase:
    return ask(Organisation.default(), buyer)


def test_with_nothing_set_up_it_says_that_nothing_can_be_spent() -> None:
    text = text_of(signed("viewer").get("/deals/purchases/"))
    assert "Nothing has been bought here yet" in text
    assert "An admin names one." in text
    assert "Keep this account" not in text


def test_an_admin_names_an_account_and_switches_it_off() -> None:
    admin = signed("admin")
    answer = admin.post("/deals/purchases/accounts/", {"account": "12", "active": "on"})
    assert (answer.status_code, BuyingAccount.objects.count()) == (422, 0)
    assert admin.post("/deals/purchases/accounts/", {"account": ACCOUNT, "active": "on"}).status_code == 302
    assert BuyingAccount.objects.get().active
    assert "ec2:PurchaseReservedInstancesOffering" in text_of(admin.get("/deals/purchases/"))
    admin.post("/deals/purchases/accounts/", {"account": ACCOUNT})
    assert not BuyingAccount.objects.get().active


def test_an_engineer_asks_and_finance_approves(buyer: BuyingAccount, handed: list[int]) -> None:
    engineer, finance = signed("engineer"), signed("finance")
    form = text_of(engineer.get("/deals/purchases/ask/?region=us-east-1&offer=offer-1"))
    assert "Ask to buy m5.large" in form
    answer = engineer.post("/deals/purchases/ask/", {**OFFER, "quantity": "3"})
    assert (answer.status_code, "Only 2 were on offer when last seen." in text_of(answer)) == (422, True)
    answer = engineer.post("/deals/purchases/ask/", OFFER)
    row = Purchase.objects.get()
    assert answer.url == f"/deals/purchases/{row.pk}/"
    page = text_of(engineer.get(answer.url))
    assert "Approving needs the role finance or admin." in page
    assert "Approve $200.00" not in page
    assert '<span class="key">1</span> purchase waits for a person' in text_of(
        finance.get("/deals/purchases/")
    )
    assert "Approve $200.00" in text_of(finance.get(answer.url))
    assert engineer.post(f"{answer.url}approve/").status_code == 403
    assert (Purchase.objects.get().state, handed) == (PurchaseState.REQUESTED, [])
    finance.post(f"{answer.url}approve/")
    assert Purchase.objects.get().state == PurchaseState.APPROVED


def test_a_dry_run_on_the_page(shop: Market, buyer: BuyingAccount) -> None:
    row, finance = asked(buyer), signed("finance")
    finance.post(f"/deals/purchases/{row.pk}/try/")
    assert "it would cost $200.00 at once and the account may order" in text_of(
        finance.get(f"/deals/purchases/{row.pk}/")
    )
    assert shop.orders() == []


def test_cancelling_needs_a_reason(buyer: BuyingAccount) -> None:
    row, finance = asked(buyer), signed("finance")
    answer = finance.post(f"/deals/purchases/{row.pk}/cancel/", {"reason": ""})
    assert (answer.status_code, Purchase.objects.get().state) == (422, PurchaseState.REQUESTED)
    finance.post(f"/deals/purchases/{row.pk}/cancel/", {"reason": "<b>no</b>"})
    assert "&lt;b&gt;no&lt;/b&gt;" in text_of(finance.get(f"/deals/purchases/{row.pk}/"))


def test_an_unknown_outcome_is_settled_by_a_word(buyer: BuyingAccount) -> None:
    row, finance = asked(buyer), signed("finance", language="zh-hans")
    told = "The worker ended while it ordered: the order may have been carried out."
    Purchase.objects.update(state=PurchaseState.UNKNOWN, claimed_at=timezone.now(), message=told)
    assert "订单可能已执行" in text_of(finance.get(f"/deals/purchases/{row.pk}/"))
    finance.post(f"/deals/purchases/{row.pk}/settle/", {"reason": "seen", "reservations": "r-1, r-2"})
    row.refresh_from_db()
    assert (row.state, row.reservations) == (PurchaseState.PAYING, ["r-1", "r-2"])


def test_another_organisations_purchase_is_not_found(buyer: BuyingAccount) -> None:
    row = asked(buyer)
    other = Organisation.objects.create(name="Other", slug="other")
    user = User.objects.create_user("them@example.com", "long-enough-word")
    Membership.objects.create(user=user, organisation=other, role="admin")
    client = Client()
    client.force_login(user)
    assert client.get(f"/deals/purchases/{row.pk}/").status_code == 404
    for verb in ("approve", "try", "cancel", "settle"):
        data = {"reason": "x", "reservations": ""}
        assert client.post(f"/deals/purchases/{row.pk}/{verb}/", data).status_code == 404
    assert Purchase.objects.get().state == PurchaseState.REQUESTED
