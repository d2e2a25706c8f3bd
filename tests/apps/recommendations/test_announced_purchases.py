"""The fee of a purchase is announced: marked on the bill, not alarmed; and of advice that was accepted."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import translation

from apps.accounts.models import Organisation
from apps.billing.announced import announced_rises, worded
from apps.billing.models import Anomaly
from apps.billing.selectors.anomalies import anomalies_waiting
from apps.billing.services.watch import bills_judge
from apps.recommendations.models import (
    BuyingAccount,
    Purchase,
    PurchaseAttempt,
    PurchaseState,
    Recommendation,
)
from apps.recommendations.services.inbox import publish
from tests.support.bill_lake import put_bill
from tests.support.recommendations import finding
from tests.support.steady_bills import APRIL, MAY, NOW, lines

pytestmark = pytest.mark.django_db
ACCOUNT = "111122223333"
ORDERED = datetime(2026, 5, 12, 22, tzinfo=UTC)
SPAN = (APRIL, date(2026, 6, 1))


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


def purchase(organisation: Organisation, **changes: Any) -> Purchase:
    buyer, _made = BuyingAccount.objects.get_or_create(
        organisation=organisation, provider="aws", account=ACCOUNT
    )
    row = Purchase.objects.create(
        **{
            "organisation": organisation, "buyer": buyer, "offer": "o-1", "kind": "second-hand",
            "region": "eu", "platform": "Linux/UNIX", "tenancy": "default", "instance_type": "m5.large",
            "offering_class": "standard", "payment": "all-upfront", "hours": Decimal(5840), "quantity": 3,
            "limit": Decimal(960), "hourly": Decimal(0), "committed": Decimal(960), "currency": "USD",
            "offer_seen_at": ORDERED, "requested_at": ORDERED, "requested_kind": "system",
            "requested_by": "ada", "approvals_needed": 1, "valid_until": ORDERED + timedelta(days=7),
            "state": PurchaseState.BOUGHT, "stated_at": ORDERED, "claimed_at": ORDERED,
            "reservations": ["r-1"], "paid": Decimal(900), **changes,
        }
    )  # fmt: skip
    PurchaseAttempt.objects.create(purchase=row, number=1, at=ORDERED, parameters={})
    return row


def bill_with_fee(day: date) -> None:
    put_bill(lines(APRIL, 30), period=APRIL)
    fee = {
        "service_name": "EC2", "region_id": "eu", "sub_account_id": ACCOUNT, "billed_cost": "900",
        "charge_category": "Purchase", "x_day": day,
    }  # fmt: skip
    put_bill([*lines(MAY, 20), fee], period=MAY, final=False)


@pytest.mark.parametrize("day", [12, 13])
def test_the_fee_of_a_purchase_waits_for_nobody(organisation: Organisation, day: int) -> None:
    row = purchase(organisation)
    bill_with_fee(date(2026, 5, day))
    bills_judge(organisation=organisation, now=NOW)
    found = Anomaly.objects.get()
    facts = {"id": row.pk, "count": 3, "type": "m5.large"}
    assert (found.amount, found.announced) == (900, True)
    assert found.announcements == [{"key": f"purchase:{row.pk}", "amount": "900", "facts": facts}]
    assert not anomalies_waiting(organisation, NOW.date()).exists()
    assert worded(f"purchase:{row.pk}", facts) == (
        f"Announced by purchase {row.pk}: 3 × m5.large, paid at once."
    )
    with translation.override("zh-hans"):
        assert worded(f"purchase:{row.pk}", facts) == f"由采购 {row.pk} 预告：3 × m5.large，一次付清。"


def test_a_fee_nobody_ordered_alarms(organisation: Organisation) -> None:
    purchase(Organisation.objects.create(name="Other", slug="other"))
    bill_with_fee(date(2026, 5, 12))
    bills_judge(organisation=organisation, now=NOW)
    assert [row.announced for row in anomalies_waiting(organisation, NOW.date())] == [False]


@pytest.mark.parametrize(
    ("state", "amounts"),
    [("requested", []), ("approved", []), ("cancelled", []), ("unknown", ["960"]), ("bought", ["900"])],
)
def test_only_an_order_that_was_sent_announces(
    organisation: Organisation, state: str, amounts: list[str]
) -> None:
    row = purchase(organisation, state=state, paid=Decimal(900) if state == "bought" else None)
    found = announced_rises(organisation, *SPAN)
    assert [(rise.key, str(rise.amount.normalize())) for rise in found] == [
        (f"purchase:{row.pk}", f"{Decimal(amount).normalize()}") for amount in amounts
    ]
    for rise in found:
        assert rise.days == {date(2026, 5, 1), date(2026, 5, 12), date(2026, 5, 13)}
        assert rise.lines == (("charge_category", "Purchase"), ("account", ACCOUNT))
    assert announced_rises(organisation, date(2026, 5, 14), date(2026, 6, 1)) == []


def test_accepted_advice_announces_its_fee_until_a_purchase_of_its_own_does(
    organisation: Organisation,
) -> None:
    document = {"what": "a", "quantity": 3, "type": "m5.large"}
    given = finding(one_time=Decimal(900), document=document)
    publish("commitment_buy", [given], organisation=organisation, now=ORDERED, whole=True)
    row = Recommendation.objects.get()
    assert announced_rises(organisation, *SPAN) == []
    Recommendation.objects.filter(pk=row.pk).update(
        state="accepted", accepted_at=ORDERED, author="ada", stated_at=ORDERED, counterfactual={},
        stated_low=0, stated_high=0,
    )  # fmt: skip
    [rise] = announced_rises(organisation, *SPAN)
    assert (rise.key, rise.amount, rise.lines) == (
        f"recommendation:{row.pk}", Decimal(900), (("charge_category", "Purchase"),),
    )  # fmt: skip
    assert (min(rise.days), max(rise.days)) == (date(2026, 5, 1), date(2026, 6, 12))
    mine = purchase(organisation, recommendation=row)
    assert [rise.key for rise in announced_rises(organisation, *SPAN)] == [f"purchase:{mine.pk}"]
