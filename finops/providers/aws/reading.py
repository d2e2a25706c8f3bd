"""What came out of one document: rows with their place, rows refused with the reason, rows that are about
something else.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Generic, NamedTuple, TypeVar

Row = TypeVar("Row")
_DATE_IN_NAME = re.compile(r"(?<!\d)(\d{4})-(\d{2})(?:-(\d{2}))?(?!\d)")


class Refused(NamedTuple):
    """A data record (1-based) or, with None, a whole document that cannot be used."""

    row: int | None
    field: str
    reason: str


@dataclass
class Reading(Generic[Row]):
    """`rows` and `refused` count as read; `ignored` counts records that are about something else, by kind."""

    rows: list[tuple[int, Row]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    assumed: dict[str, str] = field(default_factory=dict)

    def refuse(self, row: int | None, column: str, reason: str) -> None:
        """Count a record as refused."""
        self.refused.append(Refused(row, column, reason))

    @classmethod
    def unreadable(cls, reason: str, column: str = "") -> Reading[Row]:
        """A document of which nothing can be used."""
        return cls(refused=[Refused(None, column, reason)])


def date_in_name(name: str) -> date | None:
    """The one date in a file's name; a month without day means its last day. None where there is none or
    several.

    >>> date_in_name("ec2_ondemand_reserved_2019-04-05.csv.gz"),
    date_in_name("spot-advisor-data_2025-06.json") (datetime.date(2019, 4, 5), datetime.date(2025, 6, 30))
    """
    found = _DATE_IN_NAME.findall(name.rsplit("/", 1)[-1])
    if len(found) != 1:
        return None
    year, month, day = (int(part) if part else 0 for part in found[0])
    try:
        return date(year, month, day or monthrange(year, month)[1])
    except ValueError:
        return None


def instant(text: str) -> datetime | None:
    """An aware UTC instant from ISO 8601 text; a date, or a time without zone, is taken as UTC. None if it
    is neither.
    """
    try:
        parsed = datetime.fromisoformat(text.strip())
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
