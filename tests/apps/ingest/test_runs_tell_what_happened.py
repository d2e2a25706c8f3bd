"""Runs under faults: refused input, crashes, two at once, a full disk, and the command line's document."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from kombu.exceptions import OperationalError

from apps.ingest import locks, merge, selectors, services, tasks
from apps.ingest.models import IngestRun, RunKind, RunState
from apps.ingest.services import upkeep
from finops.lake import SPOT_CHANGES, LakeError
from finops.providers.base import SpotBatch, TransientError
from finops.providers.spot_rows import SpotContext, spot_batch
from tests.apps.ingest.conftest import changes, known
from tests.support.lake import fresh_lake
from tests.support.spot import answer, row

Load = Callable[..., IngestRun]
NOW = datetime(2026, 6, 1, tzinfo=UTC)
GOOD = answer(row("0.1", "2026-05-02T01:00:00Z"), row("0.2", "2026-05-02T03:00:00Z"))


def test_a_bad_file_beside_good_ones_is_one_rejection_and_one_row_read(load: Load, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.json").write_text(GOOD)
    (folder / "b.json").write_text(GOOD[:-40])
    (folder / "c.json").write_text('{"SpotPriceHistory": []}')
    run = load(folder)
    assert run.state == RunState.FINISHED
    assert (run.rows_read, run.stored, run.duplicates, run.rejected) == (3, 2, 0, 1)
    assert (run.files_done, run.files_rejected) == (3, 1)
    rejection = run.rejections.get()
    assert (rejection.file, rejection.row) == ("b.json", None)
    assert rejection.reason.startswith("JSON cut short: unexpected end of data: line")


def test_a_file_cut_late_leaves_nothing_of_its_first_rows(load: Load, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    text = "".join(
        f"SPOTINSTANCEPRICE\t0.{i + 1}\t2021-08-01T00:00:{i % 60:02d}Z\tm5.large\tSUSE Linux\teu-west-1b\n"
        for i in range(150_000)
    )
    (folder / "a").write_bytes(text.encode() + b"SPOTINSTANCEPRICE\t\xff\n")
    (folder / "b.json").write_text(GOOD)
    run = load(folder)
    assert (run.rows_read, run.stored, run.duplicates, run.rejected) == (3, 2, 0, 1)
    assert "not UTF-8: byte 0xff" in run.rejections.get().reason
    assert {kind for _, kind, *_ in changes()} == {"m5.large"}


def test_a_price_of_zero_never_enters(load: Load) -> None:
    """Case t2-06."""
    at = "2026-05-02T01:00:00Z"
    run = load(answer(row("0.000000", at), row("0.031", at, kind="r5.large")))
    assert (run.rows_read, run.stored, run.duplicates, run.rejected) == (2, 1, 0, 1)
    assert run.rejections.get().reason == "invalid price: 0.000000 is not above zero"
    assert [(kind, price) for _, kind, _, _, _, price in changes()] == [("r5.large", Decimal("0.031"))]


def test_input_that_is_no_price_data_is_refused_and_changes_nothing(load: Load) -> None:
    load(GOOD)
    before = (selectors.lake().snapshot_ids(), changes(), known())
    run = load("#!/bin/sh\n", "script.sh")
    assert (run.state, run.error, run.snapshots) == (RunState.REFUSED, "no file could be read", {})
    assert (run.rows_read, run.stored, run.duplicates, run.rejected) == (1, 0, 0, 1)
    assert (selectors.lake().snapshot_ids(), changes(), known()) == before


@pytest.mark.parametrize(
    ("zone", "region"),
    [("zz", "<script>alert(1)</script>"), ("zz", "../../up"), ("zz", "us-east-1\x1b"), ("<b>", "us-east-1")],
)
def test_what_is_no_name_of_a_place_never_becomes_one(zone: str, region: str, load: Load) -> None:
    """A region is a folder of the lake and a choice on every page."""
    run = load(answer(row("0.1", "2026-05-02T01:00:00Z", zone=zone)), region=region)
    assert (run.stored, run.rejected) == (0, 1)
    assert "not a name of a" in run.rejections.get().reason


def test_a_path_that_is_not_there_is_refused(load: Load, tmp_path: Path) -> None:
    run = load(tmp_path / "nowhere")
    assert (run.state, run.error) == (RunState.REFUSED, "no such file, folder or pattern")


def test_a_crash_between_the_commits_is_undone_and_the_next_import_neither_loses_nor_doubles(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(GOOD)
    more = answer(row("0.2", "2026-05-02T03:00:00Z"), row("0.3", "2026-05-02T05:00:00Z"))

    def crash(*_: Any) -> int:
        raise SystemExit("killed")

    with monkeypatch.context() as patch:
        patch.setattr(merge, "_write_known", crash)
        # the process is gone: nothing is tidied up after it
        patch.setattr("apps.ingest.services.imports.lake_reconcile", lambda: False)
        with pytest.raises(SystemExit):
            load(more, "more.json")
    dead = IngestRun.objects.get(state=RunState.RUNNING)
    assert selectors.lake().snapshot_ids()[SPOT_CHANGES] != selectors.current_snapshots()[SPOT_CHANGES]
    assert [price for *_, price in changes()] == [Decimal("0.1"), Decimal("0.2")]

    again = load(more, "more.json")
    assert (again.stored, again.duplicates) == (1, 1)
    assert [price for *_, price in changes()] == [Decimal("0.1"), Decimal("0.2"), Decimal("0.3")]
    assert services.runs_reconcile(now=dead.heartbeat_at + timedelta(minutes=1)) == 1
    dead.refresh_from_db()
    assert dead.state == RunState.FAILED
    assert len(changes()) == 3


def test_a_run_that_is_alive_is_left_alone_by_the_reconciler(load: Load) -> None:
    run = IngestRun.objects.create(
        kind=RunKind.FILES,
        source="x",
        provider="aws",
        state=RunState.RUNNING,
        heartbeat_at=NOW,
        started_at=NOW,
    )
    load(GOOD)
    assert services.runs_reconcile(now=NOW + timedelta(seconds=29)) == 0
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_trouble_with_the_lake_fails_the_run_with_a_sentence_and_stores_nothing(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(GOOD)
    before = (changes(), known())

    def full(*_: Any, **__: Any) -> list[str]:
        raise LakeError("the lake could not be written: No space left on device")

    monkeypatch.setattr("finops.lake.lake.Lake.write_batches", full)
    run = load(answer(row("0.9", "2026-05-02T09:00:00Z")), "more.json")
    assert (run.state, run.error) == (
        RunState.FAILED,
        "the lake could not be written: No space left on device",
    )
    assert (changes(), known()) == before


def test_a_run_is_executed_once_however_often_it_is_handed_out(lake_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(GOOD)
    run = services.ingest_run_create(source=str(path))
    tasks.ingest_run_execute(run.pk)
    tasks.ingest_run_execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.stored, IngestRun.objects.count()) == (RunState.FINISHED, 2, 1)


def test_an_upload_is_removed_after_its_run(lake_folder: Path, settings: Any, tmp_path: Path) -> None:
    settings.OFFPEAK_HOME = tmp_path / "home"
    shown, path = services.upload_store(name="../../evil name.json", chunks=[GOOD.encode()])
    assert (shown, Path(path).parent.parent) == ("evil_name.json", tmp_path / "home" / "uploads")
    run = services.ingest_run_create(source=shown, location=path, kind=RunKind.UPLOAD)
    assert services.ingest_run_execute(run_id=run.pk).stored == 2
    assert list((tmp_path / "home" / "uploads").iterdir()) == []


def test_a_run_that_the_broker_never_got_is_handed_out_later(
    lake_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.json"
    path.write_text(GOOD)
    run = services.ingest_run_create(source=str(path))

    def unreachable(_: int) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.ingest_run_execute, "delay", unreachable)
    tasks.ingest_run_hand_out(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    handed: list[int] = []
    monkeypatch.setattr(tasks.ingest_run_execute, "delay", handed.append)
    tasks.ingest_runs_reconcile()
    assert handed == []
    IngestRun.objects.filter(pk=run.pk).update(queued_at=run.queued_at - timedelta(minutes=4))
    tasks.ingest_runs_reconcile()
    assert handed == [run.pk]


def test_a_second_hand_out_leaves_the_upload_to_the_first(
    lake_folder: Path, settings: Any, tmp_path: Path
) -> None:
    settings.OFFPEAK_HOME = tmp_path
    name, location = services.upload_store(name="p.json", chunks=[GOOD.encode()])
    run = services.ingest_run_create(source=name, location=location, kind=RunKind.UPLOAD)
    IngestRun.objects.filter(pk=run.pk).update(state=RunState.RUNNING, started_at=NOW, heartbeat_at=NOW)
    services.ingest_run_execute(run_id=run.pk)
    assert Path(location).exists()
    assert services.runs_reconcile(now=NOW + timedelta(minutes=1)) == 1
    assert not Path(location).exists()


def test_an_upload_that_is_too_large_leaves_nothing(settings: Any, tmp_path: Path) -> None:
    settings.OFFPEAK_HOME, settings.UPLOAD_MAX_BYTES = tmp_path, 10
    with pytest.raises(services.PathRefusedError):
        services.upload_store(name="a", chunks=[b"12345", b"678901"])
    assert list((tmp_path / "uploads").iterdir()) == []


def test_a_path_is_taken_only_below_the_open_folders(settings: Any, tmp_path: Path) -> None:
    root = tmp_path / "open"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "a.json").write_text(GOOD)
    (tmp_path / "secret.json").write_text(GOOD)
    (root / "link.json").symlink_to(tmp_path / "secret.json")
    settings.IMPORT_ROOTS = []
    with pytest.raises(services.PathRefusedError):
        services.import_path_resolve(str(root))
    settings.IMPORT_ROOTS = [str(root)]
    assert services.import_path_resolve(str(root / "deep" / "a.json")) == str(root / "deep" / "a.json")
    assert services.import_path_resolve(str(root / "deep" / "*.json")) == str(root / "deep" / "*.json")
    (root / "loop").symlink_to(root / "loop")
    bad = ("deep/a.json", f"{root}/../secret.json", str(root / "link.json"), f"{root}/l*.json", "/")
    for outside in (*bad, str(root / "loop"), f"{root}/loop/*", f"/{'a' * 900}"):
        with pytest.raises(services.PathRefusedError):
            services.import_path_resolve(outside)


def live(*prices: str) -> Iterator[SpotBatch]:
    """Two pages of a feed."""
    context = SpotContext("aws", zone_ids={"us-east-1a": "use1-az6"})
    for page, price in enumerate(prices, start=1):
        columns = {
            "at": pa.array([datetime(2026, 5, 2, page, tzinfo=UTC)], pa.timestamp("us", tz="UTC")),
            "price": pa.array([price]),
            "zone": pa.array(["us-east-1a"]),
            "instance_type": pa.array(["m5.large"]),
            "product": pa.array(["Linux/UNIX"]),
        }
        yield spot_batch(context, f"us-east-1 page {page}", columns, np.array([1]))


def test_a_live_feed_takes_the_same_way(lake_folder: Path) -> None:
    run = services.ingest_run_create(source="feed", kind=RunKind.LIVE)
    asked = {"us-east-1": (datetime(2026, 5, 2, tzinfo=UTC), datetime(2026, 5, 2, 12, tzinfo=UTC))}
    run = services.prices_store(run=run, batches=live("0.1", "0", "0.3"), request_ranges=asked)
    assert (run.rows_read, run.stored, run.duplicates, run.rejected) == (3, 2, 0, 1)
    assert known() == [("use1-az6", "m5.large", "Linux/UNIX", "2026-05-02T01:00:00Z", "2026-05-02T12:00:00Z")]


def test_a_live_feed_that_breaks_off_stores_nothing_and_raises(lake_folder: Path) -> None:
    def broken() -> Iterator[SpotBatch]:
        yield from live("0.1")
        raise TransientError("AWS is throttling")

    run = services.ingest_run_create(source="feed", kind=RunKind.LIVE)
    with pytest.raises(TransientError):
        services.prices_store(run=run, batches=broken())
    run.refresh_from_db()
    assert (run.state, run.error) == (RunState.FAILED, "AWS is throttling")
    assert selectors.lake().snapshot_ids() == {}


def test_the_demo_data_are_real_and_load_once(lake_folder: Path) -> None:
    first, second = services.demo_load(), services.demo_load()
    assert (first.kind, first.rows_read, first.stored, first.rejected) == (RunKind.DEMO, 9591, 9591, 0)
    assert (first.series, list(first.known)) == (47, ["us-east-1", "us-west-2"])
    assert (second.stored, second.duplicates) == (0, 9591)


def test_small_files_are_joined_and_old_snapshots_stay_until_they_expire(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    for hour in range(22):
        load(answer(row(f"0.{hour + 1}", f"2026-05-02T{hour:02d}:00:00Z")), f"{hour}.json")
    before, rows = selectors.current_snapshots(), changes()
    assert services.lake_compact() == 1
    after = selectors.current_snapshots()
    assert after[SPOT_CHANGES] != before[SPOT_CHANGES]
    assert (changes(), len(selectors.lake().files(SPOT_CHANGES, after[SPOT_CHANGES]))) == (rows, 1)
    with selectors.lake().connect(before) as con:
        assert con.execute("SELECT count(*) FROM prices.spot_changes").fetchone() == (22,)
    assert services.lake_compact() == 0
    later = datetime.now(UTC) + timedelta(days=31)
    monkeypatch.setattr(upkeep, "cited_snapshots", [])
    assert services.lake_expire(now=later) == 0  # nobody has said what is cited
    cited = {before[SPOT_CHANGES]}
    monkeypatch.setattr(upkeep, "cited_snapshots", [lambda: cited])
    assert services.lake_expire(now=datetime.now(UTC)) == 0
    assert services.lake_expire(now=later) > 20
    assert changes() == rows
    with selectors.lake().connect({SPOT_CHANGES: before[SPOT_CHANGES]}) as con:
        assert con.execute("SELECT count(*) FROM prices.spot_changes").fetchone() == (22,)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [
        {"rows_read": 1},
        {"state": "finished"},
        {"state": "queued", "finished_at": NOW},
        {"state": "failed", "finished_at": NOW, "rows_read": 1, "stored": 1},
        {"kind": "other"},
        {"duplicates": -1, "stored": 1},
    ],
)
def test_the_database_holds_the_counts(wrong: dict[str, Any]) -> None:
    values: dict[str, Any] = {"kind": "files", "source": "x", "provider": "aws"}
    with pytest.raises(IntegrityError), transaction.atomic():
        IngestRun.objects.create(**{**values, **wrong})


def command(*args: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, document and messages of import_prices."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("import_prices", *args, "--json", stdout=out, stderr=err)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, json.loads(out.getvalue()), err.getvalue()


def test_the_command_prints_one_document(lake_folder: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.txt"
    good.write_text(answer(row("0.1", "2026-05-02T01:00:00Z"), row("0", "2026-05-02T02:00:00Z")))
    bad.write_text("nothing of use\n")
    code, document, messages = command(str(good), str(bad))
    assert code == 0
    first, second = document["runs"]
    assert {
        key: first[key] for key in ("source", "rows_read", "stored", "duplicates", "rejected", "series")
    } == {
        "source": str(good),
        "rows_read": 2,
        "stored": 1,
        "duplicates": 0,
        "rejected": 1,
        "series": 1,
    }
    assert first["rejections"] == [
        {"file": "good.json", "row": 2, "field": "SpotPrice", "reason": "invalid price: 0 is not above zero"}
    ]
    assert (first["known_from"], first["known_to"]) == ("2026-05-02T01:00:00Z", "2026-05-02T01:00:00Z")
    assert (second["rows_read"], second["rejected"], second["rejections"][0]["row"]) == (1, 1, None)
    assert document["evidence"]["snapshots"] == {k: str(v) for k, v in selectors.current_snapshots().items()}
    assert "no file could be read" in messages
    assert command(str(bad))[0] == 3


def test_the_command_prints_100_rejections_and_all_are_stored(lake_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(answer(*[row("0", "2026-05-02T01:00:00Z")] * 130))
    code, document, _ = command(str(path))
    assert (code, document["runs"][0]["rejected"], len(document["runs"][0]["rejections"])) == (0, 130, 100)
    assert IngestRun.objects.get().rejections.count() == 130


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", [["--request-start", "2026-05-02"], ["--timezone", "Mars/Base"]])
def test_wrong_usage_of_the_command_is_told_apart(wrong: list[str]) -> None:
    with pytest.raises(CommandError) as raised:
        call_command("import_prices", "x", *wrong)
    assert raised.value.returncode == 2


@pytest.mark.django_db(transaction=True)
def test_two_imports_at_once_store_each_row_once(settings: Any, tmp_path: Path) -> None:
    with fresh_lake(settings, tmp_path / "lake"):
        path = tmp_path / "p.json"
        path.write_text(GOOD)
        selectors.lake()
        barrier, done = threading.Barrier(3), []

        def work() -> None:
            barrier.wait()
            done.append(services.prices_import(source=str(path)))
            connection.close()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted((run.stored, run.duplicates) for run in done) == [(0, 2), (0, 2), (2, 0)]
        assert len(changes()) == 2


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_still_holds_its_run_is_not_taken_for_dead(settings: Any, tmp_path: Path) -> None:
    with fresh_lake(settings, tmp_path / "lake"):
        run = IngestRun.objects.create(
            kind=RunKind.FILES,
            source="x",
            provider="aws",
            state=RunState.RUNNING,
            heartbeat_at=NOW,
            started_at=NOW,
        )
        holding, let_go = threading.Event(), threading.Event()

        def worker() -> None:
            with locks.run_lock(run.pk):
                holding.set()
                let_go.wait(10)
            connection.close()

        thread = threading.Thread(target=worker)
        thread.start()
        holding.wait(10)
        assert services.runs_reconcile(now=NOW + timedelta(hours=1)) == 0
        let_go.set()
        thread.join()
        assert services.runs_reconcile(now=NOW + timedelta(hours=1)) == 1


def test_the_command_ends_runs_of_killed_imports_first(lake_folder: Path, tmp_path: Path) -> None:
    killed = services.ingest_run_create(source="killed.json")
    IngestRun.objects.filter(pk=killed.pk).update(
        state=RunState.RUNNING, started_at=NOW, heartbeat_at=NOW - timedelta(days=1)
    )
    file = tmp_path / "good.json"
    file.write_text(answer(row("0.1", "2026-05-02T01:00:00Z")))
    out = io.StringIO()
    call_command("import_prices", str(file), "--json", stdout=out, stderr=io.StringIO())
    killed.refresh_from_db()
    assert (killed.state, killed.stored) == (RunState.FAILED, 0)
    assert "ended before it was done" in killed.error
    assert json.loads(out.getvalue())["runs"][0]["stored"] == 1
