"""What a path holds, before it is read: listings, files of reads, reports of totals, and what is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from finops.frames.spot import Rejection
from finops.providers.files.storage_files import Table
from finops.providers.storage import Kind

AUTO = "auto"
# A file of which more rows cannot be used is not what it is taken for.
MOST_WRONG = 100_000
PROVIDERS = ("aws", "alibaba", "tencent")
KINDS = (AUTO, *(kind.value for kind in Kind))


@dataclass(frozen=True)
class StorageOptions:
    """What files do not say. `bucket`: of rows without one; `listed_at`: of listings without a manifest."""

    kind: str = AUTO
    provider: str = "aws"
    bucket: str = ""
    region: str = ""
    account: str = ""
    listed_at: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """For the run's row."""
        moment = self.listed_at.isoformat() if self.listed_at else None
        return {
            "kind": self.kind,
            "provider": self.provider,
            "bucket": self.bucket,
            "region": self.region,
            "account": self.account,
            "listed_at": moment,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> StorageOptions:
        """Back from the run's row."""
        moment = stored.get("listed_at")
        given = {name: stored.get(name, "") for name in ("bucket", "region", "account")}
        return cls(
            kind=stored.get("kind", AUTO),
            provider=stored.get("provider", "aws"),
            listed_at=datetime.fromisoformat(moment) if moment else None,
            **given,
        )


@dataclass(frozen=True)
class File:
    """A file to read and the name to show of it."""

    name: str
    path: Path


@dataclass(frozen=True)
class ListingSource:
    """The files of one listing. `bucket` is "" where a column names it; `sha256` of all files in order."""

    name: str
    bucket: str
    listed_at: datetime
    tables: tuple[tuple[File, Table], ...]
    names: tuple[str, ...]
    sha256: str


@dataclass(frozen=True)
class RowsSource:
    """A file of reads or of totals; `table` is None for JSON."""

    kind: Kind
    file: File
    sha256: str
    table: Table | None = None


@dataclass
class Found:
    """Everything behind the paths of one run."""

    listings: list[ListingSource] = field(default_factory=list)
    rows: list[RowsSource] = field(default_factory=list)
    refused: list[Rejection] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    assumed: dict[str, str] = field(default_factory=dict)
    files: int = 0

    def refuse(self, name: str, reason: str, *, row: int | None = None, field: str = "") -> None:
        """A file that cannot be used."""
        self.refused.append(Rejection(name, row, field, reason))
