"""Causes of alerts: each finds what holds now and words it; other apps may register more, or replace one.

`collect(organisation, now)` gives everything that holds, each time: what is known already raises nothing.
`word(facts)` is called in the reader's language with the facts as they were stored, also years later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from apps.reports.wording import clean

if TYPE_CHECKING:
    from apps.accounts.models import Organisation

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """Something that holds: what it is about (`key`), in which turn (`period`), its facts as JSON values."""

    key: str
    period: str
    facts: Facts = field(default_factory=dict)
    team: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """An alert in words: `title` has the number, `text` what to know more, `link` the page."""

    title: str
    text: str
    link: str


@dataclass(frozen=True, slots=True)
class Cause:
    """A kind of alert."""

    name: str
    title: str | Promise
    collect: Callable[[Organisation, datetime], Iterable[Found]]
    word: Callable[[Facts], Told]


_CAUSES: dict[str, Cause] = {}


def register(cause: Cause) -> None:
    """Make a cause known, in `AppConfig.ready()`; the same name again replaces it."""
    _CAUSES[cause.name] = cause


def causes() -> tuple[Cause, ...]:
    """All of them, in the order in which they were registered."""
    return tuple(_CAUSES.values())


def told(name: str, facts: Facts) -> Told:
    """The words of a stored alert; one of a cause that is no longer there is shown by its name."""
    if name == "test":
        return Told(
            _("Test of the channel %(name)s") % {"name": clean(facts.get("channel", ""))},
            _("Alerts of Offpeak arrive here."),
            "",
        )
    cause = _CAUSES.get(name)
    return Told(name, "", "") if cause is None else cause.word(facts)


def register_all() -> None:
    """The causes that come with the product."""
    from apps.reports.alert_causes import data, launches, money

    money.register_all()
    data.register_all()
    launches.register_all()
