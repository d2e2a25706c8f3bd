"""What a GiB in objects of one size costs by class: floats per day, read and move, for policies and optimum.

The classes a policy may choose are those that need no restore before a read, in the order of `CHOICES`.
Units: currency of the list per GiB; days; a month is 365.25 / 12 days.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from finops.engine.storage.bill import KIB_PER_GIB, Cell, StorageError, monthly
from finops.frames.storage_classes import INTELLIGENT, STANDARD, StorageClass, Tier

MONTH_DAYS = 365.25 / 12
CHOICES = (STANDARD, INTELLIGENT, "STANDARD_IA", "GLACIER_IR")
HOT, AUTO, COOL, COLD = range(4)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """`day[c]` storage of a day (AUTO: its first tier), `read[c]` one whole read, `upload[c]` writing it,
    `move[c, d]` a move without what is left of the minimum, `min_days[c]`. `auto_day[k]` is the price of AUTO
    after k days without a read, its last entry holds for longer.
    """

    day: Floats
    read: Floats
    upload: Floats
    move: Floats
    min_days: NDArray[np.int64]
    auto_day: Floats


def rates(
    classes: Mapping[str, StorageClass],
    auto_tiers: Sequence[Tier],
    moves: frozenset[tuple[str, str]],
    object_bytes: int,
) -> Rates:
    """The rates of objects of `object_bytes`; small ones carry minimum size and fees per object.

    Raises StorageError when a class of `CHOICES` or its tiers are not known.
    """
    missing = [name for name in CHOICES if name not in classes]
    if missing or not auto_tiers:
        raise StorageError("region", f"no prices for {', '.join(missing) or INTELLIGENT}")
    if object_bytes < 1:
        raise StorageError("object_bytes", "an object holds at least one byte")
    kib = Decimal(object_bytes) / 1024
    per_gib = float(KIB_PER_GIB / kib)
    chosen = [classes[name] for name in CHOICES]
    cell = Cell(1, kib)
    day = (
        np.array([float(monthly([cell], c, classes[STANDARD]).total) for c in chosen]) * per_gib / MONTH_DAYS
    )
    request = per_gib / 1000
    read = np.array([float(c.retrieval_per_gib) + float(c.get_per_1000) * request for c in chosen])
    upload = np.array([float(c.put_per_1000) * request for c in chosen])
    move = np.zeros((len(chosen), len(chosen)))
    for i, old in enumerate(chosen):
        for j, new in enumerate(chosen):
            if (old.name, new.name) in moves:
                move[i, j] = float(new.transition_in_per_1000) * request
            elif i != j:
                move[i, j] = read[i] + upload[j]
    return Rates(
        day, read, upload, move, np.array([c.min_days for c in chosen]), _auto(chosen[AUTO], auto_tiers, kib)
    )


def _auto(storage_class: StorageClass, auto_tiers: Sequence[Tier], kib: Decimal) -> Floats:
    monitored = kib >= storage_class.min_monitored_kib
    fee = float(storage_class.monitoring_per_1000 / 1000 * KIB_PER_GIB / kib) if monitored else 0.0
    last = auto_tiers[-1].after_idle_days
    prices = np.empty(last + 1)
    for tier in auto_tiers:
        # Small objects are never moved: they stay at the first tier's price and are not monitored.
        price = tier if monitored else auto_tiers[0]
        prices[tier.after_idle_days :] = float(price.per_gib_month) + fee
    return prices / MONTH_DAYS
