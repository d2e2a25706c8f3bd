"""How compute is paid, and the effective savings rate over the lines that have a list cost."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.billing.selectors import savings
from apps.billing.selectors.savings import paid_with, savings_of_team, savings_rates
from apps.billing.selectors.spend_reading import reading_session
from apps.billing.services.allocation import RuleFields, rule_save
from finops.engine.spend import Window
from finops.lake import facts
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
MAY = date(2026, 5, 1)
MONTH = Window(MAY, date(2026, 6, 1))
NOW = datetime(2026, 6, 10, tzinfo=UTC)
RESERVED = "Reserved Instance"


def row(cost: str, listed: str | None, **columns: Any) -> dict[str, Any]:
    return {
        "billed_cost": cost, "effective_cost": cost, "list_cost": listed, "service_category": "Compute",
        "pricing_category": "Standard", **columns,
    }  # fmt: skip


@pytest.fixture
def _bill(empty_lake: Path, organisation: Organisation) -> None:
    put_bill(
        [
            row("40", "40"),
            row("9", "30", pricing_category="Dynamic"),
            row(
                "12", "20", pricing_category="Committed", commitment_discount_status="Used",
                commitment_discount_type=RESERVED,
            ),
            row("5", "0", charge_category="Purchase", commitment_discount_type=RESERVED),
            row("4", None, charge_category="Purchase"),
            row("100", None, service_category="Storage"),
            row("7", "7", billing_currency="EUR"),
        ],
        period=MAY,
    )  # fmt: skip


@pytest.mark.usefixtures("_bill")
def test_compute_is_split_by_what_it_was_paid_with(organisation: Organisation) -> None:
    found = paid_with(organisation, MONTH, "USD", now=NOW)
    assert found.parts == {
        "on_demand": Decimal(40), "spot": Decimal(9), "committed": Decimal(12), "unused": Decimal(5),
        "other": Decimal(4),
    }  # fmt: skip
    assert (found.total, found.compute) == (Decimal(70), True)
    assert found.share("unused") == pytest.approx(Decimal(500) / 70)


@pytest.mark.usefixtures("_bill")
def test_the_savings_rate_counts_lines_with_a_list_cost_only(organisation: Organisation) -> None:
    found = savings_rates(organisation, MONTH, now=NOW)
    assert sorted(found) == ["EUR", "USD"]
    dollars = found["USD"]
    assert (dollars.list_cost, dollars.effective) == (Decimal(90), Decimal(66))
    assert (dollars.lines, dollars.without) == (4, 2)
    # 1 - 66 / 90: unused commitments have a list cost of 0 and lower it
    assert dollars.percent == pytest.approx(Decimal("26.666666"), abs=Decimal("0.00001"))
    assert found["EUR"].percent == 0


def test_bills_that_name_no_compute_are_split_whole(organisation: Organisation, empty_lake: Path) -> None:
    put_bill([row("100", None, service_category="Storage")], period=MAY)
    found = paid_with(organisation, MONTH, "USD", now=NOW)
    assert (found.parts, found.compute) == ({"on_demand": Decimal(100)}, False)
    assert savings_rates(organisation, MONTH, now=NOW)["USD"].percent is None


def test_without_bills_there_is_nothing_to_split(organisation: Organisation, empty_lake: Path) -> None:
    assert paid_with(organisation, MONTH, "USD", now=NOW).share("spot") is None
    assert savings_rates(organisation, MONTH, now=NOW) == {}


def test_a_public_price_of_nothing_for_spot_is_no_list_price(
    organisation: Organisation, empty_lake: Path
) -> None:
    put_bill([row("40", "50"), row("9", "0", pricing_category="Dynamic")], period=MAY)
    found = savings_rates(organisation, MONTH, now=NOW)["USD"]
    assert (found.list_cost, found.effective, found.lines, found.without) == (50, 40, 1, 1)
    assert found.percent == 20


def test_sums_answer_and_lines_only_where_a_sum_is_of_both_kinds(
    organisation: Organisation, empty_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    of_lines = savings._sums

    def noted(*given: Any) -> Any:
        read.append(given)
        return of_lines(*given)

    monkeypatch.setattr(savings, "_sums", noted)
    put_bill([row("40", "50"), row("9", None, x_usage_type="other")], period=MAY)
    found = savings_rates(organisation, MONTH, now=NOW)["USD"]
    assert (found.list_cost, found.effective, found.lines, found.without, found.partial) == (
        50,
        40,
        1,
        1,
        False,
    )
    assert (found.percent, read) == (20, [])
    # June: one usage type with and without a list cost; its sum does not tell what the first one cost.
    june = date(2026, 6, 1)
    put_bill([row("30", "50", x_day=june), row("9", None, x_day=june)], period=june)
    found = savings_rates(organisation, Window(june, date(2026, 7, 1)), now=NOW)["USD"]
    assert (found.list_cost, found.effective, found.lines, found.without, found.percent) == (50, 30, 1, 1, 40)
    assert len(read) == 1


def test_a_team_has_a_rate_when_all_its_lines_have_a_list_price(
    organisation: Organisation, empty_lake: Path
) -> None:
    team = Team.objects.create(organisation=organisation, slug="web", name="Web")
    rule_save(
        organisation=organisation,
        actor=Actor.system("test"),
        fields=RuleFields(name="Web", kind="account", values=["1"], team=team),
    )
    put_bill(
        [
            row("40", "50", sub_account_id="1"),
            row("5", "10", sub_account_id="1", pricing_category="Committed"),
            row("100", None, sub_account_id="2"),
        ],
        period=MAY,
    )
    found = savings_of_team(organisation, MONTH, "web", now=NOW)["USD"]
    assert (found.list_cost, found.effective, found.lines, found.without) == (60, 45, 2, 0)
    assert found.percent == 25
    assert paid_with(organisation, MONTH, "USD", now=NOW, where=(("team", "web"),)).parts == {
        "on_demand": Decimal(40), "committed": Decimal(5),
    }  # fmt: skip
    rest = savings_of_team(organisation, MONTH, "unallocated", now=NOW)["USD"]
    assert (rest.without, rest.percent) == (1, None)
    assert savings_of_team(organisation, Window(date(2026, 6, 1), date(2026, 7, 1)), "web", now=NOW) == {}


def test_among_other_questions_of_a_page_the_rate_is_the_same(
    organisation: Organisation, empty_lake: Path
) -> None:
    # April's bill has a line of a day in May: it belongs to April, whoever else reads both months.
    put_bill([row("70", "100"), row("9", None, x_day=MAY)], period=date(2026, 4, 1))
    put_bill([row("30", "50"), row("9", None)], period=MAY)
    alone = savings_rates(organisation, MONTH, now=NOW)
    two = Window(date(2026, 4, 1), date(2026, 6, 1))
    cache.clear()
    with reading_session(two, facts.current_snapshots(), organisation=organisation):
        assert savings_rates(organisation, MONTH, now=NOW) == alone
    assert (alone["USD"].list_cost, alone["USD"].effective, alone["USD"].without) == (50, 30, 1)
