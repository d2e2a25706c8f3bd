"""What a report is made of: sections that any app may add, in the order of their numbers.

    register(Section("launches", 60, provide))

`provide(question)` is called in the reader's language and gives a Block, or None for nothing to say.
The same name again replaces a section. A section that fails is left out and said so: a mail with a hole
that is told beats no mail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from finops.engine.spend import Week

if TYPE_CHECKING:
    from apps.accounts.models import Organisation, Team
    from apps.reports.selectors.week import WeekSpend


@dataclass(frozen=True)
class Question:
    """What a report is about. `team` None and `account` "": the whole organisation. `spend` is read once for
    all sections.
    """

    organisation: Organisation
    team: Team | None
    account: str
    edition: str
    language: str
    zone: ZoneInfo
    week: Week
    now: datetime
    spend: WeekSpend

    @property
    def where(self) -> tuple[tuple[str, str], ...]:
        """The scope as conditions of a question about spend."""
        return scope_where(self.team, self.account)


def scope_where(team: Team | None, account: str) -> tuple[tuple[str, str], ...]:
    """The scope of a report as conditions of a question about spend."""
    if team is not None:
        return (("team", team.slug),)
    return (("account", account),) if account else ()


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column; numbers stand right."""

    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """`sub` is the second line, `link` an address of ours, below PUBLIC_URL."""

    text: str
    sub: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A section as it is shown: title, what is measured, a table, sentences below it; `document` for JSON."""

    title: str
    measure: str = ""
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    total: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    warn: bool = False


Provide = Callable[[Question], Block | None]
BOTH = ("finance", "engineering")


@dataclass(frozen=True, slots=True)
class Section:
    """`editions` that have it."""

    name: str
    order: int
    provide: Provide
    editions: tuple[str, ...] = BOTH


_SECTIONS: dict[str, Section] = {}


def register(section: Section) -> None:
    """Make a section known, in `AppConfig.ready()`."""
    _SECTIONS[section.name] = section


def sections(edition: str) -> list[Section]:
    """Those of an edition, in order."""
    found = [one for one in _SECTIONS.values() if edition in one.editions]
    return sorted(found, key=lambda one: (one.order, one.name))
