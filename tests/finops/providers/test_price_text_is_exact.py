"""A price is taken exactly to its tenth decimal, rounded half to even beyond it, or refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finops.providers.aws.offers import decimal_price
from finops.providers.spot_rows import Reject, parse_price


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("0.0023959999999999997", 23_960_000),
        ("0.018000000000000002", 180_000_000),
        ("11.600999999999999", 116_010_000_000),
        ("0.12345678901", 1_234_567_890),
        ("0.00000000005", None),
        ("0.00000000015", 2),
        ("0.00000000025", 2),
        ("0.000000000250000000000000000000000000000001", 3),
        ("1." + "0" * 36, 10_000_000_000),
        ("1." + "0" * 36 + "1", 10_000_000_000),
        ("1e-11", None),
        ("99999999.99999999999", None),
    ],
)
def test_the_tenth_decimal_is_the_last(text: str, kept: int | None) -> None:
    if kept is not None:
        assert parse_price(text) == kept
        assert decimal_price(text) == Decimal(kept).scaleb(-10)
    else:
        with pytest.raises(Reject, match=r"more than 10 decimals|too large"):
            parse_price(text)
        assert isinstance(decimal_price(text), str)
