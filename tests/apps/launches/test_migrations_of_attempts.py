"""Back to one open attempt a launch and forward again, with an attempt beside a running machine."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from apps.launches.models import Attempt, AttemptState
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
    with pytest.raises(IntegrityError), transaction.atomic():
        attempt(one.pk, 3, beside=True)
    try:
        call_command("migrate", "launches", "0003", verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute("SELECT number, state, code, machine FROM launches_attempt ORDER BY number")
            rows = cursor.fetchall()
    finally:
        call_command("migrate", verbosity=0)
    assert rows == [(1, "running", "", "i-1"), (2, "refused", "NotSent", "")]
    assert list(Attempt.objects.order_by("number").values_list("state", "beside")) == [
        ("running", False), ("refused", False),
    ]  # fmt: skip
