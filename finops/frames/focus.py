"""Bill lines: one row per line of a delivery, in FOCUS 1.2 words (snake_case), with `x_` columns of ours.

Source of names, types and nullability: the FinOps Open Cost and Usage Specification 1.2
(https://focus.finops.org/focus-specification/v1-2/). Money and quantities are exact decimals of
`DECIMAL(38, 18)`; times are aware UTC; periods are half-open.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DECIMAL_PRECISION = 38
DECIMAL_SCALE = 18


class Kind(StrEnum):
    """How a column is stored."""

    TEXT = "text"
    MONEY = "money"
    NUMBER = "number"
    INSTANT = "instant"
    MAP = "map"
    COUNT = "count"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `name` in the lake, `focus` its name in FOCUS files ("" for a column of ours)."""

    name: str
    kind: Kind
    focus: str = ""
    meaning: str = ""


def _focus(focus: str, kind: Kind = Kind.TEXT) -> Column:
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in focus)
    return Column(words.lstrip("_"), kind, focus)


FOCUS_COLUMNS: tuple[Column, ...] = (
    _focus("AvailabilityZone"),
    _focus("BilledCost", Kind.MONEY),
    _focus("BillingAccountId"),
    _focus("BillingAccountName"),
    _focus("BillingAccountType"),
    _focus("BillingCurrency"),
    _focus("BillingPeriodEnd", Kind.INSTANT),
    _focus("BillingPeriodStart", Kind.INSTANT),
    _focus("CapacityReservationId"),
    _focus("CapacityReservationStatus"),
    _focus("ChargeCategory"),
    _focus("ChargeClass"),
    _focus("ChargeDescription"),
    _focus("ChargeFrequency"),
    _focus("ChargePeriodEnd", Kind.INSTANT),
    _focus("ChargePeriodStart", Kind.INSTANT),
    _focus("CommitmentDiscountCategory"),
    _focus("CommitmentDiscountId"),
    _focus("CommitmentDiscountName"),
    _focus("CommitmentDiscountQuantity", Kind.NUMBER),
    _focus("CommitmentDiscountStatus"),
    _focus("CommitmentDiscountType"),
    _focus("CommitmentDiscountUnit"),
    _focus("ConsumedQuantity", Kind.NUMBER),
    _focus("ConsumedUnit"),
    _focus("ContractedCost", Kind.MONEY),
    _focus("ContractedUnitPrice", Kind.MONEY),
    _focus("EffectiveCost", Kind.MONEY),
    _focus("InvoiceId"),
    _focus("InvoiceIssuerName"),
    _focus("ListCost", Kind.MONEY),
    _focus("ListUnitPrice", Kind.MONEY),
    _focus("PricingCategory"),
    _focus("PricingCurrency"),
    _focus("PricingCurrencyContractedUnitPrice", Kind.MONEY),
    _focus("PricingCurrencyEffectiveCost", Kind.MONEY),
    _focus("PricingCurrencyListUnitPrice", Kind.MONEY),
    _focus("PricingQuantity", Kind.NUMBER),
    _focus("PricingUnit"),
    _focus("ProviderName"),
    _focus("PublisherName"),
    _focus("RegionId"),
    _focus("RegionName"),
    _focus("ResourceId"),
    _focus("ResourceName"),
    _focus("ResourceType"),
    _focus("ServiceCategory"),
    _focus("ServiceName"),
    _focus("ServiceSubcategory"),
    _focus("SkuId"),
    _focus("SkuMeter"),
    _focus("SkuPriceDetails", Kind.MAP),
    _focus("SkuPriceId"),
    _focus("SubAccountId"),
    _focus("SubAccountName"),
    _focus("SubAccountType"),
    _focus("Tags", Kind.MAP),
)

OUR_COLUMNS: tuple[Column, ...] = (
    Column("x_report", Kind.TEXT, meaning="id of the delivery's report (payer, name); partition"),
    Column("x_month", Kind.TEXT, meaning="billing period, YYYY-MM; partition"),
    Column("x_delivery", Kind.COUNT, meaning="id of the delivery"),
    Column("x_file", Kind.TEXT, meaning="file of the delivery the line came from"),
    Column("x_row", Kind.COUNT, meaning="1-based data record of that file"),
    Column("x_day", Kind.DAY, meaning="UTC date of the charge period's start"),
    Column("x_provider", Kind.TEXT, meaning="aws, azure, gcp, alibaba, tencent or the source's word"),
    Column("x_line_item_id", Kind.TEXT, meaning="id of the source; not stable between deliveries"),
    Column("x_line_item_type", Kind.TEXT, meaning="the source's own charge type, as delivered"),
    Column("x_billing_entity", Kind.TEXT, meaning="who sells: AWS, AWS Marketplace, …"),
    Column("x_usage_type", Kind.TEXT, meaning="usage type or meter, as delivered"),
    Column("x_operation", Kind.TEXT, meaning="operation, as delivered"),
    Column("x_product_code", Kind.TEXT, meaning="the source's service code"),
    Column("x_instance_type", Kind.TEXT, meaning="instance type, where the line is one"),
    Column("x_operating_system", Kind.TEXT, meaning="as delivered"),
    Column("x_tenancy", Kind.TEXT, meaning="as delivered"),
    Column("x_normalized_quantity", Kind.NUMBER, meaning="usage in normalised units"),
    Column("x_quantity", Kind.NUMBER, meaning="usage quantity that may be summed: 0 on negation rows"),
    Column("x_unit", Kind.TEXT, meaning="unit of x_quantity"),
    Column("x_net_cost", Kind.MONEY, meaning="cash after discounts that the billed column leaves out"),
    Column("x_net_effective_cost", Kind.MONEY, meaning="amortised cost after negotiated discounts"),
    Column("x_cost_categories", Kind.MAP, meaning="the payer's cost categories, as delivered"),
)

LINE_COLUMNS: tuple[Column, ...] = (*OUR_COLUMNS[:6], *FOCUS_COLUMNS, *OUR_COLUMNS[6:])
BY_NAME: dict[str, Column] = {column.name: column for column in LINE_COLUMNS}

# The four ways to count money, and the column each sums. `billed` is cash as invoiced.
BASES: dict[str, str] = {
    "billed": "billed_cost",
    "amortised": "effective_cost",
    "net": "x_net_cost",
    "list": "list_cost",
}
