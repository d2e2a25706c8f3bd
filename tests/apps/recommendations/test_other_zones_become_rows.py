"""Saved workloads that another zone alone makes cheaper become recommendations; alternatives of a window."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest

from apps.accounts.models import Organisation
from apps.ingest.models import IngestRun
from apps.recommendations.kinds import kind_of
from apps.recommendations.models import InboxLook, Recommendation
from apps.recommendations.selectors.standing import standing
from apps.recommendations.services.decisions import recommendation_accept
from apps.recommendations.services.launch_rows import launch_rows_publish
from tests.apps.recommendations.conftest import T0, row
from tests.apps.recommendations.test_launch_windows_become_rows import ADA, DAYS, END, save

pytestmark = pytest.mark.django_db


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


def prices(load: Callable[..., IngestRun], other: str, night: str = "") -> None:
    """Eight weeks: 1a at 0.10, 1b at `other`, both from 02:00 to 06:00 at `night`; a little noise by day."""
    rows = []
    for day in range(DAYS):
        at, noise = T0 + timedelta(days=day), Decimal("0.0005") * (day % 4)
        for zone, price in (("us-east-1a", "0.1"), ("us-east-1b", other)):
            steps = [(0, price), *([(2, night), (6, price)] if night else [])]
            rows += [
                row(at + timedelta(hours=hour), f"{Decimal(step) + noise:.4f}", zone, "m5.large")
                for hour, step in steps
            ]
    load(rows, request_start=T0, request_end=END)


def test_a_cheaper_zone_is_a_row_with_its_back_test(
    load: Callable[..., IngestRun], organisation: Organisation
) -> None:
    prices(load, "0.08")
    workload = save(organisation, count=3)
    done = launch_rows_publish(organisation=organisation, now=END)
    assert (done.looked, done.found) == (1, 1)
    found = Recommendation.objects.get()
    assert (found.kind, found.subject, found.claims) == (
        "launch_place", f"workload:{workload.pk}", [f"workload:{workload.pk}"],
    )  # fmt: skip
    document = found.document
    assert (document["zone_name"], document["cheapest_zone_name"]) == ("us-east-1a", "us-east-1b")
    # Three for 4 h: about 1.20 at home, 0.24 less in the other zone, on each of 91 turns.
    now, after = Decimal(document["cost_now"]), Decimal(document["cost_after"])
    assert now - after == pytest.approx(Decimal("0.24"), abs=Decimal("0.0001"))
    assert found.saving == pytest.approx((now - after) * 91, abs=Decimal("0.001"))
    assert 0 < found.saving_low <= found.saving <= found.saving_high
    told = kind_of("launch_place").wording(document, "en")
    assert told.title == "Run nightly in the cheapest zone of us-east-1 instead of us-east-1a"
    assert "before moving data" in told.text
    assert "可用区" in kind_of("launch_place").wording(document, "zh-hans").title
    # What it is compared with later: the home zone.
    row = recommendation_accept(recommendation=found, actor=ADA, now=END)
    assert row.counterfactual is not None
    assert row.counterfactual["basis"]["zone"] == document["zone"]


def test_a_zone_and_a_window_for_the_same_turns_are_alternatives(
    load: Callable[..., IngestRun], organisation: Organisation
) -> None:
    prices(load, "0.09", night="0.04")
    save(organisation)
    assert launch_rows_publish(organisation=organisation, now=END).found == 1
    assert sorted(Recommendation.objects.values_list("kind", flat=True)) == ["launch_place", "launch_window"]
    found = standing(organisation)
    window = Recommendation.objects.get(kind="launch_window")
    assert found.counted == {window.pk}
    assert found.alternatives[window.pk] == (Recommendation.objects.get(kind="launch_place").pk,)
    assert found.totals["USD"].expected == window.monthly_saving


def test_a_zone_that_is_no_cheaper_is_no_row_and_an_old_one_expires(
    load: Callable[..., IngestRun], organisation: Organisation
) -> None:
    prices(load, "0.12")
    save(organisation)
    assert launch_rows_publish(organisation=organisation, now=END).found == 0
    assert not Recommendation.objects.exists()
    assert InboxLook.objects.get().problems == []
