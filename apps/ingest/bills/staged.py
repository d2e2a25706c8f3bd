"""What staging leaves: lines of one file in a file of the lake that no table names yet."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from finops.frames.spot import Rejection


class BillRefusedError(Exception):
    """A delivery that is not taken; nothing of it is stored. `rejections` name file, row and field."""

    def __init__(self, reason: str, rejections: Sequence[Rejection] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.rejections = list(rejections)


@dataclass(frozen=True)
class Identity:
    """Whose bill of which month, as the rows say."""

    provider: str
    payer: str
    period: date


@dataclass
class Part:
    """Lines of one source file that belong to one delivery; `rejected_of`: whose the rejected rows are."""

    identity: Identity
    kind: str
    file: str
    lake_files: list[str]
    rows: int
    rejected: int
    columns: list[str]
    tag_keys: list[str] | None
    rejections: list[Rejection] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    rejected_of: dict[Identity, int] = field(default_factory=dict)


@dataclass
class Staged:
    """One delivery, staged: its parts, its report and id, and what is known of it beforehand.

    `folders` are those of its files; `listed` whether a manifest says that they belong together. `doubts` are
    notes on why it may not be all of the delivery.
    """

    identity: Identity
    kind: str
    report: int
    delivery: int
    delivered_at: datetime
    dated: bool
    assembly: str
    files: list[dict[str, Any]]
    folders: frozenset[Path] = frozenset()
    listed: bool = False
    parts: list[Part] = field(default_factory=list)
    doubts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def content_hash(self) -> str:
        """Of the contents, whatever the files' names and order."""
        hashes = sorted({file["sha256"] for file in self.files})
        return hashlib.sha256("\n".join(hashes).encode()).hexdigest()

    @property
    def lake_files(self) -> list[str]:
        """Files of the lake that hold its lines."""
        return [file for part in self.parts for file in part.lake_files]

    def discard(self) -> None:
        """Remove all files of it."""
        discard(self.lake_files)

    @property
    def rows_read(self) -> int:
        """Rows of all files."""
        return sum(part.rows for part in self.parts)

    @property
    def rejected(self) -> int:
        """Rows that did not become lines."""
        return sum(part.rejected for part in self.parts)

    @property
    def tag_keys(self) -> list[str] | None:
        """Keys that the delivery could report; None where any key can be."""
        keys = [part.tag_keys for part in self.parts]
        if any(k is None for k in keys):
            return None
        return sorted({key for k in keys for key in k or ()})

    @property
    def columns(self) -> list[str]:
        """Headers as delivered, each once, in the order met."""
        return list(dict.fromkeys(column for part in self.parts for column in part.columns))


def discard(paths: Sequence[str]) -> None:
    """Remove files that were written for nothing."""
    for path in paths:
        Path(path).unlink(missing_ok=True)
