"""The command and REST give one document; wrong questions name their argument, a missing rate is refused."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
OCTOBER, NOVEMBER = date(2018, 10, 1), date(2018, 11, 1)


@pytest.fixture
def viewer(organisation: Organisation) -> Client:
    user = User.objects.create_user("viewer@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=organisation, role="viewer")
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def _two_months(empty_lake: Path) -> None:
    services = {"EC2": "10.00", "S3": "1.50"}
    for period, extra in ((OCTOBER, "2.00"), (NOVEMBER, "50.00")):
        rows = [
            {"billed_cost": cost, "service_name": name, "x_day": period.replace(day=day), "x_quantity": "1",
             "x_unit": "h", "sub_account_id": "7"}
            for name, cost in services.items() for day in (1, 18)
        ]  # fmt: skip
        rows.append({"billed_cost": extra, "service_name": f"Only {period:%B}", "x_day": period})
        last = period.replace(day=31) if period == OCTOBER else period.replace(day=18)
        put_bill(rows, period=period, final=period == OCTOBER, last_day=last)


def verb(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = 0
    try:
        call_command("spend", *words, "--json")
    except SystemExit as error:
        code = int(error.code or 0)
    return code, json.loads(capsys.readouterr().out)


def without_time(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "evidence": {k: v for k, v in document["evidence"].items() if k != "at"}}


def test_a_basis_that_no_line_has_is_unknown_and_not_zero(
    empty_lake: Path, viewer: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"billed_cost": "2.00", "list_cost": None, "billing_currency": "CNY"},
        {"billed_cost": "1.00", "list_cost": None, "billing_currency": "USD"},
    ]
    put_bill(rows[1:], period=NOVEMBER)
    put_bill(rows, period=OCTOBER)
    month = ("--from", "2018-11-01", "--to", "2018-12-01", "--by", "service")
    code, answer = verb(capsys, *month, "--basis", "list")
    assert (code, answer["total"], answer["unallocated"]) == (0, None, None)
    assert (answer["totals"], answer["rows"][0]["cost"]) == ({"USD": None}, None)
    assert verb(capsys, *month)[1]["total"] == "1"
    both = verb(capsys, "--from", "2018-10-01", "--to", "2018-11-01", "--by", "service", "--basis", "list")[1]
    assert both["total"] == {"CNY": None, "USD": None}
    assert verb(capsys, "--from", "2020-10-01", "--to", "2020-11-01", "--by", "service")[1]["total"] == "0"
    page = viewer.get("/spend/", {"from": "2018-11-01", "to": "2018-12-01", "basis": "list"}).content.decode()
    assert "The bill tells no amount on this basis" in page


@pytest.mark.usefixtures("_two_months")
def test_verb_and_rest_are_one_document(viewer: Client, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--from", "2018-10-01", "--to", "2018-12-01", "--by", "service", "--granularity", "month")
    code, document = verb(capsys, *words, "--where", "account=7", "--where", "account=")
    asked = "from=2018-10-01&to=2018-12-01&by=service&granularity=month&where=account=7&where=account="
    rest = viewer.get(f"/api/v1/spend?{asked}")
    assert (code, rest.status_code) == (0, 200)
    assert without_time(rest.json()) == without_time(document)
    assert document["rows"][0] == {
        "service": "EC2", "period": "2018-10", "period_start": "2018-10-01", "period_end": "2018-11-01",
        "cost": "20", "currency": "USD", "quantity": "2", "unit": "h", "lines": 2, "lines_without_cost": 0,
    }  # fmt: skip
    assert (document["total"], document["currency"], document["unallocated"]) == ("98", "USD", "98")
    assert document["complete"] is False
    assert [gap["reason"] for gap in document["incomplete"]] == ["days missing", "not final"]
    assert document["delivered_to"] == "2018-11-19"
    assert sum(Decimal(row["cost"]) for row in document["rows"]) == Decimal(document["total"])
    assert set(document["evidence"]["snapshots"]) == {"billing.lines", "billing.daily"}


@pytest.mark.usefixtures("_two_months")
def test_the_open_month_is_compared_with_the_same_days(viewer: Client) -> None:
    asked = "from=2018-11-01&to=2018-12-01&by=service&against=month"
    found = viewer.get(f"/api/v1/spend/compare?{asked}").json()
    assert found["after"] == {"from": "2018-11-01", "to": "2018-11-19", "days": 18}
    assert found["before"] == {"from": "2018-10-01", "to": "2018-10-19", "days": 18}
    assert (found["cut"], found["complete"]) == (True, False)
    (change,) = found["changes"]
    assert (change["before_cost"], change["after_cost"], change["delta"]) == ("25", "73", "48")
    assert change["delta_pct"] == 192.0
    assert [(d["service"], d["delta"], d["delta_pct"], d["label"]) for d in change["drivers"]] == [
        ("Only November", "50", None, "new"), ("Only October", "-2", -100.0, "gone"),
        ("EC2", "0", 0.0, ""), ("S3", "0", 0.0, ""),
    ]  # fmt: skip
    nothing = viewer.get("/api/v1/spend/compare?from=2019-01-01&to=2019-02-01").json()
    assert (nothing["after"], nothing["changes"]) == (None, [])


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("--from", "2018-10-01", "--to", "2018-12-01", "--by", "servce"), "by"),
        (("--from", "yesterday", "--to", "2018-12-01"), "from"),
        (("--from", "2018-10-01", "--to", "2018-10-01"), "to"),
        (("--from", "2018-10-01", "--to", "2018-12-01", "--where", "x=1"), "where"),
    ],
)
def test_wrong_usage_names_its_argument(
    words: tuple[str, ...],
    field: str,
    viewer: Client,
    empty_lake: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, document = verb(capsys, *words)
    assert (code, document["error"]["field"]) == (2, field)
    query = "&".join(
        f"{name.removeprefix('--')}={value}" for name, value in zip(words[::2], words[1::2], strict=True)
    )
    rest = viewer.get(f"/api/v1/spend?{query}")
    assert rest.status_code == 400
    assert rest.json()["error"]["fields"][0]["field"] == field


@pytest.mark.usefixtures("_two_months")
def test_a_missing_rate_is_refused(viewer: Client, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = verb(capsys, "--from", "2018-10-01", "--to", "2018-11-01", "--currency", "EUR")
    assert (code, document["error"]["field"]) == (3, "currency")
    rest = viewer.get("/api/v1/spend?from=2018-10-01&to=2018-11-01&currency=EUR")
    assert (rest.status_code, rest.json()["error"]["code"]) == (400, "no_exchange_rate")


def test_without_bills_there_is_nothing_and_it_is_whole(
    empty_lake: Path, organisation: Organisation, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = verb(capsys, "--from", "2018-10-01", "--to", "2018-11-01", "--by", "team")
    assert (code, document["rows"], document["total"], document["currency"]) == (0, [], "0", None)
