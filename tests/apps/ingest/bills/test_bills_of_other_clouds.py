"""Small bills of each cloud through the whole pipeline: exact totals in their own currency, or a refusal."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from apps.billing.models import Delivery
from finops.frames.focus import BASES
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import import_text

pytestmark = pytest.mark.usefixtures("lake_folder")
GERMAN = (
    "\ufeffAbonnement-GUID (SubscriptionGuid),Ressourcenstandort (ResourceLocation),"
    "UsageDateTime (UsageDateTime),Kategorie der Verbrauchseinheit (MeterCategory),"
    "UsageQuantity (UsageQuantity),PreTaxCost (PreTaxCost),Tags (Tags),Currency,Maßeinheit (UnitOfMeasure)\n"
    's1,US East,2021-02-02,Storage,3,0.075,"{""team"": ""web""}",EUR,100 Hours\n'
    's1,US East,2021-02-03,Storage,1,"1,5",,EUR,100 Hours\n'
)
GCP = (
    "billing_account_id,service.description,sku.id,sku.description,usage_start_time,usage_end_time,cost,"
    "currency,credits,invoice.month,cost_type,labels,export_time\n"
    "01-B,Compute Engine,s,Core,2020-11-09 23:00:00+00:00,2020-11-10 00:00:00+00:00,0.5,USD,"
    "\"[{'name': 'Trial', 'amount': -0.25, 'full_name': None}]\",202011,regular,"
    "\"[{'key': 'team', 'value': 'web'}]\","
    "2020-11-10 05:49:32.199000+00:00\n"
    "01-B,Compute Engine,s,Tax,2020-11-09 23:00:00+00:00,2020-11-10 00:00:00+00:00,0.1,USD,[],202011,tax,[],"
    "2020-11-10 05:49:32.199000+00:00\n"
)
ALIBABA = (
    "账期,账号ID,产品Code,产品,消费类型,账单类型,账单开始时间,账单结束时间,实例ID,原价,优惠金额,应付金额,代金券抵扣,"
    "币种,实例标签\n"
    "2026-03,185,ecs,云服务器,后付费,消费,2026-03-01 00:00:00,2026-03-01 01:00:00,i-1,10,2,8,3,CNY,team:web\n"
    "2026-03,185,ecs,云服务器,预付费,退款,2026-03-02 00:00:00,2026-03-02 00:00:00,i-2,-1,0,-1,0,CNY,\n"
    "2026-03,185,oss,对象存储,后付费,消费,2026-03-02 00:00:00,2026-03-02 01:00:00,i-3,0.5,0,0.5,0,USD,\n"
)
TENCENT = (
    "支付者UIN,使用者UIN,产品名称,交易类型,扣费时间,使用开始时间,使用结束时间,资源ID,组件原价,优惠后总价(元),"
    "优惠券支出(元),账单月\n"
    "100,101,云服务器CVM,按量计费小时结,2026-03-05 06:52:00,2026-03-05 05:00:00,2026-03-05 06:00:00,ins-1,"
    "10,8,1.5,2026-03\n"
    "100,101,云服务器CVM,包年包月新购,2026/3/6 06:52,2026/3/6 05:00,2026/4/6 05:00,ins-2,100,90,-,2026-03\n"
)


@pytest.mark.parametrize(
    ("text", "kind", "provider", "period", "totals"),
    [
        (GERMAN, "azure-cost", "azure", date(2021, 2, 1), {"EUR": ("1.575", "1.575", "1.575", None)}),
        (GCP, "gcp-export", "gcp", date(2020, 11, 1), {"USD": ("0.35", "0.35", "0.35", "0.1")}),
        (
            ALIBABA,
            "alibaba-bill",
            "alibaba",
            date(2026, 3, 1),
            {"CNY": ("7", "7", "4", "9"), "USD": ("0.5", "0.5", "0.5", "0.5")},
        ),
        (TENCENT, "tencent-bill", "tencent", date(2026, 3, 1), {"CNY": ("98", "98", "96.5", "110")}),
    ],
    ids=["azure", "gcp", "alibaba", "tencent"],
)
def test_totals_are_exact_and_in_their_own_currency(
    tmp_path: Path,
    text: str,
    kind: str,
    provider: str,
    period: date,
    totals: dict[str, tuple[str | None, ...]],
) -> None:
    run = import_text(tmp_path / "bill.csv", text)
    assert (run.state, run.error, run.rejected) == ("finished", "", 0)
    delivery = Delivery.objects.get()
    assert (delivery.kind, delivery.report.provider, delivery.billing_period) == (kind, provider, period)
    got = {
        currency: tuple(None if sums[basis] is None else Decimal(sums[basis]) for basis in BASES)
        for currency, sums in delivery.totals.items()
    }
    assert got == {
        currency: tuple(None if v is None else Decimal(v) for v in sums) for currency, sums in totals.items()
    }


def test_a_list_total_that_a_part_of_the_rows_lacks_is_not_made_up(tmp_path: Path) -> None:
    import_text(tmp_path / "bill.csv", GCP)
    assert lines("x_line_item_type, billed_cost, list_cost, tags") == [
        ("regular", Decimal("0.25"), None, {"team": "web"}),
        ("tax", Decimal("0.1"), Decimal("0.1"), None),
    ]


@pytest.mark.parametrize(
    ("text", "old", "new", "field"),
    [
        (GERMAN, '"1,5"', '"1.1,5"', "PreTaxCost (PreTaxCost)"),
        (GCP, "0.1,USD,[],", "0.1,USD,-3,", "credits"),
        (GCP, ",tax,", ",gift,", "cost_type"),
        (ALIBABA, ",退款,", ",礼品,", "账单类型"),
        (TENCENT, ",包年包月新购,", ",礼品,", "交易类型"),
    ],
)
def test_one_bad_row_refuses_the_delivery_and_the_old_one_stays(
    tmp_path: Path, text: str, old: str, new: str, field: str
) -> None:
    import_text(tmp_path / "first.csv", text)
    before, stored = Delivery.objects.get(), lines("*")
    run = import_text(tmp_path / "second.csv", text.replace(old, new))
    assert run.state == "refused"
    assert f"row 2, {field}" in run.error
    assert Delivery.objects.get() == before
    assert lines("*") == stored


def test_a_header_without_rows_is_refused_in_a_sentence(tmp_path: Path) -> None:
    run = import_text(tmp_path / "bill.csv", GERMAN.splitlines()[0] + "\n")
    assert (run.state, run.error) == ("refused", "no rows: the billing period is not known")
    assert not Delivery.objects.exists()


def test_an_order_of_dates_that_nothing_shows_is_asked_for(tmp_path: Path) -> None:
    text = (
        "SubscriptionGuid,ResourceGroup,ResourceLocation,UsageDateTime,MeterCategory,UsageQuantity,PreTaxCost,"
        "Currency\ns1,rg,US East,02/03/2021,Storage,3,0.75,EUR\n"
    )
    run = import_text(tmp_path / "azure.csv", text)
    assert (run.state, run.stored) == ("refused", 0)
    assert run.error.startswith("azure.csv, UsageDateTime: 02/03/2021 can have the day or the month first")
    [told] = run.options["refused"][0]["rejections"]
    assert (told["file"], told["field"]) == ("azure.csv", "UsageDateTime")
    run = import_text(tmp_path / "azure.csv", text, dates="day-first")
    assert run.state == "finished"
    assert f"{Delivery.objects.get().billing_period:%Y-%m}" == "2021-03"


def test_what_is_no_currency_is_named_by_the_column_of_currencies(tmp_path: Path) -> None:
    head = "SubscriptionId,Date,MeterCategory,Quantity,CostInBillingCurrency,BillingCurrencyCode"
    rows = ("s1,2021-02-02,Storage,1,2,EUR", "s1,2021-02-03,Storage,1,2,MC")
    run = import_text(tmp_path / "usage.csv", "\n".join((head, *rows, "")).encode())
    (told,) = run.rejections.all()
    assert (told.row, told.field, told.reason) == (2, "BillingCurrencyCode", "no currency")
    assert lines("billed_cost, billing_currency") == [(Decimal(2), "EUR")]
