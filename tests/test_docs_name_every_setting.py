"""Every environment variable that the settings read, every error code and every scope is in the docs."""

from __future__ import annotations

import re
from pathlib import Path

from apps.accounts.roles import Role, Scope
from apps.api.errors import CODES

ROOT = Path(__file__).resolve().parent.parent
READ = re.compile(r"env\.\w+\(\s*\"([A-Z_]+)\"")


def test_settings_are_documented() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    read = {
        name
        for file in (ROOT / "finops" / "settings").glob("*.py")
        for name in READ.findall(file.read_text())
    }
    assert len(read) > 20
    assert sorted(name for name in read if f"`{name}`" not in text) == []


def test_error_codes_scopes_and_roles_are_documented() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    words = {*CODES.values(), "invalid", "internal", "too_large", "key_in_address", "csrf_failed", *Scope}
    assert sorted(word for word in words if f"`{word}`" not in text) == []
    assert [role for role in Role if f"| {role} |" not in text] == []
