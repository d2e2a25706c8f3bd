"""FOCUS exports (1.0 to 1.4), CSV and Parquet, of any provider.

Source: https://focus.finops.org/focus-specification/. Columns of later versions and of the provider (`x_…`)
stay with the line as delivered. Quirks: samples write an unquoted NULL for null beside blank cells; Tags is
JSON text or a Parquet map; AWS writes timestamps with and without Z.
"""

from __future__ import annotations

from finops.frames.focus import FOCUS_COLUMNS, Kind
from finops.providers.bills import BillKind, Given, Lines
from finops.text.sql import quote

# ProviderName as the clouds write it in their own exports -> our word; others keep their own in lower case.
PROVIDERS = {
    "aws": ("AWS", "Amazon Web Services", "Amazon Web Services, Inc."),
    "azure": ("Microsoft", "Microsoft Azure", "Azure"),
    "gcp": ("Google Cloud", "Google Cloud Platform", "GCP", "Google"),
    "alibaba": ("Alibaba Cloud", "Aliyun"),
    "tencent": ("Tencent Cloud", "Tencent"),
    "oci": ("Oracle", "Oracle Cloud", "Oracle Cloud Infrastructure", "OCI"),
}
_OURS = {
    "x_line_item_id": "x_LineItemId",
    "x_operating_system": "x_OperatingSystem",
    "x_tenancy": "x_Tenancy",
}


class Focus(BillKind):
    """Any FOCUS file; what it calls a column is what the line calls it."""

    name = "focus"
    title = "FOCUS"
    provider = ""
    required = {
        "billing account": ("BillingAccountId",),
        "currency": ("BillingCurrency",),
        "billing period": ("BillingPeriodStart",),
        "charge period": ("ChargePeriodStart",),
        "type": ("ChargeCategory",),
        "billed cost": ("BilledCost",),
        "effective cost": ("EffectiveCost",),
    }
    typical = frozenset(column.focus for column in FOCUS_COLUMNS)
    null_word = "NULL"

    def lines(self, given: Given) -> Lines:
        """Column by column; our own measures from the FOCUS ones that mean the same."""
        columns = {}
        for column in FOCUS_COLUMNS:
            if given.has(column.focus):
                columns[column.name] = _cell(given, column.focus, column.kind)
        columns["x_provider"] = _provider(given)
        # Files of our own carry our measures under `x_` names; any other file has the FOCUS ones only.
        columns["x_net_cost"] = given.money("x_NetCost", "BilledCost")
        columns["x_net_effective_cost"] = given.money("x_NetEffectiveCost", "EffectiveCost")
        columns["x_line_item_type"] = given.text("x_LineItemType", "ChargeCategory")
        columns["x_billing_entity"] = given.text("x_BillingEntity", "PublisherName", "InvoiceIssuerName")
        columns["x_usage_type"] = given.text("x_UsageType", "SkuMeter", "ChargeDescription")
        columns["x_operation"] = given.text("x_Operation")
        columns["x_product_code"] = given.text("x_ProductCode", "x_ServiceCode")
        columns["x_instance_type"] = given.text("x_InstanceType")
        usage = f"{given.text('ChargeCategory')} = 'Usage'"
        columns["x_quantity"] = f"CASE WHEN {usage} THEN {given.number('ConsumedQuantity')} END"
        if given.has("x_Quantity"):
            columns["x_quantity"] = given.number("x_Quantity")
        columns["x_unit"] = given.text("x_Unit", "ConsumedUnit")
        columns["x_normalized_quantity"] = given.number("x_NormalizedQuantity")
        columns["x_cost_categories"] = given.mapping("x_CostCategories")
        for ours, theirs in _OURS.items():
            columns[ours] = given.text(theirs)
        for wanted in self.required.values():
            if wanted[0] not in {"EffectiveCost", "BilledCost"}:
                given.reject_where(f"{given.text(*wanted)} IS NULL", wanted[0], "blank")
        return Lines(columns, tag_keys=None if given.has("Tags") else [])


def _cell(given: Given, focus: str, kind: Kind) -> str:
    if kind is Kind.MONEY:
        return given.money(focus)
    if kind is Kind.NUMBER:
        return given.number(focus)
    if kind is Kind.INSTANT:
        return given.instant(focus)
    if kind is Kind.MAP:
        return given.mapping(focus)
    return given.cell(focus)


def _provider(given: Given) -> str:
    if given.has("x_Provider"):
        return f"coalesce({given.text('x_Provider')}, 'focus')"
    said = given.text("ProviderName", "ServiceProviderName", "HostProviderName")
    if said == "NULL":
        return "'focus'"
    cases = " ".join(
        f"WHEN {said} IN ({', '.join(quote(word) for word in words)}) THEN {quote(ours)}"
        for ours, words in PROVIDERS.items()
    )
    return f"CASE {cases} ELSE coalesce(lower({said}), 'focus') END"
