"""Ends before starts are rejected with row and field in every format; undated charges are the bill's."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from finops.providers.alibaba.bills import AlibabaBill
from finops.providers.aws.bills import Cur2, CurLegacy
from finops.providers.azure.bills import AzureCost
from finops.providers.bills import BillKind
from finops.providers.focus.bills import Focus
from finops.providers.gcp.bills import GcpExport
from finops.providers.tencent.bills import TencentBill
from tests.support.bill_kinds import Read, read
from tests.support.bills import CUR_ROW

CUR2 = {
    "identity_line_item_id": "a", "bill_payer_account_id": "999", "line_item_line_item_type": "Usage",
    "bill_billing_period_start_date": "2026-03-01 00:00:00", "line_item_unblended_cost": "1",
    "bill_billing_period_end_date": "2026-04-01 00:00:00", "line_item_currency_code": "USD",
    "line_item_usage_start_date": "2026-03-02 00:00:00", "line_item_usage_end_date": "2026-03-02 01:00:00",
    "product": "{}", "resource_tags": "{}", "bill_payer_account_name": "x",
}  # fmt: skip
FOCUS = {
    "BillingAccountId": "999", "BillingCurrency": "USD", "BillingPeriodStart": "2026-03-01T00:00:00Z",
    "BillingPeriodEnd": "2026-04-01T00:00:00Z", "ChargePeriodStart": "2026-03-02T00:00:00Z",
    "ChargePeriodEnd": "2026-03-02T01:00:00Z", "ChargeCategory": "Usage", "BilledCost": "1",
    "ProviderName": "AWS",
}  # fmt: skip
GCP = {
    "billing_account_id": "01-B", "service.description": "Compute Engine", "sku.id": "s", "cost": "1",
    "usage_start_time": "2026-03-02 00:00:00+00:00", "usage_end_time": "2026-03-02 01:00:00+00:00",
    "currency": "USD", "credits": "[]", "invoice.month": "202603", "cost_type": "regular",
}  # fmt: skip
AZURE = {
    "SubscriptionId": "s1", "Date": "2026-03-02", "MeterCategory": "Storage", "CostInBillingCurrency": "1",
    "BillingCurrency": "USD", "BillingPeriodStartDate": "2026-03-01", "BillingPeriodEndDate": "2026-03-31",
    "ChargeType": "Usage",
}  # fmt: skip
ALIBABA = {
    "账期": "2026-03", "账号ID": "185", "产品Code": "ecs", "产品": "云服务器", "消费类型": "后付费",
    "账单类型": "消费", "账单开始时间": "2026-03-02 00:00:00", "账单结束时间": "2026-03-02 01:00:00",
    "应付金额": "1", "币种": "CNY",
}  # fmt: skip
TENCENT = {
    "支付者UIN": "100", "产品名称": "云服务器CVM", "交易类型": "按量计费小时结",
    "扣费时间": "2026-03-05 06:52:00",
    "使用开始时间": "2026-03-05 05:00:00", "使用结束时间": "2026-03-05 06:00:00", "优惠后总价(元)": "1",
    "账单月": "2026-03",
}  # fmt: skip
CUR = {
    **CUR_ROW, "lineItem/UnblendedCost": "1", "reservation/ReservationARN": "", "reservation/StartTime": "",
    "reservation/EndTime": "",
}  # fmt: skip
KINDS: dict[str, tuple[BillKind, dict[str, str]]] = {
    "cur": (CurLegacy(), CUR), "cur2": (Cur2(), CUR2), "focus": (Focus(), FOCUS), "gcp": (GcpExport(), GCP),
    "azure": (AzureCost(), AZURE), "alibaba": (AlibabaBill(), ALIBABA), "tencent": (TencentBill(), TENCENT),
}  # fmt: skip
MARCH = (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))


def _read(name: str, change: Mapping[str, str]) -> Read:
    """The good row, then the changed one."""
    kind, row = KINDS[name]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(row), lineterminator="\n")
    writer.writeheader()
    writer.writerows([row, {**row, **change}])
    return read(kind, out.getvalue())


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("cur", "lineItem/UsageEndDate", "2026-03-01T23:59:59Z"),
        ("cur", "bill/BillingPeriodEndDate", "2026-03-01T00:00:00Z"),
        ("cur2", "line_item_usage_end_date", "2026-03-01 00:00:00"),
        ("cur2", "bill_billing_period_end_date", "2026-02-01 00:00:00"),
        ("focus", "ChargePeriodEnd", "2026-03-01T00:00:00Z"),
        ("focus", "BillingPeriodEnd", "2026-02-28T00:00:00Z"),
        ("gcp", "usage_end_time", "2026-03-01 23:00:00+00:00"),
        ("gcp", "usage_end_time", "2026-03-02 00:59:59+01:00"),
        ("azure", "BillingPeriodEndDate", "2026-02-28"),
        ("alibaba", "账单结束时间", "2026-03-01 23:00:00"),
        ("tencent", "使用结束时间", "2026-03-05 04:00:00"),
    ],
)
def test_a_period_that_runs_backwards_rejects_its_row(name: str, field: str, value: str) -> None:
    found = _read(name, {field: value})
    assert [fault[:3] for fault in found.faults] == [(2, field, "reject")]
    assert "ends" in found.faults[0][3]
    assert [(line["x_row"], line["billed_cost"]) for line in found.lines] == [(1, Decimal(1))]


def test_a_term_that_runs_backwards_rejects_its_row() -> None:
    term = {"reservation/StartTime": "2026-03-01T00:00:00Z", "reservation/EndTime": "2025-03-01T00:00:00Z"}
    found = _read("cur", term)
    assert [fault[:3] for fault in found.faults] == [(2, "reservation/EndTime", "reject")]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cur", {"lineItem/LineItemType": "Fee", "lineItem/UsageEndDate": "2026-03-02T00:00:00Z"}),
        ("cur", {"lineItem/LineItemType": "Usage", "lineItem/UsageEndDate": ""}),
        ("cur", {"lineItem/LineItemType": "Usage", "lineItem/UsageEndDate": "2026-03-02T00:00:00Z"}),
        ("focus", {"ChargeCategory": "Purchase", "ChargePeriodEnd": "2026-03-02T00:00:00Z"}),
        ("gcp", {"cost_type": "adjustment", "usage_end_time": "2026-03-02 00:00:00+00:00"}),
        ("alibaba", {"账单类型": "退款", "应付金额": "-1", "账单结束时间": "2026-03-02 00:00:00"}),
        ("tencent", {"使用开始时间": "", "使用结束时间": "2026-03-05 06:00:00"}),
        ("tencent", {"使用结束时间": "2026-03-05 05:00:00"}),
        ("azure", {"BillingPeriodEndDate": "2026-03-01"}),
    ],
    ids=[
        "fee",
        "no end",
        "use",
        "purchase",
        "adjustment",
        "refund of use",
        "end alone",
        "tencent use",
        "one day",
    ],
)
def test_what_may_be_of_one_moment_is_taken(name: str, change: Mapping[str, str]) -> None:
    found = _read(name, change)
    assert (len(found.lines), found.faults) == (2, [])


@pytest.mark.parametrize(
    ("name", "change", "category"),
    [
        (
            "cur",
            {"lineItem/LineItemType": "Tax", "lineItem/UsageStartDate": "", "lineItem/UsageEndDate": ""},
            "Tax",
        ),
        (
            "cur2",
            {
                "line_item_line_item_type": "Credit",
                "line_item_usage_start_date": "",
                "line_item_usage_end_date": "",
            },
            "Credit",
        ),
        ("focus", {"ChargeCategory": "Tax", "ChargePeriodStart": "", "ChargePeriodEnd": ""}, "Tax"),
        ("gcp", {"cost_type": "tax", "usage_start_time": "", "usage_end_time": ""}, "Tax"),
        ("azure", {"ChargeType": "Tax", "Date": ""}, "Tax"),
    ],
    ids=["cur", "cur2", "focus", "gcp", "azure"],
)
def test_charges_without_dates_have_the_billing_period(
    name: str, change: Mapping[str, str], category: str
) -> None:
    found = _read(name, change)
    assert (len(found.lines), found.faults) == (2, [])
    dated, undated = found.lines
    assert (undated["charge_period_start"], undated["charge_period_end"]) == MARCH
    assert (undated["x_day"], undated["charge_category"]) == (MARCH[0].date(), category)
    assert undated["x_undated"] in change
    assert dated["x_undated"] is None
    assert dated["charge_period_start"] > MARCH[0]


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("cur", {"lineItem/UsageStartDate": "", "lineItem/UsageEndDate": ""}, "lineItem/UsageStartDate"),
        ("cur", {"lineItem/LineItemType": "Tax", "lineItem/UsageStartDate": ""}, "lineItem/UsageStartDate"),
        (
            "cur",
            {"lineItem/LineItemType": "Tax", "lineItem/UsageStartDate": "soon", "lineItem/UsageEndDate": ""},
            "lineItem/UsageStartDate",
        ),
        ("focus", {"ChargePeriodStart": "", "ChargePeriodEnd": ""}, "ChargePeriodStart"),
        ("gcp", {"usage_start_time": "", "usage_end_time": ""}, "usage_start_time"),
        ("azure", {"Date": ""}, "Date"),
    ],
    ids=["use", "tax with an end", "tax with no time", "focus use", "gcp use", "azure use"],
)
def test_use_without_a_date_stays_an_error(name: str, change: Mapping[str, str], field: str) -> None:
    found = _read(name, change)
    assert [fault[:3] for fault in found.faults] == [(2, field, "reject")]
    assert len(found.lines) == 1


def test_an_undated_tax_of_a_month_ahead_of_utc_ends_with_it() -> None:
    tax = {"ChargeCategory": "Tax", "ChargePeriodStart": "", "ChargePeriodEnd": ""}
    found = _read("focus", {**tax, "BillingPeriodStart": "2026-02-28T16:00:00Z", "BillingPeriodEnd": ""})
    undated = found.lines[1]
    assert (undated["charge_period_start"], undated["charge_period_end"]) == (
        datetime(2026, 2, 28, 16, tzinfo=UTC),
        datetime(2026, 3, 31, 16, tzinfo=UTC),
    )
