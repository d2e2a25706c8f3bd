"""Alibaba Cloud bill exports: instance and detailed bills, English and Chinese headers.

Source: Alibaba Cloud, "Detailed file format" and "Bill details" (help centre, user guide of Expenses and
Costs), and QueryInstanceBill, read 2026-11-30. Quirks:
- What is payable (PretaxAmount, 应付金额) is the gross amount less invoice discount and coupons. Vouchers,
  prepaid cards and cash are ways of paying it: only vouchers lower the net cost here.
- Times come without an offset on the clock of `data/bill_clocks.csv`; see `finops.providers.bills.chinese`.
- The instance id is the unit that is billed, not always the resource ("cn-shanghai;standard" in OSS bills).
- Tags are `key1:value1;key2:value2`, from the API `key:K value:V; …`.
- Subscriptions stay in the month in which they are charged; nothing in the file spreads them.
"""

from __future__ import annotations

from finops.providers.bills import BillKind, Given, Lines
from finops.providers.bills.charge_table import category_sql, charge_table
from finops.providers.bills.chinese import clock_of, currency, day_of, moment, month, month_end, wide
from finops.providers.bills.kind import DECIMAL
from finops.text.sql import quote

_CYCLE = ("BillingCycle", "账期", "账单月份")
_ACCOUNT = ("BillAccountID", "AccountID", "账单所属账号ID", "账号ID", "账号")
_ACCOUNT_NAME = ("BillAccountName", "AccountName", "账单所属账号", "账号名称")
_OWNER = ("OwnerID", "Owner Account ID", "资源归属账号ID", "Owner账号ID", "Owner账号")
_OWNER_NAME = ("OwnerAccountName", "OwnerName", "资源归属账号", "Owner账号名称")
_CODE = ("ProductCode", "产品Code", "产品代码")
_PRODUCT = ("ProductName", "产品", "产品名称")
_DETAIL = ("ProductDetail", "产品明细", "商品名称")
_ITEM = ("Item", "BillType", "账单类型")
_SUBSCRIPTION = ("SubscriptionType", "消费类型", "付费类型")
_GROSS = ("PretaxGrossAmount", "原价", "官网目录价", "目录总价")
_DISCOUNT = ("InvoiceDiscount", "优惠金额")
_PAYABLE = ("PretaxAmount", "PayableAmount", "应付金额")
_VOUCHERS = ("DeductedByCashCoupons", "代金券抵扣")
_CURRENCY = ("Currency", "币种")
_START = ("UsageStartTime", "ServiceStartTime", "账单开始时间", "服务开始时间")
_END = ("UsageEndTime", "ServiceEndTime", "账单结束时间", "服务结束时间")
_DAY = ("BillingDate", "账单日期", "日期")
_USAGE = ("Usage", "用量")
_UNIT = ("UsageUnit", "用量单位")
_INSTANCE = ("InstanceID", "实例ID")
_REGION = ("Region", "地域")


class AlibabaBill(BillKind):
    """Instance bill and bill details."""

    name = "alibaba-bill"
    title = "Alibaba Cloud bill"
    provider = "alibaba"
    required = {
        "billing cycle": _CYCLE,
        "account": _ACCOUNT,
        "product": (*_CODE, *_PRODUCT),
        "bill type": _ITEM,
        "payable amount": _PAYABLE,
        "currency": _CURRENCY,
    }
    ends = _END
    typical = frozenset(
        {
            *_GROSS,
            *_DISCOUNT,
            *_VOUCHERS,
            *_OWNER,
            *_DETAIL,
            *_SUBSCRIPTION,
            *_INSTANCE,
            *_REGION,
            *_USAGE,
            *_UNIT,
            "DeductedByCoupons",
            "DeductedByPrepaidCard",
            "OutstandingAmount",
            "PaymentAmount",
            "NickName",
            "InstanceConfig",
            "InstanceSpec",
            "优惠券抵扣",
            "储值卡抵扣",
            "未结清金额",
            "现金支付",
            "实例规格",
            "资源组",
            "财务单元",
        }
    )

    def canonical(self, header: str) -> str:
        """Letters and digits of any script."""
        return wide(header)

    def lines(self, given: Given) -> Lines:
        """FOCUS columns as far as the header goes."""
        columns = {
            **_accounts(given),
            **_periods(given),
            **_charge(given),
            **_place(given),
            "tags": _tags(given),
            "x_provider": "'alibaba'",
            "provider_name": "'Alibaba Cloud'",
            "publisher_name": "'Alibaba Cloud'",
            "invoice_issuer_name": "'Alibaba Cloud'",
            "x_billing_entity": "'Alibaba Cloud'",
        }
        for wanted in self.required.values():
            given.reject_where(f"{given.text(*wanted)} IS NULL", given.header(*wanted), "blank")
        tag_keys: list[str] | None = None if given.has("Tag", "实例标签") else []
        return Lines(columns, tag_keys=tag_keys, notes=[f"times are of {clock_of('alibaba')}"])


KINDS = (AlibabaBill(),)


def _accounts(given: Given) -> dict[str, str]:
    owner = given.text(*_OWNER)
    return {
        "billing_account_id": given.text(*_ACCOUNT),
        "billing_account_name": given.text(*_ACCOUNT_NAME),
        "sub_account_id": owner,
        "sub_account_name": given.text(*_OWNER_NAME),
        "billing_currency": currency(given.text(*_CURRENCY)),
    }


def _periods(given: Given) -> dict[str, str]:
    """The row's own times, else its day, else its whole month; the billing period as the bill writes it."""
    zone = clock_of("alibaba")
    cycle = month(given, *_CYCLE)
    start, end, day = (moment(given, zone, *names) for names in (_START, _END, _DAY))
    begin = f"coalesce({start}, {day}, {cycle} AT TIME ZONE {quote(zone)})"
    over = (
        f"CASE WHEN {start} IS NOT NULL THEN {end} WHEN {day} IS NOT NULL THEN {day} + INTERVAL 24 HOUR "
        f"ELSE {month_end(cycle, zone)} END"
    )
    return {
        "charge_period_start": begin,
        "charge_period_end": over,
        "billing_period_start": f"{cycle} AT TIME ZONE 'UTC'",
        "billing_period_end": month_end(cycle),
        "x_day": day_of(begin, over, zone),
    }


def _charge(given: Given) -> dict[str, str]:
    table = charge_table("alibaba_contributions", ("item", "subscription"))
    item = given.text(*_ITEM)
    given.typed["charge"] = table.number_sql(
        {"item": f"coalesce({item}, '')", "subscription": f"coalesce({given.text(*_SUBSCRIPTION)}, '')"}
    )
    said = f"'a charge that is not known: ' || {item} || ' ' || coalesce({given.text(*_SUBSCRIPTION)}, '')"
    given.refuse_where(f"charge IS NULL AND {item} IS NOT NULL", given.header(*_ITEM), said)
    payable, gross = given.money(*_PAYABLE), given.money(*_GROSS)
    agreed = f"CAST({gross} - {given.money(*_DISCOUNT)} AS {DECIMAL})"
    formulas = {
        "payable": payable,
        "gross": gross,
        "agreed": agreed if given.has(*_DISCOUNT) else f"CAST(NULL AS {DECIMAL})",
        "quantity": given.number(*_USAGE),
        "none": f"CAST(NULL AS {DECIMAL})",
    }
    columns = {
        name: table.measure_sql(measure, "charge", formulas)
        for name, measure in (
            ("billed_cost", "billed"),
            ("effective_cost", "effective"),
            ("list_cost", "list"),
            ("contracted_cost", "contracted"),
            ("x_quantity", "quantity"),
        )
    }
    vouchers = f"coalesce({given.money(*_VOUCHERS)}, 0)" if given.has(*_VOUCHERS) else "0"
    usage = "charge_category = 'Usage'"
    return {
        **columns,
        "x_net_cost": f"CAST(billed_cost - {vouchers} AS {DECIMAL})",
        "x_net_effective_cost": f"CAST(effective_cost - {vouchers} AS {DECIMAL})",
        "charge_category": table.word_sql("charge_category", "charge"),
        "charge_frequency": table.word_sql("charge_frequency", "charge"),
        "pricing_category": table.word_sql("pricing_category", "charge"),
        "charge_description": given.text(*_DETAIL),
        "list_unit_price": f"CASE WHEN {usage} THEN {given.money('ListPrice', '官网价', '单价')} END",
        "consumed_quantity": f"CASE WHEN {usage} THEN {given.number(*_USAGE)} END",
        "consumed_unit": f"CASE WHEN {usage} AND {given.number(*_USAGE)} IS NOT NULL "
        f"THEN {given.text(*_UNIT)} END",
        "x_unit": given.text(*_UNIT),
        "x_line_item_type": item,
        "invoice_id": given.text("InvoiceNo", "发票号"),
    }


def _place(given: Given) -> dict[str, str]:
    """Service, resource and region; a region is a name in one export and a code in another: as delivered."""
    code, product, instance = given.text(*_CODE), given.text(*_PRODUCT), given.text(*_INSTANCE)
    spec = given.text("InstanceSpec", "实例规格")
    return {
        "service_name": f"coalesce({product}, {code})",
        "service_category": category_sql("alibaba", code),
        "region_id": given.text(*_REGION),
        "region_name": given.text(*_REGION),
        "availability_zone": given.text("Zone", "可用区"),
        "resource_id": instance,
        "resource_name": f"CASE WHEN {instance} IS NOT NULL "
        f"THEN {given.text('NickName', '实例昵称', '实例名称')} END",
        "resource_type": f"CASE WHEN {instance} IS NOT NULL THEN {given.text('ProductType', *_DETAIL)} END",
        "sku_id": given.text("BillingItemCode", "计费项Code", "CommodityCode", "商品Code"),
        "sku_meter": given.text("BillingItem", "计费项"),
        "x_product_code": code,
        "x_usage_type": given.text("BillingItem", "计费项", *_DETAIL),
        "x_instance_type": f"CASE WHEN lower({code}) = 'ecs' THEN {spec} END",
    }


def _tags(given: Given) -> str:
    """The map of `k:v;k:v` or `key:k value:v; …`; what has no colon or a key twice rejects its row."""
    place = given.place("Tag", "实例标签")
    if place is None:
        return "CAST(NULL AS MAP(VARCHAR, VARCHAR))"
    text = f"nullif(trim({given.raw(place)}), '')"
    parts = f"list_filter(list_transform(string_split({text}, ';'), lambda e: trim(e)), lambda e: e <> '')"
    api = "regexp_full_match(e, 'key:.* value:.*')"
    key = f"CASE WHEN {api} THEN regexp_extract(e, 'key:(.*?) value:', 1) ELSE split_part(e, ':', 1) END"
    value = (
        f"CASE WHEN {api} THEN regexp_extract(e, 'key:.*? value:(.*)', 1) "
        "ELSE substr(e, instr(e, ':') + 1) END"
    )
    given.typed["tag_parts"] = parts
    given.typed["tag_names"] = f"list_transform({parts}, lambda e: {key})"
    good = (
        "len(list_filter(tag_parts, lambda e: contains(e, ':'))) = len(tag_parts) "
        "AND len(list_distinct(tag_names)) = len(tag_names)"
    )
    given.reject_where(
        f"{text} IS NOT NULL AND ({good}) IS NOT TRUE", given.headers[place].name, "not tags, each key once"
    )
    values = f"list_transform(tag_parts, lambda e: {value})"
    return f"CASE WHEN {good} AND len(tag_parts) > 0 THEN map(tag_names, {values}) END"
