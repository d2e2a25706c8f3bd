"""Term, count, units and upfront fee of reservations and savings plans: from the fee lines into the lake."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from apps.billing.selectors.focus_rows import CUSTOM_COLUMNS, focus_name
from finops.frames.focus import COMMITMENT_COLUMNS
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

TYPE, COST = "lineItem/LineItemType", "lineItem/UnblendedCost"
FEE = {
    TYPE: "RIFee",
    COST: "38.688",
    "reservation/ReservationARN": "arn:aws:ec2:us-east-1:111122223333:reserved-instances/2a",
    "reservation/StartTime": "2018-04-03T01:21:13.000Z",
    "reservation/EndTime": "2019-04-03T01:21:12.000Z",
    "reservation/NumberOfReservations": "2",
    "reservation/SubscriptionId": "1088703662",
    "reservation/ModificationStatus": "Original",
    "reservation/UpfrontValue": "446.0",
    "reservation/AmortizedUpfrontFeeForBillingPeriod": "37.87945205",
    "reservation/TotalReservedUnits": "1488.0000000000",
    "reservation/UnitsPerReservation": "744.0000000000",
    "reservation/UnusedQuantity": "0.5",
    "reservation/TotalReservedNormalizedUnits": "5952.00000000000",
    "reservation/NormalizedUnitsPerReservation": "2976.00000000000",
    "reservation/UnusedNormalizedUnitQuantity": "2.0",
    "pricing/OfferingClass": "standard",
    "pricing/PurchaseOption": "Partial Upfront",
    "pricing/LeaseContractLength": "1yr",
}
PLAN = {
    TYPE: "SavingsPlanRecurringFee",
    COST: "0.30",
    "savingsPlan/SavingsPlanARN": "arn:aws:savingsplans::111122223333:savingsplan/7f",
    "savingsPlan/StartTime": "2026-03-01T00:00:00.000Z",
    "savingsPlan/EndTime": "2027-02-28T23:59:59.000Z",
    "savingsPlan/OfferingType": "ComputeSavingsPlans",
    "savingsPlan/PaymentOption": "No Upfront",
    "savingsPlan/PurchaseTerm": "1yr",
    "savingsPlan/InstanceTypeFamily": "m5",
    "savingsPlan/Region": "us-east-1",
    "savingsPlan/TotalCommitmentToDate": "0.30",
    "savingsPlan/UsedCommitment": "0.26",
    "savingsPlan/RecurringCommitmentForBillingPeriod": "223.2",
    "savingsPlan/AmortizedUpfrontCommitmentForBillingPeriod": "0",
}
RESERVED = {
    "x_commitment_start": datetime(2018, 4, 3, 1, 21, 13, tzinfo=UTC),
    "x_commitment_end": datetime(2019, 4, 3, 1, 21, 12, tzinfo=UTC),
    "x_commitment_count": Decimal(2),
    "x_commitment_class": "standard",
    "x_commitment_payment": "Partial Upfront",
    "x_commitment_term": "1yr",
    "x_commitment_family": None,
    "x_commitment_region": None,
    "x_commitment_upfront": Decimal(446),
    "x_commitment_amortized_upfront": Decimal("37.87945205"),
    "x_commitment_recurring": None,
    "x_commitment_total": None,
    "x_commitment_used": None,
    "x_commitment_units": Decimal(1488),
    "x_commitment_units_each": Decimal(744),
    "x_commitment_unused_units": Decimal("0.5"),
    "x_commitment_normalized_units": Decimal(5952),
    "x_commitment_normalized_units_each": Decimal(2976),
    "x_commitment_unused_normalized_units": Decimal(2),
    "x_commitment_subscription": "1088703662",
    "x_commitment_modification": "Original",
}
PLANNED = {
    **dict.fromkeys(RESERVED),
    "x_commitment_start": datetime(2026, 3, 1, tzinfo=UTC),
    "x_commitment_end": datetime(2027, 2, 28, 23, 59, 59, tzinfo=UTC),
    "x_commitment_class": "ComputeSavingsPlans",
    "x_commitment_payment": "No Upfront",
    "x_commitment_term": "1yr",
    "x_commitment_family": "m5",
    "x_commitment_region": "us-east-1",
    "x_commitment_amortized_upfront": Decimal(0),
    "x_commitment_recurring": Decimal("223.2"),
    "x_commitment_total": Decimal("0.30"),
    "x_commitment_used": Decimal("0.26"),
}
NAMES = tuple(column.name for column in COMMITMENT_COLUMNS)


def _facts(kind: str) -> dict[str, object]:
    [row] = lines(f"commitment_discount_id, {', '.join(NAMES)}", f"x_line_item_type = '{kind}'")
    return {"id": row[0], **dict(zip(NAMES, row[1:], strict=True))}


@pytest.mark.parametrize("flat", [False, True], ids=["legacy", "athena"])
def test_fee_lines_say_all_of_their_commitment(tmp_path: Path, flat: bool) -> None:
    text = cur_csv([FEE, PLAN, {COST: "1"}])
    if flat:
        header, rest = text.split("\n", 1)
        words = header.replace("ReservationARN", "ReservationA_R_N").replace(
            "SavingsPlanARN", "SavingsPlanA_R_N"
        )
        text = "".join(f"_{c.lower()}" if c.isupper() else c for c in words).replace("/", "") + "\n" + rest
    import_text(tmp_path / "fees.csv", text)
    assert _facts("RIFee") == {"id": FEE["reservation/ReservationARN"], **RESERVED}
    assert _facts("SavingsPlanRecurringFee") == {"id": PLAN["savingsPlan/SavingsPlanARN"], **PLANNED}
    assert _facts("Usage") == {"id": None, **dict.fromkeys(NAMES)}


def test_a_report_without_these_columns_gives_nulls(tmp_path: Path) -> None:
    import_text(tmp_path / "old.csv", cur_csv([{TYPE: "RIFee", COST: "1"}]))
    assert _facts("RIFee") == {"id": None, **dict.fromkeys(NAMES)}


def test_a_plan_of_any_family_and_region_is_bound_to_none(tmp_path: Path) -> None:
    loose = {**PLAN, "savingsPlan/Region": "Any", "savingsPlan/InstanceTypeFamily": ""}
    import_text(tmp_path / "loose.csv", cur_csv([loose]))
    found = _facts("SavingsPlanRecurringFee")
    assert (found["x_commitment_region"], found["x_commitment_family"]) == (None, None)


def test_a_term_that_is_no_time_rejects_its_row(tmp_path: Path) -> None:
    run = import_text(tmp_path / "odd.csv", cur_csv([{**FEE, "reservation/EndTime": "soon"}, {COST: "1"}]))
    assert (run.stored, run.rejected) == (1, 1)
    told = run.rejections.get()
    assert (told.row, told.field, told.reason) == (1, "reservation/EndTime", "not a time: soon")


def test_the_columns_have_names_in_focus_files_too() -> None:
    names = {focus_name(column) for column in CUSTOM_COLUMNS}
    assert {"x_CommitmentStart", "x_CommitmentEnd", "x_CommitmentNormalizedUnits"} <= names
