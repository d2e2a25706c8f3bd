"""The fingerprint changes with whatever decides an answer, and with nothing else."""

from __future__ import annotations

from pathlib import Path

from finops.fingerprint import code_fingerprint, fingerprint_of


def test_it_changes_with_code_texts_and_names_only(tmp_path: Path) -> None:
    rule = tmp_path / "finops" / "engine" / "rule.py"
    rule.parent.mkdir(parents=True)
    rule.write_text("LIMIT = 1\n")
    first = fingerprint_of(tmp_path)
    (tmp_path / "finops" / "notes.txt").write_text("not code")
    assert fingerprint_of(tmp_path) == first
    rule.write_text("LIMIT = 2\n")
    second = fingerprint_of(tmp_path)
    assert second != first
    rule.rename(rule.with_name("other.py"))
    assert fingerprint_of(tmp_path) not in {first, second}


def test_the_running_code_has_one() -> None:
    assert len(code_fingerprint()) == 32
