"""What an AWS bill says of the reservations and savings plans themselves: term, count, units, upfront.

Source: AWS CUR user guide, "Reservation details", "Savings Plans details" and "Pricing details",
read 2026-11.
Quirks:
- `reservation/StartTime`, `EndTime`, `NumberOfReservations`, `UpfrontValue` and the units are on RIFee lines
  only: one line a month and subscription, with the totals of the billing period.
- `reservation/UpfrontValue` is of all reservations of the subscription, for the whole term;
  `UnitsPerReservation` is of one of them, in the hours of the period (744.0 in October).
- The class, payment and length of a reservation stand under `pricing/`, those of a savings plan under
  `savingsPlan/`; a savings plan that is bound to no region or family says `Any` or nothing.
- All columns are as delivered: on lines that are no fee they are usually blank.
"""

from __future__ import annotations

from finops.providers.bills import Given
from finops.providers.bills.kind import DECIMAL, ZONED


def commitment_facts(given: Given) -> dict[str, str]:
    """The `x_commitment_…` columns, null where the line or the report has none."""
    ri = "reservation/"
    sp = "savingsPlan/"
    return {
        "x_commitment_start": _either(
            given.instant(f"{ri}StartTime"), given.instant(f"{sp}StartTime"), ZONED
        ),
        "x_commitment_end": _either(given.instant(f"{ri}EndTime"), given.instant(f"{sp}EndTime"), ZONED),
        "x_commitment_count": given.number(f"{ri}NumberOfReservations"),
        "x_commitment_class": _text(given, "pricing/OfferingClass", f"{sp}OfferingType"),
        "x_commitment_payment": _text(given, "pricing/PurchaseOption", f"{sp}PaymentOption"),
        "x_commitment_term": _text(given, "pricing/LeaseContractLength", f"{sp}PurchaseTerm"),
        "x_commitment_family": _bound(given, f"{sp}InstanceTypeFamily"),
        "x_commitment_region": _bound(given, f"{sp}Region"),
        "x_commitment_upfront": given.money(f"{ri}UpfrontValue"),
        "x_commitment_amortized_upfront": _either(
            given.money(f"{ri}AmortizedUpfrontFeeForBillingPeriod"),
            given.money(f"{sp}AmortizedUpfrontCommitmentForBillingPeriod"),
            DECIMAL,
        ),
        "x_commitment_recurring": given.money(f"{sp}RecurringCommitmentForBillingPeriod"),
        "x_commitment_total": given.money(f"{sp}TotalCommitmentToDate"),
        "x_commitment_used": given.money(f"{sp}UsedCommitment"),
        "x_commitment_units": given.number(f"{ri}TotalReservedUnits"),
        "x_commitment_units_each": given.number(f"{ri}UnitsPerReservation"),
        "x_commitment_unused_units": given.number(f"{ri}UnusedQuantity"),
        "x_commitment_normalized_units": given.number(f"{ri}TotalReservedNormalizedUnits"),
        "x_commitment_normalized_units_each": given.number(f"{ri}NormalizedUnitsPerReservation"),
        "x_commitment_unused_normalized_units": given.number(f"{ri}UnusedNormalizedUnitQuantity"),
        "x_commitment_subscription": given.text(f"{ri}SubscriptionId"),
        "x_commitment_modification": given.text(f"{ri}ModificationStatus"),
    }


def _either(first: str, second: str, kind: str) -> str:
    """The first of two values that the line has; a column that the report lacks costs nothing."""
    null = f"CAST(NULL AS {kind})"
    there = [value for value in (first, second) if value != null]
    return f"coalesce({', '.join(there)})" if there else null


def _text(given: Given, *names: str) -> str:
    there = [given.text(name) for name in names if given.has(name)]
    return f"coalesce({', '.join(there)})" if there else "CAST(NULL AS VARCHAR)"


def _bound(given: Given, column: str) -> str:
    """A text, null where it says that the plan is bound to none."""
    text = given.text(column)
    return f"CASE WHEN lower({text}) NOT IN ('any', 'n/a') THEN {text} END" if given.has(column) else "NULL"
