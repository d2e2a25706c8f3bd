"""Rates, exchange rates and names by REST: the same tables as by page and command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.billing.models import ExchangeRate, NegotiatedRateRow

Make = Callable[..., Client]
RATE: dict[str, Any] = {
    "provider": "aws", "service": "AmazonEC2", "percent": "12.5", "valid_from": "2026-01-01", "source": "EDP",
}  # fmt: skip
CNY = {
    "date": "2026-05-31", "base": "USD", "quote": "CNY", "rate": "7.20", "both_ways": True,
    "source": "entered by the user",
}  # fmt: skip


@pytest.fixture
def program(with_key: Make) -> Client:
    return with_key("read:bills", "write:bills")


def post(client: Client, address: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{address}", body, content_type="application/json")


def upload(client: Client, address: str, text: str) -> Any:
    return client.post(f"/api/v1/{address}", {"file": SimpleUploadedFile("t.csv", text.encode())})


def test_a_rate_is_added_ended_and_taken_out(program: Client) -> None:
    made = post(program, "rates", RATE)
    assert made.status_code == 201
    row = NegotiatedRateRow.objects.get()
    assert {k: made.json()[k] for k in ("id", "percent", "price", "valid_until")} == {
        "id": row.pk, "percent": "12.500000", "price": None, "valid_until": None,
    }  # fmt: skip
    tied = post(program, "rates", {**RATE, "percent": "9"})
    assert (tied.status_code, "sku" in tied.content.decode()) == (400, True)
    ended = program.patch(
        f"/api/v1/rates/{row.pk}", {"valid_until": "2026-06-01"}, content_type="application/json"
    )
    assert ended.json()["valid_until"] == "2026-06-01"
    assert program.get("/api/v1/rates").json()["count"] == 1
    assert program.delete(f"/api/v1/rates/{row.pk}").status_code == 204
    assert program.delete(f"/api/v1/rates/{row.pk}").status_code == 404
    written = AuditEntry.objects.filter(action__startswith="negotiated_rate.").order_by("pk")
    assert [entry.action.partition(".")[2] for entry in written] == ["add", "end", "remove"]


def test_only_finance_reads_rates_and_a_key_needs_its_scope(sign_in: Make, with_key: Make) -> None:
    assert sign_in("viewer").get("/api/v1/rates").status_code == 403
    assert sign_in("finance").get("/api/v1/rates").status_code == 200
    assert with_key("read:prices").get("/api/v1/rates").status_code == 403
    assert post(with_key("read:bills"), "exchange-rates", CNY).status_code == 403


def test_an_amount_is_converted_with_its_rate_date_and_source(program: Client) -> None:
    assert post(program, "exchange-rates", CNY).status_code == 201
    asked = "/api/v1/exchange-rates/convert?amount=720.00&currency=cny&to=USD&on="
    assert program.get(asked + "2026-06-01").json() == {
        "amount": "100", "currency": "USD", "rate": "7.200000000000000000", "date": "2026-05-31",
        "source": "entered by the user", "divided": True,
    }  # fmt: skip
    for day in ("2026-05-30", "2026-08-01"):
        refused = program.get(asked + day)
        assert refused.status_code == 400
        assert "No exchange rate from CNY to USD" in refused.content.decode()
    row = ExchangeRate.objects.get()
    assert program.delete(f"/api/v1/exchange-rates/{row.pk}").status_code == 204


def test_files_are_taken_whole_or_refused_with_row_and_field(
    program: Client, organisation: Organisation
) -> None:
    loaded = upload(
        program, "exchange-rates/import", "date,base,quote,rate,source\n2026-05-31,USD,CNY,7.2,x\n"
    )
    assert loaded.json() == {"counts": {"read": 1, "stored": 1, "changed": 0, "duplicates": 0}}
    rates = "provider,percent,valid_from,source\naws,5,2026-01-01,EDP\naws,x,2026-01-01,EDP\n"
    refused = upload(program, "rates/import", rates)
    assert refused.status_code == 400
    assert "t.csv, row 2, percent" in refused.content.decode()
    assert not NegotiatedRateRow.objects.exists()
    assert upload(program, "account-names/import", "id,name\n111122223333,Shop\n").status_code == 200
    names = program.get("/api/v1/account-names").json()["results"]
    assert [(n["provider"], n["account"], n["name"], n["source"]) for n in names] == [
        ("aws", "111122223333", "Shop", "csv")
    ]
