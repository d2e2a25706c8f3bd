"""Tencent Cloud bills: both sites and languages, currency in a header, vouchers, tax, tags by column."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from finops.providers.tencent.bills import TencentBill
from tests.support.bill_kinds import read

KIND = TencentBill()
ENGLISH = (
    "Payer Account ID,Owner Account ID,BillingMode,ProductName,SubproductName,Region,Availability Zone,"
    "InstanceID,InstanceName,Instance Type,TransactionType,TransactionID,TransactionTime,"
    "Usage Start Time,Usage End Time,"
    "ComponentType,ComponentName,Component Usage,Component Usage Unit,OriginalCost,"
    "Total Amount After Discount (Excluding Tax),Voucher Deduction,Amount Before Tax,TaxRate,TaxAmount,"
    "Total Cost (Including Tax),Currency,Bill Month,tag_key:team,tag_key:Env\n"
)
CHINESE = (
    "支付者 UIN,使用者 UIN,计费模式,产品名称,子产品名称,地域,可用区,资源 ID,资源别名,实例类型,"
    "交易类型,交易ID,扣费时间,"
    "使用开始时间,使用结束时间,组件类型,组件名称,组件用量,组件用量单位,组件原价,优惠后总价（元）,优惠券支出（元）,"
    "现金账户支出（元）,账单月\n"
)


def english(kind: str = "Pay-as-you-go hourly settlement", total: str = "7.42", currency: str = "USD") -> str:
    return (
        "100,101,Pay-as-you-go,Cloud Virtual Machine,CVM - Standard S5,South China (Guangzhou),-,"
        f"ins-1,web,-,{kind},"
        "t-1,2026/3/5 06:52,2026/3/5 05:00,2026/3/5 06:00,CPU,CPU - Standard S5,2,Core,10,8,1,7,0.06,0.42,"
        f"{total},{currency},2026-03,web,\n"
    )


def chinese(kind: str = "按量计费小时结", total: str = "8", month: str = "2026-03") -> str:
    return (
        "100,101,按量计费,云服务器CVM,标准型S5,华南地区（广州）,广州三区,"
        f"ins-1,web,-,{kind},t-1,2026-03-05 06:52:00,"
        f"2026-03-05 05:00:00,2026-03-05 06:00:00,CPU,CPU-标准型S5,2,核,10,{total},1.5,6.5,{month}\n"
    )


def test_the_international_site_bills_with_tax_after_vouchers() -> None:
    found = read(KIND, ENGLISH + english())
    assert found.faults == []
    [line] = found.lines
    assert (line["billing_account_id"], line["sub_account_id"]) == ("100", "101")
    assert line["billing_currency"] == "USD"
    assert line["billed_cost"] == line["effective_cost"] == line["x_net_cost"] == Decimal("7.42")
    assert (line["list_cost"], line["contracted_cost"]) == (10, 8)
    assert line["charge_period_start"] == datetime(2026, 3, 4, 21, tzinfo=UTC)
    assert line["charge_period_end"] == datetime(2026, 3, 4, 22, tzinfo=UTC)
    assert line["billing_period_start"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert (line["x_quantity"], line["x_unit"], line["charge_category"]) == (2, "Core", "Usage")
    assert (line["service_category"], line["availability_zone"]) == ("Compute", None)
    assert line["tags"] == {"team": "web"}
    assert found.tag_keys == ["team", "Env"]


def test_the_mainland_site_bills_yuan_before_vouchers() -> None:
    found = read(KIND, "\ufeff" + CHINESE + chinese())
    assert found.faults == []
    [line] = found.lines
    assert line["billing_currency"] == "CNY"
    assert (line["billed_cost"], line["x_net_cost"], line["list_cost"]) == (8, Decimal("6.5"), 10)
    assert (line["service_name"], line["service_category"]) == ("云服务器CVM", "Compute")
    assert (line["region_id"], line["availability_zone"]) == ("华南地区（广州）", "广州三区")
    assert (line["tags"], found.tag_keys) == (None, [])


def test_a_header_that_says_no_currency_is_not_taken() -> None:
    headers = CHINESE.replace("优惠后总价（元）", "优惠后总价").strip().split(",")
    assert KIND.recognise(headers).missing == ("Currency",)
    assert KIND.recognise([*headers, "币种"]).fits


@pytest.mark.parametrize(
    ("kind", "category", "pricing"),
    [
        ("包年包月新购", "Purchase", "Standard"),
        ("prepay_renew", "Purchase", "Standard"),
        ("包年包月退款", "Purchase", "Standard"),
        ("竞价实例小时结", "Usage", "Dynamic"),
        ("按量计费月结", "Usage", "Standard"),
        ("调账补偿", "Adjustment", None),
    ],
)
def test_what_each_charge_is(kind: str, category: str, pricing: str | None) -> None:
    [line] = read(KIND, CHINESE + chinese(kind)).lines
    assert (line["charge_category"], line["pricing_category"], line["billed_cost"]) == (category, pricing, 8)
    assert line["x_quantity"] == (2 if category == "Usage" else None)


def test_unknown_charges_and_money_that_is_no_number_refuse() -> None:
    found = read(KIND, ENGLISH + english("Gift") + english(total='"7,42"') + english(currency=""))
    assert [fault[:3] for fault in found.faults] == [
        (1, "TransactionType", "refuse"),
        (2, "Total Cost (Including Tax)", "refuse"),
        (3, "Currency", "reject"),
    ]
    assert found.faults[0][3] == "a charge that is not known: Gift"


def test_a_dash_is_nothing() -> None:
    found = read(KIND, CHINESE + chinese(total="-") + chinese().replace(",10,8,", ",-,8,"))
    assert found.faults == [(1, "优惠后总价（元）", "reject", "blank")]
    assert [(line["x_row"], line["list_cost"], line["billed_cost"]) for line in found.lines] == [(2, None, 8)]


def test_the_month_of_the_bill_wins_over_that_of_the_payment() -> None:
    [late] = read(KIND, CHINESE + chinese(month="202602")).lines
    assert late["billing_period_start"] == datetime(2026, 2, 1, tzinfo=UTC)
    header = CHINESE.replace("账单月", "备注")
    [paid] = read(KIND, header + chinese()).lines
    assert paid["billing_period_start"] == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_payment_in_the_first_hours_of_a_month_is_of_that_month() -> None:
    header = CHINESE.replace("账单月", "备注")
    [paid] = read(KIND, header + chinese().replace("2026-03-05", "2026-03-01")).lines
    assert paid["billing_period_start"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert f"{paid['charge_period_start']:%Y-%m}" == "2026-02"
