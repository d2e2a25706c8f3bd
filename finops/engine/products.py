"""One series for a question that several product texts answer.

Old accounts see "Linux/UNIX" and "Linux/UNIX (Amazon VPC)" with prices of their own. A launch goes into a
VPC, so the first text counts wherever it is known and the next one only where it is not. Their prices are
never mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from finops.engine.series import Floats, Ints, PriceBook, SeriesKey

Span = tuple[int, int]


def preferred(book: PriceBook, texts: Sequence[str], label: str) -> PriceBook:
    """The book with one series per (provider, region, zone, type, currency), named `label`.

    `texts`: product texts in order of preference; series of other products are left out.
    """
    rank = {text: i for i, text in enumerate(texts)}
    groups: dict[SeriesKey, list[int]] = {}
    for i, key in enumerate(book.keys):
        if key.product in rank:
            groups.setdefault(replace(key, product=label), []).append(i)
    if all(len(series) == 1 for series in groups.values()):
        chosen = book.select([series[0] for series in groups.values()])
        return replace(chosen, keys=tuple(groups))
    merged = [
        _merge([_columns(book, i) for i in sorted(series, key=lambda i: rank[book.keys[i].product])])
        for series in groups.values()
    ]
    return PriceBook(
        tuple(groups),
        _offsets([len(times) for times, _, _ in merged]),
        np.concatenate([times for times, _, _ in merged]),
        np.concatenate([prices for _, prices, _ in merged]),
        _offsets([len(spans) for _, _, spans in merged]),
        np.array([low for _, _, spans in merged for low, _ in spans], np.int64),
        np.array([high for _, _, spans in merged for _, high in spans], np.int64),
    )


Columns = tuple[Ints, Floats, list[Span]]


def _offsets(lengths: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def _columns(book: PriceBook, i: int) -> Columns:
    rows = slice(book.offsets[i], book.offsets[i + 1])
    spans = slice(book.known_offsets[i], book.known_offsets[i + 1])
    known = zip(book.known_from[spans].tolist(), book.known_to[spans].tolist(), strict=True)
    return book.times[rows], book.prices[rows], list(known)


def _merge(parts: list[Columns]) -> Columns:
    """The first part where it is known, the following ones in what is left."""
    if len(parts) == 1:
        return parts[0]
    times, prices, known = parts[0]
    for other_times, other_prices, other_known in parts[1:]:
        if not len(other_times):
            continue
        known = _lasting(known, other_known)
        spans = _without(other_known, known)
        pieces = [_cut(times, prices, span) for span in known] + [
            _cut(other_times, other_prices, span) for span in spans
        ]
        joined_times = np.concatenate([piece[0] for piece in pieces]) if pieces else times[:0]
        joined_prices = np.concatenate([piece[1] for piece in pieces]) if pieces else prices[:0]
        # Stable: where one piece ends on the instant the next begins, the later start stands.
        order = np.argsort(joined_times, kind="stable")
        times, prices = joined_times[order], joined_prices[order]
        known = _joined(known + spans)
    return times, prices, known


def _cut(times: Ints, prices: Floats, span: Span) -> tuple[Ints, Floats]:
    """The change points of [from, to) with the price standing at its start as the first of them."""
    low, high = span
    first = int(np.searchsorted(times, low, side="right")) - 1
    last = int(np.searchsorted(times, high, side="left"))
    if first < 0:
        return times[:last], prices[:last]
    if last <= first:
        last = first + 1
    cut = times[first:last].copy()
    cut[0] = low
    return cut, prices[first:last]


def _lasting(spans: list[Span], others: list[Span]) -> list[Span]:
    """Without single instants that lie in a stretch the other text covers: they say nothing about what
    follows.
    """
    return [
        (low, high)
        for low, high in spans
        if low < high or not any(other_low <= low < other_high for other_low, other_high in others)
    ]


def _without(spans: list[Span], holes: list[Span]) -> list[Span]:
    left: list[Span] = []
    for low, high in spans:
        at = low
        for hole_low, hole_high in holes:
            if hole_high <= at or hole_low >= high:
                continue
            if hole_low > at:
                left.append((at, hole_low))
            at = max(at, hole_high)
        if at < high:
            left.append((at, high))
    return left


def _joined(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined
