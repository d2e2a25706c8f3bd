"""Times, accounts and types that look right to a lax reader, through the pipeline."""

from __future__ import annotations

import io
import tarfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from apps.billing.models import Delivery
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

TYPE, COST, START = "lineItem/LineItemType", "lineItem/UnblendedCost", "lineItem/UsageStartDate"
PAYER, ACCOUNT = "bill/PayerAccountId", "lineItem/UsageAccountId"


@pytest.mark.parametrize(
    "cell", ["infinity", "-infinity", "epoch", "99999-01-01", "now", "2026-02-30", "01.03.2026"]
)
def test_what_is_no_time_of_four_digit_years_rejects_its_row(tmp_path: Path, cell: str) -> None:
    run = import_text(tmp_path / "t.csv", cur_csv([{COST: "1", START: cell}, {COST: "2"}]))
    assert (run.state, run.stored, run.rejected) == ("finished", 1, 1)
    told = run.rejections.get()
    assert (told.row, told.field, told.reason) == (1, START, f"not a time: {cell}")


@pytest.mark.parametrize(
    "cell",
    [
        "20260301",
        "20260301T000000.000Z",
        "20260301T000000Z",
        "2026/03/01 00:00:00",
        "2026-03-01 00:00:00 UTC",
    ],
)
def test_forms_of_one_billing_period(tmp_path: Path, cell: str) -> None:
    run = import_text(tmp_path / "p.csv", cur_csv([{COST: "1", "bill/BillingPeriodStartDate": cell}]))
    assert (run.stored, run.rejected) == (1, 0)
    assert lines("billing_period_start") == [(datetime(2026, 3, 1, tzinfo=UTC),)]


@pytest.mark.parametrize("column", [PAYER, ACCOUNT])
def test_an_account_that_a_spreadsheet_has_rounded_refuses_the_delivery(tmp_path: Path, column: str) -> None:
    run = import_text(tmp_path / "x.csv", cur_csv([{COST: "1"}, {COST: "2", column: "1.23457E+11"}]))
    assert run.state == "refused"
    assert run.error == f"x.csv, row 2, {column}: an account that a spreadsheet has rounded: 1.23457E+11"


def test_an_account_written_as_a_double_is_the_account(tmp_path: Path) -> None:
    import_text(
        tmp_path / "d.csv", cur_csv([{COST: "1"}, {COST: "2", PAYER: "999.0", ACCOUNT: "111122223333.0"}])
    )
    assert Delivery.objects.get().report.payer == "999"
    assert lines("DISTINCT billing_account_id, sub_account_id") == [("999", "111122223333")]


@pytest.mark.parametrize(
    "kind",
    [
        "EdpDiscount",
        "PrivateRateDiscount",
        "BundledDiscount",
        "SppDiscount",
        "DistributorDiscount",
        "RiVolumeDiscount",
    ],
)
def test_every_discount_lowers_cash_once(tmp_path: Path, kind: str) -> None:
    import_text(tmp_path / "d.csv", cur_csv([{COST: "10"}, {TYPE: kind, COST: "-1.5"}]))
    assert Delivery.objects.get().totals["USD"] == {
        "billed": "8.5",
        "amortised": "8.5",
        "net": "8.5",
        "list": None,
    }
    assert lines("charge_category, x_quantity", f"x_line_item_type = '{kind}'") == [("Credit", None)]


def test_refunds_and_negative_use_keep_their_sign(tmp_path: Path) -> None:
    rows = [
        {COST: "10", "lineItem/UsageAmount": "4"},
        {COST: "-2.5", "lineItem/UsageAmount": "-1"},
        {TYPE: "Refund", COST: "-1"},
        {TYPE: "Credit", COST: "-3"},
        {TYPE: "Credit", COST: "0.5"},
        {TYPE: "Tax", COST: "-0.25", START: "2026-01-01T00:00:00Z"},
    ]
    import_text(tmp_path / "r.csv", cur_csv(rows))
    assert lines("sum(billed_cost), sum(x_quantity)") == [(Decimal("3.75"), 3)]
    delivery = Delivery.objects.get()
    assert {kind: sums["USD"]["billed"] for kind, sums in delivery.by_line_item_type.items()} == {
        "Credit": "-2.5", "Refund": "-1", "Tax": "-0.25", "Usage": "7.5"
    }  # fmt: skip


def test_an_unknown_type_refuses_the_delivery(tmp_path: Path) -> None:
    run = import_text(tmp_path / "u.csv", cur_csv([{COST: "1"}, {TYPE: "Surcharge", COST: "1"}]))
    assert run.error.startswith(
        "u.csv, row 2, lineItem/LineItemType: no rule for a line of type Surcharge, cloud"
    )


def test_yuan_of_the_china_regions_stay_yuan(tmp_path: Path) -> None:
    china = {
        COST: "7",
        "lineItem/CurrencyCode": " cny",
        "lineItem/LegalEntity": "光环新网",
        "bill/BillingEntity": "SINNET",
    }
    import_text(tmp_path / "c.csv", cur_csv([china, {COST: "1"}]))
    totals = Delivery.objects.get().totals
    assert {currency: sums["billed"] for currency, sums in totals.items()} == {"CNY": "7", "USD": "1"}
    assert lines("invoice_issuer_name, x_billing_entity", "billing_currency = 'CNY'") == [
        ("光环新网", "SINNET")
    ]


@pytest.mark.parametrize("kind", ["Fee", "Refund", "Usage", "Tax"])
def test_what_the_marketplace_sells_is_no_commitment(tmp_path: Path, kind: str) -> None:
    sold = {TYPE: kind, COST: "12", "bill/BillingEntity": "AWS Marketplace"}
    import_text(tmp_path / "m.csv", cur_csv([sold, {COST: "1"}]))
    assert lines("sum(billed_cost), sum(effective_cost)") == [(13, 13)]


@pytest.mark.parametrize(
    ("mode", "name", "told"),
    [
        ("w", "b.tar", "a tar archive: unpack it"),
        ("w:gz", "b.tar.gz", "a tar archive"),
        ("", "b.csv", "no bill: binary"),
    ],
)
def test_what_is_no_table_is_said_to_be_no_bill(tmp_path: Path, mode: str, name: str, told: str) -> None:
    data = io.BytesIO(bytes(range(256)) if not mode else b"")
    if mode:
        with tarfile.open(fileobj=data, mode=mode) as archive:  # type: ignore[call-overload]
            member = tarfile.TarInfo("bill.csv")
            member.size = 3
            archive.addfile(member, io.BytesIO(b"a,b"))
    run = import_text(tmp_path / name, data.getvalue())
    assert run.state == "refused"
    assert told in run.error
