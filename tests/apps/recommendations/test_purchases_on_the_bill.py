"""What a purchase read back is found on the bill by its reservations' ids, whatever else the bill names."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from apps.accounts.models import Organisation
from apps.recommendations.models import Purchase, RealisedSaving, Recommendation
from apps.recommendations.services.realised import realised_refresh
from tests.apps.recommendations.test_announced_purchases import purchase
from tests.apps.recommendations.test_realised_savings import (
    END,
    MARCH,
    NOW,
    OLD,
    WHOLE,
    bought,
    covered,
    fee,
    months,
    organisation,
)
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
__all__ = ["bought", "organisation"]
MINE = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
SECOND = "6fa459ea-ee8a-3ca4-894e-db77e160355e"
OTHER = "16fd2706-8baf-433b-82eb-8c7fada847da"


def arn(number: str) -> str:
    return f"arn:aws:ec2:us-east-1:111122223333:reserved-instances/{number}"


def ordered(row: Recommendation, *reservations: str, **more: object) -> Purchase:
    return purchase(row.organisation, recommendation=row, reservations=list(reservations), **more)


def test_only_the_reservations_that_the_purchase_names_are_counted(
    bought: Recommendation, organisation: Organisation
) -> None:
    ordered(bought, MINE, SECOND)
    put_bill(
        [
            covered("2026-03-05", arn(MINE), "m5.large", "500", "27.5"),
            covered("2026-03-06", arn(SECOND), "m5.xlarge", "100", "11"),
            fee("2026-03-01", arn(SECOND), "2.42"),
            # Bought by hand in the same month, for the same type, and one from before.
            covered("2026-03-05", arn(OTHER), "m5.large", "700", "30"),
            covered("2026-03-05", OLD, "m5.large", "700", "1"),
        ],
        period=MARCH,
        **WHOLE,
    )
    one = months(organisation)[MARCH]
    # 500 x 0.096 + 100 x 0.192 = 67.20; 27.50 + 11 + 2.42 unused = 40.92.
    assert (one.counterfactual, one.actual, one.saving) == (
        Decimal("67.2"), Decimal("40.92"), Decimal("26.28"),
    )  # fmt: skip


def test_an_id_that_only_begins_or_ends_alike_is_another_reservation(
    bought: Recommendation, organisation: Organisation
) -> None:
    ordered(bought, MINE)
    lines = [
        covered("2026-03-05", arn(f"{MINE}0"), "m5.large", "500", "27.5"),
        covered("2026-03-05", arn(f"a{MINE}"), "m5.large", "500", "27.5"),
    ]
    put_bill(lines, period=MARCH, **WHOLE)
    one = months(organisation)[MARCH]
    assert (one.saving, one.actual) == (None, None)
    assert "No commitment for these instance types" in one.reason


def test_a_bill_that_names_the_bare_id_is_matched_too(
    bought: Recommendation, organisation: Organisation
) -> None:
    ordered(bought, MINE)
    put_bill([covered("2026-03-05", MINE, "m5.large", "500", "27.5")], period=MARCH, **WHOLE)
    assert months(organisation)[MARCH].saving == Decimal("20.5")


def test_what_another_recommendations_purchase_brought_is_not_ours(
    bought: Recommendation, organisation: Organisation
) -> None:
    """Without a purchase of its own a row takes new commitments of its types, but none that are claimed."""
    other = Recommendation.objects.get(pk=bought.pk)
    other.pk, other.subject, other.claims = None, "other", ["resource:other"]
    other.claim_end = END + timedelta(days=300)
    other.save()
    ordered(other, OTHER)
    lines = [
        covered("2026-03-05", arn(MINE), "m5.large", "500", "27.5"),
        covered("2026-03-05", arn(OTHER), "m5.large", "700", "1"),
    ]
    put_bill(lines, period=MARCH, **WHOLE)
    realised_refresh(organisation=organisation, now=NOW)
    found = {one.recommendation_id: one for one in RealisedSaving.objects.filter(month=MARCH)}
    assert found[bought.pk].saving == Decimal("20.5")
    assert found[other.pk].saving == Decimal("66.2")
