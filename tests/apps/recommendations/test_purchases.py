"""Buying commitments: never without approval, within the limit, never twice, each step audited; against a
local EC2 that records every call and fails as a market does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.config import Config
from django.core.exceptions import ValidationError
from django.db import connection
from django.utils import timezone
from tenacity import wait_none

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.accounts.roles import Role
from apps.billing.models import SeenOffer
from apps.recommendations.models import BuyingAccount, Purchase, PurchaseState
from apps.recommendations.services import purchases
from apps.recommendations.services.purchase_clock import purchases_tick
from apps.recommendations.services.purchasing import purchase_run, purchase_trial
from finops.providers.base import TransientError
from tests.support.purchase_server import ACCOUNT, Listing, Market, market

State = PurchaseState
ASKER = Actor.system("ada")
MINUTES = timedelta(minutes=1)


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Market]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    monkeypatch.setattr("finops.providers.aws.reserved_offers.BACK_OFF", wait_none())
    short = Config(retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=2, read_timeout=1)
    monkeypatch.setattr("finops.providers.aws.reserved_purchases.client_config", lambda attempts: short)
    with market() as running:
        settings.AWS_ENDPOINT_URL = running.url
        yield running


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def buyer(organisation: Organisation) -> BuyingAccount:
    return BuyingAccount.objects.create(organisation=organisation, provider="aws", account=ACCOUNT)


def member(role: str, name: str = "", organisation: Organisation | None = None) -> Membership:
    email = f"{name or role}@example.com"
    user = User.objects.filter(email=email).first() or User.objects.create_user(email, "long-enough-word")
    return Membership.objects.create(
        user=user, organisation=organisation or Organisation.default(), role=role
    )


def seen(price: str = "100", count: int | None = 2, **more: Any) -> SeenOffer:
    now = timezone.now()
    return SeenOffer.objects.create(
        **{
            "provider": "aws", "offer": "offer-1", "kind": "second-hand", "region": "us-east-1",
            "platform": "Linux/UNIX", "tenancy": "default", "instance_type": "m5.large",
            "offering_class": "standard", "payment": "all-upfront", "duration_hours": Decimal(5840),
            "fixed": Decimal(price), "hourly": Decimal(0), "currency": "USD", "count": count,
            "first_seen_at": now, "seen_at": now, "source": "made up", **more,
        }
    )  # fmt: skip


def ask(organisation: Organisation, buyer: BuyingAccount, quantity: int = 2, **more: Any) -> Purchase:
    if not SeenOffer.objects.exists():
        seen()
    return purchases.purchase_request(
        organisation=organisation, actor=ASKER, buyer=buyer, region="us-east-1", offer="offer-1",
        quantity=quantity, now=timezone.now(), **more,
    )  # fmt: skip


def approved(organisation: Organisation, buyer: BuyingAccount, **more: Any) -> Purchase:
    row = ask(organisation, buyer, **more)
    finance = Membership.objects.filter(role=Role.FINANCE).first() or member(Role.FINANCE)
    return purchases.purchase_approve(purchase=row, membership=finance, now=timezone.now())


def run(row: Purchase, **later: float) -> str:
    return purchase_run(purchase_id=row.pk, now=timezone.now() + timedelta(**later))


def state(row: Purchase) -> str:
    row.refresh_from_db()
    return row.state


def test_an_approved_purchase_is_ordered_with_its_limit_and_read_back(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    look = dict.fromkeys(("first_seen_at", "seen_at"), timezone.now())
    seen(**look)
    seen(price="120", count=3, **look)
    row = approved(organisation, buyer, quantity=3)
    assert (row.state, row.limit, row.filled) == (
        State.APPROVED, Decimal(320), [{"price": "100", "count": 2}, {"price": "120", "count": 1}],
    )  # fmt: skip
    assert run(row) == State.PAYING
    [order] = shop.orders()
    assert {name: order[name] for name in order if not name.startswith(("Action", "Version"))} == {
        "ReservedInstancesOfferingId": "offer-1",
        "InstanceCount": "3",
        "LimitPrice.Amount": "320.0",
        "LimitPrice.CurrencyCode": "USD",
    }
    assert purchases_tick(now=timezone.now()) == 1
    row.refresh_from_db()
    # Filled at two prices, it brought two reservations, though the answer named one.
    assert (row.state, row.reservations, row.paid) == (State.BOUGHT, ["r-0001", "r-0002"], Decimal(320))
    actions = list(
        AuditEntry.objects.filter(action__startswith="purchase.")
        .order_by("pk")
        .values_list("action", flat=True)
    )
    assert actions == ["purchase.request", "purchase.approve", "purchase.order", "purchase.bought"]
    assert run(row) == ""
    assert len(shop.orders()) == 1


def test_nothing_is_bought_without_approval(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    row = ask(organisation, buyer)
    assert run(row) == ""
    assert purchases_tick(now=timezone.now()) == 0
    assert (state(row), shop.calls) == (State.REQUESTED, [])


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ENGINEER])
def test_a_role_that_may_not_approve_spending_does_not(
    shop: Market, organisation: Organisation, buyer: BuyingAccount, role: str
) -> None:
    row = ask(organisation, buyer)
    with pytest.raises(ValidationError):
        purchases.purchase_approve(purchase=row, membership=member(role), now=timezone.now())
    assert (state(row), row.approvals.count()) == (State.REQUESTED, 0)


def test_a_member_of_another_organisation_does_not_approve(
    organisation: Organisation, buyer: BuyingAccount
) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    row = ask(organisation, buyer)
    with pytest.raises(ValidationError):
        purchases.purchase_approve(
            purchase=row, membership=member(Role.ADMIN, "them", other), now=timezone.now()
        )
    assert row.approvals.count() == 0


def test_above_the_limit_two_people_of_two_roles_say_yes(
    shop: Market, organisation: Organisation, buyer: BuyingAccount, settings: Any
) -> None:
    settings.PURCHASE_SECOND_APPROVAL_ABOVE = "199.99 USD"
    row = approved(organisation, buyer)
    assert (row.committed, row.approvals_needed, row.state) == (Decimal(200), 2, State.REQUESTED)
    with pytest.raises(ValidationError) as refused:
        purchases.purchase_approve(
            purchase=row, membership=member(Role.FINANCE, "second"), now=timezone.now()
        )
    assert "another role" in str(refused.value)
    assert run(row) == ""
    row = purchases.purchase_approve(purchase=row, membership=member(Role.ADMIN), now=timezone.now())
    assert (row.state, run(row)) == (State.APPROVED, State.PAYING)


def test_another_currency_than_the_limits_takes_two(organisation: Organisation, buyer: BuyingAccount) -> None:
    seen(price="1", currency="CNY")
    assert ask(organisation, buyer, quantity=1).approvals_needed == 2


def test_the_yes_of_somebody_who_lost_the_role_does_not_count(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    row = approved(organisation, buyer)
    Membership.objects.filter(role=Role.FINANCE).update(role=Role.VIEWER)
    assert run(row) == State.REFUSED
    assert "0 of 1 approvals stand" in Purchase.objects.get(pk=row.pk).message
    assert shop.orders() == []


def test_a_limit_lowered_after_the_approval_asks_for_the_second_one(
    shop: Market, organisation: Organisation, buyer: BuyingAccount, settings: Any
) -> None:
    row = approved(organisation, buyer)
    settings.PURCHASE_SECOND_APPROVAL_ABOVE = "10 USD"
    assert (run(row), shop.orders()) == (State.REFUSED, [])


def test_the_freeze_switch_stops_what_was_approved(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    row = approved(organisation, buyer)
    BuyingAccount.objects.update(active=False)
    assert run(row) == State.REFUSED
    assert "switched off" in Purchase.objects.get(pk=row.pk).message
    assert shop.orders() == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"listings": [Listing(Decimal("100.01"), 2)]}, "costs 200.02 USD now, above the limit of 200"),
        ({"listings": [Listing(Decimal(100), 1)]}, "Only 1 of 2 are still on offer"),
        ({"listings": []}, "The offer is gone"),
        ({"duration": 7 * 730 * 3600}, "remaining term is shorter"),
        ({"hourly": "0.01"}, "not what was approved"),
        ({"market": False}, "not what was approved"),
        ({"allowed": False}, "may not buy"),
        ({"account": "999988887777"}, "belong to account 999988887777"),
    ],
)
def test_a_market_that_changed_since_the_approval_is_not_bought_from(
    shop: Market, organisation: Organisation, buyer: BuyingAccount, change: dict[str, Any], told: str
) -> None:
    row = approved(organisation, buyer)
    for name, value in change.items():
        setattr(shop, name, value)
    assert run(row) == State.REFUSED
    assert told in Purchase.objects.get(pk=row.pk).message
    assert shop.orders() == []
    assert shop.sold == []


@pytest.mark.parametrize("fault", ["hang", "cut", "500 after"])
def test_an_order_carried_out_whose_answer_never_came_is_found_and_not_sent_again(
    shop: Market, organisation: Organisation, buyer: BuyingAccount, fault: str
) -> None:
    shop.faults, shop.lag = [fault], 2
    row = approved(organisation, buyer)
    assert run(row) == State.UNKNOWN
    assert "may have been carried out" in Purchase.objects.get(pk=row.pk).message
    for minute in range(1, 5):
        purchases_tick(now=timezone.now() + minute * MINUTES)
    row.refresh_from_db()
    assert (row.state, row.reservations, row.paid) == (State.BOUGHT, ["r-0001"], Decimal(200))
    assert (len(shop.orders()), sum(one.count for one in shop.sold)) == (1, 2)
    assert row.attempts.get().outcome == "found"


def test_an_order_that_was_lost_is_given_up_after_several_looks_and_not_sent_again(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    shop.faults = ["500 before"]
    row = approved(organisation, buyer)
    assert run(row) == State.UNKNOWN
    for minute in (1, 5, 10, 15):
        purchases_tick(now=timezone.now() + minute * MINUTES)
    assert state(row) == State.UNKNOWN, "four looks, but not long enough"
    purchases_tick(now=timezone.now() + 21 * MINUTES)
    assert (state(row), len(shop.orders()), shop.sold) == (State.NOT_BOUGHT, 1, [])


def test_asking_again_looks_first_and_finds_what_was_given_up(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    shop.listings = [Listing(Decimal(100), 5)]
    shop.faults, shop.lag = ["cut"], 5
    first = approved(organisation, buyer)
    assert run(first) == State.UNKNOWN
    for minute in (1, 5, 10, 21):
        purchases_tick(now=timezone.now() + minute * MINUTES)
    assert state(first) == State.NOT_BOUGHT
    shop.sold[0].hidden = 0
    second = approved(organisation, buyer)
    assert run(second) == State.REFUSED
    assert (
        f"Purchase {first.pk} of the same was carried out after all"
        in Purchase.objects.get(pk=second.pk).message
    )
    assert (state(first), first.reservations, len(shop.orders())) == (State.PAYING, ["r-0001"], 1)


def test_a_throttled_order_was_not_taken_and_is_sent_later(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    shop.faults = ["throttle"]
    row = approved(organisation, buyer)
    assert run(row) == State.APPROVED
    assert purchases_tick(now=timezone.now()) == 1
    assert state(row) == State.PAYING
    assert [one.outcome for one in row.attempts.all()] == ["refused", "done"]
    assert sum(one.count for one in shop.sold) == 2


def test_a_refused_order_ends(shop: Market, organisation: Organisation, buyer: BuyingAccount) -> None:
    shop.faults = ["refuse"]
    row = approved(organisation, buyer)
    assert (run(row), shop.sold) == (State.REFUSED, [])
    assert "ReservationCapacityExceeded" in Purchase.objects.get(pk=row.pk).message


def test_a_failed_payment_bought_nothing(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    shop.state = "payment-pending"
    row = approved(organisation, buyer)
    assert run(row) == State.PAYING
    assert purchases_tick(now=timezone.now()) == 0
    shop.sold[0].state = "payment-failed"
    assert purchases_tick(now=timezone.now()) == 1
    assert (state(row), "payment failed" in row.message) == (State.REFUSED, True)


def test_before_anything_is_sent_no_connection_leaves_it_approved(
    shop: Market, organisation: Organisation, buyer: BuyingAccount, settings: Any
) -> None:
    row = approved(organisation, buyer)
    settings.AWS_ENDPOINT_URL = "http://127.0.0.1:9"
    with pytest.raises(TransientError):
        run(row)
    assert (state(row), row.attempts.count()) == (State.APPROVED, 0)


def test_a_worker_that_died_before_it_ordered_gives_it_back(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    row = approved(organisation, buyer)
    Purchase.objects.update(state=State.BUYING, claimed_at=timezone.now())
    later = timezone.now() + 16 * MINUTES
    assert purchases_tick(now=later) == 2
    assert (state(row), len(shop.orders())) == (State.PAYING, 1)


def test_a_worker_that_died_after_it_ordered_is_looked_up(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    row = approved(organisation, buyer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apps.recommendations.services.purchasing._end", lambda *_, **__: die())
        with pytest.raises(KeyboardInterrupt):
            run(row)
    assert (state(row), len(shop.orders())) == (State.BUYING, 1)
    assert purchases_tick(now=timezone.now() + 16 * MINUTES) == 2
    assert (state(row), row.reservations, len(shop.orders())) == (State.PAYING, ["r-0001"], 1)


def test_reservations_of_others_are_not_taken_for_ours(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    shop.listings = [Listing(Decimal(100), 9)]
    shop.sell(2)
    shop.faults, shop.before_order = ["500 before"], lambda: shop.sell(1) and None
    row = approved(organisation, buyer)
    assert run(row) == State.UNKNOWN
    purchases_tick(now=timezone.now() + 30 * MINUTES)
    row.refresh_from_db()
    assert row.state == State.UNKNOWN
    assert "1 reserved instances of this kind are new, 2 were ordered (r-0002)" in row.message
    row = purchases.purchase_resolve(
        purchase=row, actor=ASKER, now=timezone.now(), reservations=[], reason="bought by hand"
    )
    assert row.state == State.NOT_BOUGHT


def test_an_approval_is_too_old_after_its_days(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    row = approved(organisation, buyer)
    Purchase.objects.update(valid_until=timezone.now() - MINUTES)
    assert run(row) == ""
    assert purchases_tick(now=timezone.now()) == 1
    assert (state(row), shop.calls) == (State.EXPIRED, [])


def test_a_cancelled_purchase_is_not_bought(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    row = approved(organisation, buyer)
    with pytest.raises(ValidationError):
        purchases.purchase_cancel(purchase=row, actor=ASKER, now=timezone.now(), reason=" ")
    purchases.purchase_cancel(purchase=row, actor=ASKER, now=timezone.now(), reason="not needed")
    assert (run(row), state(row), shop.calls) == ("", State.CANCELLED, [])


def test_a_dry_run_says_price_and_right_and_buys_nothing(
    shop: Market, organisation: Organisation, buyer: BuyingAccount
) -> None:
    row = ask(organisation, buyer)
    trial = purchase_trial(purchase=row, actor=ASKER, now=timezone.now()).trial
    assert trial is not None
    assert (trial["once"], trial["limit"], trial["allowed"], trial["reason"]) == ("200", "200", True, "")
    shop.allowed = False
    trial = purchase_trial(purchase=row, actor=ASKER, now=timezone.now()).trial
    assert trial is not None
    assert (trial["allowed"], "may not buy" in trial["reason"]) == (False, True)
    assert (state(row), shop.orders(), shop.sold) == (State.REQUESTED, [], [])


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"quantity": 0}, "quantity"),
        ({"quantity": 3}, "quantity"),
        ({"limit": Decimal("199.99")}, "limit"),
        ({"limit": Decimal("NaN")}, "limit"),
        ({"reason": "x" * 501}, "reason"),
    ],
)
def test_a_request_that_makes_no_sense_names_its_field(
    organisation: Organisation, buyer: BuyingAccount, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        ask(organisation, buyer, **given)
    assert list(refused.value.message_dict) == [field]
    assert Purchase.objects.count() == 0


def test_an_account_of_another_organisation_does_not_buy(organisation: Organisation) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    theirs = BuyingAccount.objects.create(organisation=other, provider="aws", account=ACCOUNT)
    with pytest.raises(ValidationError):
        ask(organisation, theirs)


def test_an_offer_that_is_gone_cannot_be_asked_for(organisation: Organisation, buyer: BuyingAccount) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    seen(first_seen_at=now, seen_at=now, gone_at=now + MINUTES)
    with pytest.raises(ValidationError):
        ask(organisation, buyer)


@pytest.mark.django_db(transaction=True)
def test_many_workers_send_one_order(shop: Market) -> None:
    organisation = Organisation.default()
    buyer = BuyingAccount.objects.create(organisation=organisation, provider="aws", account=ACCOUNT)
    shop.listings = [Listing(Decimal(100), 9)]
    rows = [approved(organisation, buyer, quantity=1) for _ in range(2)]
    shop.before_order = lambda: threading.Event().wait(0.2) and None

    def work(pk: int) -> None:
        try:
            purchase_run(purchase_id=pk, now=timezone.now())
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(rows[i % 2].pk,)) for i in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    # One order of the account and region at a time; the other waits for the clock.
    assert len(shop.orders()) == 1
    purchases_tick(now=timezone.now())
    purchases_tick(now=timezone.now())
    assert sorted(state(row) for row in rows) == [State.BOUGHT, State.BOUGHT]
    assert (len(shop.orders()), sum(one.count for one in shop.sold)) == (2, 2)
    assert {row.reservations[0] for row in rows} == {"r-0001", "r-0002"}
