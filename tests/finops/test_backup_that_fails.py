"""A backup that cannot be written says why and leaves its folder empty, so that it may be tried again."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from finops import backup
from finops.backup import BackupRefusedError, backup_write

DATABASE: dict[str, Any] = {
    "NAME": "x", "USER": "u", "PASSWORD": "p", "HOST": "h", "PORT": "", "OPTIONS": {},
}  # fmt: skip
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def program_says(monkeypatch: pytest.MonkeyPatch, code: int, words: str) -> None:
    def run(command: list[str], **_options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, code, "", words)

    monkeypatch.setattr(backup.subprocess, "run", run)
    monkeypatch.setattr(backup, "_program", lambda name: name)


def write(folder: Path, lake: Path) -> dict[str, Any]:
    return backup_write(folder=folder, database=DATABASE, lake=lake, version="1", now=NOW)


def test_an_old_client_program_is_a_refusal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program_says(monkeypatch, 1, "pg_dump: error: aborting because of server version mismatch")
    with pytest.raises(BackupRefusedError, match="pg_dump is older than the server"):
        write(tmp_path / "out", tmp_path / "lake")
    assert list((tmp_path / "out").iterdir()) == []


def test_another_failure_is_told_and_the_folder_may_be_named_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "a.parquet").write_text("x")
    program_says(monkeypatch, 1, "connection refused")
    with pytest.raises(RuntimeError, match="connection refused"):
        write(tmp_path / "out", lake)
    program_says(monkeypatch, 0, "")
    assert write(tmp_path / "out", lake)["lake"] == str(lake)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["backup.json", "lake"]
