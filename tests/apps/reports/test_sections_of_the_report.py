"""Savings, open recommendations, deals and launches in the mail: the same figures as their pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Organisation, Team, User
from apps.ingest.models import Feed
from apps.launches.models import LaunchState
from apps.recommendations.models import DealAlert, DealRule, RealisedSaving, Recommendation
from apps.recommendations.services.decisions import recommendation_accept
from apps.recommendations.services.inbox import publish
from apps.reports.models import Alert, Subscription
from apps.reports.services.alerts import alerts_collect
from apps.reports.services.composing import Composed, compose
from finops.engine.weekly import week_named
from tests.apps.reports.conftest import TEST
from tests.support.deals import seen
from tests.support.launches import launch, plan, target
from tests.support.recommendations import NOW as FOUND
from tests.support.recommendations import finding, made_up_kind, registered

WEEK, NOW = week_named("2026-W45"), datetime(2026, 11, 9, 7, tzinfo=UTC)
Subscribe = Callable[..., Subscription]


@pytest.fixture
def kind() -> Iterator[None]:
    with registered(made_up_kind()):
        yield


def block(made: Composed, name: str) -> Any:
    return dict(made.letter.sections)[name]


def put(organisation: Organisation, *savings: tuple[str, str]) -> list[Recommendation]:
    findings = [finding(subject, saving) for subject, saving in savings]
    publish("made_up", findings, organisation=organisation, now=FOUND, whole=True)
    return [Recommendation.objects.get(subject=subject) for subject, _saving in savings]


def test_the_best_three_open_ones_have_links_and_the_sum_is_of_all_that_can_be_had(
    empty_lake: Path, organisation: Organisation, subscribe: Subscribe, kind: None
) -> None:
    rows = put(organisation, ("a", "10"), ("b", "40"), ("c", "30"), ("d", "20"))
    made = compose(subscribe(), week=WEEK, now=NOW)
    part = block(made, "open")
    assert [row[0].text for row in part.rows] == ["Stop b", "Stop c", "Stop d"]
    assert part.rows[0][0].link == f"http://127.0.0.1:8000/recommendations/{rows[1].pk}/"
    assert part.notes[0].startswith("All that can be had together: $100 (")
    assert part.notes[1] == "1 more is open on the page."
    assert made.letter.figures[2].value == "$100"
    assert made.letter.button[0] == "Review 4 recommendations"
    client = Client()
    client.force_login(User.objects.get(email="ada@example.test"))
    totals = client.get("/api/v1/recommendations").json()["totals"]
    assert totals == part.document["totals"]


def test_a_team_sees_its_own(
    empty_lake: Path, organisation: Organisation, subscribe: Subscribe, kind: None
) -> None:
    team = Team.objects.create(organisation=organisation, name="Web", slug="web")
    ours, _other = put(organisation, ("a", "10"), ("b", "40"))
    Recommendation.objects.filter(pk=ours.pk).update(team=team)
    made = compose(subscribe(team=team), week=WEEK, now=NOW)
    assert [row[0].text for row in block(made, "open").rows] == ["Stop a"]
    assert made.letter.figures[2].value == "$10.00"
    assert block(made, "open").document["open"] == 1


def test_what_was_realised_adds_up_and_the_unknown_is_no_zero(
    empty_lake: Path, organisation: Organisation, subscribe: Subscribe, kind: None
) -> None:
    rows = put(organisation, ("a", "10"), ("b", "40"), ("c", "30"))
    for row in rows:
        recommendation_accept(recommendation=row, actor=TEST, now=FOUND)
    for row, saving, complete in ((rows[0], "9.005", True), (rows[1], "44.005", False)):
        RealisedSaving.objects.create(
            recommendation=row, month=date(2026, 10, 1), currency="USD", promised=Decimal("10.005"),
            counterfactual=Decimal(100), actual=Decimal(100) - Decimal(saving), saving=Decimal(saving),
            complete=complete, computed_at=NOW,
        )  # fmt: skip
    RealisedSaving.objects.create(
        recommendation=rows[2], month=date(2026, 10, 1), currency="USD", promised=3, reason="no bill",
        computed_at=NOW,
    )  # fmt: skip
    made = compose(subscribe(), week=WEEK, now=NOW)
    part = block(made, "realised")
    numbers = {row[0].text: (row[1].text, row[2].text) for row in part.rows}
    assert numbers == {"Stop a": ("10.01", "+9.01"), "Stop b": ("10.00", "+44.00"), "Stop c": ("3.00", "—")}
    assert [cell.text for cell in part.total] == ["Measured, 2 of 3", "20.01", "+53.01"]
    assert part.measure.startswith("October 2026, USD;")
    figure = made.letter.figures[1]
    assert (figure.value, figure.note) == ("$9.01", "1 closed month; promised $10.01")
    client = Client()
    client.force_login(User.objects.get(email="ada@example.test"))
    assert "$9.01" in client.get("/recommendations/").content.decode()


def test_deals_near_the_age_at_which_such_offers_went_come_first(
    empty_lake: Path, organisation: Organisation, subscribe: Subscribe
) -> None:
    rule = DealRule.objects.create(organisation=organisation, name="Cheap", min_saving_pct=10)
    for i in range(3):
        start = NOW - timedelta(days=20 + i)
        seen(f"gone-{i}", at=start, gone_at=start + timedelta(hours=24), seen_at=start)
    old = seen("old", at=NOW - timedelta(hours=20))
    other = seen("other", at=NOW - timedelta(hours=1), instance_type="c5.large")
    for offer in (other, old):
        DealAlert.objects.create(
            rule=rule, offer=offer, raised_at=NOW - timedelta(minutes=5),
            document={"quantity": 2, "saving": "120.50", "saving_low": "80", "saving_high": "150"},
        )  # fmt: skip
    part = block(compose(subscribe(), week=WEEK, now=NOW), "deals")
    assert [row[0].text for row in part.rows] == [
        "2 × m5.large Linux/UNIX, us-east-1", "2 × c5.large Linux/UNIX, us-east-1",
    ]  # fmt: skip
    assert part.rows[0][0].sub == ("stands for 20 h; such offers lasted 24 h (median of 3). Rule: Cheap.")
    assert (part.rows[0][1].text, part.rows[0][1].sub) == ("$121", "80–150")
    alerts_collect(organisation=organisation, now=NOW)
    assert Alert.objects.filter(cause="deal").count() == 2


def test_launches_of_the_week_stand_planned_against_paid(
    empty_lake: Path, organisation: Organisation, subscribe: Subscribe
) -> None:
    made = plan(target(organisation))
    done = {
        "state": LaunchState.COMPLETED,
        "ended_at": NOW - timedelta(days=1),
        "paid": Decimal("0.05"),
        "currency": "USD",
    }
    launch(made, **done)
    launch(made, due_at=made.due_at + timedelta(days=1), **done)
    launch(
        made, due_at=made.due_at + timedelta(days=2), state=LaunchState.MISSED,
        ended_at=NOW - timedelta(days=3), why="missed", why_values={"at": "2026-11-04T09:30:00Z"},
    )  # fmt: skip
    launch(made, due_at=made.due_at + timedelta(days=7))
    part = block(compose(subscribe(), week=WEEK, now=NOW), "launches")
    assert len(part.rows) == 3
    assert "Missed" in part.rows[0][0].sub
    assert "It could not start by" in part.rows[0][0].sub
    assert [cell.text for cell in part.total] == ["All 2 with both figures", "$0.16", "$0.10"]
    assert part.notes == ("2 completed, 1 missed.",)
    assert part.document["paid"] == {"USD": "0.1"}
    alerts_collect(organisation=organisation, now=NOW)
    alert = Alert.objects.get(cause="launch")
    assert alert.facts["state"] == "missed"


def test_a_failing_feed_is_told(empty_lake: Path, organisation: Organisation, subscribe: Subscribe) -> None:
    Feed.objects.create(
        organisation=organisation, name="prod", provider="aws", regions=["us-east-1"], state="failing",
        interval=timedelta(hours=1), last_success_at=NOW - timedelta(hours=5),
    )  # fmt: skip
    made = compose(subscribe(), week=WEEK, now=NOW)
    assert "The feed prod fails: last answered 5 h old." in block(made, "quality").notes
