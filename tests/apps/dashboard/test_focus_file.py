"""The explorer's link to the days as a FOCUS file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.support.bill_lake import put_bill

SignIn = Callable[..., Client]


@pytest.fixture(autouse=True)
def _home(settings: Any, tmp_path: Path) -> None:
    settings.OFFPEAK_HOME = tmp_path / "home"
    (tmp_path / "home").mkdir()


def test_the_link_gives_every_line_of_the_days(sign_in: SignIn, empty_lake: Path) -> None:
    rows = [
        {
            "billed_cost": "1.25",
            "service_name": name,
            "charge_period_start": datetime(2018, 11, day, tzinfo=UTC),
        }
        for name, day in (("EC2", 1), ("S3", 2), ("Glue", 3))
    ]
    put_bill(rows, period=date(2018, 11, 1))
    client = sign_in("viewer")
    page = client.get("/spend/?from=2018-11-01&to=2018-11-03").content.decode()
    address = page.split('href="/spend/focus/?', 1)[1].split('"', 1)[0].replace("&amp;", "&")
    answer = client.get(f"/spend/focus/?{address}")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    found = csv.DictReader(io.StringIO(answer.getvalue().decode()))
    assert [(row["ServiceName"], row["BilledCost"]) for row in found] == [("EC2", "1.25"), ("S3", "1.25")]


@pytest.mark.parametrize("query", ["", "from=2018-11-01", "from=2018-11-02&to=2018-11-01", "from=x&to=y"])
def test_wrong_days_go_back_to_the_page_and_say_why(query: str, sign_in: SignIn, empty_lake: Path) -> None:
    answer = sign_in("viewer").get(f"/spend/focus/?{query}")
    assert answer["Location"] == "/spend/"


def test_strangers_are_asked_to_sign_in(client: Client, db: None) -> None:
    assert client.get("/spend/focus/")["Location"].startswith("/accounts/login/?next=")
