"""When objects were read. Grain: one row per object, one column per day; a read is of the whole object."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finops.engine.storage.bill import StorageError


@dataclass(frozen=True)
class Reads:
    """`read[i, d]`: whether object i was read on day `first` + d; it exists from day `born[i]` on."""

    keys: tuple[str, ...]
    first: date
    read: NDArray[np.bool_]
    born: NDArray[np.int64]

    @property
    def days(self) -> int:
        """Days from the first to the last, both counted."""
        return int(self.read.shape[1])

    def day_of(self, when: date) -> int:
        """The column of a date. Raises StorageError outside the span."""
        found = (when - self.first).days
        if not 0 <= found < self.days:
            last = self.first + timedelta(days=self.days - 1)
            raise StorageError("decide_until", f"{when} is not within {self.first} to {last}")
        return found


def reads_from_days(days: pd.DataFrame, *, access_bytes: float) -> Reads:
    """From the frame (key, day as datetime64, bytes): a day with at least `access_bytes` counts as a read.

    An object exists from its first row on. Raises StorageError when there are no rows.
    """
    if days.empty:
        raise StorageError("path", "no row tells a day of reading")
    first, last = days["day"].min(), days["day"].max()
    keys, places = np.unique(days["key"].to_numpy(dtype=object).astype(str), return_inverse=True)
    column = (days["day"] - first).dt.days.to_numpy()
    read = np.zeros((len(keys), (last - first).days + 1), dtype=bool)
    born = np.full(len(keys), read.shape[1])
    np.minimum.at(born, places, column)
    counted = days["bytes"].to_numpy(dtype=np.float64) >= access_bytes
    read[places[counted], column[counted]] = True
    return Reads(tuple(keys), first.date(), read, born)
