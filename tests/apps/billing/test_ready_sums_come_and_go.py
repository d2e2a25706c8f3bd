"""Sums that stand ready are made whole or not at all, and answers never depend on whether they are there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from apps.accounts.models import Organisation
from apps.billing.selectors import spend_reading
from apps.billing.selectors.spend import SpendAnswer, spend
from apps.billing.selectors.spend_question import question_of
from apps.billing.services.spend_sums import spend_sums_make
from apps.ingest.selectors import current_snapshots, lake
from finops.lake import BILL_LINES, LakeError, bill_sums_build, open_duckdb, readers
from finops.lake.bill_sums import FACTS, FOLDER, MEASURES, by_partition, sums_of
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 10, tzinfo=UTC)
MAY, APRIL = date(2026, 5, 1), date(2026, 4, 1)
ROWS: list[dict[str, Any]] = [
    {"billed_cost": "1.25", "service_name": "S", "resource_id": "i-1", "tags": {"team": "web"}},
    {"billed_cost": "2.50", "service_name": "S", "resource_id": "i-2", "tags": {"team": "data"}},
    {"billed_cost": "-0.000000000000000001", "service_name": "T", "x_day": date(2026, 5, 9)},
]


@pytest.fixture
def bill(empty_lake: Path) -> Iterator[Path]:
    put_bill(ROWS, period=MAY)
    yield empty_lake
    readers.forget_readers()


def ask(by: str = "service", **more: Any) -> SpendAnswer:
    cache.clear()
    question = question_of(start="2026-04-01", end="2026-06-01", by=by, **more)
    return spend(question, organisation=Organisation.default(), now=NOW)


def costs(by: str = "service", **more: Any) -> dict[Any, Decimal | None]:
    return {row.values[0]: row.cost for row in ask(by, **more).rows}


def folders(warehouse: Path) -> list[Path]:
    root = warehouse / FOLDER
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What questions read from then on."""
    seen: list[str] = []
    real = spend_reading.source_of

    def told(*args: Any, **more: Any) -> Any:
        found = real(*args, **more)
        seen.append("sums" if FOLDER in found.sql else "tables")
        return found

    monkeypatch.setattr(spend_reading, "source_of", told)
    return seen


EXPECTED = {"S": Decimal("3.75"), "T": Decimal("-0.000000000000000001")}


def test_they_are_made_once_and_read_from_then_on(bill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = sources(monkeypatch)
    assert costs() == EXPECTED
    assert [spend_sums_make(), spend_sums_make()] == [1, 0]
    assert costs() == EXPECTED
    assert costs("resource") == {"i-1": Decimal("1.25"), "i-2": Decimal("2.5"), None: EXPECTED["T"]}
    assert costs("tag:team") == {"web": Decimal("1.25"), "data": Decimal("2.5"), "": EXPECTED["T"]}
    assert seen == ["tables", "sums", "sums", "sums"]


def test_single_days_of_a_resource_are_in_no_sum(bill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spend_sums_make()
    seen = sources(monkeypatch)
    assert sum(row.cost or 0 for row in ask("resource", granularity="day").rows) == sum(EXPECTED.values())
    assert seen == ["tables"]


def test_a_new_month_is_read_from_its_lines_beside_the_sums_of_others(bill: Path) -> None:
    spend_sums_make()
    put_bill([{"billed_cost": "10", "service_name": "S"}], period=APRIL)
    assert costs() == {**EXPECTED, "S": Decimal("13.75")}
    assert spend_sums_make() == 1
    assert costs() == {**EXPECTED, "S": Decimal("13.75")}


def test_files_that_are_cut_or_lost_are_not_read_and_are_made_again(
    bill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend_sums_make()
    seen = sources(monkeypatch)
    for harm in (
        lambda folder: (folder / "usage.parquet").unlink(),
        lambda folder: (folder / FACTS).write_text("{"),
        lambda folder: os.truncate(next(folder.glob("*.parquet")), 10),
    ):
        [folder] = folders(bill)
        readers.forget_readers()
        bill_sums_forget()
        harm(folder)
        assert costs() == EXPECTED
        assert spend_sums_make() in (0, 1)
        assert costs() == EXPECTED
    assert "tables" in seen


def bill_sums_forget() -> None:
    """As another process that has read nothing yet."""
    from finops.lake import bill_sums

    bill_sums._facts.clear()


def test_sums_that_go_while_a_question_is_asked_do_not_lose_the_answer(
    bill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend_sums_make()
    real = spend_reading.source_of

    def gone(*args: Any, **more: Any) -> Any:
        found = real(*args, **more)
        shutil.rmtree(bill / FOLDER, ignore_errors=True)
        return found

    monkeypatch.setattr(spend_reading, "source_of", gone)
    assert costs() == EXPECTED


def test_sums_that_differ_from_their_lines_are_refused(bill: Path) -> None:
    [path] = lake().files(BILL_LINES, current_snapshots()[BILL_LINES])
    with open_duckdb(lake().limits) as con:
        con.execute(f"CREATE VIEW lines AS SELECT * FROM read_parquet('{path}')")
        sums = ", ".join(
            [*(f"sum({c}) AS {c}" for c in MEASURES), *(f"count(*) - count({c}) AS no_{c}" for c in MEASURES)]
        )
        con.execute(
            f"CREATE TABLE day AS SELECT billing_currency, {sums}, count(*) AS n FROM lines GROUP BY 1"
        )
        bill_sums_build._check(con, "day")
        con.execute("UPDATE day SET list_cost = list_cost + 0.000000000000000001")
        with pytest.raises(LakeError, match="differ from their lines"):
            bill_sums_build._check(con, "day")


def test_a_full_disk_is_said_and_leaves_nothing(bill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bill_sums_build, "_sync", full)
    with pytest.raises(LakeError, match="no room left"):
        spend_sums_make()
    assert folders(bill) == []
    assert list(lake().limits.spill.glob("sums-*")) == []  # type: ignore[union-attr]


def test_one_process_at_a_time(bill: Path) -> None:
    with bill_sums_build._alone(bill / FOLDER) as first:
        assert first
        assert spend_sums_make() == 0
    assert spend_sums_make() == 1


def test_keys_without_a_column_are_read_from_the_bill(bill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bill_sums_build, "MOST_KEYS", 0)
    spend_sums_make()
    [files] = by_partition(lake().files(BILL_LINES, current_snapshots()[BILL_LINES])).values()
    found = sums_of(bill, files)
    assert found is not None
    assert (found.tags, found.dropped_tags) == (frozenset(), {"team"})
    assert costs("tag:team") == {"web": Decimal("1.25"), "data": Decimal("2.5"), "": EXPECTED["T"]}
    window = question_of(start="2026-05-01", end="2026-06-01").window
    reports = spend_reading.report_ids(Organisation.default())
    assert spend_reading.stored_keys(window, current_snapshots(), reports) == (["team"], [])


def test_sums_of_lines_that_are_gone_are_forgotten_after_a_day(bill: Path) -> None:
    spend_sums_make()
    [kept] = folders(bill)
    gone = shutil.copytree(kept, kept.with_name("0" * 40))
    put_bill([{"billed_cost": "1", "service_name": "S"}], period=APRIL)
    assert spend_sums_make() == 1
    assert gone in folders(bill)
    day_ago = time.time() - bill_sums_build.STALE_SECONDS - 1
    for folder in folders(bill):
        os.utime(folder, (day_ago, day_ago))
    assert bill_sums_build.forget_sums(lake(), current_snapshots()[BILL_LINES]) == 1
    assert kept in folders(bill)
    assert (gone in folders(bill), len(folders(bill))) == (False, 2)


KILLED = """
import json, sys, time
from pathlib import Path
from finops.lake import Limits, bill_sums_build
from finops.lake.lake import Lake
warehouse, files = Path(sys.argv[1]), json.loads(sys.argv[2])
one = Lake(None, warehouse, Limits(spill=warehouse / ".spill"))
one.files = lambda *a, **k: files
bill_sums_build._sync = lambda path: (print("here", flush=True), time.sleep(60))
bill_sums_build.make_sums(one, 1)
"""


def test_a_process_killed_while_it_makes_them_leaves_nothing_behind(bill: Path) -> None:
    files = lake().files(BILL_LINES, current_snapshots()[BILL_LINES])
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(bill), json.dumps(files)], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"
    assert spend_sums_make() == 0, "the other process has the lock"
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert folders(bill) == []
    assert len(list((bill / ".spill").glob("sums-*"))) == 1
    assert costs() == EXPECTED
    assert spend_sums_make() == 1
    assert list((bill / ".spill").glob("sums-*")) == []
    assert costs() == EXPECTED


FORKED = """
import os, sys
from pathlib import Path
from finops.lake import Limits
from finops.lake.readers import reading
limits, path = Limits(spill=Path(sys.argv[1])), sys.argv[2]
sql = f"SELECT count(*) FROM read_parquet('{path}')"
def count():
    with reading(limits, [path]) as con:
        return con.execute(sql).fetchall()[0][0]
first = count()
pid = os.fork()
if pid == 0:
    sys.exit(0 if count() == first else 3)
_, status = os.waitpid(pid, 0)
print(first, os.waitstatus_to_exitcode(status), count())
"""


def test_a_forked_process_reads_by_a_connection_of_its_own(bill: Path) -> None:
    [path] = lake().files(BILL_LINES, current_snapshots()[BILL_LINES])
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(bill / ".spill"), path],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("3 0 3\n", "")


def test_a_connection_reads_its_files_only_and_few_stay_open(bill: Path) -> None:
    [path] = lake().files(BILL_LINES, current_snapshots()[BILL_LINES])
    other = bill / "other.parquet"
    shutil.copy(path, other)
    with (
        readers.reading(lake().limits, [path]) as con,
        pytest.raises(Exception, match="Permission"),
    ):
        con.execute(f"SELECT * FROM read_parquet('{other}')")
    for number in range(readers.MOST + 3):
        with readers.reading(lake().limits, [path, *[f"/none/{i}" for i in range(number)]]) as con:
            con.execute(f"SELECT count(*) FROM read_parquet('{path}')").fetchall()
    assert len(readers._open) == readers.MOST


def test_threads_ask_side_by_side(bill: Path) -> None:
    [path] = lake().files(BILL_LINES, current_snapshots()[BILL_LINES])
    found: list[int] = []

    def count() -> None:
        for _ in range(20):
            with readers.reading(lake().limits, [path]) as con:
                con.execute(f"CREATE TEMP TABLE g AS SELECT * FROM read_parquet('{path}')")
                found.append(con.execute("SELECT count(*) FROM g").fetchall()[0][0])

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3] * 80
