"""Azure cost exports: every header style, both orders of dates, decimal commas, actual and amortised cost."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from finops.providers.azure.bills import AzureCost, column_of
from tests.support.bill_kinds import read

KIND = AzureCost()
PAYG = (
    "SubscriptionGuid,ResourceGroup,ResourceLocation,UsageDateTime,MeterCategory,MeterId,MeterName,"
    "UsageQuantity,PreTaxCost,ConsumedService,InstanceId,Tags,AdditionalInfo,Currency,UnitOfMeasure\n"
)
GERMAN = (
    "Abonnement-GUID (SubscriptionGuid),Ressourcengruppe (ResourceGroup),"
    "Ressourcenstandort (ResourceLocation),"
    "UsageDateTime (UsageDateTime),Kategorie der Verbrauchseinheit (MeterCategory),"
    "ID der Verbrauchseinheit (MeterId),Name der Verbrauchseinheit (MeterName),UsageQuantity (UsageQuantity),"
    "PreTaxCost (PreTaxCost),Genutzter Dienst (ConsumedService),InstanceId (InstanceId),Tags (Tags),"
    "Zusätzliche Informationen (AdditionalInfo),Currency,Maßeinheit (UnitOfMeasure)\n"
)
ENTERPRISE = (
    "SubscriptionId,SubscriptionName,Date,MeterCategory,MeterName,Quantity,CostInBillingCurrency,ResourceId,"
    "ReservationId,ReservationName,ChargeType,Frequency,PricingModel,PublisherType,BillingAccountId,"
    "BillingCurrencyCode,BillingPeriodStartDate,BillingPeriodEndDate,PaygCostInBillingCurrency,ServiceFamily\n"
)
VM = "/subscriptions/s1/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/web-1"


def payg(date: str = "2021-02-02", cost: str = "0.075", tags: str = "", info: str = "") -> str:
    machine = f"Virtual Machines,m,D2,3,{cost},Microsoft.Compute,{VM}"
    return f"s1,rg,US East,{date},{machine},{tags},{info},EUR,1 Hour\n"


def enterprise(
    kind: str = "Usage",
    cost: str = "1.5",
    *,
    reservation: str = "",
    model: str = "OnDemand",
    date: str = "02/03/2021",
    period: str = "02/01/2021,02/28/2021",
    publisher: str = "Azure",
    list_cost: str = "2",
) -> str:
    return (
        f"s1,Dev,{date},Virtual Machines,D2,10,{cost},{VM},{reservation},r,{kind},UsageBased,{model},"
        f"{publisher},77,CAD,{period},{list_cost},Compute\n"
    )


def test_a_pay_as_you_go_row_becomes_a_line() -> None:
    info = '"{  ""ServiceType"": ""Standard_D2_v3"",  ""VCPUs"": 2, ""VMName"": null}"'
    [line] = read(KIND, "\ufeff" + PAYG + payg(tags='"{""team"": ""web""}"', info=info)).lines
    assert line["billing_account_id"] == line["sub_account_id"] == "s1"
    assert line["billing_currency"] == "EUR"
    assert line["charge_period_start"] == datetime(2021, 2, 2, tzinfo=UTC)
    assert line["charge_period_end"] == datetime(2021, 2, 3, tzinfo=UTC)
    assert line["billing_period_start"] == datetime(2021, 2, 1, tzinfo=UTC)
    assert line["billing_period_end"] == datetime(2021, 3, 1, tzinfo=UTC)
    assert (line["billed_cost"], line["effective_cost"], line["x_net_cost"]) == (Decimal("0.075"),) * 3
    assert line["list_cost"] is None
    assert (line["x_quantity"], line["x_unit"]) == (3, "1 Hour")
    assert (line["service_name"], line["service_category"]) == ("Virtual Machines", "Compute")
    assert (line["resource_name"], line["resource_type"]) == ("web-1", "Microsoft.Compute/virtualMachines")
    assert line["x_instance_type"] == "Standard_D2_v3"
    assert line["tags"] == {"team": "web"}
    assert (line["charge_category"], line["charge_frequency"]) == ("Usage", "Usage-Based")


def test_times_after_the_date_and_tags_without_braces_are_read() -> None:
    text = PAYG + payg("2019-07-29 00:00:00", tags='"""a"": ""x"",""b"": ""y"""')
    [line] = read(KIND, text).lines
    assert line["charge_period_start"] == datetime(2019, 7, 29, tzinfo=UTC)
    assert line["tags"] == {"a": "x", "b": "y"}


def test_german_headers_are_the_same_columns_and_prove_the_decimal_comma() -> None:
    assert column_of("Maßeinheit (UnitOfMeasure)") == "UnitOfMeasure"
    found = read(KIND, GERMAN + payg(cost="0.025") + payg(cost='"0,75"') + payg(cost='"-1,5E-3"'))
    assert [line["billed_cost"] for line in found.lines] == [
        Decimal("0.025"),
        Decimal("0.75"),
        Decimal("-0.0015"),
    ]
    assert found.faults == []


@pytest.mark.parametrize(
    ("header", "cost"), [(PAYG, '"0,75"'), (GERMAN, '"1.234,56"'), (GERMAN, '"1,234,5"'), (PAYG, "NaN")]
)
def test_a_cost_that_is_no_number_refuses_the_delivery(header: str, cost: str) -> None:
    [fault] = read(KIND, header + payg(cost=cost)).faults
    assert fault[0] == 1
    assert fault[1].startswith("PreTaxCost")
    assert fault[2] == "refuse"
    assert fault[3].startswith("not a number: ")


@pytest.mark.parametrize("date", ["02.03.2021", "2021-02-30", "soon", "2/3/21"])
def test_what_is_no_date_rejects_its_row(date: str) -> None:
    assert read(KIND, PAYG + payg(date)).faults == [(1, "UsageDateTime", "reject", "not a date")]


def test_blank_currency_date_and_cost_reject_the_row_and_nothing_is_assumed() -> None:
    found = read(KIND, PAYG + ",,,,,,,,,,,,,,\n")
    assert found.lines == []
    assert {fault[1:] for fault in found.faults} == {
        ("Currency", "reject", "blank"),
        ("PreTaxCost", "reject", "blank"),
        ("SubscriptionGuid", "reject", "blank"),
        ("UsageDateTime", "reject", "blank"),
    }


MEASURES = ("billed_cost", "effective_cost", "list_cost", "contracted_cost", "x_quantity")


@pytest.mark.parametrize(
    ("row", "measures", "words"),
    [
        (enterprise(), ("1.5", "1.5", "2", "1.5", "10"), ("Usage", "Standard", None)),
        (enterprise(model="Spot"), ("1.5", "1.5", "2", "1.5", "10"), ("Usage", "Dynamic", None)),
        (
            enterprise(model="Reservation", reservation="ri", cost="0"),
            ("0", None, "2", None, "10"),
            ("Usage", "Committed", "Used"),
        ),
        (
            enterprise(model="Reservation", reservation="ri"),
            ("0", "1.5", "2", None, "10"),
            ("Usage", "Committed", "Used"),
        ),
        (
            enterprise("UnusedReservation", "0.4", model="Reservation", reservation="ri"),
            ("0", "0.4", "0", None, None),
            ("Usage", "Committed", "Unused"),
        ),
        (
            enterprise("Purchase", "876", model="Reservation", reservation="ri"),
            ("876", "0", "876", "876", None),
            ("Purchase", "Standard", None),
        ),
        (
            enterprise("Purchase", "12", publisher="Marketplace"),
            ("12", "12", "12", "12", None),
            ("Purchase", "Standard", None),
        ),
        (
            enterprise("Refund", "-876", reservation="ri"),
            ("-876", "0", "-876", "-876", None),
            ("Purchase", "Standard", None),
        ),
        (
            enterprise("RoundingAdjustment", "-0.01"),
            ("-0.01", "-0.01", "-0.01", "-0.01", None),
            ("Adjustment", None, None),
        ),
    ],
)
def test_what_each_charge_adds(
    row: str, measures: tuple[str | None, ...], words: tuple[str | None, ...]
) -> None:
    [line] = read(KIND, ENTERPRISE + row).lines
    assert [line[m] for m in MEASURES] == [None if m is None else Decimal(m) for m in measures]
    got = (line["charge_category"], line["pricing_category"], line["commitment_discount_status"])
    assert got == words


def test_an_unknown_charge_refuses_the_delivery() -> None:
    found = read(KIND, ENTERPRISE + enterprise() + enterprise("Gift"))
    assert found.faults == [(2, "ChargeType", "refuse", "a charge that is not known: Gift")]


def test_the_marketplace_is_another_seller() -> None:
    lines = read(KIND, ENTERPRISE + enterprise() + enterprise("Purchase", publisher="Marketplace")).lines
    assert [line["x_billing_entity"] for line in lines] == ["Azure", "Azure Marketplace"]
    assert [line["publisher_name"] for line in lines] == ["Microsoft", None]


def test_a_header_without_a_currency_is_not_taken() -> None:
    headers = [h for h in PAYG.strip().split(",") if h != "Currency"]
    assert KIND.recognise(headers).missing == ("BillingCurrency",)
    assert KIND.recognise(["subscriptionGuid", *headers[1:], "currency"]).fits


def test_a_header_alone_is_no_rows() -> None:
    found = read(KIND, PAYG)
    assert (found.lines, found.faults) == ([], [])
