"""Where facts are read: the lake, and the snapshots of it that a finished run names.

The app that loads them (ingest) lies above the apps that read them, so it says here where they are instead of
being imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from finops.lake.lake import Lake


@dataclass(frozen=True)
class Source:
    """How to get at the lake and at the snapshots that may be read, {} when nothing was loaded."""

    lake: Callable[[], Lake]
    snapshots: Callable[[], dict[str, int]]


_sources: list[Source] = []


def register(source: Source) -> None:
    """Say where facts are; called once, when the apps are ready."""
    _sources[:] = [source]


def lake() -> Lake:
    """The lake of this installation."""
    return _sources[0].lake()


def current_snapshots() -> dict[str, int]:
    """Snapshot id per table; {} when nothing was loaded."""
    return _sources[0].snapshots()
