"""Spend by any dimension: exact, per currency, from sums or lines alike, and honest about what is missing."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, ExchangeRate
from apps.billing.selectors import spend_reading
from apps.billing.selectors.spend import SpendAnswer, SpendError, SpendRefusedError, spend
from apps.billing.selectors.spend_question import question_of
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 10, tzinfo=UTC)
MAY, APRIL = date(2026, 5, 1), date(2026, 4, 1)


def ask(start: str = "2026-05-01", end: str = "2026-06-01", by: str = "", **more: Any) -> SpendAnswer:
    question = question_of(start=start, end=end, by=by, **more)
    return spend(question, organisation=Organisation.default(), now=NOW)


def costs(answer: SpendAnswer) -> dict[Any, Decimal | None]:
    return {row.values if len(row.values) != 1 else row.values[0]: row.cost for row in answer.rows}


def line(cost: str, **columns: Any) -> dict[str, Any]:
    return {"billed_cost": cost, **columns}


def test_a_tag_is_a_value_blank_or_not_in_the_delivery(empty_lake: Path) -> None:
    put_bill([line("4.00", effective_cost="4.00")], period=APRIL, tag_keys=[])
    put_bill(
        [
            line("0.00", effective_cost="1.50", tags={"user:team": "web"}),
            line("3.00", effective_cost="3.00"),
        ],
        period=MAY,
        tag_keys=["user:team"],
    )
    both = ask("2026-04-01", by="tag:team", basis="amortised")
    assert costs(both) == {"web": Decimal("1.50"), "": Decimal("3.00"), None: Decimal("4.00")}
    assert both.total == Decimal("8.50")
    assert ask("2026-04-01", by="tag:team").total == Decimal("7.00")
    for value, expected in (("web", "1.50"), ("", "3.00"), ("absent", "4.00")):
        one = ask("2026-04-01", basis="amortised", where=[f"tag:team={value}"])
        assert one.total == Decimal(expected)


KEYS: list[tuple[str, dict[str, str]]] = [
    ("2.00", {"Team": "web"}), ("3.00", {"team": "web"}), ("1.00", {"cost-center": "A1"}),
    ("1.50", {"cost_center": "A1"}), ("0.50", {"cost.center": "A1"}), ("1.00", {"\u00c9quipe": "x"}),
    ("2.00", {"E\u0301quipe": "x"}), ("4.00", {"Name": "db1", "name": "db2"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dimension", "value", "expected"),
    [
        ("tag:Team", "web", "2.00"),
        ("tag:team", "web", "3.00"),
        ("tagfold:team", "web", "5.00"),
        ("tagfold:équipe", "x", "3.00"),
        ("tag:cost-center", "A1", "1.00"),
        ("tag:cost_center", "A1", "1.50"),
        ("tag:cost.center", "A1", "0.50"),
        ("tag:Name", "db1", "4.00"),
        ("tag:name", "db2", "4.00"),
        ("tagfold:cost_center", "A1", "1.50"),
    ],
)
def test_keys_fold_only_where_it_is_asked(
    dimension: str, value: str, expected: str, empty_lake: Path
) -> None:
    put_bill([line(cost, tags=tags) for cost, tags in KEYS], period=MAY)
    answer = ask(by=dimension)
    assert answer.total == Decimal("15.00")
    assert costs(answer)[value] == Decimal(expected)
    if dimension == "tagfold:team":
        assert answer.merged == {"team": ["team", "Team"]}


def test_every_key_is_stored_as_delivered(empty_lake: Path) -> None:
    put_bill([line(cost, tags=tags) for cost, tags in KEYS], period=MAY)
    window = question_of(start="2026-05-01", end="2026-06-01").window
    reports = [str(pk) for pk in BillReport.objects.values_list("pk", flat=True)]
    from apps.ingest.selectors import current_snapshots

    assert len(spend_reading.stored_keys(window, current_snapshots(), reports)[0]) == 9


def test_marketplace_is_apart_and_in_the_invoice(empty_lake: Path) -> None:
    put_bill(
        [
            line("100.00"),
            line("1200.00", x_billing_entity="AWS Marketplace", x_line_item_type="Fee"),
            line("876.00", effective_cost="0", commitment_discount_id="arn:ri/7", x_line_item_type="Fee"),
            line("5.00", x_billing_entity="AWS Marketplace"),
        ],
        period=MAY,
    )
    assert ask().total == Decimal("2181.00")
    assert ask(basis="amortised").total == Decimal("1305.00")
    assert costs(ask(by="seller", basis="amortised")) == {"cloud": Decimal(100), "marketplace": Decimal(1205)}


def test_currencies_are_never_added_and_converted_with_their_rate(
    empty_lake: Path, organisation: Organisation
) -> None:
    put_bill([line("100.00"), line("720.00", billing_currency="CNY", sub_account_id="4")], period=MAY)
    answer = ask()
    assert answer.totals == {"CNY": Decimal("720.00"), "USD": Decimal("100.00")}
    assert answer.total is None
    assert [row.currency for row in answer.rows] == ["CNY", "USD"]
    with pytest.raises(SpendRefusedError, match="No exchange rate from CNY to USD"):
        ask(currency="USD")
    ExchangeRate.objects.create(
        organisation=organisation, base="USD", quote="CNY", on=date(2026, 5, 31), rate=Decimal("7.20"),
        both_ways=True, source="entered by the user",
    )  # fmt: skip
    converted = ask(currency="usd", by="account")
    assert converted.totals == {"USD": Decimal("200.00")}
    assert [(r.base, r.quote, r.on, r.rate, r.source) for r in converted.rates] == [
        ("USD", "CNY", date(2026, 5, 31), Decimal("7.20"), "entered by the user")
    ]
    ExchangeRate.objects.update(rate=Decimal("7.50"))
    assert ask(currency="USD").totals == {"USD": Decimal("196")}


def test_sums_and_lines_give_the_same(empty_lake: Path) -> None:
    rows = [
        line(
            f"{i}.{i:03d}", x_day=date(2026, 5, 1 + i), service_name="A" if i % 2 else "B",
            resource_id=f"r{i % 3}", x_quantity="2", x_unit="h",
        )
        for i in range(20)
    ]  # fmt: skip
    put_bill(rows, period=MAY)
    daily = ask(by="service", granularity="week")
    lines = ask(by="service,resource", granularity="week")
    found: dict[Any, Decimal] = {}
    for row in lines.rows:
        key = (row.values[0], row.start)
        found[key] = found.get(key, Decimal(0)) + (row.cost or 0)
    assert found == {(row.values[0], row.start): row.cost for row in daily.rows}
    assert daily.total == lines.total == sum(Decimal(f"{i}.{i:03d}") for i in range(20))
    assert [(r.start, r.end) for r in daily.rows[:3:2]] == [
        (date(2026, 5, 1), date(2026, 5, 4)), (date(2026, 5, 4), date(2026, 5, 11)),
    ]  # fmt: skip
    assert sum(row.lines for row in lines.rows) == 20
    assert {row.unit for row in daily.rows} == {"h"}
    top = ask(by="resource", limit=1, granularity="month")
    assert [(r.values, r.cost) for r in top.rows] == [(("r1",), Decimal("70.07"))]
    assert (top.left_out, top.total) == (2, daily.total)


def test_a_line_outside_its_billing_period_counts_on_the_nearest_day_of_it(empty_lake: Path) -> None:
    put_bill([line("1", x_day=date(2026, 4, 28)), line("2", x_day=date(2026, 6, 2))], period=MAY)
    days = ask(granularity="day")
    assert [(r.start, r.cost) for r in days.rows] == [(date(2026, 5, 1), 1), (date(2026, 5, 31), 2)]
    assert ask("2026-05-31").total == 2
    assert ask("2026-04-01", "2026-05-01").rows == []


def test_units_that_differ_have_no_sum_and_unknown_costs_are_told(empty_lake: Path) -> None:
    put_bill(
        [
            line("1", list_cost=None, x_quantity="3", x_unit="h"),
            line("2", x_quantity="4", x_unit="GB"),
            line("5", service_name="S", list_cost=None, x_quantity="4", x_unit="GB"),
        ],
        period=MAY,
    )
    (whole,) = ask(basis="list").rows
    assert (whole.cost, whole.quantity, whole.unit, whole.lines_without_cost) == (2, None, None, 2)
    by = {row.values[0]: row for row in ask(by="service", basis="list").rows}
    assert (by["S"].cost, by["S"].quantity, by["S"].unit) == (None, 4, "GB")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"by": "servce"}, "by"),
        ({"by": "service,service"}, "by"),
        ({"by": "tag:"}, "by"),
        ({"start": "May"}, "from"),
        ({"end": "2026-05-01"}, "to"),
        ({"granularity": "hour"}, "granularity"),
        ({"basis": "cash"}, "basis"),
        ({"where": ["service"]}, "where"),
        ({"where": ["x_report=1"]}, "where"),
        ({"where": ["team=nobody"]}, "where"),
        ({"currency": "U$"}, "currency"),
    ],
)
def test_a_wrong_question_names_its_field(given: dict[str, Any], field: str, empty_lake: Path) -> None:
    with pytest.raises(SpendError) as caught:
        ask(**given)
    assert caught.value.field == field


def test_values_never_become_sql(empty_lake: Path) -> None:
    put_bill([line("1", service_name="it's", tags={"a'] OR 1=1 --": "x"})], period=MAY)
    assert ask(where=["service=it's"]).total == 1
    assert ask(where=["service=' OR ''='"]).rows == []
    assert costs(ask(by="tag:a'] OR 1=1 --")) == {"x": Decimal(1)}


def test_an_organisation_sees_its_own_and_the_installations_reports(empty_lake: Path) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    put_bill([line("1")], period=MAY, organisation=other, payer="2")
    put_bill([line("2")], period=MAY, organisation=Organisation.default(), payer="3")
    put_bill([line("4")], period=MAY, payer="4")
    assert ask().total == 6
    seen = spend(question_of(start="2026-05-01", end="2026-06-01"), organisation=other, now=NOW)
    assert seen.total == 5


@pytest.mark.parametrize(
    ("delivery", "reasons"),
    [
        ({}, []),
        ({"reconciled": False}, ["not reconciled"]),
        ({"reconciled": None}, []),
        ({"stopgap": True}, ["days missing", "daily totals only"]),
        ({"final": False}, ["days missing", "not final"]),
        ({"final": None, "delivered_at": datetime(2026, 5, 19, tzinfo=UTC)}, ["days missing", "not final"]),
        ({"final": None, "last_day": date(2026, 5, 31)}, []),
    ],
)
def test_what_is_missing_is_named(delivery: dict[str, Any], reasons: list[str], empty_lake: Path) -> None:
    put_bill([line("1", x_day=date(2026, 5, 18))], period=MAY, **delivery)
    answer = ask()
    assert [gap.reason for gap in answer.coverage.gaps] == reasons
    assert answer.complete == (not reasons)
    assert answer.coverage.known_to == (date(2026, 5, 19) if "days missing" in reasons else None)


def test_a_month_without_a_delivery_is_not_complete(empty_lake: Path) -> None:
    put_bill([line("1")], period=APRIL)
    assert [gap.reason for gap in ask("2026-03-01", "2026-06-01").coverage.gaps] == ["not delivered"]
    assert [g.reason for g in ask("2026-04-01", "2026-07-01").coverage.gaps] == ["not delivered"] * 2
    july = spend(question_of(start="2026-07-01", end="2026-08-01"), organisation=None, now=NOW)
    assert [gap.reason for gap in july.coverage.gaps] == ["not over"]


def test_a_payer_whose_bill_came_in_two_reports_is_told(empty_lake: Path) -> None:
    put_bill([line("100")], period=MAY)
    put_bill([line("100")], period=MAY, organisation=Organisation.default())
    put_bill([line("7")], period=MAY, payer="2")
    answer = ask()
    assert answer.total == 207
    assert [(gap.reason, gap.billing_period) for gap in answer.coverage.gaps] == [("counted twice", MAY)]
    assert not answer.complete
    assert ask(where=["payer=2"]).complete


def test_another_payers_gaps_do_not_count_for_a_question_about_one(empty_lake: Path) -> None:
    put_bill([line("1", x_day=date(2026, 5, 18))], period=MAY, final=False)
    put_bill([line("2")], period=MAY, payer="2")
    assert [gap.reason for gap in ask(where=["payer=1"]).coverage.gaps] == ["days missing", "not final"]
    assert ask(where=["payer=2"]).complete
    assert ask(where=["provider=azure"]).coverage.sources == []


def test_the_second_answer_comes_from_the_cache_until_the_bill_changes(
    empty_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_bill([line("1")], period=MAY)
    first = ask(by="service")
    monkeypatch.setattr(spend_reading, "connect", None)
    assert ask(by="service") == first
    monkeypatch.undo()
    put_bill([line("2")], period=APRIL)
    assert ask("2026-04-01", by="service").total == 3


def test_more_than_can_be_added_up_is_refused_with_the_way_out(empty_lake: Path) -> None:
    put_bill([line("90000000000000000000", x_day=date(2026, 5, n)) for n in (1, 2)], period=MAY)
    assert ask(end="2026-05-02").total == Decimal("90000000000000000000")
    with pytest.raises(SpendRefusedError) as told:
        ask()
    assert told.value.field == "to"
    assert "170,141,183,460,469,231,731: ask for fewer days" in told.value.message
