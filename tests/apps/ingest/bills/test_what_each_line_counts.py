"""Cells, tags and line item types through the pipeline: what a line adds to each measure, exactly."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from apps.billing.models import Delivery
from apps.billing.selectors.delivery_documents import changes_document
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

TYPE, COST, USAGE = "lineItem/LineItemType", "lineItem/UnblendedCost", "lineItem/UsageAmount"


def _sums(where: str = "true") -> tuple[Decimal | None, ...]:
    return lines("sum(billed_cost), sum(effective_cost), sum(x_net_cost), sum(x_quantity)", where)[0]


def test_t1_04_columns_that_only_one_month_has(tmp_path: Path) -> None:
    april = {"bill/BillingPeriodStartDate": "2026-04-01T00:00:00Z"}
    may = {"bill/BillingPeriodStartDate": "2026-05-01T00:00:00Z"}
    import_text(tmp_path / "april.csv", cur_csv([{COST: "4.00", **april}]))
    text = cur_csv(
        [
            {"reservation/EffectiveCost": "1.50", TYPE: "DiscountedUsage", COST: "0.00",
             "resourceTags/user:team": "web", **may},
            {COST: "3.00", **may},
        ]
    )  # fmt: skip
    # by name, never by position
    rows = [line.split(",") for line in text.splitlines()]
    turned = "\n".join(",".join(reversed(row)) for row in rows) + "\n"
    import_text(tmp_path / "may.csv", turned)
    assert _sums()[:2] == (Decimal("7.00"), Decimal("8.50"))
    keys = {f"{d.billing_period:%m}": d.tag_keys for d in Delivery.objects.all()}
    assert keys == {"04": [], "05": ["user:team"]}
    team = "tags['user:team']"
    assert lines(f"x_month, {team}, effective_cost") == [
        ("2026-04", None, Decimal("4.00")),
        ("2026-05", "web", Decimal("1.50")),
        ("2026-05", None, Decimal("3.00")),
    ]


T1_07 = [
    ("2.00", {"Team": "web"}),
    ("3.00", {"team": "web"}),
    ("1.00", {"cost-center": "A1"}),
    ("1.50", {"cost_center": "A1"}),
    ("0.50", {"cost.center": "A1"}),
    ("1.00", {"\u00c9quipe": "x"}),
    ("2.00", {"E\u0301quipe": "x"}),
    ("4.00", {"Name": "db1", "name": "db2"}),
]


@pytest.mark.parametrize("layout", ["map", "columns"])
def test_t1_07_tag_keys_stay_as_delivered(tmp_path: Path, layout: str) -> None:
    if layout == "map":
        rows = [{COST: cost, "resource_tags": json.dumps(tags)} for cost, tags in T1_07]
    else:
        rows = [{COST: cost, **{f"resourceTags/{k}": v for k, v in tags.items()}} for cost, tags in T1_07]
    import_text(tmp_path / "tags.csv", cur_csv(rows))
    found = {frozenset(tags.items()): cost for cost, tags in lines("billed_cost, tags")}
    assert found == {frozenset(tags.items()): Decimal(cost) for cost, tags in T1_07}
    assert len({key for tags in found for key, _ in tags}) == 9
    assert Delivery.objects.get().totals["USD"]["billed"] == "15"


def test_t1_08_covered_usage_and_its_negation(tmp_path: Path) -> None:
    effective = "savingsPlan/SavingsPlanEffectiveCost"
    total, used = "savingsPlan/TotalCommitmentToDate", "savingsPlan/UsedCommitment"
    rows = [
        {TYPE: "SavingsPlanCoveredUsage", USAGE: "2", COST: "0.40", effective: "0.26"},
        {TYPE: "SavingsPlanNegation", USAGE: "2", COST: "-0.40"},
        {TYPE: "SavingsPlanRecurringFee", USAGE: "", COST: "0.30", total: "0.30", used: "0.26"},
        {TYPE: "Usage", USAGE: "1", COST: "0.20"},
    ]
    import_text(tmp_path / "sp.csv", cur_csv(rows))
    assert _sums() == (Decimal("0.50"), Decimal("0.50"), Decimal("0.50"), Decimal(3))
    assert _sums("x_line_item_type = 'SavingsPlanRecurringFee'")[1] == Decimal("0.04")
    agrees = {"code": "amortised", "currency": "USD", "agrees": True, "difference": "0"}
    assert agrees in Delivery.objects.get().notes


def test_t1_11_a_fee_is_judged_by_seller_and_reservation(tmp_path: Path) -> None:
    entity, arn = "bill/BillingEntity", "reservation/ReservationARN"
    rows = [
        {TYPE: "Usage", COST: "100.00"},
        {TYPE: "Fee", entity: "AWS Marketplace", COST: "1200.00"},
        {TYPE: "Fee", arn: "arn:ri/7", COST: "876.00"},
        {TYPE: "Usage", entity: "AWS Marketplace", COST: "5.00"},
    ]
    import_text(tmp_path / "fees.csv", cur_csv(rows))
    assert _sums()[:2] == (Decimal("2181.00"), Decimal("1305.00"))
    assert _sums("x_billing_entity = 'AWS'")[1] == Decimal("100.00")
    assert _sums("x_billing_entity = 'AWS Marketplace'")[1] == Decimal("1205.00")


def test_t1_12_numbers_as_they_are_written(tmp_path: Path) -> None:
    costs = ["2.2e-09", "1E-7", "", "0E-10", "1.5e+2"]
    import_text(tmp_path / "n.csv", cur_csv([{COST: cost} for cost in costs]))
    assert _sums()[0] == Decimal("150.0000001022")
    delivery = Delivery.objects.get()
    assert {"code": "blank", "basis": "billed", "column": "billed_cost", "rows": 1} in delivery.notes
    assert delivery.stored == 5


def test_totals_keep_every_digit_of_the_lines(tmp_path: Path) -> None:
    # 38 digits, ten more than a Python decimal keeps when nobody asks it for more
    costs = ["12345678901234567890.123456789012345678", "1e-18", "-2.5"]
    at = datetime(2026, 4, 2, tzinfo=UTC)
    import_text(
        tmp_path / "n.csv",
        cur_csv([{COST: cost} for cost in costs]),
        at=at,
        expected={"USD": Decimal("1.00")},
    )
    before = Delivery.objects.get()
    assert before.totals["USD"]["billed"] == "12345678901234567887.623456789012345679"
    assert before.by_line_item_type["Usage"]["USD"]["billed"] == "12345678901234567887.623456789012345679"
    assert before.difference == {"USD": "12345678901234567886.62"}
    import_text(tmp_path / "m.csv", cur_csv([{COST: costs[0]}]), at=at + timedelta(days=1))
    after = Delivery.objects.get(state="current")
    [change] = changes_document([after], by=["service"], basis="billed", now=at)["changes"]
    assert change["after"] == costs[0]
    assert change["difference"] == "2.499999999999999999"


@pytest.mark.parametrize(
    "cell", ["NaN", "1.2.3", "Infinity", "-inf", "1_000", "1,5", "0x1F", "abc", "1e", "1e30"]
)
def test_t1_12_a_cost_that_is_no_number_refuses_the_delivery(tmp_path: Path, cell: str) -> None:
    import_text(tmp_path / "good.csv", cur_csv([{COST: "7"}]))
    run = import_text(tmp_path / "bad.csv", cur_csv([{COST: "1"}, {COST: cell}]))
    assert run.state == "refused"
    [rejected] = run.rejections.all()
    assert (rejected.file, rejected.row, rejected.field) == ("bad.csv", 2, COST)
    assert cell in rejected.reason
    assert run.error == f"bad.csv, row 2, {COST}: not a number: {cell}"
    assert _sums()[0] == Decimal(7)
    assert [d.state for d in Delivery.objects.all()] == ["current"]


def test_a_currency_is_one_however_it_is_spelled(tmp_path: Path) -> None:
    field = "lineItem/CurrencyCode"
    rows = [{COST: str(n), field: code} for n, code in enumerate(["USD", "usd", "USD ", "$", "EUR"], start=1)]
    run = import_text(tmp_path / "c.csv", cur_csv(rows))
    [rejected] = run.rejections.all()
    assert (rejected.row, rejected.field, rejected.reason) == (4, field, "no currency")
    totals = Delivery.objects.get().totals
    assert {code: sums["billed"] for code, sums in totals.items()} == {"USD": "6", "EUR": "5"}


def test_t1_14_a_row_without_a_currency_is_rejected(tmp_path: Path) -> None:
    currency = "lineItem/CurrencyCode"
    rows = [{currency: "USD", COST: "100"}, {currency: "CNY", COST: "720"}, {currency: "", COST: "5"}]
    run = import_text(tmp_path / "c.csv", cur_csv(rows))
    assert (run.rows_read, run.stored, run.rejected) == (3, 2, 1)
    delivery = Delivery.objects.get()
    assert {c: t["billed"] for c, t in delivery.totals.items()} == {"USD": "100", "CNY": "720"}
    assert [(r.row, r.field, r.reason) for r in run.rejections.all()] == [(3, currency, "blank")]


@pytest.mark.parametrize("columns", [True, False])
def test_t1_17_a_discount_counts_once(tmp_path: Path, columns: bool) -> None:
    told = [
        ("Usage", "500.00", "435.00"),
        ("EdpDiscount", "-45.00", "0.00"),
        ("PrivateRateDiscount", "-20.00", "0.00"),
    ]
    net = {"lineItem/NetUnblendedCost"} if columns else set()
    rows = [{TYPE: t, COST: c, **dict.fromkeys(net, n)} for t, c, n in told]
    import_text(tmp_path / "edp.csv", cur_csv(rows))
    assert _sums()[0] == Decimal("435.00")
    assert _sums()[2] == Decimal("435.00")
    assert _sums("charge_category = 'Usage'")[0] == Decimal("500.00")
    assert _sums("charge_category = 'Credit'")[0] == Decimal("-65.00")
    agrees = {"code": "net", "currency": "USD", "agrees": True, "difference": "0"}
    assert (agrees in Delivery.objects.get().notes) is columns


def test_a_generated_report_may_say_none_for_a_blank_number(tmp_path: Path) -> None:
    effective = "savingsPlan/SavingsPlanEffectiveCost"
    run = import_text(tmp_path / "nise.csv", cur_csv([{COST: "1", effective: "None"}, {COST: "None"}]))
    assert (run.state, run.stored) == ("finished", 2)
    assert lines("billed_cost") == [(Decimal(1),), (None,)]


def test_a_type_without_a_rule_refuses_the_delivery(tmp_path: Path) -> None:
    run = import_text(tmp_path / "new.csv", cur_csv([{COST: "1"}, {TYPE: "FlatRateSubscription", COST: "2"}]))
    assert run.state == "refused"
    assert [(r.row, r.field) for r in run.rejections.all()] == [(2, TYPE)]
    assert "FlatRateSubscription" in run.error
    assert not Delivery.objects.exists()


def test_other_bad_cells_reject_their_row_only(tmp_path: Path) -> None:
    rows = [
        {COST: "1", USAGE: "one"},
        {COST: "2", "lineItem/UsageStartDate": "yesterday"},
        {COST: "4", "bill/PayerAccountId": ""},
        {COST: "8"},
    ]
    run = import_text(tmp_path / "cells.csv", cur_csv(rows))
    assert (run.rows_read, run.stored, run.rejected) == (4, 1, 3)
    assert [(r.row, r.field, r.reason) for r in run.rejections.order_by("row")] == [
        (1, USAGE, "not a number: one"),
        (2, "lineItem/UsageStartDate", "not a time: yesterday"),
        (3, "bill/PayerAccountId", "blank"),
    ]
    assert _sums()[0] == Decimal(8)
    assert lines("x_row") == [(4,)]
