"""Open findings of waste stand in the weekly mail, and nothing of them once somebody dismissed them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from apps.accounts.models import Organisation
from apps.recommendations.models import Recommendation
from apps.recommendations.services.decisions import recommendation_dismiss
from apps.reports.models import Subscription
from apps.reports.services.composing import compose
from apps.waste.services.rows import KIND, waste_rows_publish
from finops.engine.weekly import week_named
from tests.apps.reports.conftest import TEST
from tests.support.bill_lake import put_bill
from tests.support.waste_lines import END, lines

NOW = END + timedelta(hours=6)
WEEK = week_named("2026-W13")


def test_the_mail_names_the_waste_with_its_saving_and_link(
    empty_lake: Path, organisation: Organisation, subscribe: Callable[..., Subscription]
) -> None:
    put_bill(lines(), period=date(2026, 3, 1), organisation=organisation)
    assert waste_rows_publish(organisation=organisation, now=NOW)
    rows = {row.document["rule"]: row for row in Recommendation.objects.filter(kind=KIND, state="open")}
    assert set(rows) == {"gateway-idle", "nights-and-weekends"}
    made = compose(subscribe(), week=WEEK, now=NOW)
    part = dict(made.letter.sections)["open"]
    told = {row[0].text: row for row in part.rows}
    gateway = told["Delete the idle NAT gateway nat-idle"]
    assert gateway[0].link == f"http://127.0.0.1:8000/recommendations/{rows['gateway-idle'].pk}/"
    assert part.document["open"] == 2
    savings = {one["id"]: Decimal(one["monthly_saving"]) for one in part.document["best"]}
    assert savings == {row.pk: row.monthly_saving for row in rows.values()}
    assert savings[rows["gateway-idle"].pk] == Decimal("32.85")
    for text in (made.text, made.html):
        assert "Delete the idle NAT gateway nat-idle" in text
    recommendation_dismiss(
        recommendation=rows["gateway-idle"], actor=TEST, reason="in use soon", now=NOW
    )  # fmt: skip
    again = compose(subscribe(name="Second"), week=WEEK, now=NOW)
    assert "nat-idle" not in again.text
