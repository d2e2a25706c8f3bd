"""Alibaba Cloud bills: English and Chinese headers, yuan, ways of paying, tags, the bill's own months."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from finops.providers.alibaba.bills import AlibabaBill
from tests.support.bill_kinds import read

KIND = AlibabaBill()
ENGLISH = (
    "BillingCycle,AccountID,AccountName,OwnerID,ProductCode,ProductName,ProductDetail,SubscriptionType,Item,"
    "UsageStartTime,UsageEndTime,InstanceID,NickName,InstanceSpec,Region,Zone,Usage,UsageUnit,"
    "PretaxGrossAmount,InvoiceDiscount,DeductedByCoupons,PretaxAmount,DeductedByCashCoupons,"
    "PaymentAmount,OutstandingAmount,Currency,Tag\n"
)
CHINESE = (
    "账期,账号ID,账号名称,Owner账号ID,产品Code,产品,产品明细,消费类型,账单类型,账单开始时间,账单结束时间,实例ID,"
    "实例昵称,实例规格,地域,可用区,用量,用量单位,原价,优惠金额,优惠券抵扣,应付金额,代金券抵扣,现金支付,未结清金额,"
    "币种,实例标签\n"
)


def row(  # one argument a column that a test changes
    item: str = "PayAsYouGoBill",
    kind: str = "PayAsYouGo",
    money: str = "10.00,2.00,0.50,7.50,1.25,6.25,0",
    currency: str = "CNY",
    tag: str = "team:web;env:prod",
    cycle: str = "2026-03",
    times: str = "2026-03-01 00:00:00,2026-03-01 01:00:00",
) -> str:
    return (
        f"{cycle},185,payer,186,ecs,Elastic Compute Service,ECS PAYG,{kind},{item},{times},i-1,web,"
        f"ecs.g6.large,cn-hangzhou,cn-hangzhou-b,1,Hour,{money},{currency},{tag}\n"
    )


@pytest.mark.parametrize(
    ("header", "item", "kind"),
    [
        (ENGLISH, "PayAsYouGoBill", "PayAsYouGo"),
        (CHINESE, "消费", "后付费"),
        ("\ufeff" + CHINESE, "后付费账单", ""),
    ],
)
def test_both_languages_give_the_same_line(header: str, item: str, kind: str) -> None:
    found = read(KIND, header + row(item, kind))
    assert found.faults == []
    [line] = found.lines
    assert line["billing_period_start"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert line["charge_period_start"] == datetime(2026, 2, 28, 16, tzinfo=UTC)
    assert line["charge_period_end"] == datetime(2026, 2, 28, 17, tzinfo=UTC)
    assert (line["billing_account_id"], line["sub_account_id"]) == ("185", "186")
    assert line["billing_currency"] == "CNY"
    assert line["billed_cost"] == line["effective_cost"] == Decimal("7.50")
    assert line["list_cost"] == Decimal("10.00")
    assert line["contracted_cost"] == Decimal("8.00")
    assert line["x_net_cost"] == Decimal("6.25")
    assert (line["x_quantity"], line["x_unit"], line["charge_category"]) == (1, "Hour", "Usage")
    assert (line["service_category"], line["x_instance_type"]) == ("Compute", "ecs.g6.large")
    assert line["tags"] == {"team": "web", "env": "prod"}


@pytest.mark.parametrize(
    ("item", "kind", "category", "listed"),
    [
        ("SubscriptionOrder", "Subscription", "Purchase", "10"),
        ("消费", "预付费", "Purchase", "10"),
        ("Refund", "Subscription", "Purchase", "10"),
        ("退款", "后付费", "Usage", "10"),
        ("Adjustment", "", "Adjustment", "7.5"),
    ],
)
def test_what_each_charge_is(item: str, kind: str, category: str, listed: str) -> None:
    [line] = read(KIND, ENGLISH + row(item, kind)).lines
    assert (line["charge_category"], line["billed_cost"]) == (category, Decimal("7.5"))
    assert line["list_cost"] == Decimal(listed)
    assert line["x_quantity"] is None


def test_unknown_charges_and_money_that_is_no_number_refuse() -> None:
    found = read(KIND, ENGLISH + row("Gift") + row(money='10,2,0,"7,5",0,7,0'))
    assert found.faults == [
        (1, "Item", "refuse", "a charge that is not known: Gift PayAsYouGo"),
        (2, "PretaxAmount", "refuse", "not a number: 7,5"),
    ]


def test_no_currency_is_assumed_and_words_are_codes() -> None:
    found = read(
        KIND, CHINESE + row("消费", "后付费", currency="") + row("消费", "后付费", currency="人民币")
    )
    assert found.faults == [(1, "币种", "reject", "blank")]
    assert [line["billing_currency"] for line in found.lines] == ["CNY"]
    without = [h for h in CHINESE.strip().split(",") if h != "币种"]
    assert KIND.recognise(without).missing == ("Currency",)


@pytest.mark.parametrize(
    ("tag", "tags"),
    [
        ("", None),
        ("a:b:c;", {"a": "b:c"}),
        ("key:team value:web; key:env value:a b", {"team": "web", "env": "a b"}),
        ("empty:", {"empty": ""}),
    ],
)
def test_tags(tag: str, tags: dict[str, str] | None) -> None:
    assert read(KIND, ENGLISH + row(tag=tag)).lines[0]["tags"] == tags


@pytest.mark.parametrize("tag", ["team", "a:1;a:2"])
def test_tags_that_cannot_be_read_reject_the_row(tag: str) -> None:
    assert read(KIND, ENGLISH + row(tag=tag)).faults == [(1, "Tag", "reject", "not tags, each key once")]


@pytest.mark.parametrize(
    ("cycle", "times", "start", "end", "day"),
    [
        # shorter than a day: the instant, and its date in UTC
        ("202603", "2026/3/5 06:52,2026/3/5 07:52", "2026-03-04T22:52", "2026-03-04T23:52", "2026-03-04"),
        (
            "2026-03",
            "2026-03-01 00:00:00,2026-03-01 01:00:00",
            "2026-02-28T16:00",
            "2026-02-28T17:00",
            "2026-02-28",
        ),
        (
            "2026-03",
            "2026-03-31 23:00:00,2026-04-01 00:00:00",
            "2026-03-31T15:00",
            "2026-03-31T16:00",
            "2026-03-31",
        ),
        # a day or longer: the bill's own date
        (
            "2026-03",
            "2026-03-01 00:00:00,2026-03-01 23:59:59",
            "2026-02-28T16:00",
            "2026-03-01T15:59:59",
            "2026-03-01",
        ),
        (
            "2026-03",
            "2026-03-31 00:00:00,2026-04-01 00:00:00",
            "2026-03-30T16:00",
            "2026-03-31T16:00",
            "2026-03-31",
        ),
        ("2026/03", ",", "2026-02-28T16:00", "2026-03-31T16:00", "2026-03-01"),
        # what says its offset
        (
            "2026-03",
            "2026-03-05T00:00:00Z,2026-03-05T09:00+08:00",
            "2026-03-05T00:00",
            "2026-03-05T01:00",
            "2026-03-05",
        ),
    ],
)
def test_times_become_instants_and_the_month_stays(
    cycle: str, times: str, start: str, end: str, day: str
) -> None:
    [line] = read(KIND, ENGLISH + row(cycle=cycle, times=times)).lines
    assert line["charge_period_start"] == datetime.fromisoformat(f"{start}Z")
    assert line["charge_period_end"] == datetime.fromisoformat(f"{end}Z")
    assert line["x_day"].isoformat() == day
    assert line["billing_period_start"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert line["billing_period_end"] == datetime(2026, 4, 1, tzinfo=UTC)


def test_a_day_alone_is_that_day() -> None:
    header = ENGLISH.replace("UsageStartTime,UsageEndTime", "BillingDate,Other")
    [line] = read(KIND, header + row(times="2026-03-05,")).lines
    assert line["charge_period_start"] == datetime(2026, 3, 4, 16, tzinfo=UTC)
    assert line["charge_period_end"] == datetime(2026, 3, 5, 16, tzinfo=UTC)
    assert line["x_day"].isoformat() == "2026-03-05"


def test_times_and_months_that_cannot_be_read_reject_the_row() -> None:
    found = read(KIND, ENGLISH + row(times="05/03/2026,") + row(cycle="2026-13"))
    assert [fault[:3] for fault in found.faults] == [
        (1, "UsageStartTime", "reject"),
        (2, "BillingCycle", "reject"),
    ]
