"""Backup and restore of a whole installation, through the verbs."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
QUESTION = (
    *("prices", "--provider", "aws", "--region", "us-east-1", "--type", "p3.2xlarge", "--zone", "us-east-1b"),
    *("--product", "Linux/UNIX", "--from", "2020-01-01T00:00:00Z", "--to", "2020-02-01T00:00:00Z", "--json"),
)


def manage(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith("_URL")
        and name not in ("SECRET_KEY", "LAKE_WAREHOUSE", "DJANGO_SETTINGS_MODULE")
    }
    command = [sys.executable, str(CHECKOUT / "manage.py"), *words]
    env = {**kept, "OFFPEAK_HOME": str(home)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def prices(home: Path) -> dict[str, Any]:
    done = manage(home, *QUESTION)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    answer["evidence"].pop("at")
    return answer


def test_a_backup_restores_to_the_same_place_and_nowhere_else(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "backup"
    assert manage(home, "demo").returncode == 0
    before = prices(home)
    assert before["opening_price"]

    written = manage(home, "backup", str(folder), "--json")
    assert written.returncode == 0, written.stderr
    assert json.loads(written.stdout)["lake"] == str(home / "lake")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["backup.json", "database.dump", "lake"]

    again = manage(home, "backup", str(folder))
    assert again.returncode == 3
    assert "is not an empty folder" in again.stderr
    over = manage(home, "restore", str(folder))
    assert over.returncode == 3
    assert "already holds data" in over.stderr
    elsewhere = manage(tmp_path / "other", "restore", str(folder))
    assert elsewhere.returncode == 3
    assert f"names its files below {home / 'lake'}" in elsewhere.stderr
    assert list((tmp_path / "other" / "lake").iterdir()) == []

    home.rename(tmp_path / "lost")
    restored = manage(home, "restore", str(folder), "--json")
    assert restored.returncode == 0, restored.stderr
    assert prices(home) == before
