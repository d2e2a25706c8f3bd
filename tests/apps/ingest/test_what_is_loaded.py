"""The roll-up of what is loaded says what the lake says, for the state that it names and no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.ingest import selectors, services
from apps.ingest.loaded import Choice, Loaded, read_loaded
from apps.ingest.models import IngestRun, LoadedRegion, LoadedState, RunState
from finops.lake import SPOT_CHANGES
from tests.support.spot import answer, row

Load = Callable[..., IngestRun]
FIRST = answer(
    row("0.1", "2026-05-02T01:00:00Z"),
    row("0.2", "2026-05-02T03:00:00Z"),
    row("0.2", "2026-05-02T03:00:00Z", zone="us-east-1b"),
    row("0.3", "2026-05-02T02:00:00Z", product="Windows"),
    row("0.3", "2026-05-02T03:00:00Z", kind="c5.large"),
)
LATER = answer(row("0.1", "2026-05-04T01:00:00Z"), row("0.2", "2026-05-04T02:00:00Z"))
WEST = answer(*(row("0.5", f"2026-05-03T0{h}:00:00Z", zone="us-west-2a") for h in (1, 2, 3)))


def at(day: int, hour: int) -> datetime:
    return datetime(2026, 5, day, hour, tzinfo=UTC)


def lake_says(snapshots: dict[str, int]) -> list[Loaded]:
    with selectors.lake().connect(snapshots) as con:
        return read_loaded(con)


@pytest.fixture
def no_lake(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Called, the lake cannot be read any more."""

    def shut() -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise AssertionError("the lake was read")

        monkeypatch.setattr("finops.lake.lake.Lake.connect", refuse)

    return shut


def test_an_import_leaves_what_is_loaded_beside_its_run(load: Load, no_lake: Callable[[], None]) -> None:
    load(FIRST)
    load(WEST, "west.json")
    load(LATER, "later.json")
    snapshots = selectors.current_snapshots()
    said = lake_says(snapshots)
    no_lake()
    found = selectors.loaded_regions(snapshots)
    assert found == said
    assert found == [
        Loaded(
            "aws",
            "us-east-1",
            2,
            1,
            1,
            at(2, 1),
            at(4, 2),
            (
                Choice("c5.large", "Linux/UNIX", 1, 1, False),
                Choice("m5.large", "Linux/UNIX", 5, 2, True),
                Choice("m5.large", "Windows", 1, 1, True),
            ),
        ),
        Loaded(
            "aws", "us-west-2", 1, 1, 0, at(3, 1), at(3, 3), (Choice("m5.large", "Linux/UNIX", 3, 1, True),)
        ),
    ]


def test_another_state_is_read_from_the_lake(load: Load) -> None:
    load(FIRST)
    before = selectors.current_snapshots()
    said = selectors.loaded_regions(before)
    load(WEST, "west.json")
    assert selectors.loaded_regions(before) == said
    assert [r.region for r in said] == ["us-east-1"]
    assert selectors.loaded_regions({}) == []


def test_nothing_is_loaded_where_nothing_was(lake_folder: Any) -> None:
    assert services.runs_reconcile(now=at(5, 0)) == 0
    assert (selectors.loaded_regions(selectors.current_snapshots()), LoadedState.objects.count()) == ([], 0)


def test_a_missing_roll_up_is_answered_from_the_lake_and_made_anew(
    load: Load, no_lake: Callable[[], None]
) -> None:
    load(FIRST)
    LoadedState.objects.all().delete()
    load(WEST, "west.json")
    # Half of it would be wrong: the import leaves it to the upkeep.
    assert LoadedRegion.objects.count() == 0
    snapshots = selectors.current_snapshots()
    said = selectors.loaded_regions(snapshots)
    assert [r.region for r in said] == ["us-east-1", "us-west-2"]
    services.runs_reconcile(now=at(5, 0))
    services.runs_reconcile(now=at(5, 0))
    no_lake()
    assert selectors.loaded_regions(snapshots) == said


def test_what_is_left_of_a_lake_that_is_gone_does_not_show(load: Load, no_lake: Callable[[], None]) -> None:
    state = LoadedState.objects.create(pk=1, snapshots={SPOT_CHANGES: 1})
    LoadedRegion.objects.create(
        state=state, provider="aws", region="eu-west-1", series=1, types=1, gaps=0, choices=[]
    )
    load(FIRST)
    no_lake()
    assert [r.region for r in selectors.loaded_regions(selectors.current_snapshots())] == ["us-east-1"]


def test_a_run_that_fails_at_the_end_leaves_the_roll_up(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    load(FIRST)
    snapshots, said = selectors.current_snapshots(), selectors.loaded_regions(selectors.current_snapshots())

    def fail(*_: Any) -> None:
        raise OSError("the database has no room")

    monkeypatch.setattr("apps.ingest.services.imports._rejections_store", fail)
    assert load(WEST, "west.json").state == RunState.FAILED
    assert LoadedState.objects.get().snapshots == selectors.current_snapshots() == snapshots
    assert selectors.loaded_regions(snapshots) == said


def test_an_import_of_nothing_new_leaves_it(load: Load, no_lake: Callable[[], None]) -> None:
    load(FIRST)
    said = selectors.loaded_regions(selectors.current_snapshots())
    load(FIRST, "again.json")
    no_lake()
    assert selectors.loaded_regions(selectors.current_snapshots()) == said


def test_joining_files_moves_it_along(
    load: Load, monkeypatch: pytest.MonkeyPatch, no_lake: Callable[[], None]
) -> None:
    monkeypatch.setattr("apps.ingest.services.upkeep.SMALL_FILES", 1)
    load(FIRST)
    load(LATER, "later.json")
    before = selectors.current_snapshots()
    said = selectors.loaded_regions(before)
    assert services.lake_compact() == 1
    after = selectors.current_snapshots()
    assert after != before
    no_lake()
    assert selectors.loaded_regions(after) == said


@pytest.mark.django_db(transaction=True)
def test_the_migration_goes_back_and_forth_with_data(load: Load) -> None:
    load(FIRST)
    said = selectors.loaded_regions(selectors.current_snapshots())
    try:
        MigrationExecutor(connection).migrate([("ingest", "0004_ingestrun_subject")])
        assert "ingest_loadedregion" not in connection.introspection.table_names()
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert IngestRun.objects.get().state == RunState.FINISHED
    assert selectors.loaded_regions(selectors.current_snapshots()) == said
    services.runs_reconcile(now=at(5, 0))
    assert LoadedRegion.objects.count() == 1
    assert selectors.loaded_regions(selectors.current_snapshots()) == said
