"""What of a run is billed: the increments in which a provider counts, and the least that a start costs.

Grain of the table: a provider and a kind of product; "*" is anything, "|" separates words, and the first row
that matches counts. Every instance that starts has its own minimum. A provider that is not in the table is
counted by the run's own length: nothing is guessed.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from finops.frames.products import product

_TABLE = Path(__file__).parent / "data" / "billing_increments.csv"
_ANY = "*"
_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Increment:
    """`seconds` that are counted at a time and `minimum` seconds of each start, both whole and above 0."""

    seconds: int
    minimum: int
    as_of: date
    source: str

    def document(self) -> dict[str, str | int]:
        """What an answer says of it."""
        return {
            "increment_seconds": self.seconds,
            "minimum_seconds": self.minimum,
            "as_of": self.as_of.isoformat(),
            "source": self.source,
        }

    def billed_us(self, length_us: int) -> int:
        """Microseconds that a run of `length_us` (above 0) is billed for: never fewer than it ran.

        >>> Increment(1, 60, date(2026, 12, 1), "").billed_us(30_500_000)
        60000000
        """
        step = self.seconds * _US
        return max(self.minimum * _US, -(-length_us // step) * step)


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


@cache
def increment_of(provider: str, text: str) -> Increment | None:
    """How runs of a product are counted; None for a product or a provider that the tables do not have."""
    meant = product(text, provider=provider)
    if meant is None:
        return None
    for row in _rows():
        named = _matches(row["operating_system"], meant.operating_system)
        if row["provider"] == provider and named and _matches(row["software"], meant.software):
            return Increment(
                seconds=int(row["increment_seconds"]),
                minimum=int(row["minimum_seconds"]),
                as_of=date.fromisoformat(row["as_of"]),
                source=row["source"],
            )
    return None


def _matches(words: str, word: str) -> bool:
    return words == _ANY or word in words.split("|")
