"""Saved workloads that repeat: a fixed start that is worth it becomes a recommendation, "no window" none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.ingest.models import IngestRun
from apps.recommendations.kinds import kind_of
from apps.recommendations.models import InboxLook, Recommendation
from apps.recommendations.services import advise_launch
from apps.recommendations.services.launch_rows import launch_rows_all, launch_rows_publish
from apps.workloads.models import Workload
from apps.workloads.selectors import workload_question
from apps.workloads.services import workload_remove, workload_save
from tests.apps.recommendations.conftest import T0, row

ADA = Actor.system("ada")
DAYS = 56
END = T0 + timedelta(days=DAYS)
NIGHTLY: dict[str, Any] = {
    "hours": 4.0, "types": ["m5.large"], "regions": ["us-east-1"], "home_zone": "us-east-1a",
    "product": "Linux/UNIX", "slack_hours": 8.0, "repeat": "daily", "done_by": "08:00", "timezone": "UTC",
}  # fmt: skip


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def windows(load: Callable[..., IngestRun]) -> None:
    """Eight weeks: 0.10 an hour, and 0.04 from 02:00 to 06:00 UTC; a little noise by the day."""
    rows = []
    for day in range(DAYS):
        at = T0 + timedelta(days=day)
        noise = Decimal("0.0005") * (day % 4)
        rows += [
            row(at + timedelta(hours=hour), f"{price + noise:.4f}", "us-east-1a", "m5.large")
            for hour, price in ((0, Decimal("0.1")), (2, Decimal("0.04")), (6, Decimal("0.1")))
        ]
    load(rows, request_start=T0, request_end=END)


@pytest.fixture
def flat(load: Callable[..., IngestRun]) -> None:
    """Eight weeks at one price by the hour."""
    rows = [
        row(T0 + timedelta(days=day), f"{Decimal('0.1') + Decimal('0.001') * (day % 3):.4f}", "us-east-1a",
            "m5.large")
        for day in range(DAYS)
    ]  # fmt: skip
    load(rows, request_start=T0, request_end=END)


def save(organisation: Organisation, name: str = "nightly", **changes: Any) -> Workload:
    team = changes.pop("team", None)
    return workload_save(
        organisation=organisation, actor=ADA, name=name, fields={**NIGHTLY, **changes}, now=END, team=team
    )


def test_a_window_is_a_row_with_the_back_test_of_the_advice(
    windows: None, organisation: Organisation
) -> None:
    team = Team.objects.create(organisation=organisation, name="Data", slug="data")
    workload = save(organisation, count=3, team=team)
    done = launch_rows_publish(organisation=organisation, now=END)
    assert (done.looked, done.found) == (1, 1)
    found = Recommendation.objects.get()
    answer = advise_launch(at=END, organisation=organisation, **workload_question(workload))
    schedule = answer["schedule"]
    assert schedule["start"] == "02:00 UTC"
    assert (found.kind, found.subject, found.team) == ("launch_window", f"workload:{workload.pk}", team)
    assert found.document["backtest"] == schedule["backtest"]
    assert found.evidence["snapshots"] == answer["evidence"]["snapshots"]
    # From 20:00 the evening before on: 4 h at about 0.1 dollars for three, against 4 h at about 0.04.
    assert (found.claim_start, found.claim_end) == (
        END + timedelta(hours=20), END + timedelta(hours=20, weeks=13),
    )  # fmt: skip
    assert found.document["turns"] == 91
    cost_now, after = Decimal(found.document["cost_now"]), Decimal(found.document["cost_after"])
    assert Decimal("1.2") <= cost_now <= Decimal("1.22")
    assert Decimal("0.48") <= after <= Decimal("0.50")
    assert abs(found.saving - (cost_now - after) * 91) < Decimal("0.001")
    assert found.saving_low <= found.saving <= found.saving_high
    assert abs(found.monthly_saving - found.saving * 730 / (91 * 24)) < Decimal("0.001")
    worded = kind_of("launch_window").wording(found.document, "en")
    assert worded.title == "Start nightly at 02:00 UTC"
    assert "on average in the back-test of" in worded.text
    assert "于" in kind_of("launch_window").wording(found.document, "zh-hans").title


def test_no_window_is_no_row(flat: None, organisation: Organisation) -> None:
    save(organisation)
    done = launch_rows_publish(organisation=organisation, now=END)
    assert (done.looked, done.found) == (1, 0)
    assert not Recommendation.objects.exists()
    assert InboxLook.objects.get().problems == []


def test_what_runs_once_is_not_asked_for(windows: None, organisation: Organisation) -> None:
    save(organisation, repeat="", done_by="", timezone="")
    assert launch_rows_publish(organisation=organisation, now=END).looked == 0
    assert not Recommendation.objects.exists()


def test_without_prices_nothing_is_known_and_nothing_expires(
    windows: None, organisation: Organisation
) -> None:
    workload = save(organisation)
    launch_rows_publish(organisation=organisation, now=END)
    later = END + timedelta(days=3)  # the newest price is three days old: no forecast for a start now
    done = launch_rows_publish(organisation=organisation, now=later, again=True)
    assert (done.looked, done.found) == (1, 0)
    assert Recommendation.objects.get().state == "open"
    assert [one["name"] for one in InboxLook.objects.get().problems] == [workload.name]


def test_a_workload_that_is_gone_takes_its_row_with_it(windows: None, organisation: Organisation) -> None:
    workload = save(organisation)
    launch_rows_publish(organisation=organisation, now=END)
    workload_remove(workload=workload, actor=ADA)
    launch_rows_publish(organisation=organisation, now=END + timedelta(minutes=5))
    assert Recommendation.objects.get().state == "expired"


def test_the_same_prices_and_workloads_are_looked_at_once(windows: None, organisation: Organisation) -> None:
    later = datetime.now(UTC)
    assert launch_rows_publish(organisation=organisation, now=later).state == "looked"
    assert launch_rows_publish(organisation=organisation, now=later).state == "seen"
    save(organisation)
    assert launch_rows_publish(organisation=organisation, now=later).state == "looked"
    hour = timedelta(hours=1)
    Workload.objects.update(updated_at=later - hour)
    assert launch_rows_publish(organisation=organisation, now=later + hour).state == "seen"
    assert InboxLook.objects.get().at == later + hour  # looked, and nothing had changed
    InboxLook.objects.update(seen="older prices")
    assert launch_rows_publish(organisation=organisation, now=later + 1.5 * hour).state == "seen"
    assert launch_rows_publish(organisation=organisation, now=later + 2 * hour).state == "looked"


def test_each_organisation_gets_its_own(windows: None, organisation: Organisation) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    save(organisation)
    save(elsewhere, "theirs", slack_hours=0.0)
    assert launch_rows_all(now=END) == 1
    assert Recommendation.objects.get().organisation == organisation
    assert set(InboxLook.objects.values_list("organisation__slug", "found")) == {
        ("default", 1), ("elsewhere", 0),
    }  # fmt: skip
