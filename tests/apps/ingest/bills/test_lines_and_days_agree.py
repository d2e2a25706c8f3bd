"""Lines of all types from several files: their days sum to the same, each file is read by its own dates."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path

import pytest

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery
from apps.ingest.bills import stage
from apps.ingest.bills.run import bill_import
from bench.cur_file import write_cur
from finops.lake import BILL_DAILY, BILL_LINES
from finops.lake.bill_tables import DAILY_SUMS
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv

pytestmark = pytest.mark.usefixtures("lake_folder")

KINDS = ("Usage", "DiscountedUsage", "SavingsPlanCoveredUsage", "SavingsPlanNegation", "Tax", "Fee", "Refund")
COSTS = ("0.1", "2.2E-9", "-3.25", "0", "", "1234567890123.1", "0.1234567890123456789", "+7")
SUMS = ", ".join(f"sum({c})" for c in DAILY_SUMS)


def _rows(count: int, seed: int) -> list[dict[str, str]]:
    draw = random.Random(seed)
    return [
        {
            "identity/LineItemId": f"{seed}-{i}",
            "lineItem/ResourceId": f"i-{i % 9}",
            "lineItem/LineItemType": draw.choice(KINDS),
            "lineItem/ProductCode": draw.choice(("AmazonEC2", "AmazonS3", "")),
            "lineItem/LineItemDescription": draw.choice(("a, b", "plain", 'the "best"', "üß")),
            "lineItem/CurrencyCode": draw.choice(("USD", " usd", "EUR")),
            "lineItem/UsageStartDate": f"2026-03-{i % 28 + 1:02d}T{i % 24:02d}:00:00Z",
            "lineItem/UnblendedCost": draw.choice(COSTS),
            "lineItem/UsageAmount": f"{draw.random():.9f}",
            "reservation/ReservationARN": draw.choice(("", "arn:ri")),
            "reservation/EffectiveCost": f"{draw.random():.9f}" if i % 5 else "",
            "lineItem/BlendedCost": draw.choice(("", "0.5")),
            "product/memory": draw.choice(("16 GiB", "")),
            "resourceTags/user:team": draw.choice(("web", "data", "")),
            "costCategory/Env": draw.choice(("prod", "")),
        }
        for i in range(count)
    ]


def test_days_hold_what_the_lines_hold(tmp_path: Path) -> None:
    given = [row for seed in (1, 2) for row in _rows(120, seed)]
    for number in (1, 2):
        # The second one ends with an empty line, which is no row.
        text = cur_csv(_rows(120, number)) + ("\n" if number == 2 else "")
        (tmp_path / f"report-{number}.csv").write_text(text, encoding="utf-8")
    run = bill_import(paths=[tmp_path])
    assert (run.state, run.stored, run.rejected) == ("finished", 240, 0), run.error
    assert lines(SUMS, table=BILL_LINES) == lines(SUMS, table=BILL_DAILY)
    assert lines("sum(x_rows)", table=BILL_DAILY) == [(240,)]
    by_tag = "tags['user:team'], x_cost_categories['Env'], billing_currency, x_line_item_type"
    assert lines(f"{by_tag}, count(*)", "true GROUP BY ALL") == lines(
        f"{by_tag}, sum(x_rows)", "true GROUP BY ALL", BILL_DAILY
    )
    assert lines("x_line_item_id, x_file, x_row") == sorted(
        (row["identity/LineItemId"], f"report-{row['identity/LineItemId'][0]}.csv", place % 120 + 1)
        for place, row in enumerate(given)
    )


@pytest.mark.parametrize("rows", [1, 20])
def test_maps_are_the_same_whatever_the_first_rows_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    path = tmp_path / "report.csv"
    path.write_text(cur_csv(_rows(60, 3)), encoding="utf-8")
    maps = "x_row, tags, x_cost_categories, map_keys(x_source_columns), map_values(x_source_columns)"
    found = []
    for slug, from_bytes in (("plain", 1 << 40), ("sampled", 0)):
        monkeypatch.setattr(stage, "SAMPLE_FROM_BYTES", from_bytes)
        monkeypatch.setattr(stage, "SAMPLE_ROWS", rows)
        organisation = Organisation.objects.create(name=slug, slug=slug)
        assert bill_import(paths=[path], organisation=organisation).stored == 60
        report = BillReport.objects.get(organisation=organisation)
        found.append(lines(maps, f"x_report = '{report.pk}'"))
    assert found[0] == found[1]
    assert len({tuple(line[3]) for line in found[0]}) > 2


def test_a_generated_report_packed_in_two_files(tmp_path: Path) -> None:
    write_cur(tmp_path, 300, files=2)
    assert bill_import(paths=[tmp_path]).stored == 300
    assert lines(SUMS, table=BILL_LINES) == lines(SUMS, table=BILL_DAILY)
    assert lines("x_file, count(*), count(DISTINCT x_row)", "true GROUP BY ALL") == [
        ("report-00001.csv.gz", 150, 150),
        ("report-00002.csv.gz", 150, 150),
    ]


def test_each_file_is_read_in_its_own_order_of_day_and_month(tmp_path: Path) -> None:
    header = (
        "SubscriptionGuid,ResourceGroup,ResourceLocation,UsageDateTime,BillingPeriodStartDate,"
        "BillingPeriodEndDate,MeterCategory,UsageQuantity,PreTaxCost,Currency\n"
    )
    # Nothing but the billing period says that the second file has the day first.
    written = (("2026-03-05", "2026-03-01", "2026-04-01"), ("05/03/2026", "01/03/2026", "01/04/2026"))
    for number, (day, start, end) in enumerate(written, 1):
        rows = [f"s1,rg,US East,{day},{start},{end},Storage,{number}{i},0.75,EUR\n" for i in range(40)]
        (tmp_path / f"costs-{number}.csv").write_text(header + "".join(rows), encoding="utf-8")
    assert bill_import(paths=[tmp_path]).state == "finished"
    assert lines("DISTINCT x_day") == [(date(2026, 3, 5),)]
    [delivery] = Delivery.objects.all()
    assert (delivery.billing_period, delivery.stored) == (date(2026, 3, 1), 80)
