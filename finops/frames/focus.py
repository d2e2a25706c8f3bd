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

# Of the commitment itself, on the lines that tell them (fees of reservations and savings plans above all).
# Totals of a commitment stand on its fee line: they are of the billing period unless said otherwise.
COMMITMENT_COLUMNS: tuple[Column, ...] = (
    Column("x_commitment_start", Kind.INSTANT, meaning="begin of the commitment's term"),
    Column("x_commitment_end", Kind.INSTANT, meaning="end of the commitment's term"),
    Column("x_commitment_count", Kind.NUMBER, meaning="number of reservations under this id"),
    Column(
        "x_commitment_class", Kind.TEXT, meaning="standard, convertible, ComputeSavingsPlans …, as delivered"
    ),
    Column(
        "x_commitment_payment", Kind.TEXT, meaning="All Upfront, Partial Upfront, No Upfront, as delivered"
    ),
    Column("x_commitment_term", Kind.TEXT, meaning="length of the term, as delivered (1yr, 3yr)"),
    Column("x_commitment_family", Kind.TEXT, meaning="instance family of a savings plan, where bound to one"),
    Column("x_commitment_region", Kind.TEXT, meaning="region of the commitment; null where it has none"),
    Column("x_commitment_upfront", Kind.MONEY, meaning="upfront fee of the whole term, all reservations"),
    Column("x_commitment_amortized_upfront", Kind.MONEY, meaning="the period's part of the upfront fee"),
    Column(
        "x_commitment_recurring", Kind.MONEY, meaning="the period's recurring commitment of a savings plan"
    ),
    Column("x_commitment_total", Kind.MONEY, meaning="commitment to date of a savings plan's fee line"),
    Column("x_commitment_used", Kind.MONEY, meaning="part of x_commitment_total that usage took"),
    Column(
        "x_commitment_units", Kind.NUMBER, meaning="reserved hours (units) of the period, all reservations"
    ),
    Column(
        "x_commitment_units_each",
        Kind.NUMBER,
        meaning="reserved hours (units) of the period, one reservation",
    ),
    Column("x_commitment_unused_units", Kind.NUMBER, meaning="reserved hours (units) that nothing used"),
    Column("x_commitment_normalized_units", Kind.NUMBER, meaning="x_commitment_units in normalised units"),
    Column("x_commitment_normalized_units_each", Kind.NUMBER, meaning="x_commitment_units_each, normalised"),
    Column(
        "x_commitment_unused_normalized_units", Kind.NUMBER, meaning="x_commitment_unused_units, normalised"
    ),
    Column("x_commitment_subscription", Kind.TEXT, meaning="subscription id of a reservation"),
    Column("x_commitment_modification", Kind.TEXT, meaning="Original, System, Manual … as delivered"),
)
# Shares of a container in its machine. They split the parent's amortised cost, which the parent's own line
# counts: never added to the cost measures.
SPLIT_COLUMNS: tuple[Column, ...] = (
    Column("x_split_parent_resource_id", Kind.TEXT, meaning="machine whose cost is split"),
    Column("x_split_usage", Kind.NUMBER, meaning="capacity that counts: the larger of reserved and used"),
    Column("x_split_usage_ratio", Kind.NUMBER, meaning="x_split_usage by the machine's capacity, 0-1"),
    Column("x_split_reserved_usage", Kind.NUMBER, meaning="capacity asked for"),
    Column("x_split_actual_usage", Kind.NUMBER, meaning="capacity used"),
    Column("x_split_cost", Kind.MONEY, meaning="share of the parent's amortised cost by usage"),
    Column("x_split_unused_cost", Kind.MONEY, meaning="share of the parent's unused cost"),
    Column("x_split_net_cost", Kind.MONEY, meaning="x_split_cost after negotiated discounts"),
    Column("x_split_net_unused_cost", Kind.MONEY, meaning="x_split_unused_cost after negotiated discounts"),
    Column("x_split_list_cost", Kind.MONEY, meaning="share at public on-demand price"),
    Column("x_split_list_unused_cost", Kind.MONEY, meaning="unused share at public on-demand price"),
)
SOURCE_COLUMNS: tuple[Column, ...] = (
    Column(
        "x_source_columns", Kind.MAP, meaning="cells that no other column takes, as delivered (FOCUS files)"
    ),
    Column("x_rounded", Kind.TEXT, meaning="columns whose numbers had more than 18 places and were rounded"),
    Column(
        "x_undated", Kind.TEXT, meaning="the blank column for which the billing period is the charge period"
    ),
)

# A table of the lake keeps the number of a column: new ones come last.
LINE_COLUMNS: tuple[Column, ...] = (
    *OUR_COLUMNS[:6],
    *FOCUS_COLUMNS,
    *OUR_COLUMNS[6:],
    *COMMITMENT_COLUMNS,
    *SPLIT_COLUMNS,
    *SOURCE_COLUMNS,
)
BY_NAME: dict[str, Column] = {column.name: column for column in LINE_COLUMNS}


def focus_name(column: Column) -> str:
    """The column's name in FOCUS files; ours are `x_` and Pascal case (`x_NetCost`)."""
    if column.focus:
        return column.focus
    words = column.name.removeprefix("x_").split("_")
    return "x_" + "".join(word.capitalize() for word in words)


# The four ways to count money, and the column each sums. `billed` is cash as invoiced.
BASES: dict[str, str] = {
    "billed": "billed_cost",
    "amortised": "effective_cost",
    "net": "x_net_cost",
    "list": "list_cost",
}
