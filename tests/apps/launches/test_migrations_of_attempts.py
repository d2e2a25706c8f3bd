"""Back to one open attempt a launch and forward again, with an attempt beside a running machine."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from apps.launches.models import Attempt, AttemptState
from apps.launches.services.costs import attempt_price
from tests.support.launches import NOW, launch

pytestmark = pytest.mark.django_db(transaction=True)


def attempt(of: int, number: int, *, beside: bool) -> Attempt:
    return Attempt.objects.create(
        launch_id=of, number=number, market="spot" if beside else "on-demand", parameters={}, tags={},
        token=f"{number}", state=AttemptState.RUNNING, prepared_at=NOW, started_at=NOW,
        machine=f"i-{number}", beside=beside,
    )  # fmt: skip


def test_an_attempt_beside_is_one_too_many_before_and_the_rows_stay() -> None:
    one = launch()
    attempt(one.pk, 1, beside=False)
    attempt(one.pk, 2, beside=True)
    other = launch(one.plan, due_at=NOW + timedelta(hours=1))
    Attempt.objects.filter(pk=attempt(other.pk, 3, beside=True).pk).update(
        state=AttemptState.CALLED, token="called", machine="", started_at=None
    )
    with pytest.raises(IntegrityError), transaction.atomic():
        attempt(one.pk, 3, beside=True)
    try:
        call_command("migrate", "launches", "0003", verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT number, state, code, ending, machine, ended_at > started_at FROM launches_attempt "
                "ORDER BY launch_id, number"
            )
            rows = cursor.fetchall()
    finally:
        call_command("migrate", verbosity=0)
    assert rows == [
        (1, "running", "", "", "i-1", None),
        (2, "ended", "", "surplus", "i-2", True),
        (3, "refused", "NotSent", "", "", None),
    ]
    states = list(Attempt.objects.order_by("launch", "number").values_list("state", "beside"))
    assert states == [("running", False), ("ended", False), ("refused", False)]
    # What the machine beside has cost is known once it is priced, and with it the launch's sum.
    one.plan.target.settings = {"price": "0.1", "spot_price": "0.04", "currency": "USD"}
    one.plan.target.save()
    ran = Attempt.objects.get(machine="i-2")
    Attempt.objects.filter(pk=ran.pk).update(ended_at=NOW + timedelta(hours=2))
    ran.refresh_from_db()
    assert attempt_price(ran, NOW + timedelta(hours=3))
    one.refresh_from_db()
    assert (one.paid, one.currency) == (Decimal("0.08"), "USD")
