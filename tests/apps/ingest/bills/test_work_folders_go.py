"""The folder of an import goes with it; that of a killed process goes with the next import."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apps.ingest.bills.work import MOST_MEMORY, workplace
from finops.lake import Limits

KILLED = """
import os, signal, sys
from pathlib import Path
from apps.ingest.bills.work import workplace
from finops.lake import Limits
with workplace(Limits(spill=Path(sys.argv[1]))) as (folder, con):
    (folder / "unpacked.csv").write_text("a,b")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _bytes(text: str) -> tuple[float, str]:
    number, unit = text.split()
    return float(number), unit


def test_the_folder_is_gone_afterwards_whatever_happens(tmp_path: Path) -> None:
    with workplace(Limits(spill=tmp_path / "spill")) as (folder, con):
        (folder / "unpacked.csv").write_text("a,b")
        assert con.execute("SELECT current_setting('temp_directory')").fetchall() == [(str(folder),)]
        # Nothing is drawn on standard output, whatever process this is.
        assert con.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]
    with (
        pytest.raises(ValueError, match="x"),
        workplace(Limits(spill=tmp_path / "spill")) as (folder, _),
    ):
        raise ValueError("x")
    assert list((tmp_path / "spill").iterdir()) == []


def test_memory_is_held_to_what_an_import_needs_and_never_raised(tmp_path: Path) -> None:
    found = []
    for memory in ("1GB", "100MB"):
        with workplace(Limits(memory=memory, spill=tmp_path)) as (_, con):
            found.append(con.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])
    assert MOST_MEMORY == "750MB"
    assert [_bytes(text) for text in found] == [(715.2, "MiB"), (95.3, "MiB")]


def test_what_a_killed_import_left_goes_with_the_next_one(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    assert (left / "unpacked.csv").exists()
    with workplace(Limits(spill=tmp_path)) as (first, _), workplace(Limits(spill=tmp_path)) as (second, _):
        # The one that is at work is left alone.
        assert sorted(tmp_path.iterdir()) == sorted([first, second])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_lock_is_left_alone_while_it_is_young(tmp_path: Path) -> None:
    young, old = tmp_path / "bills-young", tmp_path / "bills-old"
    for folder in (young, old):
        folder.mkdir()
    os.utime(old, (0, 0))
    with workplace(Limits(spill=tmp_path)):
        pass
    assert list(tmp_path.iterdir()) == [young]
