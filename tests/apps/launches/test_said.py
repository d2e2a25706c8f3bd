"""What outsiders say of a launch, a turn or a tried call is kept in one way."""

from __future__ import annotations

from apps.launches.services.said import said
from finops.providers.base import PermanentError


def test_secrets_stay_out_and_the_rest_is_there() -> None:
    kept = said(PermanentError("exit 137 password=hunter2 at us-east-1"))
    assert "hunter2" not in kept
    assert kept.startswith("exit 137 ")


def test_a_long_text_is_cut_after_its_secrets_are_gone() -> None:
    kept = said("x" * 990 + " password=hunter2")
    assert len(kept) <= 1000
    assert "hunter2" not in kept
