"""Day or month first: by what the whole file shows, by what somebody says, else refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from finops.providers.azure.bills import AzureCost
from finops.providers.bills import DAY_FIRST, MONTH_FIRST, UnclearError
from tests.finops.providers.azure.test_azure_bills import ENTERPRISE, GERMAN, PAYG, enterprise, payg
from tests.support.bill_kinds import Read, read

KIND = AzureCost()


def _days(found: Read) -> list[str]:
    return [f"{line['charge_period_start']:%Y-%m-%d}" for line in found.lines]


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (["02/03/2021", "02/28/2021"], ["2021-02-03", "2021-02-28"]),
        (["02/03/2021", "28/02/2021"], ["2021-03-02", "2021-02-28"]),
        (["02/02/2021", "3/3/2021"], ["2021-02-02", "2021-03-03"]),
        (["2021-02-03", "02/28/2021"], ["2021-02-03", "2021-02-28"]),
        (["2/3/2021 00:00:00", "28/2/2021 00:00:00"], ["2021-03-02", "2021-02-28"]),
    ],
)
def test_one_date_shows_the_order_of_all(dates: list[str], days: list[str]) -> None:
    found = read(KIND, PAYG + "".join(payg(date) for date in dates))
    assert (_days(found), found.faults) == (days, [])


def test_the_period_of_the_row_shows_it_where_no_number_is_over_twelve() -> None:
    month = read(KIND, ENTERPRISE + enterprise(date="02/03/2021", period="2021-02-01,2021-02-28"))
    day = read(KIND, ENTERPRISE + enterprise(date="03/02/2021", period="2021-02-01,2021-02-28"))
    assert _days(month) == _days(day) == ["2021-02-03"]
    assert month.lines[0]["billing_period_start"] == datetime(2021, 2, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("date", "period", "day", "month"),
    [
        ("02/03/2021", "02/01/2021,02/28/2021", "2021-02-03", 2),
        ("03/02/2021", "01/02/2021,28/02/2021", "2021-02-03", 2),
        ("12/03/2021", "12/01/2021,12/31/2021", "2021-12-03", 12),
    ],
)
def test_the_end_of_a_period_is_over_twelve(date: str, period: str, day: str, month: int) -> None:
    found = read(KIND, ENTERPRISE + enterprise(date=date, period=period))
    assert (_days(found), found.faults) == ([day], [])
    assert found.lines[0]["billing_period_start"].month == month


def test_a_german_header_has_the_day_first_where_nothing_else_tells() -> None:
    assert _days(read(KIND, GERMAN + payg("02/03/2021"))) == ["2021-03-02"]
    assert _days(read(KIND, GERMAN + payg("02/03/2021") + payg("02/28/2021")))[0] == "2021-02-03"


def test_a_file_that_does_not_tell_is_refused_with_the_option_that_decides() -> None:
    with pytest.raises(UnclearError) as refused:
        read(KIND, PAYG + payg("02/03/2021") + payg("2021-02-05"))
    assert refused.value.field == "UsageDateTime"
    assert str(refused.value) == (
        "02/03/2021 can have the day or the month first, and no date of the file tells which: "
        "say --dates month-first or --dates day-first"
    )


@pytest.mark.parametrize(("dates", "day"), [(MONTH_FIRST, "2021-02-03"), (DAY_FIRST, "2021-03-02")])
def test_what_somebody_says_decides(dates: str, day: str) -> None:
    found = read(KIND, PAYG + payg("02/03/2021"), dates=dates)
    assert _days(found) == [day]
    assert found.notes == [f"dates with slashes are read {dates}"]


def test_a_row_against_what_was_said_refuses_the_delivery() -> None:
    found = read(KIND, PAYG + payg("02/03/2021") + payg("13/02/2021"), dates=MONTH_FIRST)
    assert [fault[:3] for fault in found.faults] == [(2, "UsageDateTime", "refuse")]
    assert "other order than month-first" in found.faults[0][3]


@pytest.mark.parametrize("period", ["02/01/2021,02/28/2021", "2021-02-01,2021-02-28"])
def test_dates_of_both_orders_are_refused(period: str) -> None:
    rows = enterprise(date="13/02/2021", period=period) + enterprise(date="02/14/2021", period=period)
    with pytest.raises(UnclearError, match=r"with the day first .13/02/2021. and with the month"):
        read(KIND, ENTERPRISE + rows)


@pytest.mark.parametrize(
    ("date", "period", "told"),
    [
        ("01/04/2021", "03/01/2021,03/31/2021", "other order than month-first"),
        ("03/02/2021", "02/01/2021,28/02/2021", "a billing period of more than a month, read day-first"),
    ],
)
def test_a_row_that_contradicts_its_file_refuses_the_delivery(date: str, period: str, told: str) -> None:
    found = read(KIND, ENTERPRISE + enterprise(date=date, period=period))
    assert found.lines == []
    assert {fault[2] for fault in found.faults} == {"refuse"}
    assert told in found.faults[0][3]


def test_iso_dates_need_no_order_and_have_no_note() -> None:
    assert read(KIND, PAYG + payg("2021-02-03")).notes == []
