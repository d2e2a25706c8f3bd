"""Storage lines of a bill: the unit column decides, the newest days count, a gap names what is missing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from finops.engine.storage.bill import StorageError
from finops.engine.storage.billed import BillLine, billed_of, gap_of
from finops.frames.storage import GIB
from finops.frames.storage_usage import storage_usage

D = Decimal
ON = date(2026, 11, 29)
PRICES = {("STANDARD", ""): D("0.023"), ("INTELLIGENT_TIERING", "INFREQUENT"): D("0.0125")}


def line(
    quantity: str, unit: str = "GB-Mo", cost: str = "0", *, usage: str = "TimedStorage-ByteHrs",
    start: date = date(2026, 11, 28), days: int = 1, operation: str = "StandardStorage",
    pricing: tuple[str, str] | None = None,
) -> BillLine:  # fmt: skip
    begin = datetime(start.year, start.month, start.day, tzinfo=UTC)
    more = (D(pricing[0]), pricing[1]) if pricing else (None, "")
    return BillLine(
        usage, operation, begin, begin + timedelta(days=days), D(quantity), unit, *more, D(cost), D(cost),
        "USD",
    )  # fmt: skip


def test_case_t4_07_the_unit_column_decides_and_the_rate_proves_it() -> None:
    month = {"start": date(2026, 11, 1), "days": 30}
    for quantity, unit in (("250.0", "GB-Mo"), ("180000", "GB-Hours")):
        found = billed_of([line(quantity, unit, "5.75", **month)], "aws", listed_on=ON, prices=PRICES)
        assert found.months == {"STANDARD": D(250)}
        assert found.gib == {"STANDARD": D(250)}
        assert found.cost["STANDARD"] / found.months["STANDARD"] == D("0.023")
        assert (found.bad_unit, found.bad_rate) == ("", "")
    # 250 read as byte-hours is 3.2E-10 GiB-months: no class costs 1.8E10 a GiB-month.
    wrong = billed_of([line("250.0", "Byte-Hrs", "5.75", **month)], "aws", listed_on=ON, prices=PRICES)
    assert wrong.bad_rate.startswith("TimedStorage-ByteHrs: ")


def test_an_unknown_unit_stops_the_line_unless_it_costs_nothing() -> None:
    bad = billed_of([line("5", "", "0.10"), line("5")], "aws", listed_on=ON, prices=PRICES)
    assert (bad.months, bad.bad_unit) == ({"STANDARD": D(5)}, "TimedStorage-ByteHrs: blank")
    free = billed_of([line("5", ""), line("5")], "aws", listed_on=ON, prices=PRICES)
    assert (free.months, free.bad_unit) == ({"STANDARD": D(5)}, "")
    priced = billed_of([line("5", "Bytes", "0.1", pricing=("2", "GB-Mo"))], "aws", listed_on=ON, prices={})
    assert (priced.months, priced.bad_unit) == ({"STANDARD": D(2)}, "")


def test_days_of_a_month_become_the_bytes_that_lay_there() -> None:
    # 300 GiB lay there on each of ten days of a month of 30: 10 GiB-months a day.
    lines = [line("10", start=date(2026, 11, 19) + timedelta(days=n)) for n in range(10)]
    found = billed_of(lines, "aws", listed_on=ON, prices=PRICES)
    assert (found.start, found.end) == (date(2026, 11, 22), date(2026, 11, 29))
    assert found.months == {"STANDARD": D(70)}
    assert found.gib == {"STANDARD": D(300)}


def test_a_day_that_was_not_delivered_is_no_day_of_nothing() -> None:
    days = [date(2026, 11, 22 + n) for n in range(7) if n not in (3, 6)]
    found = billed_of([line("10", start=day) for day in days], "aws", listed_on=ON, prices=PRICES)
    assert (found.months, found.gib) == ({"STANDARD": D(50)}, {"STANDARD": D(300)})
    # Two classes, one of them for two days only: its mean is over all days that are there.
    short = [line("2", usage="TimedStorage-SIA-ByteHrs", operation="StandardIAStorage", start=day)
             for day in days[:2]]  # fmt: skip
    both = billed_of([line("10", start=day) for day in days] + short, "aws", listed_on=ON, prices=PRICES)
    assert both.gib == {"STANDARD": D(300), "STANDARD_IA": D(24)}


def test_lines_after_the_listing_do_not_count() -> None:
    later = line("99", start=date(2026, 11, 30))
    assert billed_of([later], "aws", listed_on=ON, prices=PRICES).gib == {}
    assert billed_of([later, line("1")], "aws", listed_on=ON, prices=PRICES).gib == {"STANDARD": D(30)}


def test_tiers_are_one_class_and_padding_is_no_object() -> None:
    tiered = [
        line("1", usage="EUC1-TimedStorage-INT-FA-ByteHrs"),
        line("2", cost="0.025", usage="EUC1-TimedStorage-INT-IA-ByteHrs"),
        line("5", cost="0.06", usage="EUC1-TimedStorage-SIA-SmObjects"),
        line("7", cost="0.03", operation="DeepArchiveS3ObjectOverhead"),
        line("1000", "Objects", "0.0025", usage="EUC1-Monitoring-Automation-INT"),
    ]
    found = billed_of(tiered, "aws", listed_on=ON, prices=PRICES)
    assert found.months == {"INTELLIGENT_TIERING": D(3)}
    assert [(c.kind, c.storage_class, c.quantity, c.unit, c.cost) for c in found.charges] == [
        ("monitoring", "INTELLIGENT_TIERING", D(1000), "Objects", D("0.0025")),
        ("overhead", "STANDARD", D(7), "GB-Mo", D("0.03")),
        ("overhead", "STANDARD_IA", D(5), "GB-Mo", D("0.06")),
    ]


@pytest.mark.parametrize(
    ("usage_type", "storage_class", "kind"),
    [
        ("USW2-TimedStorage-GIR-ByteHrs", "GLACIER_IR", "stored"),
        ("TimedStorage-GlacierByteHrs", "GLACIER", "stored"),
        ("EU-TimedStorage-GDA-Staging", "DEEP_ARCHIVE", "staging"),
        ("USE1-Requests-SIA-Tier1", "STANDARD_IA", "requests"),
        ("USE1-Requests-Tier3", "", "transitions"),
    ],
)
def test_usage_types_are_known_by_their_end(usage_type: str, storage_class: str, kind: str) -> None:
    found = storage_usage("aws", usage_type)
    assert found is not None
    assert (found.storage_class, found.kind) == (storage_class, kind)


def test_other_usage_types_are_no_storage() -> None:
    assert storage_usage("aws", "USE1-DataTransfer-Out-Bytes") is None
    assert storage_usage("nobody", "TimedStorage-ByteHrs") is None


def test_case_t4_05_what_is_billed_and_not_listed_blocks() -> None:
    listed = {("STANDARD", "current"): 2000 * GIB}
    gap = gap_of({"STANDARD": D(40000)}, listed, states=["current"])
    assert (gap.gap_bytes, gap.share, gap.code) == (38000 * GIB, D("0.95"), "gap")
    assert gap.missing == ("noncurrent", "incomplete")


def test_a_small_gap_in_either_direction_does_not_block() -> None:
    for listed in (950, 1050):
        gap = gap_of({"STANDARD": D(1000)}, {("STANDARD", "current"): listed * GIB}, states=["current"])
        assert (gap.code, gap.missing) == ("", ())
    more = gap_of({"STANDARD": D(1000)}, {("STANDARD", "current"): 1051 * GIB}, states=["current"])
    assert (more.code, more.missing) == ("gap", ())


def test_a_class_that_nothing_lists_blocks_though_the_sums_agree() -> None:
    billed = {"STANDARD": D(900), "GLACIER": D(100)}
    gap = gap_of(
        billed, {("STANDARD", "current"): 1000 * GIB}, states=["current", "noncurrent", "incomplete"]
    )
    assert (gap.gap_bytes, gap.code, gap.missing) == (0, "gap", ("class GLACIER",))


def test_parts_that_are_listed_as_empty_are_not_missing() -> None:
    gap = gap_of({"STANDARD": D(100)}, {("STANDARD", "current"): 10 * GIB}, states=["current", "noncurrent"])
    assert gap.missing == ("incomplete",)


def test_without_a_bill_there_is_no_gap() -> None:
    with pytest.raises(StorageError, match="holds no bytes"):
        gap_of({}, {("STANDARD", "current"): 1}, states=["current"])
