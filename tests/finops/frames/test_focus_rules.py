"""The FOCUS 1.2 rule table: it is whole, a good row keeps it, and every rule can be broken."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from finops.frames.focus import FOCUS_COLUMNS
from finops.frames.focus_check import Finding, check_focus
from finops.frames.focus_rules import (
    CrossRule,
    allowed_values,
    columns,
    columns_of,
    cross_rules,
)

Row = dict[str, str | None]

GOOD: Row = {
    "AvailabilityZone": "eu-1a",
    "BilledCost": "0.000000000000000001",
    "BillingAccountId": "1",
    "BillingAccountName": "Payer",
    "BillingAccountType": "Management account",
    "BillingCurrency": "CNY",
    "BillingPeriodEnd": "2026-10-01T00:00:00Z",
    "BillingPeriodStart": "2026-09-01T00:00:00Z",
    "CapacityReservationId": "cr-1",
    "CapacityReservationStatus": "Used",
    "ChargeCategory": "Usage",
    "ChargeClass": None,
    "ChargeDescription": "An hour",
    "ChargeFrequency": "Usage-Based",
    "ChargePeriodEnd": "2026-09-01T01:00:00Z",
    "ChargePeriodStart": "2026-09-01T00:00:00Z",
    "CommitmentDiscountCategory": "Usage",
    "CommitmentDiscountId": "ri-1",
    "CommitmentDiscountName": "one",
    "CommitmentDiscountQuantity": "1",
    "CommitmentDiscountStatus": "Used",
    "CommitmentDiscountType": "Reserved",
    "CommitmentDiscountUnit": "Hours",
    "ConsumedQuantity": "1",
    "ConsumedUnit": "Hours",
    "ContractedCost": "0.2",
    "ContractedUnitPrice": "0.1",
    "EffectiveCost": "35.2E-7",
    "InvoiceId": "i-1",
    "InvoiceIssuerName": "Cloud",
    "ListCost": "0.4",
    "ListUnitPrice": "0.2",
    "PricingCategory": "Committed",
    "PricingCurrency": "CNY",
    "PricingCurrencyContractedUnitPrice": "0.1",
    "PricingCurrencyEffectiveCost": "0.1",
    "PricingCurrencyListUnitPrice": "0.2",
    "PricingQuantity": "2",
    "PricingUnit": "Hours",
    "ProviderName": "Cloud",
    "PublisherName": "Cloud",
    "RegionId": "eu-1",
    "RegionName": "Europe",
    "ResourceId": "vm-1",
    "ResourceName": "web",
    "ResourceType": "VM",
    "ServiceCategory": "Compute",
    "ServiceName": "Machines",
    "ServiceSubcategory": "Virtual Machines",
    "SkuId": "s",
    "SkuMeter": "Compute Usage",
    "SkuPriceDetails": '{"CoreCount": 4, "x_Extra": true}',
    "SkuPriceId": "s.1",
    "SubAccountId": "2",
    "SubAccountName": "Team",
    "SubAccountType": "Account",
    "Tags": '{"team": "web", "empty": ""}',
}


def findings(*rows: Row) -> list[Finding]:
    con = duckdb.connect()
    names = ", ".join(f'"{name}" VARCHAR' for name in rows[0])
    con.execute(f"CREATE TABLE given ({names})")
    con.executemany(
        f"INSERT INTO given VALUES ({', '.join('?' * len(rows[0]))})", [[*r.values()] for r in rows]
    )
    return check_focus(con, "given")


def rules(*rows: Row) -> set[tuple[str, str]]:
    return {(f.rule, f.column) for f in findings(*rows)}


def test_the_table_has_the_57_columns_of_which_21_are_mandatory() -> None:
    assert [*columns()] == sorted(column.focus for column in FOCUS_COLUMNS)
    assert len(columns()) == 57
    levels = [rule.level for rule in columns().values()]
    assert (levels.count("mandatory"), levels.count("conditional"), levels.count("recommended")) == (
        21,
        32,
        4,
    )
    assert [name for name, rule in columns().items() if rule.level == "mandatory" and rule.nulls] == [
        "BillingAccountName",
        "ChargeClass",
        "ChargeDescription",
        "PricingQuantity",
        "PricingUnit",
    ]
    assert {name for name, rule in columns().items() if rule.format == "values"} == set(allowed_values())


def test_columns_of_older_versions() -> None:
    assert [len(columns_of(version)) for version in ("1.0", "1.1", "1.2")] == [43, 50, 57]
    with pytest.raises(ValueError, match=r"FOCUS 0\.5 is not one of"):
        columns_of("0.5")


def test_every_rule_names_columns_and_values_that_exist() -> None:
    names = [rule.rule for rule in cross_rules()]
    assert len(set(names)) == len(names) == 63
    for rule in cross_rules():
        terms = [*rule.when, rule.then]
        assert {term.column for term in terms} <= set(columns())
        for term in terms:
            if term.test in {"in", "not in"}:
                assert set(term.words) <= set(allowed_values()[term.column]), rule.rule
            else:
                assert set(term.words) <= set(columns()), rule.rule


def test_a_good_row_keeps_every_rule() -> None:
    assert findings(GOOD) == []


def _true(row: Row, rule: CrossRule) -> Row:
    """The row with the rule's `when` made true."""
    made = dict(row)
    for term in rule.when:
        if term.test == "is null":
            made[term.column] = None
        elif term.test == "is not null":
            made[term.column] = made[term.column] or "x"
        elif term.test == "in":
            made[term.column] = term.words[0]
        else:
            others = [v for v in allowed_values()[term.column] if v not in term.words]
            made[term.column] = others[0] if others else None
    return made


def _broken(rule: CrossRule) -> Row:
    """A row that breaks the rule, perhaps others too."""
    other = rule.then.words[0] if rule.then.words else ""
    value = {
        "is null": GOOD[rule.column],
        "is not null": None,
        "not in": other,
        "after": GOOD.get(other),
        "equals": "7",
        "product": "9",
        "child of": "Caching",
        "one per": "Storage",
    }
    return {**_true(GOOD, rule), rule.column: value[rule.then.test]}


def test_every_rule_between_columns_can_be_broken() -> None:
    found = findings(GOOD, *(_broken(rule) for rule in cross_rules()))
    assert {(r.rule, r.column) for r in cross_rules()} <= {(f.rule, f.column) for f in found}


def test_rules_about_groups_count_the_rows_of_the_group() -> None:
    other = {**GOOD, "ServiceCategory": "Storage", "ServiceSubcategory": "Block Storage"}
    [found] = findings(GOOD, other, {**GOOD, "ServiceName": "Else"})
    assert found == Finding("service-has-one-category", "ServiceCategory", 2, "Machines: Compute, Storage")


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("BilledCost", None, "not-null"),
        ("BilledCost", "NaN", "is-decimal"),
        ("BilledCost", "+1", "is-decimal"),
        ("BilledCost", "1,5", "is-decimal"),
        ("BilledCost", "1E+3", "is-decimal"),
        ("BilledCost", "", "no-empty-text"),
        ("BillingAccountId", " ", "no-empty-text"),
        ("BillingCurrency", "RMB", "currency"),
        ("BillingCurrency", "usd", "currency"),
        ("ChargePeriodStart", "2026-09-01 00:00:00", "is-instant"),
        ("ChargePeriodStart", "2026-09-31T00:00:00Z", "is-instant"),
        ("ChargeCategory", "usage", "allowed-values"),
        ("ChargeClass", "", "allowed-values"),
        ("ContractedUnitPrice", "-0.1", "not-negative"),
        ("Tags", "team=web", "is-json"),
        ("Tags", "[]", "is-json"),
        ("Tags", '{"a": {"b": 1}}', "is-json"),
        ("Tags", '{"a": 1, "a": 2}', "is-json"),
        ("ServiceName", None, "not-null"),
    ],
)
def test_cells_of_the_wrong_form(column: str, value: str | None, rule: str) -> None:
    found = [f for f in findings({**GOOD, column: value}, GOOD) if (f.rule, f.column) == (rule, column)]
    example = "null" if value is None else ('""' if rule == "no-empty-text" else value)
    assert [(f.rows, f.example) for f in found] == [(1, example)]


def test_a_missing_mandatory_column_is_one_finding_and_a_missing_other_none() -> None:
    row = {k: v for k, v in GOOD.items() if k not in {"ServiceName", "InvoiceId", "SkuMeter"}}
    assert findings(row) == [Finding("present", "ServiceName", None, "")]


def test_rules_about_a_column_that_is_not_there_take_it_as_null() -> None:
    row = {k: v for k, v in GOOD.items() if k != "CommitmentDiscountId"}
    assert ("commitment-status-needs-id", "CommitmentDiscountStatus") in rules(row)


def test_corrections_may_break_products_and_rounded_prices_do_not() -> None:
    off = {**GOOD, "ListCost": "0.5"}
    assert rules(off) == {("list-cost-is-product", "ListCost")}
    assert findings(off)[0].example == "0.2 x 2 is not 0.5"
    assert rules({**off, "ChargeClass": "Correction"}) == set()
    assert rules({**GOOD, "ListCost": "0.40003"}) == set()


def test_an_older_version_is_asked_for_its_own_columns_only() -> None:
    con = duckdb.connect()
    con.execute("CREATE VIEW given AS SELECT 1 AS x")
    found = check_focus(con, "given", version="1.0")
    assert {f.column for f in found} == {n for n in columns_of("1.0") if columns()[n].level == "mandatory"}


def test_typed_columns_of_parquet_are_checked_as_what_they_are(tmp_path: Path) -> None:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    kinds = {"decimal": "DECIMAL(38,18)", "instant": "TIMESTAMPTZ", "text": "VARCHAR", "json": "VARCHAR"}
    cells = ", ".join(
        f"CAST({'NULL' if GOOD[n] is None else repr(GOOD[n])} AS {kinds[r.type]}) AS {n}"
        for n, r in columns().items()
    )
    file = tmp_path / "good.parquet"
    con.execute(f"COPY (SELECT {cells}) TO '{file}'")
    con.execute(f"CREATE VIEW good AS SELECT * FROM '{file}'")
    assert check_focus(con, "good") == []
    con.execute(
        "CREATE VIEW bad AS SELECT * REPLACE (CAST('nan' AS DOUBLE) AS BilledCost, 5 AS ServiceName,"
        " 'x' AS BillingPeriodEnd, CAST(1 AS DOUBLE) AS PricingQuantity) FROM good"
    )
    assert {(f.rule, f.column) for f in check_focus(con, "bad")} == {
        ("is-decimal", "BilledCost"),
        ("is-text", "ServiceName"),
        ("is-instant", "BillingPeriodEnd"),
        ("contracted-cost-is-product", "ContractedCost"),
        ("list-cost-is-product", "ListCost"),
    }


def test_tags_of_the_lake_are_maps() -> None:
    con = duckdb.connect()
    con.execute("CREATE VIEW given AS SELECT MAP {'team': 'web'} AS Tags, [1] AS SkuPriceDetails")
    found = {(f.rule, f.column) for f in check_focus(con, "given") if f.rule != "present"}
    assert found == {("is-json", "SkuPriceDetails"), ("sku-price-details-need-id", "SkuPriceDetails")}
    assert json.loads(str(GOOD["Tags"])) == {"team": "web", "empty": ""}
