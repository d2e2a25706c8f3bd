"""Kinds of files about storage, and which kind a file that is none comes nearest to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from finops.providers.base import PermanentError


class Kind(StrEnum):
    """What a file tells."""

    INVENTORY = "inventory"
    ACCESS_LOG = "access-log"
    CLOUDTRAIL = "cloudtrail"
    STORAGE_LENS = "storage-lens"
    READS = "reads"


class StorageFileError(PermanentError):
    """A file cannot be used. `row` is the 1-based record and `field` the column, where one is at fault."""

    def __init__(self, reason: str, *, row: int | None = None, field: str = "") -> None:
        super().__init__(reason)
        self.row = row
        self.field = field


def plain(column: str) -> str:
    """A column's name without case, spaces and signs: `last_modified_date` and `LastModifiedDate` are one."""
    return re.sub(r"[^a-z0-9]", "", column.casefold())


def nearest_kind(columns: Iterable[str], wanted: Mapping[Kind, Iterable[Iterable[str]]]) -> tuple[Kind, str]:
    """(kind, what it lacks) for columns that make up no kind. `wanted`: alternatives for each column."""
    have = {plain(column) for column in columns}
    missing: dict[Kind, list[str]] = {}
    shares: dict[Kind, float] = {}
    for kind, groups in wanted.items():
        needed = [list(group) for group in groups]
        lacking = [group for group in needed if not have & {plain(name) for name in group}]
        missing[kind] = [" or ".join(group) for group in lacking]
        shares[kind] = 1 - len(lacking) / len(needed)
    best = max(shares, key=lambda kind: shares[kind])
    return best, ", ".join(missing[best])
