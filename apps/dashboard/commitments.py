"""What the page of own commitments is made of: the documents of the command, kept while nothing changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.http import QueryDict

from apps.accounts.models import Organisation
from apps.billing.models import CommitmentAlert, OwnedCommitment
from apps.billing.selectors.commitment_lines import bill_months
from apps.dashboard.caching import cache_key, kept
from apps.recommendations.services.commitments_hours import commitment_series
from apps.recommendations.services.commitments_owned import commitments
from finops.engine.spend import next_month

HOUR_SECONDS = 3600
MONTHS_OFFERED = 24
# A month's bill is final in the first days of the next one; what is older than two months is history.
LIVE = timedelta(days=62)


@dataclass(frozen=True)
class Asked:
    """The billing month of the address, None for the newest; `at`: an asked moment of the past."""

    month: date | None
    at: datetime | None

    @classmethod
    def of(cls, query: QueryDict, now: datetime) -> Asked:
        """What cannot be read counts as not asked."""
        text = query.get("month", "")
        month = (
            date.fromisoformat(f"{text}-01") if re.fullmatch(r"[1-9]\d{3}-(0[1-9]|1[0-2])", text) else None
        )
        return cls(month, _moment(query.get("at", ""), now))


def _moment(text: str, now: datetime) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.strip().replace(" ", "+"))
    except ValueError:
        return None
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    try:
        found = found.astimezone(UTC)
    except OverflowError:
        return None
    return found if datetime(2006, 1, 1, tzinfo=UTC) <= found < now else None


@dataclass(frozen=True)
class Page:
    """`at`: what the page answers for; `past`: not the present."""

    found: Found
    months: list[date]
    at: datetime
    past: bool


@dataclass(frozen=True)
class Found:
    """The documents behind the page: of the commitments and of their hours, None where no bill has any."""

    document: dict[str, Any]
    hours: dict[str, Any] | None


def found_for(
    asked: Asked, *, organisation: Organisation, now: datetime, snapshots: Mapping[str, int]
) -> Page:
    """What the page shows, and the months that can be chosen, newest first."""
    at, past = moment_for(asked, organisation=organisation, now=now)
    months = bill_months(organisation=organisation, before=at)[-MONTHS_OFFERED:][::-1]
    month = asked.month if asked.month in months else None
    state = _rows(organisation).aggregate(n=Count("pk"), newest=Max("seen_at"), gone=Max("gone_at"))
    alerts = CommitmentAlert.objects.filter(organisation=organisation).aggregate(Max("pk"))["pk__max"]
    key = cache_key(
        "commitments", snapshots, organisation.pk, at, month, sorted(state.items(), key=str), alerts
    )
    found = kept(key, lambda: _made(at, month, organisation, snapshots), HOUR_SECONDS, Found)
    return Page(found, months, at, past)


def _rows(organisation: Organisation) -> QuerySet[OwnedCommitment]:
    return OwnedCommitment.objects.filter(Q(organisation=organisation) | Q(organisation__isnull=True))


def moment_for(asked: Asked, *, organisation: Organisation, now: datetime) -> tuple[datetime, bool]:
    """(the moment that is answered for, whether it is past): what was asked, else this hour; where bills
    and looks ended long ago, the end of the newest bill.
    """
    if asked.at is not None:
        return asked.at, True
    hour = now.replace(minute=0, second=0, microsecond=0)
    months = bill_months(organisation=organisation, before=hour)
    if not months:
        return hour, False
    after = next_month(months[-1])
    end = datetime(after.year, after.month, after.day, tzinfo=UTC)
    recent = _rows(organisation).filter(Q(seen_at__gte=now - LIVE) | Q(end__gt=now)).exists()
    return (end, True) if not recent and now - end > LIVE else (hour, False)


def _made(
    at: datetime, month: date | None, organisation: Organisation, snapshots: Mapping[str, int]
) -> Found:
    document = commitments(at=at, organisation=organisation, snapshots=snapshots, billing_period=month)
    if document["billing_period"] is None:
        return Found(document, None)
    end = None
    if month is not None:
        after = next_month(month)
        end = datetime(after.year, after.month, after.day, tzinfo=UTC)
    start = None if month is None else datetime(month.year, month.month, 1, tzinfo=UTC)
    hours = commitment_series(at=at, organisation=organisation, snapshots=snapshots, start=start, end=end)
    return Found(document, hours)
