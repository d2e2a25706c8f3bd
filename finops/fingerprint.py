"""What code this is: a kept answer counts only for the code that gave it, whatever the version says."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Answers and pages come out of these: code, its dated tables, templates and texts in other languages.
_PARTS = (
    ("finops", "*.py"),
    ("finops", "*.csv"),
    ("apps", "*.py"),
    ("templates", "*.html"),
    ("locale", "*.mo"),
)


def fingerprint_of(root: Path) -> str:
    """32 hex digits over names and contents of the deciding files below `root`."""
    digest = hashlib.sha256()
    for folder, pattern in _PARTS:
        for file in sorted((root / folder).rglob(pattern)):
            content = file.read_bytes()
            digest.update(f"{file.relative_to(root)}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()[:32]


@cache
def code_fingerprint() -> str:
    """That of the running code; read once a process (10 ms)."""
    return fingerprint_of(ROOT)
