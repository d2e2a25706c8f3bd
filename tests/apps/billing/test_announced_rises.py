"""Rises of cost that a decision announced are marked and do not alarm; nothing else is excused by it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.billing import announced
from apps.billing.announced import AnnouncedRise, Source, days_between
from apps.billing.models import Anomaly, Delivery
from apps.billing.selectors.anomalies import anomalies_asked, anomalies_waiting, anomaly_document
from apps.billing.services.watch import Judged, bills_judge
from tests.support.bill_lake import put_bill
from tests.support.steady_bills import APRIL, MAY, NOW, lines

pytestmark = pytest.mark.django_db
FEE_DAY = date(2026, 5, 12)
FEE = {
    "service_name": "EC2", "region_id": "eu", "sub_account_id": "1", "charge_category": "Purchase",
    "x_day": FEE_DAY,
}  # fmt: skip
RISES: list[AnnouncedRise] = []


@pytest.fixture(autouse=True)
def source(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made_up = Source("test", lambda organisation, start, end: list(RISES), lambda facts: f"No. {facts['n']}")
    monkeypatch.setattr(announced, "_SOURCES", {"test": made_up})
    yield
    RISES.clear()


@pytest.fixture
def bills(empty_lake: Path, organisation: Organisation) -> Delivery:
    """EC2 in eu costs 100 a day; on 12 May a fee of 900 comes to it. Glue triples on the 15th."""
    put_bill(lines(APRIL, 30), period=APRIL)
    return put_bill([*lines(MAY, 20, {15: "150"}), {"billed_cost": "900", **FEE}], period=MAY, final=False)


def announce(amount: str = "900", **changes: Any) -> None:
    given: dict[str, Any] = {
        "key": f"test:{len(RISES)}", "currency": "USD", "amount": Decimal(amount),
        "days": days_between(FEE_DAY, date(2026, 5, 13)),
        "lines": (("charge_category", "Purchase"), ("account", "1")),
        "facts": {"n": len(RISES)}, **changes,
    }  # fmt: skip
    RISES.append(AnnouncedRise(**given))


def judged(organisation: Organisation) -> dict[str, Anomaly]:
    bills_judge(organisation=organisation, now=NOW)
    return {dict(row.slice)["service"]: row for row in Anomaly.objects.all()}


def test_a_fee_that_was_announced_is_marked_and_waits_for_nobody(
    organisation: Organisation, bills: Delivery
) -> None:
    announce()
    found = judged(organisation)
    assert set(found) == {"EC2", "Glue"}
    assert (found["EC2"].amount, found["EC2"].announced) == (900, True)
    assert found["EC2"].announcements == [{"key": "test:0", "amount": "900", "facts": {"n": 0}}]
    assert (found["Glue"].announced, found["Glue"].announcements) == (False, [])
    assert list(anomalies_waiting(organisation, NOW.date())) == [found["Glue"]]
    document = anomaly_document(found["EC2"], NOW.date())
    assert (document["state"], document["announced_by"]) == (
        "announced",
        [{"decision": "test:0", "amount": "900", "currency": "USD", "sentence": "No. 0"}],
    )
    assert anomalies_asked(organisation, at=NOW, state="announced") == [found["EC2"]]
    assert anomalies_asked(organisation, at=NOW, state="open") == [found["Glue"]]


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": "400"},
        {"currency": "EUR"},
        {"days": days_between(date(2026, 5, 13), date(2026, 5, 20))},
        {"lines": (("charge_category", "Purchase"), ("account", "2"))},
        {"lines": (("charge_category", "Tax"),)},
    ],
)
def test_what_the_bill_does_not_show_or_the_decision_did_not_say_alarms(
    organisation: Organisation, bills: Delivery, changes: dict[str, Any]
) -> None:
    announce(**changes)
    found = judged(organisation)["EC2"]
    assert not found.announced
    # A part that is explained is told; only "amount" leaves one.
    assert [one["amount"] for one in found.announcements] == (["400"] if "amount" in changes else [])
    assert found in anomalies_waiting(organisation, NOW.date())


def test_a_rise_of_use_is_not_excused_by_a_fee_that_never_came(
    organisation: Organisation, empty_lake: Path
) -> None:
    put_bill(lines(APRIL, 30), period=APRIL)
    use = {**FEE, "charge_category": "Usage", "billed_cost": "900"}
    put_bill([*lines(MAY, 20), use], period=MAY, final=False)
    announce()
    found = judged(organisation)["EC2"]
    assert (found.amount, found.announced, found.announcements) == (900, False, [])


def test_one_announcement_is_used_up_once(organisation: Organisation, empty_lake: Path) -> None:
    put_bill(lines(APRIL, 30), period=APRIL)
    late = {**FEE, "x_day": date(2026, 5, 18)}
    put_bill(
        [*lines(MAY, 20), {"billed_cost": "900", **FEE}, {"billed_cost": "900", **late}],
        period=MAY, final=False,
    )  # fmt: skip
    announce(days=days_between(FEE_DAY, date(2026, 5, 20)))
    bills_judge(organisation=organisation, now=NOW)
    rows = Anomaly.objects.order_by("first_day")
    assert [(row.first_day, row.amount, row.announced) for row in rows] == [
        (FEE_DAY, 900, True),
        (date(2026, 5, 18), 900, False),
    ]


def test_a_decision_told_later_is_judged_and_one_taken_back_alarms_again(
    organisation: Organisation, bills: Delivery
) -> None:
    assert not judged(organisation)["EC2"].announced
    assert bills_judge(organisation=organisation, now=NOW) == Judged("seen")
    announce()
    assert bills_judge(organisation=organisation, now=NOW) == Judged("judged", 0, 1, 0)
    assert Anomaly.objects.get(announced=True).cause.startswith("service=EC2")
    RISES.clear()
    assert bills_judge(organisation=organisation, now=NOW) == Judged("judged", 0, 1, 0)
    assert not Anomaly.objects.filter(announced=True).exists()
    assert anomalies_waiting(organisation, NOW.date()).count() == 2
