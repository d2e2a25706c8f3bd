"""A price is taken exactly or refused."""

from __future__ import annotations

import pytest

from finops.providers.spot_rows import Reject, parse_price


def test_digits_beyond_the_default_context_are_not_rounded_away() -> None:
    with pytest.raises(Reject, match="more than 10 decimals"):
        parse_price("1." + "0" * 36 + "1")
    assert parse_price("1." + "0" * 36) == 10_000_000_000
