"""What every provider raises and the shape in which it hands over Spot prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from finops.frames.spot import Rejection


class ProviderError(Exception):
    """A source could not give what was asked; the message is a plain sentence for the person who asked."""


class TransientError(ProviderError):
    """Trying again later can help."""


class PermanentError(ProviderError):
    """Trying again cannot help: the input, the settings or the rights must change first."""


@dataclass(frozen=True)
class SpotBatch:
    """Some rows of one source.

    `rows` follows `finops.frames.spot.SCHEMA`; `read` counts the records behind it, so that
    read = rows.num_rows + len(rejections).
    """

    file: str
    rows: pa.RecordBatch
    rejections: list[Rejection] = field(default_factory=list)

    @property
    def read(self) -> int:
        """Records of the source in this batch."""
        return self.rows.num_rows + len(self.rejections)


class SpotSource(Protocol):
    """Anything that yields Spot prices: a path of files, or a live feed."""

    def batches(self) -> Iterator[SpotBatch]:
        """All rows, in any order; raises TransientError or PermanentError."""
