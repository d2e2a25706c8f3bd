"""One series with its exact decimal prices, for answers that are shown to the last digit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from apps.prices.selectors.books import read_book
from finops.engine.products import preferred
from finops.frames.products import texts_of_same_meaning


@dataclass(frozen=True)
class ExactSeries:
    """Change points in order, `known` ranges [from, to) in us. Empty when nothing is loaded."""

    times: tuple[int, ...] = ()
    prices: tuple[Decimal, ...] = ()
    known: tuple[tuple[int, int], ...] = ()
    currency: str | None = None

    def until(self, at_us: int) -> ExactSeries:
        """What was knowable at an instant."""
        rows = bisect_right(self.times, at_us)
        known = tuple((low, min(high, at_us)) for low, high in self.known if low <= at_us)
        return ExactSeries(self.times[:rows], self.prices[:rows], known, self.currency)

    def inside(self, start_us: int, end_us: int) -> list[tuple[int, Decimal]]:
        """Change points in [start, end)."""
        low, high = bisect_left(self.times, start_us), bisect_left(self.times, end_us)
        return list(zip(self.times[low:high], self.prices[low:high], strict=True))


def exact_series(
    *,
    provider: str,
    region: str,
    instance_type: str,
    zone_key: str,
    product: str,
    snapshots: Mapping[str, int],
    currency: str | None = None,
) -> ExactSeries:
    """The series of one zone and type; product texts of one meaning are one series, as in `loaded_book`.

    Raises ValueError when it has prices in several currencies and none was chosen.
    """
    texts = texts_of_same_meaning(product, provider=provider)
    raw: Any = read_book(
        snapshots, provider, [region], [instance_type], texts, zones=[zone_key], exact=True
    ).book
    book = preferred(raw, texts, product)
    chosen = [i for i, key in enumerate(book.keys) if currency in (None, key.currency)]
    if not chosen:
        return ExactSeries()
    if len(chosen) > 1:
        found = ", ".join(sorted(book.keys[i].currency for i in chosen))
        raise ValueError(f"prices in several currencies: {found}")
    i = chosen[0]
    rows = slice(book.offsets[i], book.offsets[i + 1])
    spans = slice(book.known_offsets[i], book.known_offsets[i + 1])
    return ExactSeries(
        tuple(np.asarray(book.times[rows]).tolist()),
        tuple(book.prices[rows].tolist()),
        tuple(zip(book.known_from[spans].tolist(), book.known_to[spans].tolist(), strict=True)),
        book.keys[i].currency,
    )
