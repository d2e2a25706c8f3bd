"""The spend explorer's filters in the address, and the facts of its region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection
from django.db.models import Max
from django.http import QueryDict
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.accounts import account_names
from apps.billing.selectors.deliveries import deliveries_current
from apps.billing.selectors.spend import SpendAnswer, SpendError, SpendQuestion, spend
from apps.billing.selectors.spend_compare import AGAINST, SpendChange, spend_compare
from apps.billing.selectors.spend_question import (
    COLUMNS,
    GRANULARITIES,
    SELLER,
    TEAM,
    check_dimension,
    condition_of,
    day_of,
)
from apps.billing.selectors.spend_reading import reading_session
from apps.billing.selectors.tags import stored_names
from apps.dashboard import format as fmt
from apps.dashboard.freshness import DataAge
from apps.dashboard.words import lang
from finops.engine.spend import Window, month_start, next_month
from finops.frames.focus import BASES

# A provider writes yesterday's costs today; two days without a new one are late.
BILL_LATE = timedelta(days=3)
SHOWN_GROUPS, SHOWN_SERIES = 50, 5
MOST_BARS = 92
MOST_KEYS = 40
DIMENSIONS = (*COLUMNS, TEAM, SELLER)
COMPARE = ("none", *AGAINST)


@dataclass(frozen=True)
class Filters:
    """What the address asks for; whatever makes no sense falls back to something that is loaded."""

    start: date
    end: date
    by: tuple[str, ...]
    granularity: str
    basis: str
    currency: str
    against: str
    where: tuple[tuple[str, str], ...]

    @property
    def question(self) -> SpendQuestion:
        """The question without its limit and granularity. Raises SpendError."""
        return SpendQuestion(
            start=self.start, end=self.end, by=self.by, basis=self.basis, where=self.where,
            currency=self.currency or None,
        )  # fmt: skip

    @property
    def window(self) -> Window:
        """The days."""
        return Window(self.start, self.end)

    def address(self, **changes: Any) -> str:
        """The query of this page with changes; lists are repeated parameters."""
        values: dict[str, Any] = {
            "from": self.start.isoformat(), "to": self.end.isoformat(), "by": self.by[0] if self.by else "",
            "then": self.by[1] if len(self.by) > 1 else "", "granularity": self.granularity,
            "basis": self.basis, "currency": self.currency, "against": self.against,
            "where": [f"{name}={value}" for name, value in self.where], **changes,
        }  # fmt: skip
        query = QueryDict(mutable=True)
        for name, value in values.items():
            if isinstance(value, list | tuple):
                query.setlist(name, list(value))
            elif value:
                query[name] = str(value)
        return query.urlencode()

    def with_where(self, *added: tuple[str, str], by: tuple[str, ...] | None = None) -> str:
        """The address with more conditions and perhaps other dimensions."""
        where = [f"{name}={value}" for name, value in dict.fromkeys([*self.where, *added])]
        chosen = self.by if by is None else by
        return self.address(
            where=where, by=chosen[0] if chosen else "", then=chosen[1] if len(chosen) > 1 else ""
        )

    def without(self, dropped: tuple[str, str]) -> str:
        """The address without one condition."""
        return self.address(where=[f"{n}={v}" for n, v in self.where if (n, v) != dropped])


def newest_month(organisation: Organisation | None) -> date | None:
    """The first day of the newest billing period that is loaded; None without any bill."""
    newest: date | None = deliveries_current(organisation=organisation).aggregate(
        newest=Max("billing_period")
    )["newest"]
    return newest


def bill_age(organisation: Organisation | None, now: datetime) -> DataAge:
    """For the top bar: how far the bills go and when the newest delivery was made."""
    found = deliveries_current(organisation=organisation).aggregate(
        last=Max("last_day"), delivered=Max("delivered_at")
    )
    if found["delivered"] is None:
        return DataAge("none", _("No bill yet"))
    last = datetime.combine(found["last"], time(), UTC) if found["last"] else found["delivered"]
    text = _("Bill to %(day)s · %(age)s") % {
        "day": fmt.day(last, UTC, lang(), year=now.year != last.year),
        "age": fmt.age(found["delivered"], now, lang()),
    }
    return DataAge("" if now - last <= BILL_LATE else "late", text)


def names_state(organisation: Organisation) -> str:
    """Changes with the names of accounts and teams and with the exchange rates: for cache keys."""
    with connection.cursor() as cursor:
        cursor.execute(_NAMES_STATE, [organisation.pk] * 3)
        return "|".join(str(value) for value in cursor.fetchone())


_NAMES_STATE = (
    "SELECT (SELECT md5(string_agg(id || name, ',' ORDER BY id)) FROM accounts_team "
    "WHERE organisation_id = %s), "
    "(SELECT concat(count(*), max(updated_at)) FROM billing_accountname WHERE organisation_id = %s), "
    "(SELECT concat(count(*), max(id), sum(rate)) FROM billing_exchangerate WHERE organisation_id = %s)"
)


def fallen_back(get: QueryDict, filters: Filters) -> str:
    """Said when the days of the address make no period and the newest month is shown instead; else ""."""
    given = [get.get(name, "").strip() for name in ("from", "to")]
    shown = [filters.start.isoformat(), filters.end.isoformat()]
    wrong = any(text and text != day for text, day in zip(given, shown, strict=True))
    if not wrong:
        return ""
    return _("From %(start)s to %(end)s is no period that can be shown: this is the newest month.") % {
        "start": given[0][:20] or "?", "end": given[1][:20] or "?",
    }  # fmt: skip


def filters_of(get: QueryDict, newest: date) -> Filters:
    """The filters of an address; the default is the newest month by service and day."""
    start = _day(get.get("from", ""), newest)
    end = _day(get.get("to", ""), next_month(month_start(start)))
    if end <= start or (end - start).days > 3660:
        start, end = newest, next_month(newest)
    days = (end - start).days
    granularity = get.get("granularity", "")
    if granularity not in GRANULARITIES[1:]:
        granularity = "day" if days <= MOST_BARS else "month"
    if granularity == "day" and days > MOST_BARS:
        granularity = "week" if days <= 7 * MOST_BARS else "month"
    by = [name for name in (get.get("by", "service"), get.get("then", "")) if _known(name)]
    basis = get.get("basis", "")
    against = get.get("against", "")
    whole_month = start == month_start(start) and end == next_month(start)
    return Filters(
        start=start,
        end=end,
        by=tuple(dict.fromkeys(by)) or ("service",),
        granularity=granularity,
        basis=basis if basis in BASES else "billed",
        currency=get.get("currency", "").upper() if _currency(get.get("currency", "")) else "",
        against=against if against in COMPARE else ("month" if whole_month else "previous"),
        where=_conditions(get),
    )


def _conditions(get: QueryDict) -> tuple[tuple[str, str], ...]:
    given = get.getlist("where")
    if get.get("where_dim") and "where_value" in get:
        given = [*given, f"{get['where_dim']}={get['where_value']}"]
    found = []
    for text in given[:50]:
        try:
            name, value = condition_of(text)
            check_dimension(name, "where")
        except SpendError:
            continue
        found.append((name, value[:300]))
    return tuple(dict.fromkeys(found))


def _day(text: str, otherwise: date) -> date:
    try:
        return day_of(text, "from") if text else otherwise
    except SpendError:
        return otherwise


def _known(name: str) -> bool:
    try:
        check_dimension(name, "by")
    except SpendError:
        return False
    return bool(name)


def _currency(text: str) -> bool:
    return text.isalnum() and 1 <= len(text) <= 10


def _month_before(day: date) -> date:
    return month_start(month_start(day) - timedelta(days=1))


@dataclass(frozen=True)
class SpendFacts:
    """All of the region: groups, periods with their largest parts, the comparison, names and choices."""

    filters: Filters
    groups: SpendAnswer
    parts: SpendAnswer
    periods: SpendAnswer
    change: SpendChange | None
    names: Mapping[str, Mapping[str, str]]
    tag_keys: list[str]
    categories: list[str]


def spend_facts(
    filters: Filters, *, organisation: Organisation | None, now: datetime, snapshots: Mapping[str, int]
) -> SpendFacts:
    """Asks `spend`, as command and REST do. Raises SpendError."""

    def asked(question: SpendQuestion) -> SpendAnswer:
        return spend(
            question, organisation=organisation, now=now, snapshots=snapshots, with_unallocated=False
        )

    question = filters.question
    start = min(question.start - timedelta(days=question.window.days), _month_before(question.start))
    with reading_session(
        Window(month_start(start), next_month(question.end)), snapshots, organisation=organisation
    ):
        groups = asked(replace(question, limit=SHOWN_GROUPS))
        first = replace(question, by=question.by[:1], granularity=filters.granularity)
        parts = asked(replace(first, limit=SHOWN_SERIES))
        periods = asked(replace(first, by=(), limit=0))
        change = None
        if filters.against != "none":
            change = spend_compare(
                question, organisation=organisation, now=now, against=filters.against, snapshots=snapshots
            )
        tags, categories = stored_names(question, organisation=organisation, snapshots=snapshots)
    accounts = {number: name for (_, number), name in account_names(organisation=organisation).items()}
    return SpendFacts(
        filters=filters,
        groups=groups,
        parts=parts,
        periods=periods,
        change=change,
        names={"account": accounts, TEAM: groups.team_names},
        tag_keys=tags[:MOST_KEYS],
        categories=categories[:MOST_KEYS],
    )
