"""Totals of invoices by REST, by CSV and beside a bill: deliveries say whether they reconcile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation
from apps.billing.models import Delivery, ExpectedTotal
from apps.billing.services.expected import expected_totals_import
from apps.ingest.services.invoices import invoice_total_set
from finops.text.small_tables import TableError
from tests.support.bills import cur_csv, import_text
from tests.support.lake import fresh_lake

Make = Callable[..., Client]
BODY = {"billing_period": "2026-03", "payer": "999", "currency": "usd", "total": "3.25", "source": "INV-1"}
HEADER = "billing_period,payer,currency,total\n"


@pytest.fixture
def lake_folder(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    settings.OFFPEAK_HOME = tmp_path / "home"
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


def _load(folder: Path, *costs: str, name: str = "march.csv", **options: Any) -> None:
    text = cur_csv([{"lineItem/UnblendedCost": cost} for cost in costs])
    run = import_text(folder / name, text, **options)
    assert run.state == "finished", run.error


def _told() -> tuple[Any, Any, Any]:
    found = Delivery.objects.get(state="current")
    return found.expected, found.reconciled, found.difference


def test_a_total_by_rest_compares_the_delivery_that_is_there(
    with_key: Make, lake_folder: Path, tmp_path: Path
) -> None:
    _load(tmp_path, "1.254", "2")
    client = with_key("write:bills", "read:bills")
    response = client.post("/api/v1/expected-totals", BODY, content_type="application/json")
    assert response.status_code == 201, response.content
    found = response.json()
    assert (found["billing_period"], found["currency"], found["total"], found["report"]) == (
        "2026-03", "USD", "3.25", "",
    )  # fmt: skip
    assert _told() == ({"USD": "3.25"}, True, {"USD": "0"})
    client.post("/api/v1/expected-totals", {**BODY, "total": "3.20"}, content_type="application/json")
    assert _told() == ({"USD": "3.20"}, False, {"USD": "0.05"})
    [row] = client.get("/api/v1/expected-totals").json()["results"]
    assert (row["id"], row["total"]) == (found["id"], "3.20")
    assert client.delete(f"/api/v1/expected-totals/{row['id']}").status_code == 204
    assert _told() == (None, None, None)
    actions = AuditEntry.objects.filter(action__startswith="expected_total").values_list("action", flat=True)
    assert sorted(actions) == ["expected_total.remove", "expected_total.set", "expected_total.set"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"total": "3,25"}, "total"),
        ({"billing_period": "March"}, "billing_period"),
        ({"currency": "$"}, "currency"),
    ],
)
def test_what_is_no_total_is_refused_with_its_field(
    with_key: Make, db: None, change: Any, field: str
) -> None:
    client = with_key("write:bills")
    response = client.post("/api/v1/expected-totals", {**BODY, **change}, content_type="application/json")
    assert response.status_code == 400
    assert field in response.content.decode()
    assert not ExpectedTotal.objects.exists()


def test_a_key_that_only_reads_may_not_enter_totals(with_key: Make, db: None) -> None:
    client = with_key("read:bills")
    assert client.post("/api/v1/expected-totals", BODY, content_type="application/json").status_code == 403


def test_a_total_that_came_first_meets_its_bill_and_every_restated_one(
    with_key: Make, lake_folder: Path, tmp_path: Path
) -> None:
    client = with_key("write:bills")
    file = SimpleUploadedFile("t.csv", (HEADER + "2026-03,999,USD,3.25\n").encode())
    response = client.post("/api/v1/expected-totals/import", {"file": file})
    assert response.status_code == 200, response.content
    assert response.json()["counts"]["stored"] == 1
    _load(tmp_path, "1.25", "2")
    assert _told()[1] is True
    _load(tmp_path, "1.25", "3", name="restated.csv")
    assert _told() == ({"USD": "3.25"}, False, {"USD": "1"})


def test_the_total_of_a_report_wins_over_that_of_its_payer(lake_folder: Path, tmp_path: Path) -> None:
    _load(tmp_path, "5", report="mine")
    rows = "2026-03,999,USD,9,\n20260301-20260401,999,USD,5.0,mine\n2026-04,999,USD,1,\n2026-03,1,USD,1,\n"
    path = tmp_path / "totals.csv"
    path.write_text("billing_period,payer,currency,total,report\n" + rows)
    out = StringIO()
    call_command("import_expected_totals", str(path), "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["read"], told["stored"], told["compared"], told["reconciled"]) == (4, 4, 1, 1)
    assert _told() == ({"USD": "5.0"}, True, {"USD": "0"})
    assert ExpectedTotal.objects.filter(source="totals.csv").count() == 4
    of_the_month = _listed("--billing-period", "2026-03")
    assert [(one["payer"], one["report"], one["total"]) for one in of_the_month] == [
        ("1", "", "1"), ("999", "", "9"), ("999", "mine", "5.0"),
    ]  # fmt: skip
    assert [len(one["deliveries"]) for one in of_the_month] == [0, 1, 1]
    assert of_the_month[2]["deliveries"][0] == {
        "id": Delivery.objects.get().pk, "report": "mine", "reconciled": True, "difference": "0",
    }  # fmt: skip
    assert len(_listed()) == 4
    assert _listed("--at", "2020-01-01T00:00:00Z") == []


def _listed(*words: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("expected_totals", *words, "--json", stdout=out)
    return json.loads(out.getvalue())["expected_totals"]  # type: ignore[no-any-return]


def test_a_month_that_is_none_is_wrong_usage(db: None) -> None:
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("expected_totals", "--billing-period", "March", "--json", stdout=out, stderr=StringIO())
    assert (ended.value.code, json.loads(out.getvalue())["error"]["field"]) == (2, "billing-period")


def test_currencies_are_compared_apart(lake_folder: Path, tmp_path: Path) -> None:
    rows = [{"lineItem/UnblendedCost": "1"}, {"lineItem/UnblendedCost": "7", "lineItem/CurrencyCode": "CNY"}]
    import_text(tmp_path / "two.csv", cur_csv(rows))
    for total, reconciled in (("CNY,7", False), ("CNY,7\n2026-03,999,USD,1", True)):
        _import(HEADER + f"2026-03,999,{total}\n")
        assert _told()[1] is reconciled


def _import(text: str) -> Any:
    return expected_totals_import(
        organisation=Organisation.default(), actor=Actor.system("test"), content=text.encode(), file="t.csv"
    )


def test_a_file_with_a_mistake_stores_nothing(db: None) -> None:
    with pytest.raises(TableError) as refused:
        _import(HEADER + "2026-03,999,USD,1\n2026-13,999,USD,1\n2026-03,999,USD,2\n,,,\n")
    told = [(m.row, m.field) for m in refused.value.mistakes]
    assert told == [(2, "billing_period"), (3, "total")]
    assert not ExpectedTotal.objects.exists()


def test_the_command_takes_the_totals_beside_the_bill(lake_folder: Path, tmp_path: Path) -> None:
    bill, totals = tmp_path / "march.csv", tmp_path / "t.csv"
    bill.write_text(cur_csv([{"lineItem/UnblendedCost": "3.25"}]))
    totals.write_text(HEADER + "2026-03,999,USD,3.25\n")
    out = StringIO()
    call_command("import_bill", str(bill), "--expected", str(totals), "--json", stdout=out, stderr=StringIO())
    [found] = json.loads(out.getvalue())["deliveries"]
    assert (found["reconciled"], found["difference"]) == (True, {"USD": "0"})


def test_a_total_entered_beside_a_delivery_stays_for_the_next_one(lake_folder: Path, tmp_path: Path) -> None:
    ours = Organisation.default()
    _load(tmp_path, "2", organisation=ours)
    given: dict[str, Any] = {"organisation": ours, "actor": Actor.system("test"), "currency": "USD"}
    invoice_total_set(delivery=Delivery.objects.get(), amount=Decimal("2.00"), **given)
    _load(tmp_path, "2.5", name="next.csv", organisation=ours)
    assert _told() == ({"USD": "2"}, False, {"USD": "0.5"})
    assert ExpectedTotal.objects.get().billing_period == date(2026, 3, 1)
