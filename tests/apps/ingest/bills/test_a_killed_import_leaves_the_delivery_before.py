"""`kill -9` at each step of an import: the delivery before stays current and the next start finishes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.billing.models import Delivery
from apps.ingest import selectors, services
from apps.ingest.bills.run import bill_import
from apps.ingest.models import IngestRun
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text
from tests.support.lake import fresh_lake

KILLED = """
import os, signal, sys
import django
django.setup()
from apps.ingest.bills import run, stage, swap
from finops.lake import BILL_DAILY, BILL_LINES, Lake

moment, path = sys.argv[1:]

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "staged":
    stage.Stager._judged = die
elif moment == "written":
    swap.commit = die
elif moment == "recorded":
    swap._store = die
else:
    table = {"lines": BILL_LINES, "daily": BILL_DAILY}[moment]
    commit = Lake.commit
    def then_die(self, name, *given, **named):
        commit(self, name, *given, **named)
        if name == table:
            die()
    Lake.commit = then_die
run.bill_import(paths=[path])
"""
MOMENTS = ("staged", "written", "lines", "daily", "recorded")
OLD = cur_csv([{"lineItem/UnblendedCost": "1"}, {"lineItem/UnblendedCost": "2"}])
NEW = cur_csv([{"lineItem/UnblendedCost": "40"}])


@pytest.fixture
def own_lake(transactional_db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    """A lake and rows that other processes see too."""
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


def _state() -> tuple[Any, ...]:
    return (
        lines("sum(billed_cost), count(*)"),
        lines("sum(billed_cost), sum(x_rows)", table="billing.daily"),
        list(Delivery.objects.order_by("pk").values_list("state", "totals__USD__billed")),
    )


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_import(own_lake: Path, tmp_path: Path, moment: str) -> None:
    import_text(tmp_path / "old" / "bill.csv", OLD, at=datetime(2026, 3, 10, tzinfo=UTC))
    before = _state()
    assert before == ([(Decimal(3), 2)], [(Decimal(3), 2)], [("current", "3")])
    new = tmp_path / "new" / "bill.csv"
    new.parent.mkdir()
    new.write_text(NEW)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "finops.settings.check",
        "DATABASE_URL": selectors.database_url(),
        "LAKE_WAREHOUSE": str(own_lake),
    }
    done = subprocess.run(
        [sys.executable, "-c", KILLED, moment, str(new)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert _state() == before
    services.runs_reconcile(now=timezone.now() + timedelta(minutes=5))
    assert list(IngestRun.objects.order_by("pk").values_list("state", flat=True)) == ["finished", "failed"]
    assert _state() == before
    run = bill_import(paths=[new])
    assert run.state == "finished"
    assert _state() == (
        [(Decimal(40), 1)],
        [(Decimal(40), 1)],
        [("superseded", "3"), ("current", "40")],
    )


def test_imports_of_one_month_at_once_end_with_the_newest(own_lake: Path, tmp_path: Path) -> None:
    paths = []
    for number in range(1, 5):
        path = tmp_path / f"d{number}" / "bill.csv"
        path.parent.mkdir()
        path.write_text(cur_csv([{"lineItem/UnblendedCost": str(number)}]))
        os.utime(path, (number * 1e6, number * 1e6))
        paths.append(path)
    # The report exists, so that all of them are deliveries of the same.
    import_text(tmp_path / "d0" / "bill.csv", OLD, at=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    states: list[str] = []

    def work(path: Path) -> None:
        try:
            states.append(bill_import(paths=[path]).state)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(path,)) for path in (paths[3], *paths[:3])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states == ["finished"] * 4
    assert lines("sum(billed_cost), count(*)") == [(Decimal(4), 1)]
    assert lines("sum(billed_cost), sum(x_rows)", table="billing.daily") == [(Decimal(4), 1)]
    current = Delivery.objects.get(state="current")
    assert current.totals["USD"]["billed"] == "4"
    assert Delivery.objects.count() == 5
