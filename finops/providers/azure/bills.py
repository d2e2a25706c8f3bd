"""Azure cost exports: pay-as-you-go, Enterprise Agreement and Customer Agreement, actual and amortised cost.

Source: Microsoft, "Understand cost details fields", read 2026-11-30. Quirks:
- One column has many spellings: `SubscriptionGuid`, `subscriptionId`; German exports write
  `Ressourcengruppe (ResourceGroup)`, where the word in brackets is the column.
- Dates with slashes are month/day/year in Azure's own exports and day/month/year after some spreadsheets; the
  file as a whole shows which (`bills_dates`). A row that contradicts it refuses the delivery.
- German exports may write 0,75. The comma is a decimal mark only under a German header; elsewhere a comma in
  a money cell refuses the delivery.
- Tags and AdditionalInfo are JSON objects, in older exports without their braces.
- Actual cost exports leave the amortised cost of covered use out (0), amortised ones the purchases. Which
  of the two a file is, only the rows tell, so both count as one report: a later one takes the earlier one's
  place.
- Pay-as-you-go exports name no billing account: the subscription is the account. They name no billing
  period either: it is the month of the date.
"""

from __future__ import annotations

import re

from finops.providers.azure.bills_dates import OTHER, SLASHED, order_of, read_sql, word_of
from finops.providers.bills import BillKind, Given, Lines
from finops.providers.bills.charge_table import category_sql, charge_table
from finops.providers.bills.kind import DECIMAL, decimal_of
from finops.providers.bills.periods import BACKWARDS
from finops.text.sql import quote

_KEYS = ("charge_type", "pricing", "commitment")
_COST = ("CostInBillingCurrency", "PreTaxCost", "Cost")
_DATE = ("Date", "UsageDateTime", "UsageDate")
_CURRENCY = ("BillingCurrency", "BillingCurrencyCode", "Currency")
_SUBSCRIPTION = ("SubscriptionId", "SubscriptionGuid")
_QUANTITY = ("Quantity", "UsageQuantity")
_RESOURCE = ("ResourceId", "InstanceId", "InstanceName")
_REGION = ("ResourceLocation", "Location")
_BRACKETS = re.compile(r"\(([A-Za-z][A-Za-z0-9]*)\)\s*$")
# Words of German headers that no English one has.
_GERMAN = re.compile(r"(?i)\b(abonnement|ressourcen\w+|kategorie der|maßeinheit|dienstinformation)")


class AzureCost(BillKind):
    """Every generation of Azure's cost and usage file."""

    name = "azure-cost"
    title = "Azure cost export"
    provider = "azure"
    required = {
        "date": _DATE,
        "cost": _COST,
        "currency": _CURRENCY,
        "subscription": _SUBSCRIPTION,
        "meter": ("MeterCategory",),
    }
    starts = _DATE
    typical = frozenset(
        {
            *_QUANTITY,
            *_RESOURCE,
            *_REGION,
            "MeterSubCategory",
            "MeterId",
            "MeterName",
            "MeterRegion",
            "ConsumedService",
            "UnitOfMeasure",
            "ResourceGroup",
            "AdditionalInfo",
            "ServiceInfo1",
            "ServiceInfo2",
            "OfferId",
            "ChargeType",
            "PublisherType",
        }
    )

    def canonical(self, header: str) -> str:
        """The word in brackets where there is one, without case and marks."""
        return super().canonical(column_of(header))

    def lines(self, given: Given) -> Lines:
        """FOCUS columns as far as the header goes."""
        german = any(_GERMAN.search(header.name) for header in given.headers)
        if german:
            _read_commas(given)
        order, slashed = order_of(given, _DATE, german=german)
        columns = {
            **_accounts(given),
            **_periods(given, order),
            **_charge(given),
            **_place(given),
            **_prices(given),
            "x_provider": "'azure'",
            "provider_name": "'Microsoft'",
            "invoice_issuer_name": "'Microsoft'",
            "tags": _object(given, "Tags", "tags_map"),
        }
        for wanted in self.required.values():
            if wanted[0] not in {_COST[0], "MeterCategory", _DATE[0]}:
                given.reject_where(f"{given.text(*wanted)} IS NULL", given.header(*wanted), "blank")
        notes = [f"dates with slashes are read {order}"] if slashed else []
        return Lines(columns, notes=notes, tag_keys=None if given.has("Tags") else [])


KINDS = (AzureCost(),)


def column_of(header: str) -> str:
    """`Maßeinheit (UnitOfMeasure)` is `UnitOfMeasure`; any other header is itself."""
    found = _BRACKETS.search(header)
    return found[1] if found else header


def _read_commas(given: Given) -> None:
    """Under a German header 0,75 is three quarters. A cell with both marks stays no number."""
    for wanted in (_COST, _QUANTITY, ("EffectivePrice", "ResourceRate"), ("PayGPrice",), ("UnitPrice",)):
        place = given.place(*wanted)
        if place is not None:
            text = f"nullif({given.raw(place)}, '')"
            comma = f"regexp_full_match({text}, '-?[0-9]+,[0-9]+([eE]-?[0-9]+)?')"
            point = decimal_of(f"CASE WHEN {comma} THEN replace({text}, ',', '.') ELSE {text} END")
            given.typed.setdefault(f"n{place}", point)


def _accounts(given: Given) -> dict[str, str]:
    subscription = given.text(*_SUBSCRIPTION)
    market = f"lower({given.text('PublisherType')}) = 'marketplace'"
    return {
        "billing_account_id": f"coalesce({given.text('BillingAccountId')}, {subscription})",
        "billing_account_name": given.text("BillingAccountName"),
        "sub_account_id": subscription,
        "sub_account_name": given.text("SubscriptionName"),
        "sub_account_type": f"CASE WHEN {subscription} IS NOT NULL THEN 'Subscription' END",
        "billing_currency": given.text(*_CURRENCY),
        "invoice_id": given.text("InvoiceId"),
        "publisher_name": f"coalesce({given.text('PublisherName')}, "
        f"CASE WHEN {market} THEN NULL ELSE 'Microsoft' END)",
        "x_billing_entity": f"CASE WHEN {market} THEN 'Azure Marketplace' ELSE 'Azure' END",
    }


def _periods(given: Given, order: str) -> dict[str, str]:
    """One day a row. The billing period is the row's own, else the month of its date."""
    day = _date(given, order, *_DATE)
    stated = _date(given, order, "BillingPeriodStartDate")
    month = f"date_trunc('month', coalesce({stated}, {day}) AT TIME ZONE 'UTC')"
    if given.has("BillingPeriodStartDate") and given.has("BillingPeriodEndDate"):
        end = _date(given, order, "BillingPeriodEndDate")
        long = f"{end} > {stated} + INTERVAL 31 DAY"
        reason = quote(f"a billing period of more than a month, read {order}")
        given.refuse_where(long, given.header("BillingPeriodEndDate"), reason)
        # Azure's last day is part of the period: one day begins and ends on the same date.
        given.reject_where(f"{end} < {stated}", given.header("BillingPeriodEndDate"), BACKWARDS)
    return {
        "charge_period_start": day,
        "charge_period_end": f"(({day} AT TIME ZONE 'UTC') + INTERVAL 1 DAY) AT TIME ZONE 'UTC'",
        "billing_period_start": f"{month} AT TIME ZONE 'UTC'",
        "billing_period_end": f"({month} + INTERVAL 1 MONTH) AT TIME ZONE 'UTC'",
    }


def _date(given: Given, order: str, *names: str) -> str:
    """Midnight in UTC. ISO as it is; with slashes in the file's order, which no row may contradict."""
    place = given.place(*names)
    if place is None:
        return "CAST(NULL AS TIMESTAMP WITH TIME ZONE)"
    text = f"nullif(trim({given.raw(place)}), '')"
    alias = f"t{place}"
    if alias not in given.typed:
        given.typed[alias] = read_sql(given, place, order)
        slashed = f"regexp_full_match({word_of(given, place)}, '{SLASHED}')"
        other = read_sql(given, place, OTHER[order])
        reason = (
            quote(f"only makes sense with the other order than {order}, which the file has: ") + f" || {text}"
        )
        wrong = f"{slashed} AND {alias} IS NULL AND {other} IS NOT NULL"
        given.refuse_where(wrong, given.headers[place].name, reason)
        stated = given.place("BillingPeriodStartDate")
        if stated is not None and stated != place and names == _DATE:
            outside = f"{alias} < {_date(given, order, 'BillingPeriodStartDate')}"
            given.refuse_where(f"{slashed} AND {outside} AND {other} >= t{stated}", names[0], reason)
        bad = f"{alias} IS NULL AND {text} IS NOT NULL AND NOT coalesce({wrong}, false)"
        given.reject_where(bad, given.headers[place].name, "not a date")
    return alias


def _charge(given: Given) -> dict[str, str]:
    """The words and measures of the contribution table."""
    table = charge_table("azure_contributions", _KEYS)
    commitment = given.text("ReservationId", "BenefitId")
    if given.has("ReservationId") and given.has("BenefitId"):
        commitment = f"coalesce({given.text('ReservationId')}, {given.text('BenefitId')})"
    kind = given.text("ChargeType")
    given.typed["charge"] = table.number_sql(
        {
            "charge_type": f"coalesce({kind}, '')",
            "pricing": f"replace(lower(coalesce({given.text('PricingModel')}, '')), ' ', '')",
            "commitment": f"CASE WHEN {commitment} IS NULL THEN 'no' ELSE 'yes' END",
        }
    )
    said = f"'a charge that is not known: ' || coalesce({kind}, 'blank')"
    given.refuse_where("charge IS NULL", given.header("ChargeType"), said)
    cost = given.money(*_COST)
    given.reject_where(f"{given.text(*_COST)} IS NULL", given.header(*_COST), "blank")
    zero = f"CAST(0 AS {DECIMAL})"
    formulas = {
        "cost": cost,
        "zero": zero,
        "amortised": f"nullif({cost}, 0)",
        "payg": given.money("PaygCostInBillingCurrency"),
        "none": f"CAST(NULL AS {DECIMAL})",
        "quantity": given.number(*_QUANTITY),
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
    reserved = f"coalesce({given.text('ReservationId')}, '') <> ''"
    frequency = f"lower({given.text('Frequency')})"
    status = table.word_sql("status", "charge")
    otherwise = table.word_sql("charge_frequency", "charge")
    commitment_words = {
        "commitment_discount_id": commitment,
        "commitment_discount_name": _first(given, "ReservationName", "BenefitName"),
        "commitment_discount_type": _when(commitment, reserved, "'Reservation'", "'Savings Plan'"),
        "commitment_discount_category": _when(commitment, reserved, "'Usage'", "'Spend'"),
        "commitment_discount_status": f"CASE WHEN {commitment} IS NOT NULL THEN {status} END",
    }
    return {
        **columns,
        **commitment_words,
        "x_net_cost": columns["billed_cost"],
        "x_net_effective_cost": columns["effective_cost"],
        "charge_category": table.word_sql("charge_category", "charge"),
        "pricing_category": table.word_sql("pricing_category", "charge"),
        "charge_frequency": f"CASE {frequency} WHEN 'onetime' THEN 'One-Time' "
        f"WHEN 'recurring' THEN 'Recurring' WHEN 'usagebased' THEN 'Usage-Based' ELSE {otherwise} END",
        "charge_description": _first(given, "ProductName", "Product", "MeterName"),
        "x_line_item_type": f"coalesce({kind}, 'Usage')",
    }


def _first(given: Given, *names: str) -> str:
    """The first of these columns that is not blank in the row."""
    texts = [given.text(name) for name in names if given.has(name)]
    return f"coalesce({', '.join(texts)})" if texts else "CAST(NULL AS VARCHAR)"


def _when(id_: str, first: str, yes: str, no: str) -> str:
    return f"CASE WHEN {id_} IS NULL THEN NULL WHEN {first} THEN {yes} ELSE {no} END"


def _place(given: Given) -> dict[str, str]:
    """Service, resource and region."""
    resource = given.text(*_RESOURCE)
    service = given.text("MeterCategory")
    family = given.text("ServiceFamily")
    details = _object(given, "AdditionalInfo", "details")
    machine = f"{service} = 'Virtual Machines'"
    from_id = f"nullif(regexp_extract({resource}, '(?i)/providers/([^/]+/[^/]+)/[^/]+', 1), '')"
    last = f"nullif(regexp_extract({resource}, '([^/]+)/*$', 1), '')"
    return {
        "service_name": f"coalesce({service}, {given.text('ConsumedService')})",
        "service_category": category_sql("azure", service, family),
        "resource_id": resource,
        "resource_name": f"coalesce({given.text('ResourceName')}, {last})",
        "resource_type": f"coalesce({given.text('ResourceType')}, {from_id})",
        "region_id": _placed(given.text(*_REGION)),
        "region_name": _placed(_first(given, "Location", "ResourceLocation")),
        "availability_zone": given.text("AvailabilityZone"),
        "sku_id": _first(given, "ProductId", "MeterId"),
        "sku_price_id": _first(given, "PartNumber", "MeterId"),
        "sku_meter": given.text("MeterName"),
        "x_product_code": given.text("ConsumedService"),
        "x_usage_type": f"concat_ws(' - ', {given.text('MeterSubCategory')}, {given.text('MeterName')})",
        "x_instance_type": f"CASE WHEN {machine} THEN {details}['ServiceType'] END",
    }


def _placed(region: str) -> str:
    """Null for the words that stand for no region."""
    return f"CASE WHEN lower({region}) NOT IN ('unassigned', 'unknown', 'n/a') THEN {region} END"


def _prices(given: Given) -> dict[str, str]:
    """Quantities are in units of UnitOfMeasure; prices are per such unit, in the pricing currency."""
    quantity, unit = given.number(*_QUANTITY), given.text("UnitOfMeasure")
    usage = "charge_category = 'Usage'"
    return {
        "pricing_quantity": quantity,
        "pricing_unit": f"CASE WHEN {quantity} IS NOT NULL THEN {unit} END",
        "consumed_quantity": f"CASE WHEN {usage} THEN {quantity} END",
        "consumed_unit": f"CASE WHEN {usage} AND {quantity} IS NOT NULL THEN {unit} END",
        "x_unit": unit,
        "pricing_currency": given.text("PricingCurrency"),
        "pricing_currency_list_unit_price": given.number("PayGPrice"),
        "pricing_currency_contracted_unit_price": given.number("UnitPrice"),
    }


def _object(given: Given, column: str, alias: str) -> str:
    """A map from JSON text with or without its braces; what is neither rejects the row."""
    place = given.place(column)
    if place is None:
        return "CAST(NULL AS MAP(VARCHAR, VARCHAR))"
    text = f"nullif(trim({given.raw(place)}), '')"
    braced = f"CASE WHEN starts_with({text}, '{{') THEN {text} ELSE '{{' || {text} || '}}' END"
    given.typed[alias] = (
        f"CASE WHEN json_valid({braced}) THEN from_json({braced}, '\"MAP(VARCHAR,VARCHAR)\"') END"
    )
    if column == "Tags":
        bad = f"{alias} IS NULL AND {text} IS NOT NULL"
        given.reject_where(bad, given.headers[place].name, "not a JSON object")
    return alias
