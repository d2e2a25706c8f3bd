"""Google Cloud billing exports: credits and labels as JSON and as Python writes them, months, types."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from finops.providers.gcp.bills import GcpExport
from tests.support.bill_kinds import read

KIND = GcpExport()
HEADER = [
    "billing_account_id",
    "service.id",
    "service.description",
    "sku.id",
    "sku.description",
    "usage_start_time",
    "usage_end_time",
    "project.id",
    "project.name",
    "labels",
    "location.location",
    "location.region",
    "export_time",
    "cost",
    "currency",
    "usage.amount",
    "usage.unit",
    "usage.amount_in_pricing_units",
    "usage.pricing_unit",
    "credits",
    "invoice.month",
    "cost_type",
    "seller_name",
]
GOOD = {
    "billing_account_id": "01-B",
    "service.id": "6F81",
    "service.description": "Compute Engine",
    "sku.id": "CF4E",
    "sku.description": "N1 Core",
    "usage_start_time": "2026-03-31 23:00:00+00:00",
    "usage_end_time": "2026-04-01 00:00:00+00:00",
    "project.id": "p-1",
    "project.name": "Web",
    "labels": "[]",
    "location.location": "us",
    "export_time": "2026-04-02 01:11:12.066+00:00",
    "cost": "1.25",
    "currency": "EUR",
    "usage.amount": "3600",
    "usage.unit": "seconds",
    "usage.amount_in_pricing_units": "1.0",
    "usage.pricing_unit": "hour",
    "credits": "[]",
    "invoice.month": "202604",
    "cost_type": "regular",
}


def cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def csv_of(*changes: dict[str, str], header: list[str] = HEADER) -> str:
    rows = [",".join(cell({**GOOD, **change}.get(name, "")) for name in HEADER) for change in changes]
    return "\n".join([",".join(header), *rows]) + "\n"


def test_a_row_becomes_a_line_of_its_invoice_month() -> None:
    [line] = read(KIND, csv_of({})).lines
    assert line["billing_period_start"] == datetime(2026, 4, 1, tzinfo=UTC)
    assert line["billing_period_end"] == datetime(2026, 5, 1, tzinfo=UTC)
    assert line["charge_period_start"] == datetime(2026, 3, 31, 23, tzinfo=UTC)
    assert (line["billed_cost"], line["contracted_cost"]) == (Decimal("1.25"), Decimal("1.25"))
    assert line["list_cost"] is None
    assert (line["x_quantity"], line["x_unit"]) == (1, "hour")
    assert (line["consumed_quantity"], line["consumed_unit"]) == (3600, "seconds")
    assert (line["sub_account_id"], line["sub_account_name"]) == ("p-1", "Web")
    assert (line["region_id"], line["tags"]) == (None, None)
    assert (line["charge_category"], line["pricing_category"]) == ("Usage", "Standard")
    assert line["x_billing_entity"] == "Google Cloud"


PYTHON = "[{'name': 'Trial', 'amount': -5e-06, 'full_name': None, 'id': 'T:1', 'type': 'PROMOTION'}]"
JSON = '[{"name":"Trial","amount":-5e-06,"full_name":null,"id":"T:1","type":"PROMOTION"}]'
TWO = "[{'name': 'a', 'amount': -0.25}, {'name': 'b', 'amount': -1}]"
# A credit whose name looks like a field of its own.
TRAP = """[{'name': "it's {'amount': -9}", 'amount': -0.25}]"""


@pytest.mark.parametrize(
    ("credits", "billed"),
    [
        ("[]", "1.25"),
        ("", "1.25"),
        (PYTHON, "1.249995"),
        (JSON, "1.249995"),
        (TWO, "0"),
        (TRAP, "1"),
        ("[{'amount': -0.123456789012345678}]", "1.126543210987654322"),
        ('[ { "amount" : 2 } ]', "3.25"),
    ],
)
def test_credits_lower_what_is_invoiced_exactly(credits: str, billed: str) -> None:
    found = read(KIND, csv_of({"credits": credits}))
    assert found.faults == []
    [line] = found.lines
    assert (line["billed_cost"], line["effective_cost"], line["x_net_cost"]) == (Decimal(billed),) * 3
    assert line["contracted_cost"] == Decimal("1.25")


@pytest.mark.parametrize(
    "credits",
    [
        "-0.25",
        "[{'name': 'a'}]",
        "[{'name': 'a', 'amount': None}]",
        "[{'name': 'a', 'amount': 1.2.3}]",
        "[{'amount': -1, 'more': [1]}]",
        "[{'amount': -1}",
        "[{'amount': -1, 'amount': -1}]",
    ],
)
def test_credits_that_cannot_be_read_refuse_the_delivery(credits: str) -> None:
    found = read(KIND, csv_of({}, {"credits": credits}))
    assert found.faults == [(2, "credits", "refuse", f"not a list of credits with amounts: {credits}")]


@pytest.mark.parametrize(
    ("labels", "tags"),
    [
        ("[]", None),
        ("", None),
        ("[{'key': 'team', 'value': 'web'}]", {"team": "web"}),
        ('[{"key":"team","value":"we\\"b"},{"key":"Team","value":"é"}]', {"team": 'we"b', "Team": "é"}),
        ("[{'key': 'a', 'value': ''}, {'key': 'b', 'value': None}]", {"a": "", "b": None}),
        ("""[{'key': 'a', 'value': "it's"}, {'key': 'b', 'value': 'x\\'y'}]""", {"a": "it's", "b": "x'y"}),
        ("""[{'key': 'a', 'value': "'key': 'b', 'value': 'c'"}]""", {"a": "'key': 'b', 'value': 'c'"}),
    ],
)
def test_labels_are_tags_as_delivered(labels: str, tags: dict[str, str | None] | None) -> None:
    found = read(KIND, csv_of({"labels": labels}))
    assert found.faults == []
    assert found.lines[0]["tags"] == tags


@pytest.mark.parametrize(
    "labels",
    [
        "{'key': 'a'}",
        "[{'key': 'a'}]",
        "team:web",
        "[{'key': 'a', 'value': 'b'}, {'key': 'a', 'value': 'c'}]",
    ],
)
def test_labels_that_cannot_be_read_reject_the_row(labels: str) -> None:
    found = read(KIND, csv_of({"labels": labels}, {}))
    assert found.faults == [(1, "labels", "reject", "not a list of labels, each key once")]
    assert [line["x_row"] for line in found.lines] == [2]


@pytest.mark.parametrize(
    ("cost_type", "category", "charge_class"),
    [
        ("tax", "Tax", None),
        ("adjustment", "Adjustment", "Correction"),
        ("rounding_error", "Adjustment", None),
        ("", "Usage", None),
    ],
)
def test_types_of_cost(cost_type: str, category: str, charge_class: str | None) -> None:
    [line] = read(KIND, csv_of({"cost_type": cost_type})).lines
    assert (line["charge_category"], line["charge_class"]) == (category, charge_class)
    assert line["billed_cost"] == Decimal("1.25")
    assert (line["x_quantity"] is None) == (category != "Usage")


def test_unknown_types_of_cost_and_costs_that_are_no_number_refuse() -> None:
    found = read(KIND, csv_of({"cost_type": "gift"}, {"cost": "1,25"}))
    assert found.faults == [
        (1, "cost_type", "refuse", "a charge that is not known: gift"),
        (2, "cost", "refuse", "not a number: 1,25"),
    ]


def test_a_wrong_invoice_month_or_no_currency_reject_the_row() -> None:
    found = read(KIND, csv_of({"invoice.month": "202613"}, {"currency": ""}, {"invoice.month": "202604.0"}))
    assert found.faults == [
        (1, "invoice.month", "reject", "not a month (YYYYMM)"),
        (2, "currency", "reject", "blank"),
    ]
    assert [line["x_row"] for line in found.lines] == [3]


def test_spot_and_other_sellers_are_told() -> None:
    spot, market = read(
        KIND, csv_of({"sku.description": "Spot Preemptible N1 Core"}, {"seller_name": "Acme"})
    ).lines
    assert (spot["pricing_category"], market["pricing_category"]) == ("Dynamic", "Standard")
    assert (market["publisher_name"], market["x_billing_entity"]) == ("Acme", "Google Cloud Marketplace")


def test_columns_with_underscores_are_the_same_columns() -> None:
    header = [name.replace(".", "_") for name in HEADER]
    assert read(KIND, csv_of({}, header=header)).lines[0]["billed_cost"] == Decimal("1.25")
    assert KIND.recognise([name for name in header if name != "credits"]).missing == ("credits",)
