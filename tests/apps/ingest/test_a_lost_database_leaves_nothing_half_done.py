"""PostgreSQL is killed in the middle of an import: a sentence, nothing half stored, the next one is whole.

A server of the test's own and imports in processes of their own; the import itself kills the server, so that
the moment is the same in every run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from finops.embedded.servers import Servers
from finops.lake import Lake
from tests.support.spot import answer, row

KILLED = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from django.core.management.base import CommandError
from apps.ingest.progress import Reporter
from apps.ingest.services import imports

def kill():
    os.kill(int(os.environ["POSTMASTER"]), signal.SIGKILL)

moment, path = sys.argv[1:]
entered, finished = Reporter.enter, imports._end_finished

def enter(self, phase):
    entered(self, phase)
    if phase == moment:
        kill()

def end_finished(*given):
    if moment == "committed":
        kill()
    finished(*given)

Reporter.enter, imports._end_finished = enter, end_finished
try:
    call_command("import_prices", path, "--json")
except CommandError as error:
    print(error, file=sys.stderr)
    sys.exit(error.returncode)
"""


class Own:
    """A home with servers that are started again after each kill."""

    def __init__(self, folder: Path) -> None:
        # What is killed here must keep what it committed, as a home does.
        self.servers = Servers.of(folder, durable=True)
        self.holder = self.servers.acquire()

    def again(self) -> None:
        self.servers.release(self.holder)
        self.holder = self.servers.acquire()

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        running = next(self.servers.home.path.rglob("postmaster.pid"), None)
        pid = running.read_text().split()[0] if running else ""
        environment = {
            **os.environ,
            **self.servers.environment(),
            "DJANGO_SETTINGS_MODULE": "finops.settings.check",
            "POSTMASTER": pid,
        }
        return subprocess.run(
            [sys.executable, *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def runs(self) -> list[tuple[str, int, int, dict[str, int]]]:
        """(state, rows read, stored, snapshots) of every run."""
        con = psycopg2.connect(self.servers.environment()["DATABASE_URL"])
        try:
            with con.cursor() as cursor:
                cursor.execute("SELECT state, rows_read, stored, snapshots FROM ingest_ingestrun ORDER BY id")
                return cursor.fetchall()
        finally:
            con.close()

    def lake(self) -> Lake:
        environment = self.servers.environment()
        return Lake.open(environment["DATABASE_URL"], environment["LAKE_WAREHOUSE"])


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    made = Own(tmp_path / "home")
    try:
        assert made.python("manage.py", "migrate", "--verbosity", "0").returncode == 0
        yield made
    finally:
        made.servers.release(made.holder)


def test_a_killed_database_and_one_that_is_not_there(own: Own, tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(answer(row("0.3", "2026-05-02T05:00:00Z"), row("0.4", "2026-05-03T07:00:00Z")))
    for number, moment in enumerate(("writing", "committed"), start=1):
        done = own.python("-c", KILLED, moment, str(path))
        assert done.returncode == 1
        said = json.loads(done.stdout)["error"]["message"]
        assert said.startswith(f"The database was lost during the import of {path} (")
        assert said.endswith("stored as a whole or not at all: start it again when the database is back.")
        assert done.stderr.strip().endswith(said)
        assert "Traceback" not in done.stderr
        own.again()
        # No run names anything; what was committed without a run row is undone by the next import.
        assert [run[1:] for run in own.runs()] == [(0, 0, {})] * number
        assert (own.lake().snapshot_ids() == {}) == (moment == "writing")
        assert (list((tmp_path / "home" / "lake").rglob("*.parquet")) == []) == (moment == "writing")
    own.servers.release(own.holder)  # stopped, not killed
    done = own.python("manage.py", "import_prices", str(path), "--json")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "connection" in json.loads(done.stdout)["error"]["message"]
    own.holder = own.servers.acquire()
    done = own.python("manage.py", "import_prices", str(path), "--json")
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["state"], run["rows_read"], run["stored"]) == ("finished", 2, 2)
    lake, snapshots = own.lake(), own.runs()[-1][3]
    assert lake.snapshot_ids() == snapshots
    with lake.connect(snapshots) as con:
        assert con.execute("SELECT count(*) FROM prices.spot_changes").fetchone() == (2,)
