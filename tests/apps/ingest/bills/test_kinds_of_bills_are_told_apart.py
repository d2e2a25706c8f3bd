"""Which kind a header is; a header that is none names the nearest kind and what it lacks."""

from __future__ import annotations

import pytest

from apps.ingest.bills.kinds import BY_NAME, recognise
from finops.providers.files import UnreadableError

HEADERS = {
    "azure-cost": (
        "SubscriptionGuid,ResourceGroup,ResourceLocation,UsageDateTime,MeterCategory,MeterId,MeterName,"
        "UsageQuantity,PreTaxCost,ConsumedService,InstanceId,Tags,Currency,UnitOfMeasure"
    ),
    "gcp-export": (
        "billing_account_id,service.id,service.description,sku.id,sku.description,usage_start_time,"
        "usage_end_time,project.id,labels,cost,currency,usage.amount,credits,invoice.month,cost_type"
    ),
    "alibaba-bill": (
        "账期,账号ID,产品Code,产品,消费类型,账单类型,实例ID,地域,用量,原价,优惠金额,应付金额,现金支付,币种"
    ),
    "tencent-bill": (
        "支付者UIN,使用者UIN,产品名称,子产品名称,计费模式,地域,资源ID,交易类型,扣费时间,组件名称,组件用量,"
        "组件原价,优惠后总价(元)"
    ),
    "aws-cur": (
        "identity/LineItemId,identity/TimeInterval,bill/PayerAccountId,bill/BillingPeriodStartDate,"
        "lineItem/UsageAccountId,lineItem/LineItemType,lineItem/UsageStartDate,lineItem/UsageType,"
        "lineItem/UnblendedCost,lineItem/CurrencyCode"
    ),
    "focus": (
        "BillingAccountId,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,"
        "ChargePeriodEnd,ChargeCategory,BilledCost,EffectiveCost,ServiceName,ProviderName"
    ),
}
ENGLISH = {
    "alibaba-bill": (
        "BillingCycle,AccountID,OwnerID,ProductCode,ProductName,SubscriptionType,Item,InstanceID,Region,Usage,"
        "PretaxGrossAmount,InvoiceDiscount,PretaxAmount,PaymentAmount,Currency"
    ),
    "tencent-bill": (
        "Payer Account ID,Owner Account ID,ProductName,SubproductName,BillingMode,Region,InstanceID,"
        "TransactionType,TransactionTime,ComponentName,OriginalCost,Total Cost (Including Tax),Currency"
    ),
}


@pytest.mark.parametrize(("name", "header"), [*HEADERS.items(), *ENGLISH.items()])
def test_a_header_is_its_kind_in_any_order(name: str, header: str) -> None:
    columns = header.split(",")
    assert recognise(columns).name == name
    assert recognise(columns[::-1]).name == name
    assert recognise(columns, name) is BY_NAME[name]


@pytest.mark.parametrize(
    ("name", "lost", "lacks"),
    [
        ("azure-cost", "Currency", "BillingCurrency"),
        ("azure-cost", "UsageDateTime", "Date"),
        ("gcp-export", "credits", "credits"),
        ("gcp-export", "invoice.month", "invoice.month"),
        ("alibaba-bill", "币种", "Currency"),
        ("alibaba-bill", "应付金额", "PretaxAmount"),
        ("tencent-bill", "优惠后总价(元)", "Total Cost (Including Tax), Currency"),
        ("tencent-bill", "支付者UIN", "Payer Account ID"),
    ],
)
def test_a_header_without_a_needed_column_names_the_nearest_kind_and_the_column(
    name: str, lost: str, lacks: str
) -> None:
    columns = [column for column in HEADERS[name].split(",") if column != lost]
    with pytest.raises(UnreadableError) as refused:
        recognise(columns)
    word = "columns" if ", " in lacks else "column"
    assert str(refused.value) == (
        f"not a bill that is known; nearest: {BY_NAME[name].title}, without its {word} {lacks}"
    )


def test_a_header_of_nothing_lists_what_is_known() -> None:
    with pytest.raises(
        UnreadableError, match="Azure cost export, Google Cloud billing export, Alibaba Cloud"
    ):
        recognise(["a", "b"])


def test_a_needed_column_in_two_spellings_is_refused() -> None:
    columns = [*HEADERS["aws-cur"].split(","), "line_item_unblended_cost"]
    with pytest.raises(UnreadableError) as refused:
        recognise(columns)
    assert str(refused.value) == "columns of one meaning: lineItem/UnblendedCost, line_item_unblended_cost"
