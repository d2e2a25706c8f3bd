"""Three letters alone are no currency: everything that is billed, priced or budgeted holds to the list."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pytest

from apps.billing.selectors.spend_question import SpendError, SpendQuestion
from apps.billing.services.cells import currency_cell
from finops.engine.checks.policies import CheckInputError, policies_of
from finops.frames.list_prices import ListPrice, ListPriceKey
from finops.frames.list_prices import check as list_price_fault
from finops.frames.money import CurrencyError, currencies, currency_code
from finops.frames.pools import PoolRowError, read_pools
from finops.providers.aws.locations import currency_problem
from finops.providers.aws.owned_commitments import RESERVED, read_owned
from finops.providers.aws.reserved_offers import OFFERINGS, read_offerings
from finops.providers.bills import Given, Header, Lines, currency_checked, faults_sql
from finops.providers.focus.bills import Focus

# Three letters that no country has; funds, metals, the test code and what is none at all.
NONE = ("ABC", "XXX", "XTS", "XAU", "USN", "BTC", "usdx", "U$D", "", "TOKENS", "Credits", "  ", "USD\x00")
AT = datetime(2018, 11, 20, tzinfo=UTC)


def test_the_list_has_what_is_paid_with() -> None:
    assert len(currencies()) == 158
    assert {"CNY", "USD", "EUR", "JPY", "INR", "HRK"} < currencies()
    assert not currencies() & set(NONE)


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_currency_is_refused(text: str) -> None:
    with pytest.raises(CurrencyError):
        currency_code(text)
    with pytest.raises(ValueError, match="Not a currency"):
        currency_cell(text)


def test_blanks_and_letter_case_do_not_count() -> None:
    assert currency_code(" cny ") == "CNY"


def test_a_bill_in_no_currency_is_rejected_by_row_and_the_pricing_currency_may_be_virtual() -> None:
    given = Given(Focus(), [Header("BillingCurrency"), Header("PricingCurrency")])
    lines = Lines({"billing_currency": "r0", "pricing_currency": given.text("PricingCurrency")})
    given.used.add(0)
    currency_checked(Focus(), given, lines)
    con = duckdb.connect()
    con.execute("CREATE TABLE raw (rn INT, r0 VARCHAR, r1 VARCHAR)")
    rows = [*NONE, "usd", "ZAR", "EUR"]
    con.executemany("INSERT INTO raw VALUES (?, ?, 'Credits')", [[n, code] for n, code in enumerate(rows)])
    faults = con.execute(faults_sql(given, "raw")).fetchall()
    assert [(row, field, severity) for row, field, severity, _ in faults] == [
        # A blank cell is told as blank by the format, not a second time here.
        (n, "BillingCurrency", "reject")
        for n, code in enumerate(NONE)
        if code
    ]


@pytest.mark.parametrize("code", ["ABC", "XAU"])
def test_prices_offers_and_commitments_hold_to_it(code: str) -> None:
    key = ListPriceKey("aws", "us-east-1", "m5.large", "linux", "none", "shared", code, AT)
    assert "ISO 4217" in list_price_fault(ListPrice(key, Decimal("0.1")))
    assert "not a currency" in currency_problem("us-east-1", code)
    common = {
        "FixedPrice": 100.0, "InstanceType": "c5.large", "ProductDescription": "Linux/UNIX", "UsagePrice": 0,
        "CurrencyCode": code, "InstanceTenancy": "default", "OfferingClass": "standard",
        "OfferingType": "All Upfront", "RecurringCharges": [],
    }  # fmt: skip
    offer = {
        **common, "ReservedInstancesOfferingId": "a1", "AvailabilityZone": "us-east-1a", "Marketplace": True,
        "Duration": 20_000_000, "PricingDetails": [{"Count": 5, "Price": 100.0}],
    }  # fmt: skip
    offered = read_offerings({OFFERINGS: [offer]}, seen_at=AT)
    assert ([one.field for one in offered.refused], offered.rows) == (["currency"], [])
    own = {
        **common, "ReservedInstancesId": "r1", "InstanceCount": 2, "State": "active",
        "Start": "2018-04-03T01:21:13Z", "End": "2019-04-03T01:21:12Z",
    }  # fmt: skip
    owned = read_owned({RESERVED: [own]}, seen_at=AT, region="us-east-1")
    assert ([one.field for one in owned.refused], owned.rows) == (["currency"], [])


def test_pools_policies_and_questions_hold_to_it() -> None:
    with pytest.raises(PoolRowError, match="ISO 4217"):
        read_pools(["name,kind,hourly,currency\n", "a,spot,1,ABC\n"])
    with pytest.raises(CheckInputError, match="not a currency"):
        policies_of({"policies": [{"kind": "max_total", "limit": "5", "currency": "ABC"}]})
    with pytest.raises(SpendError):
        SpendQuestion(date(2026, 3, 1), date(2026, 4, 1), currency="ABC")
