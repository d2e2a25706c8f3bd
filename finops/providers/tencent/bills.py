"""Tencent Cloud bill exports: bill details (one row per component), English and Chinese headers.

Source: Tencent Cloud, "Fields in Bills" (both sites), "Bill Fields Description" and DescribeBillDetail, read
2026-11-30. Quirks:
- The mainland site names the currency in its headers only: `优惠后总价(元)`. That says CNY; a header without
  it needs a currency column.
- The international site bills with tax (`Total Cost (Including Tax)`) after vouchers; the mainland site's
  total (优惠后总价) is before vouchers (优惠券支出), which lower the net cost here.
- "-" and blank both stand for nothing.
- Times come without an offset on the clock of `data/bill_clocks.csv`; see `finops.providers.bills.chinese`.
- Tags are one column per key, `tag_key:team`.
"""

from __future__ import annotations

from finops.providers.bills import BillKind, Given, Lines
from finops.providers.bills.charge_table import category_sql, charge_table
from finops.providers.bills.chinese import clock_of, currency, day_of, moment, month, month_end, wide
from finops.providers.bills.kind import DECIMAL
from finops.text.sql import quote

_PAYER = ("Payer Account ID", "支付者账号ID", "支付者UIN", "支付者 UIN")
_OWNER = ("Owner Account ID", "资源归属者账号ID", "使用者UIN", "使用者 UIN", "归属者账号ID")
_PRODUCT = ("Product Name", "产品名称")
_SUBPRODUCT = ("Subproduct Name", "子产品名称")
_TYPE = ("Transaction Type", "交易类型")
_MONTH = ("Bill Month", "账单月", "账单月份")
_TIME = ("Transaction Time", "扣费时间")
_START = ("Usage Start Time", "开始使用时间", "使用开始时间")
_END = ("Usage End Time", "结束使用时间", "使用结束时间")
_YUAN_TOTAL = ("优惠后总价(元)",)
_TOTAL = ("Total Cost (Including Tax)", "Total Cost", "Amount Before Tax", "优惠后总价", *_YUAN_TOTAL)
_AGREED = ("Total Amount After Discount (Excluding Tax)", "优惠后总价", *_YUAN_TOTAL)
_ORIGINAL = ("Original Cost", "组件原价", "组件原价(元)", "原价", "原价(元)")
_VOUCHERS = ("优惠券支出", "优惠券支出(元)", "代金券支付", "优惠券支付")
_CURRENCY = ("Currency", "币种")
_USAGE = ("Component Usage", "组件用量")
_UNIT = ("Component Usage Unit", "组件用量单位")
_INSTANCE = ("Instance ID", "资源ID", "资源 ID", "实例ID")
_REGION = ("Region", "地域")
_TAGS = ("tag_key:", "分账标签:", "标签键:")


class TencentBill(BillKind):
    """Bill details of both sites."""

    name = "tencent-bill"
    title = "Tencent Cloud bill"
    provider = "tencent"
    blanks = ("-",)
    required = {
        "payer": _PAYER,
        "product": _PRODUCT,
        "transaction type": _TYPE,
        "time": (*_MONTH, *_TIME),
        "total": _TOTAL,
        "currency": (*_CURRENCY, *_YUAN_TOTAL),
    }
    ends = _END
    typical = frozenset(
        {
            *_OWNER,
            *_SUBPRODUCT,
            *_START,
            *_END,
            *_ORIGINAL,
            *_USAGE,
            *_UNIT,
            *_INSTANCE,
            *_REGION,
            "Operator Account ID",
            "Billing Mode",
            "Project Name",
            "Component Name",
            "Component Type",
            "Component List Price",
            "Usage Duration",
            "Voucher Deduction",
            "操作者UIN",
            "计费模式",
            "项目名称",
            "组件名称",
            "组件类型",
            "组件刊例价",
            "使用时长",
            "现金账户支出(元)",
        }
    )

    def canonical(self, header: str) -> str:
        """Letters and digits of any script."""
        return wide(header)

    def lines(self, given: Given) -> Lines:
        """FOCUS columns as far as the header goes."""
        keys = _tag_keys(given)
        columns = {
            **_accounts(given),
            **_periods(given),
            **_charge(given),
            **_place(given),
            "tags": given.tags(keys),
            "x_provider": "'tencent'",
            "provider_name": "'Tencent Cloud'",
            "publisher_name": "'Tencent Cloud'",
            "invoice_issuer_name": "'Tencent Cloud'",
            "x_billing_entity": "'Tencent Cloud'",
        }
        wanted = [_PAYER, _TYPE, _TOTAL, _MONTH if given.has(*_MONTH) else _TIME]
        if given.has(*_CURRENCY):
            wanted.append(_CURRENCY)
        for names in wanted:
            given.reject_where(f"{given.text(*names)} IS NULL", given.header(*names), "blank")
        note = f"times are of {clock_of('tencent')}"
        return Lines(columns, tag_keys=list(keys), notes=[note])


KINDS = (TencentBill(),)


def _tag_keys(given: Given) -> dict[str, int]:
    keys: dict[str, int] = {}
    for place, header in enumerate(given.headers):
        for start in _TAGS:
            if header.name.startswith(start):
                keys.setdefault(header.name.removeprefix(start), place)
    return keys


def _accounts(given: Given) -> dict[str, str]:
    stated = currency(given.text(*_CURRENCY)) if given.has(*_CURRENCY) else "'CNY'"
    return {
        "billing_account_id": given.text(*_PAYER),
        "sub_account_id": given.text(*_OWNER),
        "billing_currency": stated,
    }


def _periods(given: Given) -> dict[str, str]:
    """The row's own use, else the time at which it was paid; the bill's month, else that of the payment."""
    zone = clock_of("tencent")
    paid, start, end = (moment(given, zone, *names) for names in (_TIME, _START, _END))
    stated = month(given, *_MONTH)
    cycle = f"coalesce({stated}, date_trunc('month', {paid} AT TIME ZONE {quote(zone)}))"
    begin = f"coalesce({start}, {paid}, {cycle} AT TIME ZONE {quote(zone)})"
    return {
        "charge_period_start": begin,
        # An end alone says nothing of when it began.
        "charge_period_end": f"CASE WHEN {start} IS NOT NULL THEN {end} END",
        "billing_period_start": f"{cycle} AT TIME ZONE 'UTC'",
        "billing_period_end": month_end(cycle),
        "x_day": f"CASE WHEN coalesce({start}, {paid}) IS NULL THEN CAST({cycle} AS DATE) "
        f"ELSE {day_of(begin, end, zone)} END",
    }


def _charge(given: Given) -> dict[str, str]:
    table = charge_table("tencent_contributions", ("type",))
    kind = given.text(*_TYPE)
    given.typed["charge"] = table.number_sql({"type": f"coalesce({kind}, '')"})
    said = f"'a charge that is not known: ' || {kind}"
    given.refuse_where(f"charge IS NULL AND {kind} IS NOT NULL", given.header(*_TYPE), said)
    formulas = {
        "total": given.money(*_TOTAL),
        "original": given.money(*_ORIGINAL),
        "agreed": given.money(*_AGREED),
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
    usage, used = "charge_category = 'Usage'", given.number(*_USAGE)
    spot = f"{given.text('Instance Type', '实例类型')} IN ('Spot', 'Spot instance', '竞价实例')"
    priced = table.word_sql("pricing_category", "charge")
    return {
        **columns,
        "x_net_cost": f"CAST(billed_cost - {vouchers} AS {DECIMAL})",
        "x_net_effective_cost": f"CAST(effective_cost - {vouchers} AS {DECIMAL})",
        "charge_category": table.word_sql("charge_category", "charge"),
        "charge_frequency": table.word_sql("charge_frequency", "charge"),
        "pricing_category": f"CASE WHEN {spot} THEN 'Dynamic' ELSE {priced} END",
        "charge_description": given.text("Component Name", "组件名称"),
        "consumed_quantity": f"CASE WHEN {usage} THEN {used} END",
        "consumed_unit": f"CASE WHEN {usage} AND {used} IS NOT NULL THEN {given.text(*_UNIT)} END",
        "x_unit": given.text(*_UNIT),
        "x_line_item_type": kind,
        "x_line_item_id": given.text("Transaction ID", "交易ID"),
    }


def _place(given: Given) -> dict[str, str]:
    """Service, resource and region, which the bills give by name only."""
    product, instance, region = given.text(*_PRODUCT), given.text(*_INSTANCE), given.text(*_REGION)
    return {
        "service_name": product,
        "service_category": category_sql("tencent", product),
        "region_id": region,
        "region_name": region,
        "availability_zone": given.text("Availability Zone", "可用区"),
        "resource_id": instance,
        "resource_name": f"CASE WHEN {instance} IS NOT NULL "
        f"THEN {given.text('Instance Name', '资源别名', '实例名称', '资源名称')} END",
        "resource_type": f"CASE WHEN {instance} IS NOT NULL THEN {given.text(*_SUBPRODUCT)} END",
        "sku_id": given.text("Component Name", "组件名称"),
        "sku_meter": given.text("Component Type", "组件类型"),
        "x_product_code": given.text("Product Code", "产品编码"),
        "x_usage_type": given.text("Component Name", "组件名称"),
    }
