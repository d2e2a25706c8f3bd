"""Rises of cost that a decision announced: a fee paid at once, data moved to another class.

An app that knows such decisions registers a `Source` in its `AppConfig.ready()`:

    from apps.billing.announced import Source, register
    register(Source("purchase", rises, worded))

`rises(organisation, start, end)` gives an `AnnouncedRise` for each decision whose cost may show on a day of
[start, end). Kinds of recommendations need no source of their own: `Kind.announces` in
`apps.recommendations.kinds` gives the rises of an accepted row. `worded(facts)` says in the language in use
what was decided; it must do with any `facts` that were ever stored.

The judging of bills (`apps.billing.services.announced`) holds them against the anomalies. Nothing is excused
on somebody's word alone: a rise counts for no more than the bill shows for its `lines` on its `days`, in the
anomaly's own slice and basis, and for no more than its `amount` over all anomalies together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apps.accounts.models import Organisation


@dataclass(frozen=True, slots=True)
class AnnouncedRise:
    """What a decision costs once. `key` names the decision ("purchase:12"), once in an installation.

    `lines`: (dimension, value) pairs as of a `SpendQuestion` that the lines of the bill with this cost meet;
    values of one dimension are alternatives. `days`: on which they may stand. `facts`: JSON values for the
    words.
    """

    key: str
    currency: str
    amount: Decimal
    days: frozenset[date]
    lines: tuple[tuple[str, str], ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Name of the source that words it: the part of the key before the colon."""
        return self.key.partition(":")[0]


Rises = Callable[["Organisation", date, date], Sequence[AnnouncedRise]]
Worded = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Source:
    """Where announcements come from, by the first part of their keys. `rises` None: another source gives
    them, this one words them.
    """

    name: str
    rises: Rises | None
    worded: Worded


_SOURCES: dict[str, Source] = {}


def register(source: Source) -> None:
    """Make a source known; the same name again replaces it."""
    _SOURCES[source.name] = source


def announced_rises(organisation: Organisation, start: date, end: date) -> list[AnnouncedRise]:
    """All announcements with a day in [start, end), in the order of their keys."""
    found = [
        rise
        for source in _SOURCES.values()
        if source.rises is not None
        for rise in source.rises(organisation, start, end)
        if rise.amount > 0 and any(start <= day < end for day in rise.days)
    ]
    return sorted(found, key=lambda rise: rise.key)


def worded(key: str, facts: Mapping[str, Any]) -> str:
    """A stored announcement in the language in use; of a source that is gone, its key."""
    source = _SOURCES.get(key.partition(":")[0])
    return source.worded(facts) if source else key


def days_between(first: date, last: date) -> frozenset[date]:
    """Both ends included."""
    return frozenset(first + timedelta(days=n) for n in range((last - first).days + 1))
