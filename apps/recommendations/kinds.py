"""Kinds of recommendations: how each is worded, who decides it, and how later bills are read for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.utils.functional import Promise

from apps.accounts.roles import Action
from apps.billing.announced import AnnouncedRise

if TYPE_CHECKING:
    from apps.accounts.models import Organisation
    from apps.recommendations.models import Recommendation


@dataclass(frozen=True, slots=True)
class Sentence:
    """`title` begins with a verb ("Sell the c4.large Reserved Instance"), `text` says on what it rests in a
    sentence, `lines` are label and value of the evidence.
    """

    title: str
    text: str
    lines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RealisedMonth:
    """A calendar month (UTC) of an accepted recommendation: what it would have cost and what it did cost.

    Null amounts need a `reason` that says what is missing. `complete`: the bill of the month is closed for
    it and will not grow.
    """

    month: date
    counterfactual: Decimal | None
    actual: Decimal | None
    complete: bool = False
    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


Wording = Callable[[Mapping[str, Any], str], Sentence]
Realised = Callable[["Recommendation", "Organisation", datetime], Sequence[RealisedMonth] | None]
Counterfactual = Callable[["Recommendation"], Mapping[str, Any]]
Look = Callable[["Organisation", datetime], object]
Announces = Callable[["Recommendation"], Sequence[AnnouncedRise]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind; `decide` is the action that a role needs to accept, snooze or dismiss it.

    `wording(document, language)` must do with any document that was ever published. `counterfactual(row)` is
    called once, at acceptance, and gives JSON values. `realised(row, organisation, now)` gives the months
    from acceptance to the end of the claim or to `now`; None: this kind cannot be read from bills.
    `replaces`: what follows an accepted one takes its place, as a schedule does and a purchase does not.
    `announces(row)`: what an accepted row costs once, so that the bill's rise does not alarm; keys begin with
    "recommendation:" and the row's id, or with a source of the kind's own (`apps.billing.announced`).
    `look(organisation, now)` looks for findings and publishes them; what was looked at already costs little.
    """

    name: str
    title: str | Promise
    wording: Wording
    realised: Realised
    counterfactual: Counterfactual
    decide: Action = Action.DECIDE_COMMITMENTS
    look: Look | None = None
    replaces: bool = False
    announces: Announces | None = None


_KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Make a kind known, in `AppConfig.ready()`; the same name again replaces it."""
    _KINDS[kind.name] = kind


def kind_of(name: str) -> Kind:
    """The kind of this name; ValueError when nobody registered it."""
    try:
        return _KINDS[name]
    except KeyError:
        raise ValueError(
            f"no kind of recommendation: {name!r}; known: {', '.join(_KINDS) or 'none'}"
        ) from None


def kind_for(name: str) -> Kind:
    """The kind of a stored row. One that this version no longer knows is shown by its name; only who may do
    everything decides on it.
    """
    return _KINDS.get(name) or Kind(
        name,
        name,
        lambda document, language: Sentence(str(document.get("title") or name), ""),
        lambda row, organisation, now: None,
        lambda row: {},
        Action.MANAGE_ORGANISATION,
    )


def kinds() -> tuple[Kind, ...]:
    """All kinds, in the order in which they were registered."""
    return tuple(_KINDS.values())
