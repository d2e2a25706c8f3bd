"""A line with all its columns, lists past their end, days that make no period."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
SignIn = Callable[..., Client]
MAY = date(2026, 5, 1)


@pytest.fixture
def bill(empty_lake: Path, organisation: Organisation) -> Delivery:
    return put_bill(
        [
            {
                "billed_cost": "1.230000000000000001", "service_name": "EC2", "x_day": MAY,
                "x_file": "a b&c.csv", "x_row": 7, "tags": {"user:Team <b>": "web", "user:blank": ""},
                "x_source_columns": {"reservation/ModificationStatus": "Original", "x/<i>": "1"},
            },
            {"billed_cost": "2", "service_name": "S3", "x_day": MAY, "x_file": "b.csv", "x_row": 1},
        ],
        period=MAY,
    )  # fmt: skip


def test_a_line_tells_all_its_columns(sign_in: SignIn, bill: Delivery) -> None:
    client = sign_in("viewer")
    listed = client.get("/spend/lines/?from=2026-05-01&to=2026-06-01").content.decode()
    found = [unescape(one) for one in re.findall(r'href="(/spend/lines/one/[^"]*)"', listed)]
    assert len(found) == 2, found  # the larger one first
    text = client.get(found[1]).content.decode()
    assert "BilledCost" in text
    assert "1.230000000000000001" in text
    assert "user:Team &lt;b&gt;" in text
    assert "reservation/ModificationStatus" in text
    assert "x/&lt;i&gt;" in text
    other = client.get(found[0]).content.decode()
    assert "No other cells of the source stand with this line" in other


@pytest.mark.parametrize("query", ["", "delivery=x&row=1", "delivery=1&row=9", f"delivery={'9' * 30}&row=1"])
def test_a_line_that_is_not_there_is_not_found(query: str, sign_in: SignIn, bill: Delivery) -> None:
    assert sign_in("viewer").get(f"/spend/lines/one/?{query}").status_code == 404


def test_lines_of_others_are_not_there(sign_in: SignIn, bill: Delivery) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    BillReport.objects.update(organisation=other)
    response = sign_in("admin").get(f"/spend/lines/one/?delivery={bill.pk}&file=b.csv&row=1")
    assert response.status_code == 404


def test_past_the_last_page_of_lines_is_the_last_page(sign_in: SignIn, bill: Delivery) -> None:
    response = sign_in("viewer").get("/spend/lines/?from=2026-05-01&to=2026-06-01&p=999")
    assert response.status_code == 302
    assert response["Location"].endswith("p=1")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("from=2026-05-20&to=2026-05-10", "From 2026-05-20 to 2026-05-10 is no period"),
        ("from=soon", "From soon to ? is no period"),
        ("from=2026-05-01&to=2026-06-01", ""),
        ("from=2026-05-02", ""),
        ("", ""),
    ],
)
def test_days_that_make_no_period_are_told(query: str, said: str, sign_in: SignIn, bill: Delivery) -> None:
    text = sign_in("viewer").get(f"/spend/?{query}").content.decode()
    assert (said in text) if said else ("is no period" not in text)
