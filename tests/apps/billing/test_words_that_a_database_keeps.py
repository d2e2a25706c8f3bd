"""A text of a table or form is refused with a reason where the database would fail on it."""

from __future__ import annotations

import pytest

from apps.billing.services.cells import word_cell


@pytest.mark.parametrize("text", ["a\x00b", "\x00", "half \ud83d of a character", "\udc00"])
def test_what_no_database_keeps_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be kept"):
        word_cell(text, most=300)


@pytest.mark.parametrize("text", ["数据平台", "\U0001f642 spend", "=1+1", "<b>", "a'b\"c"])
def test_every_other_text_is_kept_as_it_is(text: str) -> None:
    assert word_cell(f" {text}\n", most=300, needed=True) == text
