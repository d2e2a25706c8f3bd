"""A commitment that ends is told once at each threshold, with what it will cost more."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import Organisation
from apps.billing.models import CommitmentAlert
from apps.recommendations.services.commitments_alerts import commitments_alert
from apps.recommendations.services.commitments_owned import commitments
from apps.recommendations.tasks import recommendations_commitments_alert
from finops.beat import SCHEDULE
from finops.celery import app
from tests.apps.recommendations.conftest import verb
from tests.support.bill_lake import put_bill
from tests.support.own_commitments import fee, line, plan_fee, plan_use, reserved_use

NOV = date(2018, 11, 1)
END = datetime(2019, 3, 10, 12, tzinfo=UTC)


def bill(**more: Any) -> None:
    put_bill(
        [
            fee("t2.micro", "720", "360", "0", x_commitment_end=END, **more),
            *(
                reserved_use(h, "t2.micro", "1", "0.5", effective_cost="0.0083", list_cost="0.0116")
                for h in range(720)
            ),
            line(719, "m5.large", "1"),
        ],
        period=NOV,
    )


def alert(at: datetime, **given: Any) -> int:
    return commitments_alert(organisation=Organisation.default(), now=at, **given)


@pytest.mark.django_db
def test_each_threshold_is_told_once() -> None:
    bill()
    assert alert(END - timedelta(days=91)) == 0
    assert [alert(END - timedelta(days=d)) for d in (90, 90, 60, 30, 29, 7, 1)] == [1, 0, 0, 1, 0, 1, 0]
    assert alert(END) == 0
    rows = CommitmentAlert.objects.order_by("-days")
    assert [(row.days, row.what, row.end) for row in rows] == [
        (days, "1 × t2.micro Linux/UNIX us-east-1", END) for days in (90, 30, 7)
    ]
    # 720 h at 0.0116 are 8.352, a month of 730 h: 8.468; the commitment costs 6.059.
    assert (rows[0].monthly_on_demand, rows[0].monthly_increase, rows[0].currency) == (
        Decimal("8.468"), Decimal("2.409"), "USD",
    )  # fmt: skip
    shown = commitments(at=END - timedelta(days=20), organisation=Organisation.default())["alerts"]
    assert [(one["days"], one["monthly_increase"]) for one in shown] == [(30, "2.409"), (90, "2.409")]
    assert commitments(at=END, organisation=Organisation.default())["alerts"] == []


@pytest.mark.django_db
def test_one_seen_late_is_told_by_its_nearest_threshold() -> None:
    bill()
    assert alert(END - timedelta(days=5)) == 1
    assert CommitmentAlert.objects.get().days == 7


@pytest.mark.django_db
def test_a_new_end_is_told_anew() -> None:
    bill()
    alert(END - timedelta(days=5))
    december = fee("t2.micro", "744", "372", "0", x_commitment_end=END + timedelta(days=1))
    december["charge_period_start"] = datetime(2018, 12, 1, tzinfo=UTC)
    december["charge_period_end"] = datetime(2018, 12, 31, 23, 59, 59, tzinfo=UTC)
    put_bill([december], period=date(2018, 12, 1))
    assert alert(END - timedelta(days=4)) == 1
    assert CommitmentAlert.objects.count() == 2


@pytest.mark.django_db
def test_thresholds_are_a_setting(settings: Any) -> None:
    bill()
    settings.COMMITMENT_ALERT_DAYS = [45]
    assert [alert(END - timedelta(days=d)) for d in (46, 45, 7)] == [0, 1, 0]
    assert alert(END - timedelta(days=5), days=[]) == 0


@pytest.mark.django_db
def test_a_savings_plan_is_told_by_its_money() -> None:
    put_bill(
        [
            *(plan_fee(h, "0.5") for h in range(720)),
            *(plan_use(h, "m5.large", "10", "1", "1.25") for h in range(720)),
        ],
        period=NOV,
    )
    assert alert(datetime(2019, 2, 25, tzinfo=UTC)) == 1
    row = CommitmentAlert.objects.get()
    assert (row.what, row.days) == ("savings plan compute 1.5 USD/h", 7)
    assert (row.monthly_on_demand, row.monthly_increase) == (Decimal("912.5"), Decimal("-182.5"))


@pytest.mark.django_db
def test_the_verb_and_the_clock(capsys: pytest.CaptureFixture[str]) -> None:
    bill()
    at = (END - timedelta(days=20)).isoformat()
    first, again = (verb(capsys, "alert_commitments", "--at", at) for _ in range(2))
    assert (first["new"], again["new"]) == (1, 0)
    assert [one["days"] for one in again["alerts"]] == [30]
    # Today all of it is over.
    recommendations_commitments_alert()
    assert CommitmentAlert.objects.count() == 1
    entry = SCHEDULE["every-day-0537-utc-alert-before-commitments-end"]
    assert entry["task"] in app.tasks


@pytest.mark.django_db(transaction=True)
def test_two_tasks_at_once_raise_one_alert() -> None:
    Organisation.default()
    bill()
    made: list[int] = []

    def work() -> None:
        try:
            made.append(alert(END - timedelta(days=5)))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 0, 1]
    assert CommitmentAlert.objects.count() == 1
