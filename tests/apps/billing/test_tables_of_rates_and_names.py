"""Negotiated rates, exchange rates and account names: whole or refused, audited, the same by command."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, transaction

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation
from apps.billing.models import AccountName, ExchangeRate, NegotiatedRateRow
from apps.billing.selectors.accounts import account_names
from apps.billing.selectors.exchange import NoRateError, convert, exchange_lines, rates_between
from apps.billing.selectors.rates import RATE_COLUMNS, rate_lines
from apps.billing.services.accounts import Named, account_names_import, account_names_store
from apps.billing.services.exchange import (
    exchange_rate_remove,
    exchange_rate_set,
    exchange_rates_import,
)
from apps.billing.services.rates import rate_add, rate_end, rate_remove, rates_import
from finops.text.csv_cells import csv_lines
from finops.text.small_tables import TableError

pytestmark = pytest.mark.django_db
ACTOR = Actor.system("test")
DAY = date(2026, 5, 31)


@pytest.fixture
def ours(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def theirs(db: None) -> Organisation:
    return Organisation.objects.create(name="Other", slug="other")


def add(organisation: Organisation, **given: Any) -> NegotiatedRateRow:
    base = {"provider": "aws", "percent": "5", "valid_from": "2026-01-01", "source": "EDP 2026"}
    return rate_add(organisation=organisation, actor=ACTOR, **{**base, **given})


def refused(**given: Any) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as told:
        add(Organisation.default(), **given)
    return told.value.message_dict


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_rate_is_kept_with_an_audit_row(ours: Organisation) -> None:
    row = add(ours, service="AmazonEC2", sku="BoxUsage:m5*", percent="12.5", valid_until="2027-01-01")
    row.refresh_from_db()
    assert (row.percent, row.valid_from, row.valid_until) == (
        Decimal("12.5"),
        date(2026, 1, 1),
        date(2027, 1, 1),
    )
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.object_id, entry.after["sku"]) == (
        "negotiated_rate.add",
        str(row.pk),
        "BoxUsage:m5*",
    )


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"percent": ""}, "percent"),
        ({"price": "1", "currency": "USD"}, "percent"),
        ({"percent": "101"}, "percent"),
        ({"percent": "-1"}, "percent"),
        ({"percent": "1,5"}, "percent"),
        ({"percent": "1.0000001"}, "percent"),
        ({"percent": "", "price": "1", "sku": "x", "product": "y"}, "currency"),
        ({"percent": "", "price": "1", "currency": "USD"}, "sku"),
        ({"percent": "", "price": "1", "currency": "USD", "sku": "BoxUsage:m5.large"}, "product"),
        ({"currency": "USD"}, "currency"),
        ({"provider": "awss"}, "provider"),
        ({"source": " "}, "source"),
        ({"valid_from": "01.02.2026"}, "valid_from"),
        ({"valid_from": "2026-02-30"}, "valid_from"),
        ({"valid_until": "2026-01-01"}, "valid_until"),
        ({"sku": "x" * 101}, "sku"),
    ],
)
def test_a_wrong_rate_names_its_field_and_changes_nothing(
    ours: Organisation, given: dict[str, str], field: str
) -> None:
    assert list(refused(**given)) == [field]
    assert not NegotiatedRateRow.objects.exists()
    assert actions() == []


def test_rows_that_would_tie_are_refused_and_a_later_period_is_not(
    ours: Organisation, theirs: Organisation
) -> None:
    first = add(ours, sku="BoxUsage:m5*", valid_until="2026-07-01")
    assert f"row {first.pk} (EDP 2026)" in refused(sku="BoxUsage:m5*", percent="9")["sku"][0]
    add(ours, sku="BoxUsage:m5*", percent="9", valid_from="2026-07-01")
    add(theirs, sku="BoxUsage:m5*")
    assert NegotiatedRateRow.objects.filter(organisation=ours).count() == 2


def test_a_rate_ends_once_and_a_mistake_is_taken_out(ours: Organisation) -> None:
    row = add(ours)
    with pytest.raises(ValidationError):
        rate_end(row=row, actor=ACTOR, until=date(2026, 1, 1))
    assert rate_end(row=row, actor=ACTOR, until=date(2026, 6, 1)).valid_until == date(2026, 6, 1)
    with pytest.raises(ValidationError):
        rate_end(row=row, actor=ACTOR, until=date(2026, 7, 1))
    assert rate_remove(row=row, actor=ACTOR) is True
    assert rate_remove(row=row, actor=ACTOR) is False
    assert actions() == ["negotiated_rate.add", "negotiated_rate.end", "negotiated_rate.remove"]


def test_the_database_itself_refuses_a_rate_of_both_kinds(ours: Organisation) -> None:
    for wrong in (
        {"percent": None},
        {"price": Decimal(1), "currency": "USD"},
        {"percent": Decimal(101)},
        {"valid_until": date(2026, 1, 1)},
        {"source": ""},
    ):
        good = {"provider": "aws", "percent": Decimal(1), "valid_from": date(2026, 1, 1), "source": "x"}
        with pytest.raises(IntegrityError), transaction.atomic():
            NegotiatedRateRow.objects.create(organisation=ours, **{**good, **wrong})


RATES = """provider,service,sku,product,region,percent,price,currency,valid_from,valid_until,source
aws,AmazonEC2,,,,8,,,2026-01-01,2027-01-01,EDP 2026
aws,AmazonEC2,BoxUsage:p3.2xlarge,Linux/UNIX,us-east-1,,2.50,USD,2026-01-01,,=private offer
"""


def test_what_is_exported_comes_back_as_duplicates(ours: Organisation) -> None:
    got = rates_import(organisation=ours, actor=ACTOR, content=RATES.encode(), file="rates.csv")
    assert (got.read, got.stored, got.duplicates) == (2, 2, 0)
    text = "".join(csv_lines(RATE_COLUMNS, rate_lines(NegotiatedRateRow.objects.all())))
    assert "aws,AmazonEC2,,,,8,,,2026-01-01,2027-01-01,EDP 2026" in text
    assert "2.5,USD,2026-01-01,,'=private offer" in text
    again = rates_import(organisation=ours, actor=ACTOR, content=text.encode(), file="rates.csv")
    assert (again.read, again.stored, again.duplicates) == (2, 0, 2)
    assert actions() == ["negotiated_rate.add"] * 2


def test_one_wrong_row_refuses_the_file_and_every_mistake_is_named(ours: Organisation) -> None:
    text = RATES + "aws,,,,,x,,,2026-13-01,,\naws,AmazonEC2,,,,9,,,2026-02-01,,second contract\n"
    with pytest.raises(TableError) as told:
        rates_import(organisation=ours, actor=ACTOR, content=text.encode(), file="rates.csv")
    assert [(m.file, m.row, m.field) for m in told.value.mistakes] == [
        ("rates.csv", 3, "source"),
        ("rates.csv", 3, "percent"),
        ("rates.csv", 3, "valid_from"),
    ]
    tied = RATES + "aws,AmazonEC2,,,,9,,,2026-02-01,,second contract\n"
    with pytest.raises(TableError) as told:
        rates_import(organisation=ours, actor=ACTOR, content=tied.encode(), file="rates.csv")
    assert [(m.row, m.field) for m in told.value.mistakes] == [(3, "sku")]
    assert not NegotiatedRateRow.objects.exists()
    assert actions() == []


def test_yuan_become_dollars_at_the_rate_that_was_entered(ours: Organisation, theirs: Organisation) -> None:
    row = exchange_rate_set(
        organisation=ours, actor=ACTOR, date="2026-05-31", base="usd", quote="CNY", rate="7.20",
        source="entered by the user", both_ways="yes",
    )  # fmt: skip
    got = convert(Decimal("720.00"), "CNY", "USD", on=DAY, organisation=ours)
    assert got.rate is not None
    assert (got.amount, got.currency, got.divided) == (Decimal("100"), "USD", True)
    assert (got.rate.rate, got.rate.on, got.rate.source, got.rate.id) == (
        Decimal("7.2"),
        DAY,
        "entered by the user",
        row.pk,
    )
    assert Decimal("100.00") + got.amount == Decimal("200.00")
    with pytest.raises(NoRateError):
        convert(Decimal("720.00"), "CNY", "USD", on=DAY, organisation=theirs)
    assert len(rates_between(organisation=ours, currencies=["CNY", "USD"], to="USD")) == 1


def test_a_corrected_rate_and_one_that_is_taken_out_leave_audit_rows(ours: Organisation) -> None:
    def enter(rate: str) -> ExchangeRate:
        return exchange_rate_set(
            organisation=ours, actor=ACTOR, date=DAY, base="USD", quote="CNY", rate=rate, source="bank"
        )

    assert enter("7.2").pk == enter("7.20").pk == enter("7.1").pk
    row = ExchangeRate.objects.get()
    assert row.rate == Decimal("7.1")
    assert exchange_rate_remove(row=row, actor=ACTOR) is True
    assert exchange_rate_remove(row=row, actor=ACTOR) is False
    assert actions() == ["exchange_rate.set", "exchange_rate.set", "exchange_rate.remove"]


def test_a_file_of_exchange_rates(ours: Organisation) -> None:
    text = (
        "date,base,quote,rate,both_ways,source\n2026-05-31,USD,CNY,7.20,yes,bank\n"
        "2026-05-31,EUR,USD,1.1,,bank\n"
    )

    def load(more: str = "") -> tuple[int, int, int, int]:
        got = exchange_rates_import(
            organisation=ours, actor=ACTOR, content=(text + more).encode(), file="fx.csv"
        )
        return got.read, got.stored, got.changed, got.duplicates

    assert load() == (2, 2, 0, 0)
    assert load("2026-06-30,USD,CNY,7.1,yes,bank\n") == (3, 1, 0, 2)
    assert [line["rate"] for line in exchange_lines(ExchangeRate.objects.filter(base="EUR"))] == [
        Decimal("1.1")
    ]
    with pytest.raises(TableError) as told:
        load("2026-05-31,USD,CNY,7.3,yes,bank\n2026-05-31,USD,USD,1,no,bank\n2026-05-31,,CNY,0,maybe,\n")
    assert [(m.row, m.field) for m in told.value.mistakes] == [
        (3, "rate"), (4, "quote"), (5, "base"), (5, "source"), (5, "both_ways"), (5, "rate"),
    ]  # fmt: skip
    assert ExchangeRate.objects.count() == 3


def test_names_from_a_file_win_over_aws_organizations(ours: Organisation, theirs: Organisation) -> None:
    text = 'id,name,email\n111122223333,"Shop, live",a@example.test\n0044-4455-5566,Lab,\n'
    got = account_names_import(organisation=ours, actor=ACTOR, content=text.encode(), file="names.csv")
    assert (got.new, got.renamed, got.same) == (2, 0, 0)
    told = [Named("111122223333", "shop", "ACTIVE"), Named("777788889999", "Old", "SUSPENDED")]
    stored = account_names_store(organisation=ours, actor=ACTOR, names=told, source="organizations")
    assert (stored.new, stored.kept) == (1, 1)
    assert account_names(organisation=ours) == {
        ("aws", "004444555566"): "Lab",
        ("aws", "111122223333"): "Shop, live",
        ("aws", "777788889999"): "Old",
    }
    assert account_names(organisation=theirs) == {}
    again = account_names_store(organisation=ours, actor=ACTOR, names=told, source="organizations")
    assert (again.same, again.kept) == (1, 1)
    assert actions() == ["account_name.set"] * 2
    assert "example.test" not in json.dumps([e.after for e in AuditEntry.objects.all()])


def test_mistakes_in_names_are_told_with_row_and_field(ours: Organisation) -> None:
    text = "id,name\n11112222333,Short\n111122223333,\n111122223333,Twice\n111122223333,Other\n"
    with pytest.raises(TableError) as told:
        account_names_import(organisation=ours, actor=ACTOR, content=text.encode(), file="names.csv")
    assert [(m.row, m.field) for m in told.value.mistakes] == [(1, "id"), (2, "name"), (3, "id"), (4, "id")]
    assert "Leading zeros are lost" in told.value.mistakes[0].reason
    assert not AccountName.objects.exists()


def command(verb: str, path: Path, *words: str) -> tuple[int, Any]:
    out = StringIO()
    try:
        call_command(verb, str(path), "--json", *words, stdout=out, stderr=StringIO())
    except SystemExit as ended:
        return int(str(ended.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


def test_the_commands_answer_in_json_and_refuse_with_exit_code_3(ours: Organisation, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(RATES)
    assert command("import_rates", path) == (0, {"read": 2, "stored": 2, "duplicates": 0, "mistakes": []})
    path.write_text("date,base,quote,rate,source\n2026-05-31,USD,CNY,7.20,bank\n")
    assert command("import_exchange_rates", path)[1]["stored"] == 1
    path.write_text("id,name\n5,x\n")
    code, document = command("import_account_names", path)
    assert (code, document["mistakes"][0]["row"], document["mistakes"][0]["field"]) == (3, 1, "id")
    assert command("import_account_names", path, "--provider", "gcp") == (
        0,
        {"new": 1, "renamed": 0, "same": 0, "kept": 0, "mistakes": []},
    )
