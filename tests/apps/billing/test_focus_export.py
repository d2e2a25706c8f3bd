"""Bills out as FOCUS: exact, whole or not at all, and honest about what the sources cannot give."""

from __future__ import annotations

import csv
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from django.core.management import call_command

from apps.accounts.models import Organisation
from apps.billing.models import Delivery
from apps.billing.services import focus_export as export
from finops.engine.spend import Window
from finops.frames.focus_check import check_focus
from finops.frames.focus_rules import columns
from tests.support.bill_lake import put_bill
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("empty_lake")
MARCH = date(2026, 3, 1)
START, HOUR = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 1, 1, tzinfo=UTC)
PERIOD = {"billing_period_start": START, "billing_period_end": datetime(2026, 4, 1, tzinfo=UTC)}
FULL: dict[str, Any] = {
    **PERIOD, "charge_period_start": START, "charge_period_end": HOUR, "billed_cost": "1.25",
    "billing_account_id": "1", "billing_account_name": "Payer", "charge_description": "An hour",
    "contracted_unit_price": "1.25", "list_unit_price": "1.25", "pricing_quantity": "1",
    "pricing_unit": "Hours",
    "consumed_quantity": "1", "consumed_unit": "Hours", "pricing_category": "Standard", "sku_id": "s",
    "sku_price_id": "s.1", "provider_name": "AWS", "publisher_name": "AWS", "invoice_issuer_name": "AWS",
    "service_name": "EC2", "service_category": "Compute", "sub_account_id": "7", "sub_account_name": "Dev",
    "sub_account_type": "Account", "region_id": "eu-1", "region_name": "Europe", "x_quantity": "1",
    "x_unit": "h",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _home(settings: Any, tmp_path: Path) -> None:
    settings.OFFPEAK_HOME = tmp_path / "home"
    (tmp_path / "home").mkdir()


def verb(capsys: pytest.CaptureFixture[str], output: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code = 0
    days = ("--from", "2026-03-01", "--to", "2026-04-01")
    try:
        call_command("export_focus", *days, "--output", str(output), "--json", *words)
    except SystemExit as error:
        code = int(error.code or 0)
    return code, json.loads(capsys.readouterr().out)


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_a_full_line_keeps_every_rule(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put_bill([{**FULL, "tags": {"team": "=1+1", "blank": ""}}], period=MARCH)
    code, document = verb(capsys, tmp_path / "out.csv")
    assert (code, document["rows"], document["version"]) == (0, 1, "1.2")
    assert (document["conformant"], document["findings"]) == (True, [])
    assert document["totals"]["USD"] == dict.fromkeys(("billed", "amortised", "net", "list"), "1.25")
    assert document["columns_partly_available"] == []
    assert "ChargeClass" in document["columns_not_available"]
    assert "ServiceName" not in document["columns_not_available"]
    [row] = rows_of(tmp_path / "out.csv")
    assert list(row) == document["columns"]
    assert {name for name, rule in columns().items() if rule.level == "mandatory"} <= set(row)
    assert "InvoiceId" not in row
    assert (row["BilledCost"], row["ChargeClass"]) == ("1.25", "NULL")
    assert row["ChargePeriodStart"] == "2026-03-01T00:00:00Z"
    assert json.loads(row["Tags"]) == {"team": "=1+1", "blank": ""}
    assert row["x_Quantity"] == "1"
    assert document["sources"][0]["billing_period"] == "2026-03"


@pytest.mark.parametrize(
    ("cost", "text"),
    [("0.000000000000000001", "0.000000000000000001"), ("-12000.50", "-12000.5"), ("0", "0"), ("100", "100")],
)
def test_decimals_are_exact_plain_digits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, cost: str, text: str
) -> None:
    put_bill([{**FULL, "billed_cost": cost}], period=MARCH)
    verb(capsys, tmp_path / "out.csv")
    assert rows_of(tmp_path / "out.csv")[0]["BilledCost"] == text


def test_parquet_keeps_decimals_and_times_and_passes_the_same_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put_bill([{**FULL, "tags": {"team": "web"}}], period=MARCH)
    code, document = verb(capsys, tmp_path / "out.parquet", "--format", "parquet")
    assert (code, document["rows"], document["format"]) == (0, 1, "parquet")
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"CREATE VIEW given AS SELECT * FROM '{tmp_path / 'out.parquet'}'")
    assert check_focus(con, "given") == []
    found = con.execute(
        "SELECT BilledCost, ChargePeriodStart, Tags, typeof(BilledCost) FROM given"
    ).fetchall()
    assert found == [(Decimal("1.25"), START, '{"team":"web"}', "DECIMAL(38,18)")]


def test_what_the_sources_lack_is_listed_and_mandatory_columns_are_null(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bare = {key: value for key, value in FULL.items() if key not in {"service_category", "region_name"}}
    first = put_bill([bare], period=MARCH)
    code, document = verb(capsys, tmp_path / "out.csv")
    assert code == 0
    assert "ServiceCategory" in document["columns_not_available"]
    assert "RegionName" in document["columns_not_available"]
    assert document["conformant"] is False
    assert {(f["rule"], f["column"], f["rows"]) for f in document["findings"]} == {
        ("not-null", "ServiceCategory", 1)
    }
    [row] = rows_of(tmp_path / "out.csv")
    assert row["ServiceCategory"] == "NULL"
    assert "RegionName" not in row
    put_bill([FULL], period=MARCH, payer="2")
    _code, document = verb(capsys, tmp_path / "both.csv")
    assert [p for p in document["columns_partly_available"] if p["column"] == "ServiceCategory"] == [
        {"column": "ServiceCategory", "missing_from": [document["sources"][0]]}
    ]
    assert document["sources"][0]["delivery"] == first.pk


def test_a_column_that_a_focus_file_delivered_empty_is_available(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put_bill([FULL], period=MARCH, kind="focus", columns=["ChargeClass", "InvoiceId"])
    _code, document = verb(capsys, tmp_path / "out.csv")
    assert not {"ChargeClass", "InvoiceId"} & set(document["columns_not_available"])
    assert rows_of(tmp_path / "out.csv")[0]["InvoiceId"] == "NULL"


def test_text_that_is_null_by_name_and_blank_text_are_told_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put_bill(
        [{**FULL, "resource_id": "NULL", "resource_name": "", "resource_type": 'a,"b"\nc'}], period=MARCH
    )
    verb(capsys, tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text()
    assert ',"NULL",' in text
    con = duckdb.connect()
    read = con.execute(
        f"SELECT ResourceId, ResourceType FROM read_csv('{tmp_path / 'out.csv'}', all_varchar = true, "
        "nullstr = 'NULL', allow_quoted_nulls = false, auto_detect = true)"
    ).fetchall()
    assert read == [("NULL", 'a,"b"\nc')]


def test_days_choose_charges_and_months_choose_bills(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    late = {**FULL, "charge_period_start": datetime(2026, 2, 28, 23, tzinfo=UTC), "charge_period_end": START,
            "x_day": date(2026, 2, 28)}  # fmt: skip
    put_bill([FULL, late], period=MARCH)
    assert verb(capsys, tmp_path / "charge.csv")[1]["rows"] == 1
    assert verb(capsys, tmp_path / "billing.csv", "--period", "billing")[1]["rows"] == 2


def test_older_versions_have_fewer_columns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put_bill([FULL], period=MARCH)
    _code, document = verb(capsys, tmp_path / "out.csv", "--focus-version", "1.0")
    assert document["version"] == "1.0"
    assert "SubAccountType" not in document["columns"]
    assert "SubAccountType" not in document["columns_not_available"]


def test_no_bills_give_a_file_with_a_header(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, document = verb(capsys, tmp_path / "out.csv")
    assert (code, document["rows"], document["totals"], document["sources"]) == (0, 0, {}, [])
    header = (tmp_path / "out.csv").read_text().strip().split(",")
    assert header == [name for name, rule in columns().items() if rule.level == "mandatory"]


def test_a_file_that_exists_is_kept_without_overwrite(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put_bill([FULL], period=MARCH)
    (tmp_path / "out.csv").write_text("mine")
    code, document = verb(capsys, tmp_path / "out.csv")
    assert (code, document["error"]["field"]) == (2, "output")
    assert (tmp_path / "out.csv").read_text() == "mine"
    assert verb(capsys, tmp_path / "out.csv", "--overwrite")[0] == 0
    assert len(rows_of(tmp_path / "out.csv")) == 1
    assert sorted(p.name for p in tmp_path.iterdir() if "part" in p.name) == []


@pytest.mark.parametrize("place", ["home/lake.csv", "missing/out.csv", "home"])
def test_paths_inside_the_home_and_without_a_folder_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str
) -> None:
    code, document = verb(capsys, tmp_path / place, "--overwrite")
    assert (code, document["error"]["field"]) == (2, "output")
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("where", ["while writing", "at the end"])
def test_a_full_disk_leaves_no_half_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    put_bill([FULL], period=MARCH)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    def full_duckdb(*_given: Any, **_more: Any) -> None:
        [part] = (p for p in tmp_path.iterdir() if p.name.endswith(".part"))
        raise duckdb.IOException(f'IO Error: Could not write "{part}": No space left on device')

    if where == "at the end":
        monkeypatch.setattr(export.os, "fsync", full)
    else:
        monkeypatch.setattr(export, "check_focus", full_duckdb)
    code, document = verb(capsys, tmp_path / "out.csv")
    assert code == 1
    assert document["error"]["message"] == "The file could not be written: No space left on device"
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith((".csv", ".part"))] == []


@pytest.mark.parametrize(("word", "value"), [("--from", "March"), ("--to", "2026-02-01")])
def test_wrong_days_name_their_argument(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, word: str, value: str
) -> None:
    code, document = verb(capsys, tmp_path / "out.csv", word, value)
    assert code == 2
    assert document["error"]["field"] in {"from", "to"}
    assert not (tmp_path / "out.csv").exists()


def test_another_organisation_sees_none_of_it(tmp_path: Path) -> None:
    put_bill([FULL], period=MARCH, organisation=Organisation.objects.create(name="Other", slug="other"))
    found = export.focus_export(
        window=Window(MARCH, date(2026, 4, 1)), organisation=Organisation.default(), form="csv",
        output=tmp_path / "out.csv",
    )  # fmt: skip
    assert found.rows == 0


def test_a_bill_out_and_in_again_has_the_same_totals(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cur = cur_csv(
        [
            {
                "lineItem/UnblendedCost": "1.25",
                "resourceTags/user:team": "web",
                "lineItem/UsageAmount": "2.5",
            },
            {"lineItem/UnblendedCost": "2.2e-09", "lineItem/ResourceId": "NULL"},
            {"lineItem/UnblendedCost": "-0.75", "lineItem/LineItemType": "Credit"},
            {"lineItem/UnblendedCost": "10", "lineItem/LineItemType": "Tax", "lineItem/CurrencyCode": "EUR"},
        ]
    )
    assert import_text(tmp_path / "march.csv", cur).state == "finished"
    before = Delivery.objects.get()
    outs = {form: tmp_path / f"out.{form}" for form in ("csv", "parquet")}
    for form, out in outs.items():
        assert verb(capsys, out, "--format", form)[1]["rows"] == 4
    for form, out in outs.items():
        call_command("import_bill", str(out), "--report", form, "--json")
        assert json.loads(capsys.readouterr().out)["deliveries"][0]["stored"] == 4
        after = Delivery.objects.get(report__name=form)
        assert after.totals == before.totals
        assert after.by_line_item_type == before.by_line_item_type
