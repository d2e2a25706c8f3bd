"""FOCUS files as the clouds write them: header and cells of each, with the same two charges in it.

Columns by the published lists: FOCUS 1.0 (43), 1.2 (57), 1.3 and 1.4; AWS `FOCUS_1_0_AWS`, `FOCUS_1_2_AWS`,
Microsoft's cost and usage details (FOCUS), Google's FOCUS view, Oracle's FOCUS reports. Only those columns
are here that say something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

V10 = {
    "BillingAccountId": "999",
    "BillingAccountName": "Payer",
    "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-03-01T00:00:00Z",
    "BillingPeriodEnd": "2026-04-01T00:00:00Z",
    "ChargePeriodStart": "2026-03-02T00:00:00Z",
    "ChargePeriodEnd": "2026-03-02T01:00:00Z",
    "ChargeCategory": "Usage",
    "ChargeClass": None,
    "ChargeDescription": "one hour",
    "ChargeFrequency": "Usage-Based",
    "BilledCost": "1.25",
    "EffectiveCost": "1",
    "ListCost": "2.5",
    "ContractedCost": "1.25",
    "ListUnitPrice": "2.5",
    "ContractedUnitPrice": "1.25",
    "ConsumedQuantity": "1",
    "ConsumedUnit": "Hours",
    "PricingQuantity": "1",
    "PricingUnit": "Hours",
    "PricingCategory": "Standard",
    "ProviderName": "AWS",
    "PublisherName": "AWS",
    "InvoiceIssuerName": "Amazon Web Services, Inc.",
    "RegionId": "us-east-1",
    "RegionName": "US East",
    "ResourceId": "i-1",
    "ServiceCategory": "Compute",
    "ServiceName": "Amazon EC2",
    "SkuId": "S1",
    "SkuPriceId": "S1.P1",
    "SubAccountId": "111122223333",
    "Tags": '{"team": "web", "keep": true}',
}
V12 = {
    **V10,
    "BillingAccountType": "Organization",
    "InvoiceId": "INV-1",
    "CapacityReservationId": "cr-1",
    "CapacityReservationStatus": "Used",
    "CommitmentDiscountQuantity": "1",
    "CommitmentDiscountUnit": "Hours",
    "ServiceSubcategory": "Virtual Machines",
    "SkuMeter": "BoxUsage",
    "SkuPriceDetails": '{"CoreCount": 2}',
    "SubAccountType": "Account",
    "PricingCurrency": "USD",
    "PricingCurrencyEffectiveCost": "1",
}
V13 = {
    **V12,
    "ServiceProviderName": "AWS",
    "HostProviderName": "AWS",
    "AllocatedMethodId": "split-1",
    "AllocatedResourceId": "pod-1",
    "AllocatedTags": '{"ns": "a"}',
    "ContractApplied": '[{"ContractCommitmentID": "c1", "ContractCommitmentAppliedCost": 1}]',
}
V14 = {name: cell for name, cell in V13.items() if name not in {"ProviderName", "PublisherName"}}
VERSIONS: dict[str, Mapping[str, Any]] = {"1.0": V10, "1.2": V12, "1.3": V13, "1.4": V14}

AWS = {
    **V12,
    "ChargePeriodStart": "2026-03-02T00:00:00.000Z",
    "x_Discounts": '{"edp": 0.1}',
    "x_Operation": "RunInstances",
    "x_ServiceCode": "AmazonEC2",
    "x_UsageType": "BoxUsage:m5.large",
}
AZURE = {
    **V10,
    "ProviderName": "Microsoft",
    "PublisherName": "Microsoft",
    "InvoiceIssuerName": "Microsoft",
    "BillingPeriodStart": "2026-03-01T00:00Z",
    "BillingPeriodEnd": "2026-04-01T00:00Z",
    "ChargePeriodStart": "2026-03-02T00:00Z",
    "ChargePeriodEnd": "2026-03-03T00:00Z",
    "ServiceName": "Virtual Machines",
    "x_SkuMeterCategory": "Virtual Machines",
    "x_PricingBlockSize": "1",
    "x_BilledCostInUsd": "1.25",
    "x_ResourceGroupName": "rg",
}
GCP = {
    **V10,
    "ProviderName": "Google Cloud",
    "PublisherName": "Google Cloud",
    "InvoiceIssuerName": "Google Cloud",
    "BillingPeriodStart": "2026-03-01 00:00:00 UTC",
    "BillingPeriodEnd": "2026-04-01 00:00:00 UTC",
    "ChargePeriodStart": "2026-03-02 00:00:00 UTC",
    "ChargePeriodEnd": "2026-03-02 01:00:00 UTC",
    "ServiceName": "Compute Engine",
    "x_CostType": "regular",
    "x_ExportTime": "2026-03-03 00:00:00 UTC",
}
OCI = {
    **V10,
    "ProviderName": "Oracle",
    "PublisherName": "Oracle",
    "InvoiceIssuerName": "Oracle",
    "BillingPeriodStart": "2026-03-01T00:00Z",
    "ChargePeriodStart": "2026-03-02T00:00Z",
    "ChargeFrequency": "Usage-based",
    "PricingCategory": "",
    "ContractedCost": "",
    "ServiceName": "COMPUTE",
    "oci_ReferenceNumber": "ref-1",
    "oci_CompartmentId": "ocid1.compartment.1",
    "oci_BilledQuantityOverage": "",
}
FLAVOURS: dict[str, Mapping[str, Any]] = {"aws": AWS, "azure": AZURE, "gcp": GCP, "oci": OCI}
# The second charge of every file: a credit without resource or quantity.
CREDIT: dict[str, Any] = {
    "ChargeCategory": "Credit",
    "ChargeFrequency": "One-Time",
    "BilledCost": "-0.05",
    "EffectiveCost": "-0.05",
    "ListCost": "0",
    "ContractedCost": "-0.05",
    "ConsumedQuantity": None,
    "ConsumedUnit": None,
    "PricingQuantity": None,
    "ResourceId": None,
    "Tags": None,
}


def focus_rows(first: Mapping[str, Any], *changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The charge, the credit, and a charge for each of the changes."""
    credit = {name: CREDIT.get(name, cell) for name, cell in first.items()}
    return [dict(first), credit, *({**first, **change} for change in changes)]


def focus_text(rows: Sequence[Mapping[str, Any]], *, null: str = "NULL", delimiter: str = ",") -> str:
    """CSV; None is the unquoted word for null, a text NULL is quoted."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = [names, *([row.get(name) for name in names] for row in rows)]
    return "".join(delimiter.join(_cell(cell, null) for cell in line) + "\n" for line in table)


def _cell(cell: Any, null: str) -> str:
    return null if cell is None else '"' + str(cell).replace('"', '""') + '"'
