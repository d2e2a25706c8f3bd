"""AWS Cost and Usage Reports: legacy (both header styles) and CUR 2.0.

Sources, read 2026-11: https://docs.aws.amazon.com/cur/latest/userguide/data-dictionary.html (legacy) and
/table-dictionary-cur2.html. Quirks:
- Reservation, savings plan, net, product and tag columns are there only when the account used them.
- CSV headers are `lineItem/UsageType`, those of the Athena integration and of CUR 2.0
  `line_item_usage_type`; the latter have lost the case of tag keys, which stay as delivered (`user_team`).
- CUR 2.0 keeps tags, cost categories and most product attributes in map columns (JSON text in CSV).
- Line item ids are not stable from one delivery to the next.
- The invoice id stays blank until the month is final.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from finops.providers.aws.bills_commitments import commitment_facts
from finops.providers.aws.bills_splits import split_shares, split_word
from finops.providers.aws.locations import region_names
from finops.providers.bills import BillKind, Given, Lines
from finops.providers.bills.charge_table import ChargeTable, charge_table
from finops.text.sql import quote

_SERVICES = Path(__file__).parent.parent / "data" / "aws_services.csv"
# Columns of the table of contributions.
MEASURES = ("billed", "effective", "net", "net_effective", "list", "contracted", "quantity")
_LEGACY_TAGS = "resourceTags/"
_FLAT_TAGS = "resource_tags_"
_LEGACY_CATEGORIES = "costCategory/"
_FLAT_CATEGORIES = "cost_category_"
_REQUIRED = {
    "line item id": ("identity/LineItemId",),
    "payer": ("bill/PayerAccountId",),
    "billing period": ("bill/BillingPeriodStartDate",),
    "type": ("lineItem/LineItemType",),
    "usage start": ("lineItem/UsageStartDate",),
    "cost": ("lineItem/UnblendedCost",),
    "currency": ("lineItem/CurrencyCode",),
}
_COMMON = (
    "identity/TimeInterval",
    "bill/BillType",
    "bill/BillingEntity",
    "bill/InvoiceId",
    "lineItem/UsageAccountId",
    "lineItem/ProductCode",
    "lineItem/UsageType",
    "lineItem/Operation",
    "lineItem/UsageAmount",
    "lineItem/UsageEndDate",
    "lineItem/LineItemDescription",
    "pricing/publicOnDemandCost",
)


@cache
def services() -> dict[str, tuple[str, str]]:
    """Product code -> (FOCUS service category, subcategory)."""
    with _SERVICES.open(encoding="utf-8", newline="") as handle:
        rows = csv.DictReader(line for line in handle if not line.startswith("#"))
        return {row["code"]: (row["category"], row["subcategory"]) for row in rows}


class _Cur(BillKind):
    """What both generations share."""

    provider = "aws"
    required: Mapping[str, tuple[str, ...]] = _REQUIRED
    starts = ("lineItem/UsageStartDate",)
    ends = ("lineItem/UsageEndDate",)
    billing_ends = ("bill/BillingPeriodEndDate",)
    term_ends = ("reservation/EndTime", "savingsPlan/EndTime")

    def lines(self, given: Given) -> Lines:
        """All FOCUS columns that a report can give."""
        columns = {
            **_accounts(given),
            **_charge(given),
            **_measures(given),
            **_commitment(given),
            **commitment_facts(given),
            **split_shares(given),
            **self._product(given),
        }
        columns["tags"], tag_keys = self._tags(given)
        columns["x_cost_categories"] = self._categories(given)
        for wanted in _REQUIRED.values():
            if wanted[0] not in {"lineItem/UnblendedCost", "identity/LineItemId", *self.starts}:
                given.reject_where(f"{given.text(*wanted)} IS NULL", wanted[0], "blank")
        return Lines(columns, tag_keys=tag_keys)

    def _attribute(self, given: Given, attribute: str) -> str:
        """A product attribute by its legacy name."""
        return given.text(f"product/{attribute}")

    def _product(self, given: Given) -> dict[str, str]:
        code = given.text("lineItem/ProductCode")
        product = lambda attribute: self._attribute(given, attribute)  # noqa: E731
        in_region = f"{product('locationType')} IS NULL OR {product('locationType')} = 'AWS Region'"
        region = f"coalesce({product('regionCode')}, {product('region')})"
        resource = given.text("lineItem/ResourceId")
        return {
            "service_name": f"coalesce({product('ProductName')}, {product('servicename')}, {code})",
            "service_category": _service_sql(code, 0),
            "service_subcategory": _service_sql(code, 1),
            "region_id": region,
            "region_name": f"coalesce(CASE WHEN {in_region} THEN {product('location')} END, "
            f"{_region_name_sql(region)})",
            "sku_id": product("sku"),
            "resource_type": f"CASE WHEN {resource} IS NOT NULL THEN {product('productFamily')} END",
            "x_instance_type": product("instanceType"),
            "x_operating_system": product("operatingSystem"),
            "x_tenancy": product("tenancy"),
            "x_product_code": code,
        }

    def _tags(self, given: Given) -> tuple[str, list[str] | None]:
        """(SQL of the map, keys that the header can report)."""
        keys: dict[str, int] = {}
        for place, header in enumerate(given.headers):
            for start in (_LEGACY_TAGS, _FLAT_TAGS):
                if header.name.startswith(start):
                    keys.setdefault(header.name.removeprefix(start), place)
        return given.tags(keys), list(keys)

    def _categories(self, given: Given) -> str:
        keys: dict[str, int] = {}
        for place, header in enumerate(given.headers):
            for start in (_LEGACY_CATEGORIES, _FLAT_CATEGORIES):
                if header.name.startswith(start):
                    keys.setdefault(header.name.removeprefix(start), place)
        return given.tags(keys)


class CurLegacy(_Cur):
    """CUR legacy: one column per product attribute and tag key."""

    name = "aws-cur"
    title = "AWS Cost and Usage Report"
    # AWS leaves the cell blank; reports made by nise, koku's generator, say None.
    no_value = "None"
    typical = frozenset((*_COMMON, "product/ProductName", "product/region", "lineItem/TaxType"))


class Cur2(_Cur):
    """CUR 2.0: map columns for tags, cost categories and product attributes."""

    name = "aws-cur2"
    title = "AWS CUR 2.0"
    required = {**_REQUIRED, "map columns": ("resource_tags", "product", "cost_category", "discount")}
    typical = frozenset(
        (
            *_COMMON,
            "bill_payer_account_name",
            "line_item_usage_account_name",
            "product",
            "resource_tags",
            "cost_category",
            "discount",
        )
    )

    def _attribute(self, given: Given, attribute: str) -> str:
        own = given.text(f"product/{attribute}")
        if not given.has("product"):
            return own
        key = "".join(f"_{c.lower()}" if c.isupper() else c for c in attribute).lstrip("_")
        inside = f"nullif({given.mapping('product')}[{quote(key)}], '')"
        return inside if own == "NULL" else f"coalesce({own}, {inside})"

    def _product(self, given: Given) -> dict[str, str]:
        return {**super()._product(given), "sku_price_details": given.mapping("product")}

    def _tags(self, given: Given) -> tuple[str, list[str] | None]:
        return given.mapping("resource_tags"), None if given.has("resource_tags") else []

    def _categories(self, given: Given) -> str:
        return given.mapping("cost_category")


KINDS: tuple[BillKind, ...] = (CurLegacy(), Cur2())


def _service_sql(code: str, part: int) -> str:
    """The answer for a code; null where blank, Other for codes that are not known."""
    other = quote("Other" if part == 0 else "Other (Other)")
    # One code after the other takes a third of the time of asking whether it is among those of an answer.
    cases = " ".join(f"WHEN {quote(known)} THEN {quote(told[part])}" for known, told in services().items())
    return (
        "NULL"
        if code == "NULL"
        else f"CASE WHEN {code} IS NOT NULL THEN CASE {code} {cases} ELSE {other} END END"
    )


def _region_name_sql(region: str) -> str:
    """The name of a region where AWS has published one for its code: line items often give the code only."""
    cases = " ".join(f"WHEN {quote(code)} THEN {quote(name)}" for code, name in region_names().items())
    return f"CASE {region} {cases} END"


def _accounts(given: Given) -> dict[str, str]:
    issuer = f"coalesce({given.text('bill/InvoicingEntity')}, {given.text('lineItem/LegalEntity')})"
    return {
        "billing_account_id": _account(given, "bill/PayerAccountId"),
        "billing_account_name": given.text("bill/PayerAccountName"),
        "sub_account_id": _account(given, "lineItem/UsageAccountId"),
        "sub_account_name": given.text("lineItem/UsageAccountName"),
        "billing_currency": given.text("lineItem/CurrencyCode"),
        "billing_period_start": given.instant("bill/BillingPeriodStartDate"),
        "billing_period_end": given.instant("bill/BillingPeriodEndDate"),
        "invoice_id": given.text("bill/InvoiceId"),
        "invoice_issuer_name": issuer,
        "provider_name": "'AWS'",
        "publisher_name": given.text("lineItem/LegalEntity"),
        "x_provider": "'aws'",
        "x_billing_entity": given.text("bill/BillingEntity"),
    }


def _account(given: Given, column: str) -> str:
    """An account's number as text. What a spreadsheet has rounded (1.23E+11) is no account any more."""
    text = given.text(column)
    if text == "NULL":
        return text
    reason = quote("an account that a spreadsheet has rounded: ") + f" || {text}"
    given.refuse_where(f"contains({text}, 'E+') OR contains({text}, 'e+')", column, reason)
    return f"CASE WHEN ends_with({text}, '.0') THEN left({text}, length({text}) - 2) ELSE {text} END"


def _charge(given: Given) -> dict[str, str]:
    usage_type = given.text("lineItem/UsageType")
    region = f"coalesce({given.text('product/regionCode')}, {given.text('product/region')})"
    zone = given.text("lineItem/AvailabilityZone")
    return {
        "charge_period_start": given.instant("lineItem/UsageStartDate"),
        "charge_period_end": given.instant("lineItem/UsageEndDate"),
        "charge_description": given.text("lineItem/LineItemDescription"),
        "availability_zone": f"CASE WHEN {zone} IS DISTINCT FROM {region} THEN {zone} END",
        "resource_id": given.text("lineItem/ResourceId"),
        "capacity_reservation_id": given.text("capacityReservation/CapacityReservationArn"),
        "sku_meter": usage_type,
        # A rate id is of several SKUs; with the SKU before it, it is a price of one, as a rate code is.
        "sku_price_id": f"coalesce({given.text('pricing/RateCode')}, "
        f"{given.text('product/sku')} || '.' || {given.text('pricing/RateId')})",
        "pricing_unit": given.text("pricing/unit"),
        "pricing_currency": given.text("pricing/currency"),
        "contracted_unit_price": _contracted_price(given),
        "list_unit_price": given.number("pricing/publicOnDemandRate"),
        "x_line_item_id": given.text("identity/LineItemId"),
        "x_line_item_type": given.text("lineItem/LineItemType"),
        "x_usage_type": usage_type,
        "x_operation": given.text("lineItem/Operation"),
        "x_normalized_quantity": given.number("lineItem/NormalizedUsageAmount"),
        "x_unit": given.text("pricing/unit"),
    }


def _contracted_price(given: Given) -> str:
    """The rate; of covered use the on-demand one, as its contracted cost is; null for a rate of 0 that costs.

    AWS writes rates in ten decimals, so that the smallest become 0.
    """
    rate, cost = given.number("lineItem/UnblendedRate"), given.money("lineItem/UnblendedCost")
    covered = f"{given.text('lineItem/LineItemType')} = 'DiscountedUsage'"
    listed = given.number("pricing/publicOnDemandRate")
    return f"CASE WHEN {covered} THEN {listed} WHEN {rate} = 0 AND {cost} <> 0 THEN NULL ELSE {rate} END"


def _commitment_ids(given: Given) -> tuple[str, str]:
    """SQL of the line's reservation and of its savings plan, null where it has none."""
    return given.text("reservation/ReservationARN"), given.text("savingsPlan/SavingsPlanARN")


def _commitment(given: Given) -> dict[str, str]:
    ri, sp = _commitment_ids(given)
    used = f"{given.text('lineItem/LineItemType')} IN ('DiscountedUsage', 'SavingsPlanCoveredUsage')"
    kind = f"CASE WHEN {ri} IS NOT NULL THEN {{}} WHEN {sp} IS NOT NULL THEN {{}} END"
    return {
        "commitment_discount_id": f"coalesce({ri}, {sp})",
        "commitment_discount_type": kind.format("'Reserved Instance'", "'Savings Plan'"),
        "commitment_discount_category": kind.format("'Usage'", "'Spend'"),
        "commitment_discount_status": f"CASE WHEN {used} THEN 'Used' END",
    }


def contributions() -> ChargeTable:
    """What each line of an AWS bill adds to every measure; the file's head tells the words."""
    return charge_table("aws_contributions", ("line_item_type", "entity", "commitment", "split"))


def _measures(given: Given) -> dict[str, str]:
    """The measures by the contribution table, and the words that it gives."""
    kind = given.text("lineItem/LineItemType")
    ri, sp = _commitment_ids(given)
    marketplace = f"{given.text('bill/BillingEntity')} = 'AWS Marketplace'"
    entity = f"CASE WHEN {marketplace} THEN 'marketplace' ELSE 'cloud' END"
    commitment = f"CASE WHEN {ri} IS NOT NULL THEN 'ri' WHEN {sp} IS NOT NULL THEN 'sp' ELSE 'none' END"
    split = split_word(given)
    table = contributions()
    number = "row_number_of_table"
    keys = {"entity": f"({entity})", "commitment": f"({commitment})", "split": f"({split})"}
    given.typed[number] = table.number_sql({"line_item_type": f"coalesce({kind}, '')", **keys})
    combination = f"{kind} || ', ' || {entity} || ', commitment ' || {commitment} || ', split ' || {split}"
    given.refuse_where(
        f"{number} IS NULL AND {kind} IS NOT NULL",
        "lineItem/LineItemType",
        f"'no rule for a line of type ' || {combination}",
    )
    formulas = _formulas(given)
    by_measure = {measure: table.measure_sql(measure, number, formulas) for measure in MEASURES}
    category = table.word_sql("charge_category", number)
    return {
        "billed_cost": by_measure["billed"],
        "effective_cost": by_measure["effective"],
        "x_net_cost": by_measure["net"],
        "x_net_effective_cost": by_measure["net_effective"],
        "list_cost": by_measure["list"],
        "contracted_cost": by_measure["contracted"],
        "x_quantity": by_measure["quantity"],
        "pricing_quantity": f"CASE WHEN ({split}) = 'no' THEN {given.number('lineItem/UsageAmount')} END",
        "consumed_quantity": by_measure["quantity"],
        "consumed_unit": given.text("pricing/unit"),
        "charge_category": category,
        "charge_class": table.word_sql("charge_class", number),
        "charge_frequency": table.word_sql("charge_frequency", number),
        "pricing_category": _pricing_category(given, category),
    }


def _pricing_category(given: Given, category: str) -> str:
    kind, usage = given.text("lineItem/LineItemType"), given.text("lineItem/UsageType")
    covered = f"{kind} IN ('DiscountedUsage', 'SavingsPlanCoveredUsage', 'SavingsPlanNegation')"
    spot = f"{given.text('pricing/term')} = 'Spot' OR contains({usage}, 'SpotUsage')"
    return (
        f"CASE WHEN {covered} THEN 'Committed' WHEN {spot} THEN 'Dynamic' "
        f"WHEN ({category}) IN ('Usage', 'Purchase') THEN 'Standard' END"
    )


def _formulas(given: Given) -> dict[str, str]:
    """The SQL behind each word of the contribution table."""
    cash = given.money("lineItem/UnblendedCost")
    net = _first(given, "lineItem/NetUnblendedCost", cash)
    ri_used = given.money("reservation/EffectiveCost")
    sp_used = given.money("savingsPlan/SavingsPlanEffectiveCost")
    upfront = given.money("reservation/UnusedAmortizedUpfrontFeeForBillingPeriod")
    recurring = given.money("reservation/UnusedRecurringFee")
    net_upfront = _first(given, "reservation/NetUnusedAmortizedUpfrontFeeForBillingPeriod", upfront)
    net_recurring = _first(given, "reservation/NetUnusedRecurringFee", recurring)
    commitment = given.money("savingsPlan/TotalCommitmentToDate")
    used = given.money("savingsPlan/UsedCommitment")
    none = "CAST(NULL AS DECIMAL(38,18))"
    zero = "CAST(0 AS DECIMAL(38,18))"
    return {
        "cash": cash,
        "net": net,
        "net_discount": _first(given, "lineItem/NetUnblendedCost", zero)
        if given.has("lineItem/NetUnblendedCost")
        else cash,
        "ri_used": ri_used,
        "ri_unused": _sum(upfront, recurring),
        "sp_used": sp_used,
        "sp_unused": f"({commitment} - {used})",
        "net_ri_used": _first(given, "reservation/NetEffectiveCost", ri_used),
        "net_ri_unused": _sum(net_upfront, net_recurring),
        "net_sp_used": _first(given, "savingsPlan/NetSavingsPlanEffectiveCost", sp_used),
        "on_demand": given.money("pricing/publicOnDemandCost"),
        "usage": given.number("lineItem/UsageAmount"),
        "zero": zero,
        "none": none,
    }


def _first(given: Given, column: str, otherwise: str) -> str:
    """The money of a column, `otherwise` where it is blank or not delivered."""
    return f"coalesce({given.money(column)}, {otherwise})" if given.has(column) else otherwise


def _sum(first: str, second: str) -> str:
    """Of two amounts; null only where both are."""
    return f"CASE WHEN {first} IS NULL THEN {second} ELSE {first} + coalesce({second}, 0) END"
