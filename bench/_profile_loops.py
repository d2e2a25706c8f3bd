"""The compiled baselines of `bench.profile`: plain single-threaded numba loops that do the straightforward
thing.

Profile: each segment is walked over every hour it touches, once for the weekly means and once for the
shares. Windows: two pointers over the change points for each length, with every change point as a start and
as an end. Prices come as whole millionths, so costs are exact and ties are ties, as in the engine.
"""

from __future__ import annotations

import numba
import numpy as np

HOUR = 3_600_000_000


@numba.njit(cache=False)
def profile_loop(
    offsets, times, prices, known_offsets, known_from, known_to, start, end, block, monday, period
):
    """(relative seconds, seconds) by series and local hour of week; as `hour_sums`, on UTC."""
    count = len(offsets) - 1
    blocks = -(-(end - start) // block)
    first = end - blocks * block
    relative, seconds = np.zeros((count, period)), np.zeros((count, period))
    mean, known = np.zeros((count, blocks)), np.zeros((count, blocks))
    for turn in range(2):
        for i in range(count):
            for k in range(known_offsets[i], known_offsets[i + 1]):
                low, high = max(known_from[k], start), min(known_to[k], end)
                for r in range(offsets[i], offsets[i + 1]):
                    at, until = max(times[r], low), high
                    if r + 1 < offsets[i + 1]:
                        until = min(high, times[r + 1])
                    while at < until:
                        b = (at - first) // block
                        stop = min(until, first + (b + 1) * block)
                        if turn == 0:
                            mean[i, b] += prices[r] * (stop - at) * 1e-6
                            known[i, b] += (stop - at) * 1e-6
                        else:
                            hour = (at - monday) // HOUR
                            stop = min(stop, monday + (hour + 1) * HOUR)
                            share = (stop - at) * 1e-6
                            relative[i, hour % period] += prices[r] / mean[i, b] * share
                            seconds[i, hour % period] += share
                        at = stop
        if turn == 0:
            for i in range(count):
                for b in range(blocks):
                    if known[i, b] > 0:
                        mean[i, b] /= known[i, b]
    return relative, seconds


@numba.njit(cache=False)
def windows_loop(offsets, times, prices, known_offsets, known_from, known_to, start, end, lengths):  # noqa: C901 - one loop to compile
    """(start, cost in millionths x us) by series and length; as `best_starts`."""
    count = len(offsets) - 1
    starts = np.full((count, len(lengths)), np.iinfo(np.int64).min)
    costs = np.full((count, len(lengths)), np.iinfo(np.int64).max)
    prefix = np.zeros(len(times), np.int64)
    for i in range(count):
        for r in range(offsets[i] + 1, offsets[i + 1]):
            prefix[r] = prefix[r - 1] + prices[r - 1] * (times[r] - times[r - 1])
    for i in range(count):
        first, last = offsets[i], offsets[i + 1]
        for k in range(known_offsets[i], known_offsets[i + 1]):
            low, high = max(known_from[k], start, times[first]), min(known_to[k], end)
            for j in range(len(lengths)):
                length = lengths[j]
                if high - low < length:
                    continue
                for kind in range(4):
                    x, y = first, first
                    for q in range(first, last if kind < 2 else first + 1):
                        at = times[q]
                        if kind == 1:
                            at -= length
                        elif kind == 2:
                            at = low
                        elif kind == 3:
                            at = high - length
                        if at < low or at + length > high:
                            continue
                        while x + 1 < last and times[x + 1] <= at:
                            x += 1
                        while y + 1 < last and times[y + 1] <= at + length:
                            y += 1
                        cost = prefix[y] + prices[y] * (at + length - times[y])
                        cost -= prefix[x] + prices[x] * (at - times[x])
                        if cost < costs[i, j] or (cost == costs[i, j] and at < starts[i, j]):
                            costs[i, j], starts[i, j] = cost, at
    return starts, costs
