"""Savings read from later bills: counterfactual fixed at acceptance, null while a bill is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.ingest.models import IngestRun
from apps.recommendations.models import RealisedSaving, Recommendation
from apps.recommendations.services.decisions import recommendation_accept, recommendation_reopen
from apps.recommendations.services.inbox import publish
from apps.recommendations.services.launch_rows import launch_rows_publish
from apps.recommendations.services.realised import promised, realised_all, realised_refresh
from apps.recommendations.services.realised_commitments import (
    commitment_counterfactual,
    commitment_months,
)
from finops.lake import BILL_LINES
from tests.apps.recommendations.conftest import T0, row
from tests.apps.recommendations.test_launch_windows_become_rows import save
from tests.support.bill_lake import put_bill
from tests.support.recommendations import finding, made_up_kind, registered

ADA = Actor.system("ada")
DAYS = 100
END = T0 + timedelta(days=56)  # 26 February 2026
MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)
NOW = datetime(2026, 4, 20, tzinfo=UTC)
WHOLE = {"first_day": MARCH, "last_day": date(2026, 3, 31)}


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def accepted(load: Callable[..., IngestRun], organisation: Organisation) -> Recommendation:
    """The launch window of "nightly" (three instances), accepted on 26 February. Prices go on to April."""
    rows = []
    for day in range(DAYS):
        at = T0 + timedelta(days=day)
        noise = Decimal("0.0005") * (day % 4)
        rows += [
            row(at + timedelta(hours=hour), f"{price + noise:.4f}", "us-east-1a", "m5.large")
            for hour, price in ((0, Decimal("0.1")), (2, Decimal("0.04")), (6, Decimal("0.1")))
        ]
    load(rows, request_start=T0, request_end=T0 + timedelta(days=DAYS))
    save(organisation, count=3)
    launch_rows_publish(organisation=organisation, now=END)
    return recommendation_accept(recommendation=Recommendation.objects.get(), actor=ADA, now=END)


def tagged(at: str, hours: str, cost: str, *, length: int = 1, **changes: Any) -> dict[str, Any]:
    start = datetime.fromisoformat(f"{at}:00Z")
    return {
        "x_day": start.date(), "x_instance_type": "m5.large", "x_quantity": hours, "billed_cost": cost,
        "charge_period_start": start, "charge_period_end": start + timedelta(hours=length),
        "tags": {"user:offpeak-workload": "nightly"}, "x_line_item_type": "Usage", **changes,
    }  # fmt: skip


def turn(day: str, cost: str = "0.12", **changes: Any) -> list[dict[str, Any]]:
    """Four hours from 02:00 on three instances."""
    return [tagged(f"{day}T{hour:02d}:00", "3", cost, **changes) for hour in range(2, 6)]


def months(organisation: Organisation, now: datetime = NOW) -> dict[date, RealisedSaving]:
    realised_refresh(organisation=organisation, now=now, again=True)
    return {one.month: one for one in RealisedSaving.objects.order_by("month")}


def test_a_turn_is_held_against_the_price_at_which_it_would_have_begun(
    accepted: Recommendation, organisation: Organisation
) -> None:
    other = tagged("2026-03-02T03:00", "9", "5", tags={"user:offpeak-workload": "weekly"})
    put_bill([*turn("2026-03-02"), *turn("2026-03-03", "0.13"), other], period=MARCH, **WHOLE)
    found = months(organisation)
    assert list(found) == [date(2026, 2, 1), MARCH, APRIL]
    one = found[MARCH]
    # Due 2 March: would have begun on 1 March 20:00 at 0.1015; due 3 March: on 2 March at 0.1000. 12 h each.
    assert one.counterfactual == Decimal("1.218") + Decimal("1.2")
    assert one.actual == Decimal("0.48") + Decimal("0.52")
    assert one.saving == Decimal("1.418")
    assert (one.complete, one.reason) == (True, "")
    assert one.evidence["snapshots"][BILL_LINES]
    for month in (date(2026, 2, 1), APRIL):
        assert (found[month].saving, found[month].actual, found[month].complete) == (None, None, False)
        assert "not there yet" in found[month].reason


def test_what_the_bill_cannot_prove_has_no_number(
    accepted: Recommendation, organisation: Organisation
) -> None:
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([{**line, "tags": {}} for line in turn("2026-03-02")], "is tagged"),
        (turn("2026-03-02", length=24), "hourly export"),
        (turn("2026-03-02", billing_currency="EUR"), "another currency"),
        (turn("2026-03-02", effective_cost=None), "no effective cost"),
    ]
    for n, (lines, reason) in enumerate(cases, start=1):
        made = put_bill(lines, period=MARCH, **WHOLE)
        one = months(organisation)[MARCH]
        assert (one.saving, one.complete) == (None, False), reason
        assert reason in one.reason
        made.state = "superseded"
        made.save()
        _forget(n)


def _forget(n: int) -> None:
    """Another report for the next case, and none of the ones before."""
    from apps.billing.models import BillReport

    elsewhere = Organisation.objects.create(name=f"Past {n}", slug=f"past-{n}")
    BillReport.objects.filter(organisation=None).update(organisation=elsewhere)


def test_an_open_month_counts_what_is_there_and_is_not_complete(
    accepted: Recommendation, organisation: Organisation
) -> None:
    put_bill(turn("2026-04-02"), period=APRIL, final=False, first_day=APRIL, last_day=date(2026, 4, 2))
    one = months(organisation, datetime(2026, 4, 3, tzinfo=UTC))[APRIL]
    assert one.saving is not None
    assert not one.complete


def test_a_restated_bill_replaces_the_number_and_a_lost_one_takes_it_back(
    accepted: Recommendation, organisation: Organisation
) -> None:
    made = put_bill(turn("2026-03-02"), period=MARCH, **WHOLE)
    assert months(organisation)[MARCH].saving == Decimal("0.738")
    assert realised_refresh(organisation=organisation, now=NOW) == 0
    made.state = "superseded"
    made.save()
    assert months(organisation)[MARCH].saving is None


def test_a_decision_taken_back_takes_its_months_along(
    accepted: Recommendation, organisation: Organisation
) -> None:
    put_bill(turn("2026-03-02"), period=MARCH, **WHOLE)
    assert realised_all(now=NOW) == 3
    recommendation_reopen(recommendation=accepted, actor=ADA, now=END + timedelta(days=1))
    assert not RealisedSaving.objects.exists()
    assert realised_all(now=NOW) == 0


def test_what_was_promised_is_spread_over_the_claim(accepted: Recommendation) -> None:
    each = [promised(accepted, month) for month in (date(2026, 2, 1), MARCH, APRIL, date(2026, 5, 1))]
    begin, end = accepted.claim_start, accepted.claim_end
    assert abs(sum(each, Decimal(0)) - accepted.saving) < Decimal("0.00001")
    assert abs(each[1] - accepted.saving * 31 / 91) < Decimal("0.00001")
    assert (begin, end) == (END + timedelta(hours=20), END + timedelta(hours=20, weeks=13))


def test_another_organisations_bill_proves_nothing(
    accepted: Recommendation, organisation: Organisation
) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    put_bill(turn("2026-03-02"), period=MARCH, organisation=elsewhere, **WHOLE)
    one = months(organisation)[MARCH]
    assert one.saving is None
    assert "not there yet" in one.reason


# Commitments: hours paid for at the price fixed at acceptance, less the amortised cost, idle hours included.

OLD, NEW = "arn:old", "arn:new"


def covered(day: str, arn: str, kind: str, hours: str, cost: str) -> dict[str, Any]:
    start = datetime.fromisoformat(f"{day}T00:00:00Z")
    return {
        "x_day": start.date(), "x_instance_type": kind, "x_quantity": hours, "billed_cost": "0",
        "effective_cost": cost, "charge_period_start": start, "charge_period_end": start + timedelta(hours=1),
        "commitment_discount_id": arn, "x_line_item_type": "DiscountedUsage",
    }  # fmt: skip


def fee(day: str, arn: str, cost: str) -> dict[str, Any]:
    return {
        **covered(day, arn, "", "0", cost), "x_instance_type": None, "x_line_item_type": "RIFee",
        "pricing_quantity": "744",
    }  # fmt: skip


@pytest.fixture
def bought(organisation: Organisation) -> Iterator[Recommendation]:
    """A purchase advised and accepted in February, when the bill knew one commitment."""
    february = {"first_day": date(2026, 2, 1), "last_day": date(2026, 2, 28)}
    put_bill([covered("2026-02-10", OLD, "m5.large", "24", "1")], period=date(2026, 2, 1), **february)

    def fixed(one: Recommendation) -> Mapping[str, Any]:
        return commitment_counterfactual(
            one, on_demand={"m5.large": "0.096", "m5.xlarge": "0.192"}, moment=END
        )

    with registered(made_up_kind(counterfactual=fixed, realised=commitment_months)):
        made = finding("m5", "300", claim_start=END, claim_end=END + timedelta(days=365))
        publish("made_up", [made], organisation=organisation, now=END, whole=True)
        yield recommendation_accept(recommendation=Recommendation.objects.get(), actor=ADA, now=END)


def test_a_commitment_saves_on_demand_less_its_amortised_cost(
    bought: Recommendation, organisation: Organisation
) -> None:
    assert bought.counterfactual is not None
    assert bought.counterfactual["basis"]["known_before"] == [OLD]
    lines = [
        covered("2026-03-05", NEW, "m5.large", "500", "27.5"),
        covered("2026-03-06", NEW, "m5.xlarge", "100", "11"),
        fee("2026-03-01", NEW, "2.42"),
        covered("2026-03-05", OLD, "m5.large", "700", "1"),
    ]
    put_bill(lines, period=MARCH, **WHOLE)
    one = months(organisation)[MARCH]
    # 500 x 0.096 + 100 x 0.192 = 67.20; 27.50 + 11 + 2.42 unused = 40.92.
    assert (one.counterfactual, one.actual, one.saving) == (
        Decimal("67.2"), Decimal("40.92"), Decimal("26.28"),
    )  # fmt: skip
    assert one.complete


def test_idle_hours_of_a_commitment_are_a_loss_and_shown_as_one(
    bought: Recommendation, organisation: Organisation
) -> None:
    put_bill(
        [covered("2026-03-05", NEW, "m5.large", "10", "0.55"), fee("2026-03-01", NEW, "40")],
        period=MARCH, **WHOLE,
    )  # fmt: skip
    assert months(organisation)[MARCH].saving == Decimal("0.96") - Decimal("40.55")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (covered("2026-03-05", OLD, "m5.large", "700", "1"), "No commitment"),
        (covered("2026-03-05", NEW, "c5.large", "700", "1"), "No commitment"),
    ],
)
def test_without_a_new_commitment_nothing_was_saved_yet(
    bought: Recommendation, organisation: Organisation, line: dict[str, Any], reason: str
) -> None:
    put_bill([line], period=MARCH, **WHOLE)
    one = months(organisation)[MARCH]
    assert (one.saving, one.complete) == (None, False)
    assert reason in one.reason


def test_a_commitment_that_two_could_have_brought_is_nobodys(
    bought: Recommendation, organisation: Organisation
) -> None:
    made = finding("more", "50", claim_start=END, claim_end=END + timedelta(days=365))
    publish("made_up", [made], organisation=organisation, now=END, whole=False)
    second = recommendation_accept(
        recommendation=Recommendation.objects.get(subject="more"), actor=ADA, now=END
    )
    put_bill([covered("2026-03-05", NEW, "m5.large", "500", "27.5")], period=MARCH, **WHOLE)
    realised_refresh(organisation=organisation, now=NOW, again=True)
    march = RealisedSaving.objects.filter(month=MARCH)
    assert [one.saving for one in march] == [None, None]
    assert all("Several accepted" in one.reason for one in march)
    assert second.counterfactual is not None
    Recommendation.objects.filter(pk=second.pk).update(
        counterfactual={
            **second.counterfactual,
            "basis": {**second.counterfactual["basis"], "commitments": [NEW]},
        }
    )
    realised_refresh(organisation=organisation, now=NOW, again=True)
    assert march.get(recommendation=second).saving == Decimal("48") - Decimal("27.5")
    assert "No commitment" in march.get(recommendation=bought).reason


def test_a_type_whose_price_was_not_fixed_leaves_the_month_unknown(
    bought: Recommendation, organisation: Organisation
) -> None:
    lines = [covered("2026-03-05", NEW, kind, "10", "1") for kind in ("m5.large", "m5.4xlarge")]
    put_bill(lines, period=MARCH, **WHOLE)
    assert "not fixed" in months(organisation)[MARCH].reason


def test_a_kind_that_fails_keeps_the_others_and_is_told(
    bought: Recommendation, organisation: Organisation
) -> None:
    def broken(*_given: object) -> None:
        raise RuntimeError("made up")

    with registered(made_up_kind("broken", realised=broken)):
        made = finding("x", claim_start=END, claim_end=END + timedelta(days=300))
        publish("broken", [made], organisation=organisation, now=END, whole=True)
        recommendation_accept(recommendation=Recommendation.objects.get(kind="broken"), actor=ADA, now=END)
        put_bill([covered("2026-03-05", NEW, "m5.large", "10", "0.5")], period=MARCH, **WHOLE)
        assert realised_refresh(organisation=organisation, now=NOW) == 3
        look = organisation.inbox_looks.get(kind="realised")
        assert (look.looked, look.found, look.seen) == (2, 1, "")
