"""Tables of on-demand prices: columns by name, dates from a column or the file's name, nothing guessed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from finops.providers.aws.price_tables import read_price_csv
from finops.providers.aws.reading import date_in_name


def test_a_table_of_several_lists_with_chinese_regions_in_the_wrong_currency() -> None:
    reading = read_price_csv(
        [
            "committed,region,instance_type,usd_per_hour\n",
            "2022-06-23,us-east-1,p3.2xlarge,3.06\n",
            "2023-04-06,cn-north-1,p3.2xlarge,36.078\n",
            "2023-04-06,us-east-1,p3.2xlarge,3.06\n",
        ],
        name="prices_2022-06_2026-07.csv",
    )
    assert [(row, p.key.region, p.key.effective_from, p.price) for row, p in reading.rows] == [
        (1, "us-east-1", datetime(2022, 6, 23, tzinfo=UTC), Decimal("3.06")),
        (3, "us-east-1", datetime(2023, 4, 6, tzinfo=UTC), Decimal("3.06")),
    ]
    assert [(r.row, r.field) for r in reading.refused] == [(2, "usd_per_hour")]
    assert reading.assumed == {"operating_system": "linux"}


def test_reserved_terms_beside_on_demand_are_ignored_and_the_name_dates_the_table() -> None:
    reading = read_price_csv(
        [
            "instance_type,region,os,term,effective_usd_per_hour\n",
            "m5.large,us-east-1,mswin,ondemand,0.188\n",
            "m5.large,us-east-1,linux,yrTerm1Standard.noUpfront,0.06\n",
            "m5.large,us-east-1,linux,ondemand,0\n",
        ],
        name="folder-2001-01-01/ec2_2019-04-05.csv",
    )
    ((_, price),) = reading.rows
    assert price.key[3:5] == ("windows", "included")
    assert price.key.effective_from == datetime(2019, 4, 5, tzinfo=UTC)
    assert reading.ignored == {"term other than on-demand": 1}
    assert [(r.row, r.reason) for r in reading.refused] == [(3, "price is not above zero")]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("region,instance_type,price_usd", "no date"),
        ("region,instance_type,price,date", "currency"),
        ("region,instance_type,date", "a price per hour"),
        ("a,b", "instance type and region"),
    ],
)
def test_what_the_header_does_not_say_is_not_guessed(header: str, words: str) -> None:
    reading = read_price_csv([header + "\n", "us-east-1,m5.large,1,1\n"], name="x.csv")
    assert reading.rows == []
    assert [r.row for r in reading.refused] == [None]
    assert words in reading.refused[0].reason


def test_a_given_date_dates_a_table_without_one() -> None:
    reading = read_price_csv(
        ["region,instance_type,price,currency\n", "eu-central-1,m5.large,0.115,usd\n"],
        name="x.csv",
        listed_on=date(2020, 1, 2),
    )
    assert reading.rows[0][1].key[6:] == ("USD", datetime(2020, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("a_2025-06.json", date(2025, 6, 30)),
        ("a_2024-02-29.csv", date(2024, 2, 29)),
        ("a_2022-06_2026-07.csv", None),
        ("a_2025-13.csv", None),
        ("a.csv", None),
    ],
)
def test_the_one_date_in_a_name_counts(name: str, day: date | None) -> None:
    assert date_in_name(name) == day
