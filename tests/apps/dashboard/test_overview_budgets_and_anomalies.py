"""Overview, Budgets and Anomalies: what they say, with bills and without, in both languages, to whom."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.test import Client

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation
from apps.billing.models import Anomaly, Budget, BudgetAlert, Delivery
from apps.billing.services.budgets import budget_save
from apps.billing.services.watch import bills_judge
from tests.support.steady_bills import APRIL, NOW, put_steady_bills

pytestmark = pytest.mark.django_db
SignIn = Callable[..., Client]
FORM = {
    "name": "All", "scope": "organisation", "period": "month", "amount": "4000", "currency": "USD",
    "basis": "amortised", "valid_from": "2026-01-01", "actual": "80, 100", "forecast": "100",
}  # fmt: skip


@pytest.fixture
def bills(empty_lake: Path, organisation: Organisation) -> Organisation:
    put_steady_bills()
    return organisation


def h1(response: Any) -> str:
    text = response.content.decode()
    inner = text.split("<h1>", 1)[1].split("</h1>", 1)[0]
    return str(inner.replace('<span class="key">', "").replace("</span>", "").strip())


def budget(organisation: Organisation, amount: str = "4000") -> Budget:
    return budget_save(
        organisation=organisation,
        actor=Actor.system("test"),
        fields={"name": "All", "amount": Decimal(amount), "currency": "USD", "valid_from": APRIL},
        thresholds=[("forecast", Decimal(100))],
    )


@pytest.mark.parametrize("address", ["/overview/", "/spend/budgets/", "/spend/anomalies/"])
def test_they_ask_for_a_sign_in(address: str, client: Client) -> None:
    assert client.get(address)["Location"].startswith("/accounts/login/?next=")


def test_without_bills_the_start_page_says_what_to_do_and_keeps_the_way_to_spot(
    sign_in: SignIn, empty_lake: Path
) -> None:
    response = sign_in("viewer").get("/overview/")
    text = response.content.decode()
    assert h1(response) == "No bill is loaded yet: connect one to see what you spend."
    assert 'href="/data/' in text
    assert 'href="/market/"' in text
    assert 'href="/run/"' in text


def test_the_month_is_forecast_against_budget_and_the_month_before(
    sign_in: SignIn, bills: Organisation
) -> None:
    budget(bills)
    with time_machine.travel(NOW, tick=False):
        response = sign_in("viewer").get("/overview/")
    text = response.content.decode()
    assert h1(response) == "May is heading for $4,780, $780 over budget."
    assert len(h1(response)) <= 90
    assert "Spend is 3.3\u202f% above the same 20 days of April. Glue is 100\u202f% of the rise." in text
    assert "At this pace the budget is spent on 26 May" in text
    assert "$3,130.00" in text
    assert "20 of 31 days" in text
    assert "19.5\u202f% over $4,000" in text
    assert "90\u00a0% interval" in text or "90 % interval" in text
    assert "Bill to 20 May · 6 h old" in text
    assert "the provider&#x27;s stated default" in text
    assert "The data behind this page goes to 20 May 2026 and reconciles" in text
    assert "not the present month" not in text


def test_a_bill_of_long_ago_is_said_plainly(sign_in: SignIn, bills: Organisation) -> None:
    response = sign_in("viewer").get("/overview/?period=2026-04")
    assert h1(response) == "April 2026 cost $4,530."
    text = sign_in("engineer").get("/overview/").content.decode()
    assert "The newest bill ends on 20 May 2026: this is not the present month." in text


@pytest.mark.parametrize("query", ["period=soon", "basis=gold", "currency=%3Cb%3E", "period=1999-01"])
def test_nonsense_in_the_address_falls_back(query: str, sign_in: SignIn, bills: Organisation) -> None:
    response = sign_in("viewer").get(f"/overview/?{query}")
    assert response.status_code == 200
    assert "<b>&" not in response.content.decode()
    assert h1(response).startswith("May 2026 is heading for")


def test_another_organisation_sees_none_of_it(sign_in: SignIn, bills: Organisation) -> None:
    from apps.billing.models import BillReport

    other = Organisation.objects.create(name="Other", slug="other")
    BillReport.objects.update(organisation=other)
    assert h1(sign_in("viewer").get("/overview/")).startswith("No bill is loaded yet")


def test_finance_makes_changes_and_removes_a_budget(sign_in: SignIn, bills: Organisation) -> None:
    finance = sign_in("finance")
    with time_machine.travel(NOW, tick=False):
        assert h1(finance.get("/spend/budgets/")) == "No budget is in force."
        assert finance.post("/spend/budgets/keep/", FORM).status_code == 302
        made = Budget.objects.get()
        response = finance.get("/spend/budgets/")
        assert h1(response) == "1 budget is heading over its amount."
        assert "spent on 26 May at this pace" in response.content.decode()
        form = finance.get(f"/spend/budgets/?change={made.pk}").content.decode()
        assert 'value="80, 100"' in form
        changed = finance.post("/spend/budgets/keep/", {**FORM, "budget": made.pk, "amount": "9000"})
        assert changed.status_code == 302
        assert h1(finance.get("/spend/budgets/")) == "1 budget is on track."
        assert finance.post(f"/spend/budgets/{made.pk}/remove/").status_code == 302
    assert not Budget.objects.exists()
    assert AuditEntry.objects.filter(action__startswith="budget.").count() == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"amount": "0"}, "Write an amount above 0."),
        ({"scope": "service"}, "Name the service or the account as it stands in the bills."),
        ({"actual": "a lot"}, "Write percentages as 80, 100."),
        ({"actual": "2000"}, "Write a percentage above 0 and up to 1000"),
        ({"budget": "999999"}, None),
    ],
)
def test_a_wrong_budget_is_refused_with_the_way_out(
    change: dict[str, str], says: str | None, sign_in: SignIn, bills: Organisation
) -> None:
    response = sign_in("finance").post("/spend/budgets/keep/", {**FORM, **change})
    assert response.status_code == (404 if says is None else 422)
    assert says is None or says in response.content.decode()
    assert not Budget.objects.exists()


def test_engineers_see_budgets_and_may_not_make_them(sign_in: SignIn, bills: Organisation) -> None:
    made = budget(bills)
    engineer = sign_in("engineer")
    assert "Make a budget" not in engineer.get("/spend/budgets/").content.decode()
    assert engineer.post("/spend/budgets/keep/", FORM).status_code == 403
    assert engineer.post(f"/spend/budgets/{made.pk}/remove/").status_code == 403
    assert Budget.objects.count() == 1


def test_an_alert_stands_under_its_budget(sign_in: SignIn, bills: Organisation) -> None:
    budget(bills)
    bills_judge(organisation=bills, now=NOW)
    BudgetAlert.objects.update(raised_at=NOW)
    with time_machine.travel(NOW, tick=False):
        text = sign_in("viewer").get("/spend/budgets/").content.decode()
    assert "Forecast reached 100\u202f% on 21 May" in text


def test_an_anomaly_is_told_and_set_aside(sign_in: SignIn, bills: Organisation) -> None:
    engineer = sign_in("engineer")
    assert h1(engineer.get("/spend/anomalies/")) == "No bill has been judged yet."
    bills_judge(organisation=bills, now=NOW)
    pk = Anomaly.objects.get().pk
    with time_machine.travel(NOW, tick=False):
        response = engineer.get("/spend/anomalies/")
        text = response.content.decode()
        assert h1(response) == "1 change of cost waits for somebody to look at it."
        assert "Glue cost $150 a day instead of $50.00" in text
        assert "+100.00" in text
        assert "endpoint" in text
        assert "Glue cost $150 a day" in engineer.get("/overview/").content.decode()
        wrong = engineer.post(
            f"/spend/anomalies/{pk}/snooze/", {"until": "2026-05-01", "reason": "x"}, follow=True
        )
        assert "Choose a day after today and within a year." in wrong.content.decode()
        assert Anomaly.objects.get().state == "open"
        engineer.post(f"/spend/anomalies/{pk}/snooze/", {"until": "2026-06-01", "reason": "<b>Test</b>"})
        assert h1(engineer.get("/spend/anomalies/")) == "Nothing out of the ordinary waits for you."
        told = engineer.get("/spend/anomalies/?show=all").content.decode()
        assert "Until 1 Jun 2026, by engineer@example.test: &lt;b&gt;Test&lt;/b&gt;" in told
        engineer.post(f"/spend/anomalies/{pk}/reopen/")
        engineer.post(f"/spend/anomalies/{pk}/close/", {"reason": "Done."})
    found = Anomaly.objects.get()
    assert (found.state, found.until, found.reason) == ("closed", None, "Done.")


def test_viewers_may_not_set_an_anomaly_aside(sign_in: SignIn, bills: Organisation) -> None:
    bills_judge(organisation=bills, now=NOW)
    pk = Anomaly.objects.get().pk
    viewer = sign_in("viewer")
    assert "Snooze or close" not in viewer.get("/spend/anomalies/").content.decode()
    assert viewer.post(f"/spend/anomalies/{pk}/close/", {"reason": "x"}).status_code == 403
    assert Anomaly.objects.get().state == "open"
    other = Organisation.objects.create(name="Other", slug="other")
    Anomaly.objects.update(organisation=other)
    assert sign_in("engineer").post(f"/spend/anomalies/{pk}/close/", {"reason": "x"}).status_code == 404


def test_everything_is_said_in_chinese(sign_in: SignIn, bills: Organisation) -> None:
    budget(bills)
    bills_judge(organisation=bills, now=NOW)
    client = sign_in("viewer", headers={"Accept-Language": "zh-hans"})
    with time_machine.travel(NOW, tick=False):
        assert h1(client.get("/overview/")) == "5月预计为 $4,780，超出预算 $780。"
        assert h1(client.get("/spend/budgets/")) == "1 个预算预计超出。"
        assert h1(client.get("/spend/anomalies/")) == "1 项费用变化有待查看。"
        text = client.get("/overview/").content.decode().split("<main", 1)[1]
    for english in ("Effective savings", "Forecast for", "of compute", "waits for", "Delivered to"):
        assert english not in text
    assert BudgetAlert.objects.count() == 1
    assert Anomaly.objects.get().first_day == date(2026, 5, 15)


def test_a_final_month_that_lacks_days_is_compared_on_the_days_it_has(
    sign_in: SignIn, bills: Organisation
) -> None:
    Delivery.objects.filter(billing_period=date(2026, 5, 1)).update(final=True)
    text = sign_in("viewer").get("/overview/").content.decode()
    assert "above the same 20 days of April" in text
