"""New bills are judged once: days written down, anomalies kept with what people said, alerts raised once."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation
from apps.billing import tasks
from apps.billing.models import Anomaly, BillWatch, Budget, BudgetAlert, Delivery, DeliveryDay, DeliveryState
from apps.billing.selectors.anomalies import anomalies_waiting, state_on
from apps.billing.selectors.bill_days import bill_days
from apps.billing.selectors.forecast import forecast, forecast_document
from apps.billing.services.anomalies import anomaly_close, anomaly_reopen, anomaly_snooze
from apps.billing.services.budgets import budget_save
from apps.billing.services.watch import Judged, bills_judge, budgets_alert
from apps.ingest.models import IngestRun
from apps.ingest.selectors import lake
from finops.beat import SCHEDULE
from finops.engine.lateness import Lateness
from finops.lake import BILL_DAILY, BILL_LINES, facts
from finops.lake.filters import all_of, one_of
from tests.support.bill_lake import put_bill
from tests.support.steady_bills import APRIL, MAY, NOW, lines, put_steady_bills

pytestmark = pytest.mark.django_db
ACTOR = Actor.system("test")


@pytest.fixture
def bills(empty_lake: Path, organisation: Organisation) -> Delivery:
    return put_steady_bills()


def budget(organisation: Organisation, **given: Any) -> Budget:
    fields = {"name": "All", "amount": Decimal(4000), "currency": "USD", "valid_from": APRIL, **given}
    thresholds = [("actual", Decimal(75)), ("actual", Decimal(100)), ("forecast", Decimal(100))]
    return budget_save(organisation=organisation, actor=ACTOR, fields=fields, thresholds=thresholds)


def judge(organisation: Organisation, **options: Any) -> Judged:
    return bills_judge(organisation=organisation, now=NOW, **options)


def test_the_days_that_may_still_grow_are_those_of_the_stated_default(
    organisation: Organisation, bills: Delivery
) -> None:
    days = bill_days(organisation, at=NOW)
    assert days is not None
    assert (days.first, days.end, days.settled_until) == (APRIL, date(2026, 5, 21), date(2026, 5, 19))
    assert days.period == (MAY, date(2026, 6, 1))
    [report] = days.reports
    assert (report.late.days, report.late.source) == (2, "default")
    assert "AWS" in report.stated


def test_a_decision_time_in_the_past_sees_no_later_day(organisation: Organisation, bills: Delivery) -> None:
    days = bill_days(organisation, at=datetime(2026, 5, 10, tzinfo=UTC))
    assert days is not None
    assert days.end == date(2026, 5, 10)
    assert bill_days(organisation, at=datetime(2026, 3, 1, tzinfo=UTC)) is None


def test_lateness_is_measured_from_earlier_deliveries(organisation: Organisation, bills: Delivery) -> None:
    growth = {0: "0.5", 1: "1"}
    for at in range(8, 14):
        earlier = Delivery.objects.create(
            report=bills.report, billing_period=MAY, kind="test", state=DeliveryState.SUPERSEDED,
            delivered_at=datetime(2026, 5, at, 6, tzinfo=UTC), content_hash=str(at) * 32, run_id=1,
            rows_read=0, stored=0, rejected=0,
        )  # fmt: skip
        for day in range(1, at):
            share = Decimal(growth.get(at - 1 - day, "1"))
            DeliveryDay.objects.create(
                delivery=earlier, day=date(2026, 5, day), currency="USD", billed=150 * share + 30 * (day == 1)
            )
    judge(organisation)
    days = bill_days(organisation, at=NOW)
    assert days is not None
    [report] = days.reports
    assert report.late == Lateness(1, "measured", report.late.shares, 57)
    assert days.settled_until == date(2026, 5, 20)


def test_the_forecast_repeats_no_fee_and_counts_what_came(
    organisation: Organisation, bills: Delivery
) -> None:
    document = forecast_document(forecast(organisation=organisation, at=NOW))
    assert (document["period"], document["verdict"], document["currency"]) == ("2026-05", "forecast", "USD")
    assert document["spent"] == "3130"
    # 30 once, 31 days of 150, and the hundred that Glue cost more on the 15th
    assert Decimal(document["expected"]) == pytest.approx(Decimal(4780), abs=1)
    assert Decimal(document["low"]) <= Decimal(document["expected"]) <= Decimal(document["high"])
    assert document["settled_until"] == "2026-05-19"
    assert [day["settled"] for day in document["days"]] == [True] * 18 + [False] * 13
    assert document["lateness"][0]["source"] == "default"


def test_a_closed_month_is_its_cost(organisation: Organisation, bills: Delivery) -> None:
    document = forecast_document(forecast(organisation=organisation, at=NOW, day=APRIL))
    assert document["verdict"] == "complete"
    assert Decimal(document["spent"]) == Decimal(document["expected"]) == Decimal(document["low"]) == 4530


def test_without_bills_nothing_is_judged(organisation: Organisation, empty_lake: Path) -> None:
    assert judge(organisation) == Judged("no bills")
    document = forecast_document(forecast(organisation=organisation, at=NOW))
    assert (document["verdict"], document["expected"], document["currencies"]) == ("cannot judge", None, [])


def test_the_anomaly_is_found_with_its_drivers_and_only_once(
    organisation: Organisation, bills: Delivery
) -> None:
    assert judge(organisation) == Judged("judged", 1, 0, 0)
    found = Anomaly.objects.get()
    assert (found.cause, found.direction, found.first_day, found.course) == (
        "service=Glue account=2 region=us", "rise", date(2026, 5, 15), "over",
    )  # fmt: skip
    assert (found.actual, found.expected, found.amount) == (150, 50, 100)
    assert [(d["dimension"], d["key"], d["change"]) for d in found.drivers] == [
        ("usage_type", "DPU", "100"),
        ("resource", "endpoint", "100"),
    ]
    assert judge(organisation) == Judged("seen")
    assert judge(organisation, again=True) == Judged("judged", 0, 0, 0)
    assert Anomaly.objects.count() == 1
    assert DeliveryDay.objects.filter(delivery=bills).count() == 20


def test_a_restated_bill_keeps_what_was_said(organisation: Organisation, bills: Delivery) -> None:
    judge(organisation)
    anomaly_snooze(
        anomaly=Anomaly.objects.get(), actor=ACTOR, until=date(2026, 6, 1), reason="Load test.", now=NOW
    )
    Delivery.objects.filter(pk=bills.pk).update(state=DeliveryState.SUPERSEDED)
    _forget(bills)
    put_bill(
        lines(MAY, 20, {14: "150", 15: "170"}), period=MAY, delivered_at=datetime(2026, 5, 22, tzinfo=UTC),
        final=False,
    )  # fmt: skip
    assert judge(organisation) == Judged("judged", 0, 1, 0)
    found = Anomaly.objects.get()
    assert (found.first_day, found.last_day, found.amount) == (date(2026, 5, 14), date(2026, 5, 15), 220)
    assert (found.state, found.reason) == ("snoozed", "Load test.")


def test_one_that_is_no_longer_on_the_bill_is_marked(organisation: Organisation, bills: Delivery) -> None:
    judge(organisation)
    Delivery.objects.filter(pk=bills.pk).update(state=DeliveryState.SUPERSEDED)
    _forget(bills)
    put_bill(lines(MAY, 20), period=MAY, delivered_at=datetime(2026, 5, 22, tzinfo=UTC), final=False)
    assert judge(organisation) == Judged("judged", 0, 1, 0)
    assert Anomaly.objects.get().course == "restated"
    assert list(anomalies_waiting(organisation, NOW.date())) == []


def _forget(delivery: Delivery) -> None:
    """Take a superseded delivery's month out of the lake, as an import does before the newer one."""
    run = IngestRun.objects.order_by("-pk").first()
    assert run is not None
    for name in (BILL_LINES, BILL_DAILY):
        table = lake().table(name)
        table.delete(all_of(one_of("x_report", [str(delivery.report_id)]), one_of("x_month", ["2026-05"])))
        snapshot = table.refresh().current_snapshot()
        assert snapshot is not None
        run.snapshots[name] = snapshot.snapshot_id
    run.save()


def test_each_threshold_alerts_once_a_period(organisation: Organisation, bills: Delivery) -> None:
    made = budget(organisation)
    assert judge(organisation).new_alerts == 2
    # 3,130 of 4,000 is over 75 %, and the forecast of 4,780 over 100 %
    assert [(a.measure, a.percent, a.limit) for a in made.alerts.order_by("measure")] == [
        ("actual", Decimal("75.00"), Decimal(3000)),
        ("forecast", Decimal("100.00"), Decimal(4000)),
    ]
    assert made.alerts.get(measure="actual").cost == 3130
    assert judge(organisation, again=True).new_alerts == 0
    assert budgets_alert(organisation=organisation, now=NOW, snapshots=facts.current_snapshots()) == 0
    assert BudgetAlert.objects.count() == 2


def test_a_period_that_is_over_raises_no_forecast_alert(organisation: Organisation, bills: Delivery) -> None:
    Delivery.objects.filter(pk=bills.pk).delete()
    made = budget(organisation)
    judge(organisation)
    # April is whole and cost 4,530
    assert sorted(made.alerts.values_list("measure", "percent", "period_start")) == [
        ("actual", Decimal("75.00"), APRIL),
        ("actual", Decimal("100.00"), APRIL),
    ]


def test_a_changed_budget_is_judged_again(organisation: Organisation, bills: Delivery) -> None:
    made = budget(organisation)
    judge(organisation)
    fields = {"name": "All", "amount": Decimal(3000), "currency": "USD", "valid_from": APRIL}
    budget_save(
        organisation=organisation,
        actor=ACTOR,
        fields=fields,
        thresholds=[("actual", Decimal(100))],
        budget=made,
    )
    assert judge(organisation) == Judged("judged", 0, 0, 1)


def test_budgets_that_overlap_alert_each_by_itself(organisation: Organisation, bills: Delivery) -> None:
    budget(organisation)
    budget(organisation, name="Glue", scope="service", scope_value="Glue", amount=Decimal(1000))
    judge(organisation)
    assert sorted(BudgetAlert.objects.values_list("budget__name", "measure", "percent")) == [
        ("All", "actual", Decimal("75.00")),
        ("All", "forecast", Decimal("100.00")),
        ("Glue", "actual", Decimal("75.00")),
        ("Glue", "actual", Decimal("100.00")),
        ("Glue", "forecast", Decimal("100.00")),
    ]


def test_a_snooze_needs_a_day_to_come_and_a_reason(organisation: Organisation, bills: Delivery) -> None:
    judge(organisation)
    found = Anomaly.objects.get()
    for until, reason, fields in (
        (NOW.date(), "x", ["until"]),
        (NOW.date() + timedelta(days=400), "x", ["until"]),
        (NOW.date() + timedelta(days=1), "  ", ["reason"]),
    ):
        with pytest.raises(ValidationError) as told:
            anomaly_snooze(anomaly=found, actor=ACTOR, until=until, reason=reason, now=NOW)
        assert list(told.value.message_dict) == fields
    found.refresh_from_db()
    assert (found.state, found.author) == ("open", "")
    assert not AuditEntry.objects.filter(action__startswith="anomaly.").exists()


def test_a_snooze_ends_by_itself_and_a_closing_does_not(organisation: Organisation, bills: Delivery) -> None:
    judge(organisation)
    found = anomaly_snooze(
        anomaly=Anomaly.objects.get(), actor=ACTOR, until=date(2026, 6, 1), reason="Known.", now=NOW
    )
    assert (found.state, found.author, found.reason) == ("snoozed", "test", "Known.")
    assert state_on(found, date(2026, 5, 31)) == "snoozed"
    assert state_on(found, date(2026, 6, 1)) == "open"
    assert anomalies_waiting(organisation, date(2026, 6, 1)).count() == 1
    anomaly_close(anomaly=found, actor=ACTOR, reason="Stopped.", now=NOW)
    assert anomalies_waiting(organisation, date(2027, 1, 1)).count() == 0
    anomaly_reopen(anomaly=found, actor=ACTOR, now=NOW)
    assert anomalies_waiting(organisation, NOW.date()).count() == 1
    actions = AuditEntry.objects.filter(action__startswith="anomaly.").order_by("pk")
    assert list(actions.values_list("action", flat=True)) == [
        "anomaly.snooze",
        "anomaly.close",
        "anomaly.reopen",
    ]


def test_the_task_judges_every_organisation(
    organisation: Organisation, bills: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    handed: list[int] = []
    monkeypatch.setattr(tasks.bills_judge, "delay", handed.append)
    tasks.bills_judge_new()
    assert handed == [organisation.pk, other.pk]
    tasks.bills_judge(organisation.pk)
    tasks.bills_judge(10**9)
    assert Anomaly.objects.filter(organisation=organisation).count() == 1
    entry = SCHEDULE["every-five-minutes-judge-new-bills"]
    assert entry["task"] == tasks.bills_judge_new.name
    assert entry["options"]["expires"] < entry["schedule"]


@pytest.mark.django_db(transaction=True)
def test_a_second_task_at_the_same_time_finds_it_busy(empty_lake: Path) -> None:
    organisation = Organisation.default()
    BillWatch.objects.create(organisation=organisation)
    told: list[Judged] = []

    def beside() -> None:
        told.append(judge(organisation))
        connection.close()

    with transaction.atomic():
        BillWatch.objects.select_for_update().get(organisation=organisation)
        other = threading.Thread(target=beside)
        other.start()
        other.join(20)
    assert told == [Judged("busy")]
