"""Small made-up price books for tests of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from finops.engine.series import KEY_COLUMNS, US_PER_HOUR, PriceBook

START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z

Steps = Sequence[tuple[float, float]]


def book_of(series: Mapping[tuple[str, str], Steps], *, hours: float, start_us: int = START_US) -> PriceBook:
    """A book from {(zone, type): [(hour, price), ...]}, known from the first row to `hours`."""
    changes, known = [], []
    for (zone, kind), steps in series.items():
        key = dict(zip(KEY_COLUMNS, ("aws", "us-east-1", zone, kind, "Linux/UNIX", "USD"), strict=True))
        rows = [(start_us + round(hour * US_PER_HOUR), price) for hour, price in steps]
        changes += [key | {"at": at, "price": price} for at, price in rows]
        end = start_us + round(hours * US_PER_HOUR)
        known.append(key | {"known_from": min(at for at, _ in rows), "known_to": end})
    return PriceBook.from_frames(pd.DataFrame(changes), pd.DataFrame(known))


def walk_steps(seed: int, *, hours: int, level: float = 1.0, every: float = 6.0) -> list[tuple[float, float]]:
    """A seeded random walk in the log price, a change every `every` hours."""
    rng = np.random.default_rng(seed)
    count = int(hours / every)
    moves = np.cumsum(rng.normal(0, 0.02, count))
    return [(i * every, level * float(np.exp(move))) for i, move in enumerate(moves)]


def spiky_steps(seed: int, *, hours: int, level: float = 1.0) -> list[tuple[float, float]]:
    """A price that stands at `level` and triples for a few hours about every second day."""
    rng = np.random.default_rng(seed)
    at, steps = 0.0, [(0.0, level)]
    while at < hours:
        at += float(rng.uniform(24, 72))
        steps += [(at, 3 * level), (at + float(rng.uniform(2, 6)), level)]
        at += 8
    return steps
