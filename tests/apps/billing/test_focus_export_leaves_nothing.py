"""What a killed export leaves is taken away by the next one; what somebody still writes stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from apps.billing.services import focus_export as export
from apps.billing.services.focus_export import FORGOTTEN_AFTER, exported, focus_export, parts_remove
from finops.engine.spend import Window

WINDOW = Window(date(2026, 3, 1), date(2026, 4, 1))
HOLDER = """
import sys, time
from pathlib import Path
from apps.billing.services.focus_export import _claimed
_claimed(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _home(settings: Any, tmp_path: Path) -> None:
    settings.OFFPEAK_HOME = tmp_path / "home"
    (tmp_path / "home").mkdir()


def _parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".part"))


@pytest.mark.usefixtures("empty_lake")
def test_the_next_export_takes_away_what_a_killed_one_left(tmp_path: Path) -> None:
    for name in (".out.csv.abc.part", ".out.csv.def.part", ".other.csv.abc.part"):
        (tmp_path / name).write_text("half")
    focus_export(window=WINDOW, organisation=None, form="csv", output=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").exists()
    assert _parts(tmp_path) == [".other.csv.abc.part"]


def test_a_part_that_another_process_writes_stays_until_it_is_killed(tmp_path: Path) -> None:
    part = tmp_path / ".out.csv.abc.part"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "finops.settings.test"}
    code = "import django; django.setup()" + HOLDER
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(part)], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "held\n"
        assert parts_remove(tmp_path / "out.csv") == 0
        assert part.exists()
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    assert parts_remove(tmp_path / "out.csv") == 1
    assert not part.exists()


@pytest.mark.usefixtures("empty_lake")
def test_forgotten_downloads_go_and_those_of_today_stay(tmp_path: Path) -> None:
    folder = tmp_path / "home" / export.EXPORTS
    folder.mkdir()
    for name in ("old.csv", "new.csv", ".old.csv.abc.part"):
        (folder / name).write_text("x")
    before = time.time() - FORGOTTEN_AFTER - 60
    os.utime(folder / "old.csv", (before, before))
    with exported(window=WINDOW, organisation=None, form="csv") as made:
        assert made.output.exists()
    assert [path.name for path in folder.iterdir()] == ["new.csv"]


def test_names_with_signs_of_patterns_are_names(tmp_path: Path) -> None:
    (tmp_path / ".a[1].csv.x.part").write_text("half")
    (tmp_path / ".a1.csv.x.part").write_text("half")
    assert parts_remove(tmp_path / "a[1].csv") == 1
    assert _parts(tmp_path) == [".a1.csv.x.part"]
