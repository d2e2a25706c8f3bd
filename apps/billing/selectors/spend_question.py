"""A question about spend: which days, grouped by what, counted how; checked before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import get_close_matches
from typing import Any

from django.utils.translation import gettext as _

from finops.engine.spend import Window
from finops.frames.focus import BASES
from finops.frames.money import currencies

# What may be asked for by name, and the column that holds it. Nothing else ever reaches SQL as a name.
COLUMNS: dict[str, str] = {
    "provider": "x_provider",
    "payer": "billing_account_id",
    "account": "sub_account_id",
    "service": "service_name",
    "service_category": "service_category",
    "region": "region_id",
    "resource": "resource_id",
    "instance_type": "x_instance_type",
    "charge_category": "charge_category",
    "pricing_category": "pricing_category",
    "commitment": "commitment_discount_id",
    "commitment_type": "commitment_discount_type",
    "commitment_status": "commitment_discount_status",
    "line_item_type": "x_line_item_type",
    "billing_entity": "x_billing_entity",
    "usage_type": "x_usage_type",
}
TEAM, SELLER = "team", "seller"
# Made from columns of ours rather than read from one.
COMPUTED = (TEAM, SELLER)
KEYED = ("tag", "tagfold", "cost_category")
GRANULARITIES = ("", "day", "week", "month")
# A tag key that the delivery could not report: neither a value nor blank.
ABSENT = "absent"
UNALLOCATED = "unallocated"
MAX_DIMENSIONS = 4
MAX_DAYS = 366 * 10
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2200, 1, 1)
MAX_LIMIT = 100_000


class SpendError(Exception):
    """The question cannot be asked like this: `field` names the argument, `message` the way out."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field, self.message = field, message


class SpendRefusedError(SpendError):
    """The question is right and has no answer with the data at hand: a rate is missing."""


@dataclass(frozen=True)
class SpendQuestion:
    """Cost on the days [start, end), grouped by `by` and the granularity, on one basis.

    `where`: (dimension, value) pairs; values of one dimension are alternatives, "" is blank or not given,
    `absent` a tag that the delivery could not report, `unallocated` no team. `currency`: convert to it; None
    keeps each currency apart. `limit`: only the groups (all their periods) with the largest sums, by
    currency; 0 for all.
    """

    start: date
    end: date
    by: tuple[str, ...] = ()
    granularity: str = ""
    basis: str = "billed"
    where: tuple[tuple[str, str], ...] = ()
    currency: str | None = None
    limit: int = 0

    def __post_init__(self) -> None:
        self._check_days()
        if len(self.by) > MAX_DIMENSIONS:
            raise SpendError("by", _("At most %(n)d dimensions at a time.") % {"n": MAX_DIMENSIONS})
        if len(set(self.by)) < len(self.by):
            raise SpendError("by", _("A dimension is named twice."))
        for name in self.by:
            check_dimension(name, "by")
        for name, _value in self.where:
            check_dimension(name, "where")
        if self.granularity not in GRANULARITIES:
            raise SpendError("granularity", _one_of(self.granularity, GRANULARITIES[1:]))
        if self.basis not in BASES:
            raise SpendError("basis", _one_of(self.basis, BASES))
        if self.currency is not None and self.currency not in currencies():
            raise SpendError("currency", _("Write a currency as USD or CNY."))
        if not 0 <= self.limit <= MAX_LIMIT:
            raise SpendError("limit", _("Write a number from 0 to %(n)d.") % {"n": MAX_LIMIT})

    def _check_days(self) -> None:
        for field, day in (("from", self.start), ("to", self.end)):
            if not FIRST_DAY <= day <= LAST_DAY:
                raise SpendError(field, _("Write a day between 2000 and 2200."))
        if self.end <= self.start:
            raise SpendError("to", _("The last day is excluded: give a day after the first one."))
        if self.window.days > MAX_DAYS:
            raise SpendError("to", _("At most ten years at a time."))

    @property
    def window(self) -> Window:
        """The days asked for."""
        return Window(self.start, self.end)

    def conditions(self) -> dict[str, list[str]]:
        """Alternatives by dimension."""
        found: dict[str, list[str]] = {}
        for name, value in self.where:
            found.setdefault(name, []).append(value)
        return found

    def asks_for(self, name: str) -> bool:
        """Whether the answer is grouped or selected by this dimension."""
        return name in self.by or any(name == one for one, _value in self.where)

    def parameters(self) -> dict[str, Any]:
        """The question as JSON values, for cache keys and answers."""
        return {
            "from": self.start.isoformat(),
            "to": self.end.isoformat(),
            "by": list(self.by),
            "granularity": self.granularity,
            "basis": self.basis,
            "where": [f"{name}={value}" for name, value in self.where],
            "currency": self.currency,
            "limit": self.limit,
        }


def dimension_names() -> list[str]:
    """Everything that `by` and `where` know, in the order of the list."""
    return [*COLUMNS, *COMPUTED, *(f"{kind}:NAME" for kind in KEYED)]


def check_dimension(name: str, field: str) -> None:
    """Raise SpendError, with the nearest known names, for a dimension that is none."""
    kind, colon, key = name.partition(":")
    if name in COLUMNS or name in COMPUTED or (colon and kind in KEYED and key):
        return
    known = dimension_names()
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    raise SpendError(
        field,
        _("No dimension %(name)s. Nearest: %(near)s. Known: %(known)s.")
        % {"name": name, "near": ", ".join(near) or "-", "known": ", ".join(known)},
    )


def _one_of(given: str, known: Iterable[str]) -> str:
    return _("%(given)s is none of %(known)s.") % {"given": given, "known": ", ".join(known)}


def day_of(text: str, field: str) -> date:
    """A day as 2018-11-01. Raises SpendError."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise SpendError(field, _("Not a day like 2018-11-01: %(text)s") % {"text": text[:40]}) from error


def names_of(text: str) -> tuple[str, ...]:
    """`service,tag:team` as names; a comma inside a tag key cannot be written here."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def condition_of(text: str) -> tuple[str, str]:
    """`tag:team=web`. Raises SpendError. The first `=` after the name ends it."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise SpendError("where", _("Write a condition as dimension=value: %(text)s") % {"text": text[:80]})
    return name.strip(), value


def question_of(
    *,
    start: str,
    end: str,
    by: str = "",
    granularity: str = "",
    basis: str = "billed",
    where: Sequence[str] = (),
    currency: str | None = None,
    limit: int = 0,
) -> SpendQuestion:
    """The question from the texts of a command line or an address. Raises SpendError."""
    return SpendQuestion(
        start=day_of(start, "from"),
        end=day_of(end, "to"),
        by=names_of(by),
        granularity=granularity or "",
        basis=basis or "billed",
        where=tuple(condition_of(text) for text in where),
        currency=(currency or "").strip().upper() or None,
        limit=limit,
    )


def last_day(window: Window) -> date:
    """The last day inside."""
    return window.end - timedelta(days=1)
