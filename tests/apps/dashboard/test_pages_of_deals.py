"""Pages of deals: the sentence, an offer with other values, reasons, the calculator, selling, rules."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Organisation
from apps.recommendations.models import DealAlert, DealRule
from apps.recommendations.services.deal_watch import deals_watch
from tests.support.deals import AT, bill, plan_price, prices, seen

SignIn = Callable[..., Client]
DEALS = "/deals/?at=2018-11-03T00:00:00Z&lookback=14"
pytestmark = pytest.mark.django_db


@pytest.fixture
def market(empty_lake: Path, organisation: Organisation) -> int:
    bill(organisation, quantity="2")
    prices()
    plan_price("0.06")
    row = seen(fixed="150", count=3)
    seen("zonal", zone="us-east-1b")
    seen("gone", at=AT - timedelta(days=2), gone_at=AT - timedelta(days=1))
    return row.pk


def h1(response: Any) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", response.content.decode(), re.S)
    assert found
    return html.unescape(re.sub(r"<[^>]+>", "", found[1])).strip()


def main(response: Any) -> str:
    return re.sub(
        r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode().split("<main")[1]))
    )


@pytest.mark.parametrize("page", ["", "selling/", "calculator/", "watch/"])
def test_empty_pages_say_what_to_do(page: str, sign_in: SignIn, empty_lake: Path) -> None:
    response = sign_in("viewer").get(f"/deals/{page}")
    assert response.status_code == 200
    assert h1(response)
    assert "Traceback" not in response.content.decode()


def test_the_answer_is_a_sentence_with_the_chosen_offer(market: int, sign_in: SignIn) -> None:
    response = sign_in("viewer").get(DEALS)
    text = main(response)
    assert h1(response) == "Buy 2 m5.large for $300: expected saving $868 by 4 Jul 2019."
    assert len(h1(response)) <= 90
    assert "Not one of 200 demand scenarios loses money" in text
    assert "$300.00" in text
    assert "2 × $150.00" in text
    assert "Buy 2" in text
    assert "It is zonal, in us-east-1b; your use is in us-east-1a." in text
    assert "It is gone" in text
    assert "The money is back on 4 Jan 2019" in text
    assert "Savings plan, 1 year" in text
    assert f"/deals/offers/{market}/" in response.content.decode()


def test_another_offer_is_chosen_by_the_address_and_nonsense_is_not_asked(
    market: int, sign_in: SignIn
) -> None:
    client = sign_in("viewer")
    offer = "m5.large us-east-1 Linux/UNIX 1y standard all-upfront"
    text = main(client.get(f"{DEALS}&offer={offer.replace(' ', '%20')}"))
    assert "2 × $500.00" in text
    nonsense = "&kind=x&horizon=9&lookback=x&cash=-1&risk=999&offer=%3Cscript%3E&price=dear&quantity=0.5&all"
    response = client.get(f"/deals/?at=2018-11-03T00:00:00Z{nonsense}")
    assert (response.status_code, "<script>alert" in response.content.decode()) == (200, False)
    assert client.get("/deals/?at=yesterday").status_code == 200


def test_limits_of_the_address_are_those_of_the_advice(market: int, sign_in: SignIn) -> None:
    client = sign_in("viewer")
    assert h1(client.get(f"{DEALS}&cash=200")).startswith("Buy 2 commitments for $150")
    assert "Savings plan" in main(client.get(f"{DEALS}&kind=savings-plan"))
    nothing = client.get(f"{DEALS}&cash=0&kind=second-hand")
    assert h1(nothing) == "Nothing on offer is worth buying for what runs today."


def test_sliders_work_without_script(market: int, sign_in: SignIn) -> None:
    client = sign_in("viewer")
    # the number was typed
    assert "on demand" in main(client.get(f"{DEALS}&price=0"))
    text = main(client.get(f"{DEALS}&price=300&price_at=150.00&price_was=150.00&quantity=2"))
    assert "2 × $300.00" in text
    assert "with your values" in text
    # the range was moved, the number stayed
    text = main(client.get(f"{DEALS}&price=150.00&price_at=400&price_was=150.00"))
    assert "× $400.00" in text
    text = main(client.get(f"{DEALS}&used_pct=10&quantity=2&price=150&hours_left=5840"))
    assert "The money does not come back" in text
    assert "It pays up to $58.40 apiece" in text


def test_csv_holds_every_offer_with_its_figures_or_reason(market: int, sign_in: SignIn) -> None:
    response = sign_in("viewer").get(f"{DEALS}&format=csv")
    text = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(text)))
    told = {row["offer"]: (row["advice"], row["saving"]) for row in rows}
    assert told["o-1"] == ("buy", "868")
    assert told["zonal"] == ("refused", "")
    assert any(advice == "alternative" for advice, _saving in told.values())


def test_one_offer_has_a_page_of_its_own(market: int, sign_in: SignIn) -> None:
    client = sign_in("viewer")
    response = client.get(f"/deals/offers/{market}/?at=2018-11-03T00:00:00Z")
    assert h1(response) == "2 of this m5.large would save $868 by 4 Jul 2019."
    assert "Prices seen under this id" in main(response)
    assert client.get("/deals/offers/999999/").status_code == 404


def test_the_calculator_says_when_the_claim_pays(market: int, sign_in: SignIn) -> None:
    client = sign_in("viewer")
    assert h1(client.get("/deals/calculator/")) == "When does 30 % of the list price with 8 months left pay?"
    address = "/deals/calculator/?list_fixed=500&on_demand=0.096&spot=0.032"
    response = client.get(f"{address}&used_pct=25")
    assert h1(response) == "At $150 it loses $9.84 against on-demand at this use."
    assert h1(client.get(address)) == "At $150 it saves $411 against on-demand."
    refused = client.get("/deals/calculator/?type=m5.large")
    assert (refused.status_code, "Name the region." in main(refused)) == (422, True)


def test_finance_makes_rules_and_others_are_told_whom_to_ask(market: int, sign_in: SignIn) -> None:
    finance, viewer = sign_in("finance"), sign_in("viewer")
    body = {"name": "half", "min_saving_pct": "50", "active": "on", "instance_types": "m5.large, c5.large"}
    assert viewer.post("/deals/watch/keep/", body).status_code == 403
    assert DealRule.objects.count() == 0
    assert finance.post("/deals/watch/keep/", {"name": "none"}).status_code == 422
    assert finance.post("/deals/watch/keep/", body).status_code == 302
    rule = DealRule.objects.get()
    assert (rule.instance_types, rule.active) == (["m5.large", "c5.large"], True)
    deals_watch(organisation=rule.organisation, now=AT)
    assert h1(viewer.get("/deals/watch/")) == "1 standing offer beats a rule."
    alert = DealAlert.objects.get()
    assert viewer.post(f"/deals/watch/alerts/{alert.pk}/seen/").status_code == 403
    finance.post(f"/deals/watch/alerts/{alert.pk}/seen/")
    assert h1(viewer.get("/deals/watch/")) == "No new offer beats a rule."
    assert "offer beats one of your rules" not in main(viewer.get(DEALS))
    finance.post(f"/deals/watch/{rule.pk}/remove/")
    assert DealRule.objects.count() == 0


def test_chinese_pages_have_their_texts(market: int, sign_in: SignIn) -> None:
    client = sign_in("viewer")
    client.cookies["django_language"] = "zh-hans"
    for page in ("?at=2018-11-03T00:00:00Z", "selling/", "calculator/", "watch/", f"offers/{market}/"):
        response = client.get(f"/deals/{page}")
        assert response.status_code == 200
        assert re.search(r"[\u4e00-\u9fff]", h1(response)), page
