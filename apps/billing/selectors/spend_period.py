"""Which deliveries a period rests on, and why it is not complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Min
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery, DeliveryState
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.spend_sql import CLAMPED_DAY, PLAIN_DAY
from finops.engine.spend import Window, months_of, next_month

# A delivery made later than this after its month is taken for the month's last, where it does not say.
SETTLED = timedelta(days=1)


@dataclass(frozen=True)
class Gap:
    """Why a report's month is not complete. `reason`: not delivered, not over, days missing, not final,
    daily totals only, not reconciled, counted twice; `delivered_to`: the last day in it.
    """

    report: str
    billing_period: date
    reason: str
    delivered_to: date | None = None
    difference: Any = None

    def document(self) -> dict[str, Any]:
        """JSON values with a sentence."""
        return {
            "report": self.report,
            "billing_period": f"{self.billing_period:%Y-%m}",
            "reason": self.reason,
            "delivered_to": self.delivered_to.isoformat() if self.delivered_to else None,
            "difference": self.difference,
            "sentence": self.sentence(),
        }

    def sentence(self) -> str:
        """The reason in words."""
        values = {
            "report": self.report,
            "month": f"{self.billing_period:%Y-%m}",
            "day": self.delivered_to.isoformat() if self.delivered_to else "",
        }
        words = {
            "not delivered": _("%(report)s: nothing is delivered for %(month)s."),
            "days missing": _("%(report)s, %(month)s: delivered to %(day)s only."),
            "not final": _("%(report)s, %(month)s: the provider has not closed the month yet."),
            "daily totals only": _("%(report)s, %(month)s: daily totals until the first export arrives."),
            "not reconciled": _("%(report)s, %(month)s: differs from the invoice or manifest."),
            "not over": _("%(report)s, %(month)s: the month is not over."),
            "counted twice": _(
                "%(report)s: bills of one payer for %(month)s, and all of them are in the sum."
            ),
        }
        return words[self.reason] % values


@dataclass(frozen=True)
class Coverage:
    """What a window rests on: `sources` (JSON values), `gaps`, and `known_to`, the day after the last that
    every report has delivered; None where all days are there.
    """

    sources: list[dict[str, Any]]
    gaps: list[Gap]
    known_to: date | None

    @property
    def complete(self) -> bool:
        """Whether nothing is missing or open."""
        return not self.gaps


@dataclass(frozen=True)
class Held:
    """What an organisation has of some months: all its reports, their current deliveries, the first month of
    each, and whether every line's day lies in its month."""

    reports: dict[int, BillReport]
    current: list[Delivery]
    first: dict[int, date]
    days_within: bool


def held_of(window: Window, *, organisation: Organisation | None) -> Held:
    """Looked up for the months that the window touches."""
    reports = {report.pk: report for report in reports_visible(organisation=organisation)}
    months = months_of(window)
    current = Delivery.objects.filter(report__in=reports, state=DeliveryState.CURRENT).order_by()
    rows = current.filter(billing_period__in=months).defer("files", "columns", "by_line_item_type")
    first = current.values("report").annotate(first=Min("billing_period"))
    return Held(
        reports,
        list(rows),
        {row["report"]: row["first"] for row in first},
        day_sql(window, organisation=organisation) == PLAIN_DAY,
    )


def coverage(
    window: Window,
    *,
    organisation: Organisation | None,
    now: datetime,
    where: Mapping[str, Sequence[str]] | None = None,
    held: Held | None = None,
) -> Coverage:
    """Deliveries of the window and what is missing of it at `now`.

    `where`: the question's alternatives by dimension; reports of other providers and payers do not count.
    `held` where it was looked up already, for these months or more.
    """
    asked = where or {}
    held = held or held_of(window, organisation=organisation)
    reports = {
        number: report
        for number, report in held.reports.items()
        if report.provider in asked.get("provider", (report.provider,))
        and report.payer in asked.get("payer", (report.payer,))
    }
    months = months_of(window)
    found = {
        (row.report_id, row.billing_period): row
        for row in held.current
        if row.report_id in reports and row.billing_period in months
    }
    gaps: list[Gap] = []
    ends: list[date] = []
    for number, report in reports.items():
        begun = held.first.get(number)
        if begun is None:
            continue
        for month in months:
            if month < begun:
                continue
            row = found.get((number, month))
            known = _known_to(row, month, window)
            if known < min(window.end, next_month(month)):
                ends.append(known)
            gaps += _gaps(report, row, month, window, now, first_month=month == begun)
    gaps += _twice([(reports[row.report_id], row.billing_period) for row in found.values()])
    sources = [_source(reports[row.report_id], row) for row in found.values()]
    sources.sort(key=lambda one: (one["billing_period"], one["report"]))
    return Coverage(sources, gaps, min(ends, default=None))


def _twice(current: Iterable[tuple[BillReport, date]]) -> Iterable[Gap]:
    """Months for which a payer's bill came in several reports (a CUR and a FOCUS export, say)."""
    found: dict[tuple[date, str, str], list[str]] = {}
    for report, month in current:
        found.setdefault((month, report.provider, report.payer), []).append(str(report))
    for (month, _provider, _payer), names in sorted(found.items()):
        if len(names) > 1:
            yield Gap(", ".join(sorted(names)), month, "counted twice")


def _source(report: BillReport, row: Delivery) -> dict[str, Any]:
    return {
        "report": str(report),
        "billing_period": f"{row.billing_period:%Y-%m}",
        "delivery": row.pk,
        "delivered_at": row.delivered_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "rows": row.stored,
        "last_day": row.last_day.isoformat() if row.last_day else None,
        "final": row.final,
        "stopgap": row.stopgap,
        "reconciled": row.reconciled,
        "difference": row.difference,
    }


def _closed(row: Delivery) -> bool:
    """Whether the month is closed: as the provider says, else by when the delivery was made."""
    if row.final is not None:
        return row.final
    end = next_month(row.billing_period)
    return row.delivered_at >= datetime(end.year, end.month, end.day, tzinfo=UTC) + SETTLED


def _known_to(row: Delivery | None, month: date, window: Window) -> date:
    """The day after the last delivered one of the month, as far as the window goes."""
    end = min(window.end, next_month(month))
    if row is None:
        return max(window.start, month)
    if row.last_day is None or (row.final is True and not row.stopgap):
        return end
    return min(end, max(row.last_day + timedelta(days=1), window.start, month))


def _gaps(
    report: BillReport, row: Delivery | None, month: date, window: Window, now: datetime, *, first_month: bool
) -> Iterable[Gap]:
    name = str(report)
    end = min(window.end, next_month(month))
    start = max(window.start, month)
    if row is None:
        yield Gap(name, month, "not delivered" if month <= now.date() else "not over")
        return
    last = row.last_day
    if _known_to(row, month, window) < end:
        over = datetime(end.year, end.month, end.day, tzinfo=UTC) <= now
        yield Gap(name, month, "days missing" if over else "not over", last)
    elif row.first_day and row.first_day > start and not first_month and not row.final:
        yield Gap(name, month, "days missing", last)
    if not _closed(row):
        yield Gap(name, month, "not final", last)
    if row.stopgap:
        yield Gap(name, month, "daily totals only", last)
    if row.reconciled is False:
        yield Gap(name, month, "not reconciled", last, row.difference)


def cannot_report(
    keys: Sequence[tuple[str, ...]], *, organisation: Organisation | None
) -> dict[tuple[str, ...], list[int]]:
    """By a group of tag keys: the deliveries whose columns could report none of them."""
    if not keys:
        return {}
    limited = Delivery.objects.filter(
        report__in=reports_visible(organisation=organisation), tag_keys__isnull=False
    )
    rows = list(limited.values_list("pk", "tag_keys"))
    return {group: [pk for pk, known in rows if not set(group) & set(known or ())] for group in keys}


def day_sql(window: Window, *, organisation: Organisation | None) -> str:
    """How the day of a line is read: as it is, where no delivery of the months has one outside its month."""
    months = months_of(window)
    rows = Delivery.objects.filter(
        report__in=reports_visible(organisation=organisation), billing_period__in=months
    ).values_list("billing_period", "first_day", "last_day")
    for period, first, last in rows:
        if (first and first < period) or (last and last >= next_month(period)):
            return CLAMPED_DAY
    return PLAIN_DAY
