"""Whether what a bill sums to is what its invoice says."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from finops.frames.money import EXACT


def reconcile(
    billed: Mapping[str, Decimal | None], expected: Mapping[str, Decimal] | None
) -> tuple[bool | None, dict[str, Decimal] | None]:
    """(whether cash equals what was expected, billed less expected by currency); None for no expectation.

    A total is compared to the places in which it is given: an invoice is written in cents. A currency that
    nobody expected is a difference as a whole.

    >>> reconcile({"USD": Decimal("1.004")}, {"USD": Decimal("1.00")})
    (True, {'USD': Decimal('0.00')})
    """
    if not expected:
        return None, None
    difference = {}
    for currency, wanted in expected.items():
        places = wanted if wanted.as_tuple().exponent else Decimal(1)
        found = billed.get(currency) or Decimal(0)
        difference[currency] = EXACT.subtract(found.quantize(places, context=EXACT), wanted)
    for currency in billed.keys() - expected.keys():
        difference[currency] = billed[currency] or Decimal(0)
    return not any(difference.values()), difference
