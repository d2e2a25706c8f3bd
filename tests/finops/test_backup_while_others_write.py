"""A backup taken while others write is of one moment: lake and database agree after a restore."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation
from apps.accounts.services import audit_record
from apps.ingest import selectors, services
from apps.ingest.locks import import_lock
from apps.ingest.models import IngestRun
from finops import backup
from finops.backup import backup_restore, backup_write
from finops.lake import Lake
from finops.lake.tables import SPOT_CHANGES
from tests.support import spot
from tests.support.lake import fresh_lake

NOW = datetime(2026, 11, 30, tzinfo=UTC)
COPY = "restored_while_others_write"


def _import(folder: Path, number: int) -> None:
    """One more delivery: as many rows as its number, in a zone of its own."""
    rows = [spot.row(f"0.0{number}{i}", f"2026-01-{i + 1:02d}T00:00:00Z", f"us-east-1{'abcdef'[number % 6]}",
                     f"m5.{number}xlarge") for i in range(number)]  # fmt: skip
    path = folder / f"spot-{number}.json"
    path.write_text(spot.answer(*rows))
    run = services.prices_import(source=str(path), provider="aws", options=services.ImportOptions())
    assert run.state == "finished", run.error


@contextmanager
def _empty_database(name: str) -> Iterator[str]:
    url = make_url(selectors.database_url()).set(drivername="postgresql+psycopg2")
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as server:
        server.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        server.execute(text(f"CREATE DATABASE {name}"))
        try:
            yield make_url(selectors.database_url()).set(database=name).render_as_string(hide_password=False)
        finally:
            server.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))


class Writers:
    """Threads that import, audit and stage until they are stopped; what failed in them is kept."""

    def __init__(self, folder: Path, lake: Path) -> None:
        self.folder, self.lake = folder, lake
        self.stop = threading.Event()
        self.imported = threading.Event()
        self.failed: list[BaseException] = []
        self.threads = [threading.Thread(target=self._run, args=(work,)) for work in
                        (self._imports, self._audits, self._stages)]  # fmt: skip

    def _run(self, work: Any) -> None:
        try:
            work()
        except BaseException as error:
            self.failed.append(error)
        finally:
            connections.close_all()

    def _imports(self) -> None:
        for number in range(2, 10):
            if self.stop.is_set():
                return
            _import(self.folder, number)
            self.imported.set()

    def _audits(self) -> None:
        organisation = Organisation.default()
        while not self.stop.wait(0.005):
            audit_record(organisation=organisation, actor=Actor.system("test"), action="test.written",
                         target=organisation, after={})  # fmt: skip

    def _stages(self) -> None:
        """What an import that is refused does: files come and go beside the tables."""
        while not self.stop.wait(0.001):
            staged = self.lake / "staged"
            staged.mkdir(exist_ok=True)
            (staged / "part.parquet").write_bytes(b"x" * 4096)
            shutil.rmtree(staged)


def _state(database_url: str, lake: Path) -> tuple[int, int, int]:
    """(price rows that readers see, rows that finished runs say they stored, entries of the audit trail)."""
    engine = create_engine(make_url(database_url).set(drivername="postgresql+psycopg2"), poolclass=NullPool)
    runs, audit = IngestRun._meta.db_table, AuditEntry._meta.db_table
    with engine.connect() as server:
        finished = server.execute(
            text(f"SELECT stored, snapshots FROM {runs} WHERE state = 'finished' ORDER BY finished_at")
        ).all()
        audited = server.execute(text(f"SELECT count(*) FROM {audit}")).scalar_one()
    opened = Lake.open(database_url, lake)
    try:
        with opened.connect(finished[-1].snapshots) as con:
            rows = con.execute(f"SELECT count(*) FROM {SPOT_CHANGES}").fetchall()[0][0]
    finally:
        opened.close()
    return rows, sum(run.stored for run in finished), audited


@pytest.mark.django_db(transaction=True)
def test_the_copy_is_of_one_moment(settings: Any, tmp_path: Path) -> None:
    with fresh_lake(settings, tmp_path / "lake") as lake, _empty_database(COPY) as url:
        _import(tmp_path, 1)
        writers = Writers(tmp_path, lake)
        for thread in writers.threads:
            thread.start()
        try:
            assert writers.imported.wait(60)
            with import_lock():
                backup_write(folder=tmp_path / "out", database=connection.settings_dict, lake=lake,
                             version="1.0", now=NOW)  # fmt: skip
        finally:
            writers.stop.set()
            for thread in writers.threads:
                thread.join(60)
        assert writers.failed == []
        backup_restore(
            folder=tmp_path / "out", database={**connection.settings_dict, "NAME": COPY}, database_url=url,
            lake=tmp_path / "restored", empty=True, version="1.0",
        )  # fmt: skip
        lake.rename(tmp_path / "gone")  # nothing of the old place can be read by mistake
        rows, stored, audited = _state(url, tmp_path / "restored")
        assert rows == stored
        assert rows >= 3  # of the first two imports
        assert audited > 0
        (tmp_path / "gone").rename(lake)
        now = _state(selectors.database_url(), lake)
        assert now[0] == now[1] >= rows
        assert now[2] >= audited


def test_a_staged_file_that_goes_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    (lake / "staged").mkdir(parents=True)
    for name in ("a.parquet", "staged/b.parquet"):
        (lake / name).write_text("x")
    copied = shutil.copyfile

    def gone_by_then(source: Path, target: Path, **options: Any) -> Any:
        shutil.rmtree(lake / "staged", ignore_errors=True)
        return copied(source, target, **options)

    monkeypatch.setattr(backup, "_run", lambda *_words: None)
    monkeypatch.setattr(backup.shutil, "copyfile", gone_by_then)
    facts = backup_write(folder=tmp_path / "out", database={}, lake=lake, version="1", now=NOW)
    assert facts["bytes"] == 1
    assert (tmp_path / "out/lake/a.parquet").read_text() == "x"
