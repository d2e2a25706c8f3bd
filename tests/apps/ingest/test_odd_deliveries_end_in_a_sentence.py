"""Deliveries that once ended as an error of ours: each is read, or refused with a reason."""

from __future__ import annotations

import io
import os
import resource
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from apps.ingest import selectors
from apps.ingest.models import IngestRun, RunState
from finops.providers.files import archives
from tests.apps.ingest.conftest import changes
from tests.support.spot import answer, row

Load = Callable[..., IngestRun]
AT = "2026-05-02T01:00:00Z"
HEAD = "Timestamp,AvailabilityZone,InstanceType,ProductDescription,SpotPrice"
GOOD = f"{HEAD}\n{AT},us-east-1a,m5.large,Linux/UNIX,0.05\n"


def test_a_row_without_a_zone_is_one_rejection_beside_good_rows(load: Load) -> None:
    run = load(GOOD + f"{AT},,m5.large,Linux/UNIX,0.06\n", "prices.csv")
    assert (run.state, run.rows_read, run.stored, run.rejected) == (RunState.FINISHED, 2, 1, 1)
    rejection = run.rejections.get()
    assert (rejection.row, rejection.reason) == (2, "missing zone")


def test_a_row_of_another_region_is_one_rejection_beside_good_rows(load: Load) -> None:
    run = load(
        answer(row("0.1", AT), row("0.2", AT, zone="eu-west-1a"), row("0.3", AT, kind="")), region="us-east-1"
    )
    assert (run.state, run.stored, run.rejected) == (RunState.FINISHED, 1, 2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [(GOOD.replace("\n", "\r"), "new-line character"), ("Timestamp" + "x" * (1 << 18), "field larger")],
)
def test_a_first_line_that_is_no_header_refuses_the_file(text: str, reason: str, load: Load) -> None:
    run = load(text, "prices.csv")
    assert run.state == RunState.REFUSED
    assert reason in run.rejections.get().reason


def test_names_that_are_no_text_are_recorded_with_a_mark(load: Load, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "good.csv").write_text(GOOD)
    Path(os.fsdecode(os.fsencode(folder) + b"/x\xff.csv")).write_text("junk\n")
    run = load(folder)
    assert (run.state, run.stored, run.rejected) == (RunState.FINISHED, 1, 1)
    assert run.rejections.get().file == "x?.csv"


def test_utf_32_is_not_an_error_of_ours(load: Load) -> None:
    """Its mark begins like that of UTF-16, and every column name then holds zero bytes."""
    run = load(GOOD.encode("utf-32"), "prices.csv")
    assert (run.state == RunState.FAILED, run.stored) == (False, 0)
    assert run.rejected >= 1


def test_a_tar_cut_in_a_header_says_so(load: Load) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("a.csv", "b.csv"):
            member = tarfile.TarInfo(name)
            member.size = len(GOOD)
            archive.addfile(member, io.BytesIO(GOOD.encode()))
    assert load(out.getvalue(), "whole.tar").rejected == 0
    run = load(out.getvalue()[: 1024 + 200], "cut.tar")
    assert (run.rejected, run.files_rejected) == (1, 1)
    assert "cut short after 1224 bytes" in run.rejections.get().reason


def test_a_link_that_is_named_is_followed(load: Load, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text(GOOD)
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    assert load(tmp_path / "link.csv").stored == 1
    assert len(changes()) == 1


def test_a_folder_that_cannot_be_listed_refuses_the_delivery(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good.csv").write_text(GOOD)

    def walk(folder: Path, onerror: Callable[[OSError], None]) -> list[object]:
        onerror(PermissionError(13, "Permission denied", str(folder)))
        return []

    monkeypatch.setattr(archives.os, "walk", walk)
    run = load(tmp_path)
    assert run.state == RunState.REFUSED
    assert "Permission denied" in run.error


def test_a_name_too_long_for_the_system_is_refused(load: Load, tmp_path: Path) -> None:
    run = load(tmp_path / ("x" * 300))
    assert (run.state, run.error) == (RunState.REFUSED, "cannot be read: File name too long")


@pytest.mark.parametrize("path", ["d/" * 600, "b\udcff.csv"])
def test_a_path_that_cannot_be_recorded_is_wrong_usage(path: str, db: None) -> None:
    with pytest.raises(CommandError, match="not a path that can be recorded") as caught:
        call_command("import_prices", path, "--json")
    assert caught.value.returncode == 2


def test_placeholder_times_do_not_stretch_the_known_range(load: Load) -> None:
    lines = "".join(
        f"{at},us-east-1a,m5.large,Linux/UNIX,0.06\n"
        for at in ("9999-12-31T00:00:00Z", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z")
    )
    run = load(GOOD + lines, "prices.csv")
    assert (run.rows_read, run.stored, run.rejected) == (4, 1, 3)
    assert run.known_from == run.known_to
    assert [(r.row, r.field) for r in run.rejections.order_by("row")] == [(n, "Timestamp") for n in (2, 3, 4)]


@pytest.mark.parametrize(
    ("prices", "state", "reason"),
    [
        (pa.array([None, 0.05], pa.float64()), RunState.FINISHED, "invalid price: empty"),
        (pa.array([{"a": 1}, {"a": 2}]), RunState.REFUSED, "a column that holds no plain values"),
    ],
)
def test_parquet_cells_that_hold_no_number(prices: pa.Array, state: str, reason: str, load: Load) -> None:
    labels = {
        "AvailabilityZone": "us-east-1a",
        "InstanceType": "m5.large",
        "ProductDescription": "Linux/UNIX",
    }
    out = io.BytesIO()
    columns = {name: [text] * 2 for name, text in labels.items()}
    pq.write_table(pa.table({**columns, "Timestamp": [AT, AT], "SpotPrice": prices}), out)
    run = load(out.getvalue(), "prices.parquet")
    assert (run.state, run.rejected) == (state, 1)
    assert run.rejections.get().reason.startswith(reason)


def test_a_full_disk_is_a_sentence_and_the_next_import_is_whole(
    load: Load, lake_folder: Path, tmp_path: Path
) -> None:
    first = load(answer(row("0.1", "2026-05-02T01:00:00Z"), row("0.2", "2026-05-02T02:00:00Z")))
    before = (changes(), selectors.current_snapshots(), sorted(lake_folder.rglob("*.parquet")))
    times = (f"2026-05-03T0{i // 3600}:{i // 60 % 60:02}:{i % 60:02}Z" for i in range(9000))
    path = tmp_path / "many.json"
    path.write_text(answer(*(row(f"0.{i:06}7", at) for i, at in enumerate(times))))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, hard))
    try:
        run = load(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (first.state, run.state, run.stored) == ("finished", "failed", 0)
    assert run.error == (
        f"there is no room left for the lake in {lake_folder}: nothing was stored; make room and try again"
    )
    assert (changes(), selectors.current_snapshots(), sorted(lake_folder.rglob("*.parquet"))) == before
    again = load(path)
    assert (again.state, again.rows_read, again.stored) == ("finished", 9000, 9000)
