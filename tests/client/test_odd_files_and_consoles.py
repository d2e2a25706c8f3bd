"""The client offline, as a program: odd side files are wrong settings, a poor console changes no code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.plans import change, plan

CLIENT = Path(__file__).parents[2] / "client"
PRICES = {
    "offpeak_price_file": 1, "at": "2026-11-30T12:00:00Z", "engine": "0.1.0", "team": None, "policies": [],
    "machines": [], "spot": [], "sizes": {},
}  # fmt: skip


def offpeak(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    fell = change("aws_ebs_volume.a", {"type": "gp3", "size": 500}, {"type": "gp3", "size": 1000})
    (folder / "plan.json").write_bytes(plan(fell))
    (folder / "prices.json").write_text(json.dumps(PRICES))
    return subprocess.run(
        [sys.executable, "-m", "offpeak.cli", "check", "plan.json", "--offline", "prices.json", *words],
        env={**os.environ, "PYTHONPATH": str(CLIENT), **env}, cwd=folder, text=True, capture_output=True,
        timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_console_that_lacks_characters_changes_no_exit_code(form: str, tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text('{"max_decrease": "1"}')
    done = offpeak(tmp_path, "--policy", "policy.json", "--format", form, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (20, "")
    assert "Deny: \\u221240.00 USD a month." in done.stdout


@pytest.mark.parametrize("text", ["[]", "[" * 100_000, '{"policies": {}}', '"x"', '{"max_total": NaN}'])
def test_a_policy_file_that_is_none_is_a_wrong_setting(text: str, tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(text)
    done = offpeak(tmp_path, "--policy", "policy.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("offpeak: policy.json")


def test_a_secret_in_a_value_of_the_plan_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_bytes(
        plan(change("aws_ebs_volume.a", {"type": "https://x.test/?key=SECRET4&page=2", "size": 1}))
    )
    for form in ("text", "json", "markdown", "junit", "sarif"):
        done = subprocess.run(
            [sys.executable, "-m", "offpeak.cli", "check", "odd.json", "--offline", "prices.json", "--format",
             form],
            env={**os.environ, "PYTHONPATH": str(CLIENT)}, cwd=_with_prices(tmp_path), text=True,
            capture_output=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0
        assert "SECRET4" not in done.stdout
        assert "page=2" in done.stdout


def _with_prices(folder: Path) -> Path:
    (folder / "prices.json").write_text(json.dumps(PRICES))
    return folder
