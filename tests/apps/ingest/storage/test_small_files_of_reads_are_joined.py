"""Logs that come a few at a time leave many small files; upkeep joins them and the reads stay the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from apps.ingest import selectors, services
from apps.ingest.models import IngestRun
from apps.storage.selectors import reads_of
from finops.lake import STORAGE_READS
from tests.support.storage_files import log_line

Load = Callable[..., IngestRun]


def test_small_files_become_one_and_no_read_is_lost(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.ingest.services.upkeep.SMALL_FILES", 1)
    for day in ("10", "11"):
        path = tmp_path / day
        path.write_text(log_line("a", f"{day}/Nov/2026"))
        load(path)
    before = reads_of("data")
    snapshots = selectors.current_snapshots()
    assert len(selectors.lake().files(STORAGE_READS, snapshots[STORAGE_READS])) == 2
    assert services.lake_compact() == 1
    after = selectors.current_snapshots()
    assert len(selectors.lake().files(STORAGE_READS, after[STORAGE_READS])) == 1
    path = tmp_path / "12"
    path.write_text(log_line("a", "12/Nov/2026"))
    load(path)
    found = reads_of("data")
    assert before is not None
    assert found is not None
    assert sum(c.reads for c in found.cells) == sum(c.reads for c in before.cells) + 1 == 3
