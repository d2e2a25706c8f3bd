"""Pages of Spend on made-up bills: the number in the sentence, sums that add up, exports, who may do what."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import team_create
from apps.billing.models import AllocationRule, DeliveryPart, SavedView
from tests.support.bill_lake import put_bill

SignIn = Callable[..., Client]
OCTOBER, NOVEMBER = date(2018, 10, 1), date(2018, 11, 1)
PAGES = ("/spend/", "/spend/allocation/", "/spend/changes/", "/spend/tags/", "/spend/lines/")


def h1(response: Any) -> str:
    inner = response.content.decode().split("<h1>", 1)[1].split("</h1>", 1)[0]
    return inner.replace('<span class="key">', "").replace("</span>", "").replace("&#x27;", "'").strip()


@pytest.fixture
def bills(empty_lake: Path) -> None:
    for period, glue in ((OCTOBER, "10.005"), (NOVEMBER, "31.005")):
        put_bill(
            [
                {"billed_cost": glue, "service_name": "Glue", "x_day": period.replace(day=2),
                 "resource_id": "arn:glue/1", "tags": {"Team": "web"}},
                {"billed_cost": "10.005", "service_name": "EC2", "x_day": period.replace(day=3)},
                {"billed_cost": "5.005", "service_name": "=cmd()", "x_day": period.replace(day=18),
                 "tags": {"team": "db"}},
            ],
            period=period,
            final=period == OCTOBER,
            last_day=period.replace(day=31 if period == OCTOBER else 18),
        )  # fmt: skip


@pytest.mark.parametrize("address", PAGES)
def test_before_the_first_bill_each_page_says_what_to_do(
    address: str, sign_in: SignIn, empty_lake: Path
) -> None:
    response = sign_in("viewer").get(address)
    assert response.status_code == 200
    assert h1(response) == "No bill is loaded: there is nothing to show yet."


@pytest.mark.parametrize("address", PAGES)
def test_every_page_asks_for_a_sign_in(address: str, client: Client, db: None) -> None:
    assert client.get(address)["Location"].startswith("/accounts/login/?next=")


def test_the_sentence_has_the_number_and_the_open_month_says_so(sign_in: SignIn, bills: None) -> None:
    response = sign_in("viewer").get("/spend/")
    text = response.content.decode()
    assert h1(response) == "1–18 Nov 2018: $46.02, Glue is 67\u202f% of it."
    assert "+83.9\u202f% (+$21.00, from $25.02)" in text
    assert "Glue is 100\u202f% of the change." in text
    assert "delivered to 2018-11-18 only" in text
    assert "the provider has not closed the month yet" in text
    for shown in ("31.01", "10.01", "5.00", "46.02"):
        assert f">{shown}<" in text
    assert "Bill to 18 Nov 2018" in text
    assert 'href="/spend/focus/?from=2018-11-01&amp;to=2018-12-01"' in text


def test_a_filter_stays_in_the_address_and_can_be_taken_off(sign_in: SignIn, bills: None) -> None:
    browser = sign_in("viewer")
    text = browser.get(
        "/spend/?by=service&where=tag:Team=web&where_dim=service&where_value=Glue"
    ).content.decode()
    assert "Tag Team: web" in text
    assert "Service: Glue" in text
    assert "<b>31.01</b>" in text
    assert "EC2" not in text.split("<tbody>", 1)[1]


@pytest.mark.parametrize(
    "query",
    ["by=servce", "from=yesterday", "to=1999-01-01", "basis=cash", "where=x_report=1", "where=%27%3B--",
     "granularity=hour", "currency=%24", "against=never", "by=tag:a%27]--", "from=0001-01-01"],
)  # fmt: skip
def test_nonsense_in_the_address_falls_back(query: str, sign_in: SignIn, bills: None) -> None:
    assert sign_in("viewer").get(f"/spend/?{query}").status_code == 200


def test_a_missing_rate_is_a_sentence_on_the_page(sign_in: SignIn, bills: None) -> None:
    response = sign_in("viewer").get("/spend/?currency=EUR")
    assert response.status_code == 200
    assert h1(response) == "This question has no answer yet."
    assert "No exchange rate from USD to EUR" in response.content.decode()


def test_exports_are_exact_and_no_text_runs(sign_in: SignIn, bills: None) -> None:
    browser = sign_in("viewer")
    response = browser.get("/spend/?by=service&granularity=month&format=csv")
    rows = list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert [row[:5] for row in rows[1:]] == [
        ["Glue", "2018-11", "2018-11-01", "2018-12-01", "31.005"],
        ["EC2", "2018-11", "2018-11-01", "2018-12-01", "10.005"],
        ["'=cmd()", "2018-11", "2018-11-01", "2018-12-01", "5.005"],
    ]
    book = browser.get("/spend/?by=service&granularity=month&format=xlsx")
    assert book["Content-Disposition"] == 'attachment; filename="spend-2018-11-01-2018-12-01.xlsx"'
    import zipfile

    sheet = zipfile.ZipFile(io.BytesIO(book.content))
    cells = sheet.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in cells
    assert "31.005" in cells
    assert "=cmd()" in sheet.read("xl/sharedStrings.xml").decode()


def test_lines_name_delivery_file_and_row(sign_in: SignIn, bills: None) -> None:
    response = sign_in("viewer").get("/spend/lines/?where=service=Glue")
    assert h1(response) == "1 line makes up $31.01."
    text = response.content.decode()
    assert "arn:glue/1" in text
    assert "bill.csv, 1" in text


def test_a_view_is_kept_for_its_owner_alone(sign_in: SignIn, bills: None) -> None:
    browser = sign_in("viewer")
    browser.post("/spend/views/", {"name": "Glue", "query": "by=service&where=service%3DGlue"})
    view = SavedView.objects.get()
    assert "where=service%3DGlue" in browser.get("/spend/").content.decode()
    other = sign_in("finance")
    assert other.post(f"/spend/views/{view.pk}/remove/").status_code == 404
    assert browser.post(f"/spend/views/{view.pk}/remove/").status_code == 302
    assert SavedView.objects.count() == 0
    browser.post("/spend/views/", {"name": " ", "query": ""})
    assert SavedView.objects.count() == 0


RULE = {
    "name": "glue", "priority": "10", "kind": "service", "values": "Glue", "team": "web", "split": "",
    "query": "from=2018-11-01&to=2018-12-01",
}  # fmt: skip


def test_a_rule_is_tried_before_it_is_saved(sign_in: SignIn, bills: None, organisation: Organisation) -> None:
    team_create(organisation=organisation, actor=Actor.system("test"), name="Web")
    browser = sign_in("finance")
    page = browser.get("/spend/allocation/")
    assert h1(page) == "Nov 2018: no cost belongs to a team yet ($46.02)."
    tried = browser.post("/spend/allocation/try/?from=2018-11-01&to=2018-12-01", RULE).content.decode()
    assert "The rule would decide $31.01 in Nov 2018." in tried
    assert "<b>+31.01</b>" in tried
    assert AllocationRule.objects.count() == 0
    assert browser.post("/spend/allocation/rules/", RULE).status_code == 302
    after = browser.get("/spend/allocation/")
    assert h1(after) == "Nov 2018: 32.6\u202f% of the cost is nobody's ($15.01)."
    wrong = browser.post(
        "/spend/allocation/rules/", {**RULE, "name": "b", "kind": "resource", "pattern": "(a"}
    )
    assert wrong.status_code == 422
    assert "Not an RE2 expression" in wrong.content.decode()
    rule = AllocationRule.objects.get()
    shares = {**RULE, "rule": str(rule.pk), "team": "", "split": "fixed", "shares": "Web: 100"}
    assert browser.post("/spend/allocation/rules/", shares).status_code == 302
    assert list(rule.shares.values_list("share", flat=True)) == [Decimal(1)]
    assert browser.post(f"/spend/allocation/rules/{rule.pk}/remove/", {}).status_code == 302
    assert AllocationRule.objects.count() == 0


def test_a_viewer_tries_and_may_not_save(sign_in: SignIn, bills: None, organisation: Organisation) -> None:
    team_create(organisation=organisation, actor=Actor.system("test"), name="Web")
    browser = sign_in("viewer")
    assert browser.post("/spend/allocation/try/?from=2018-11-01&to=2018-12-01", RULE).status_code == 200
    assert browser.post("/spend/allocation/rules/", RULE).status_code == 403
    assert browser.post("/spend/allocation/teams/", {"name": "Ops"}).status_code == 403
    assert AllocationRule.objects.count() == 0


def test_changes_between_two_deliveries(sign_in: SignIn, bills: None) -> None:
    from apps.billing.models import Delivery

    after = Delivery.objects.get(billing_period=NOVEMBER)
    before = Delivery.objects.create(
        report=after.report, billing_period=NOVEMBER, kind="test", state="superseded",
        delivered_at=after.delivered_at.replace(day=1), content_hash="1" * 64, run_id=after.run_id,
        rows_read=2, stored=2, rejected=0, totals={"USD": {"billed": "40"}},
    )  # fmt: skip
    Delivery.objects.filter(pk=after.pk).update(totals={"USD": {"billed": "46.015"}})
    for delivery, service, billed in (
        (before, "Glue", "40"), (after, "Glue", "36"), (after, "EC2", "10.015"),
    ):  # fmt: skip
        DeliveryPart.objects.create(delivery=delivery, service=service, currency="USD", rows=1, billed=billed)
    response = sign_in("viewer").get("/spend/changes/?period=2018-11")
    assert h1(response) == "Nov 2018 changed by +$6.02 between two deliveries."
    text = response.content.decode()
    for shown in ("<b>+10.02</b>", "<b>−4.00</b>", "+6.02", "Superseded"):
        assert shown in text


def test_tags_report_what_looks_alike(sign_in: SignIn, bills: None) -> None:
    response = sign_in("viewer").get("/spend/tags/")
    assert h1(response) == "Team covers 67.4\u202f% of the cost; 1 group of keys looks alike."
    assert "Team, team" in response.content.decode()


def test_page_and_rest_tell_one_number(sign_in: SignIn, bills: None) -> None:
    browser = sign_in("viewer")
    rest = browser.get("/api/v1/spend?from=2018-11-01&to=2018-12-01&by=service").json()
    assert rest["total"] == "46.015"
    assert "$46.02" in h1(browser.get("/spend/"))


def test_the_number_of_queries_from_cache_is_frozen(sign_in: SignIn, bills: None) -> None:
    browser = sign_in("viewer")
    cache.clear()
    browser.get("/spend/")
    with CaptureQueriesContext(connection) as caught:
        assert browser.get("/spend/").status_code == 200
    assert len(caught) == 12, [query["sql"][:100] for query in caught]
