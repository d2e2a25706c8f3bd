"""Alerts about data: bills that are late or do not reconcile, feeds that fail."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import Organisation
from apps.billing.models import Delivery, DeliveryState
from apps.billing.selectors.bill_days import bill_days
from apps.billing.selectors.deliveries import reports_visible
from apps.ingest.models import Feed, FeedState
from apps.reports import wording as w
from apps.reports.causes import Cause, Facts, Found, Told, register
from finops.text import display as fmt

# A feed that answers again within this was never gone.
FEED_AWAY = timedelta(hours=2)
RECENT = timedelta(days=70)


def register_all() -> None:
    """Late or wrong data."""
    register(Cause("data", gettext_lazy("Data late or wrong"), _collect, _told))


def _collect(organisation: Organisation, now: datetime) -> Iterable[Found]:
    yield from _late(organisation, now)
    yield from _differs(organisation, now)
    yield from _feeds(organisation, now)


def _late(organisation: Organisation, now: datetime) -> Iterable[Found]:
    """Reports whose newest delivery is old; of those that ended long ago nobody waits for another."""
    days = bill_days(organisation, at=now)
    limit = timedelta(hours=settings.ALERT_BILL_LATE_HOURS)
    for report in days.reports if days is not None else ():
        if limit < now - report.delivered_at < RECENT:
            yield Found(
                key=f"late:{report.report}"[:200],
                period=report.last_day.isoformat(),
                facts={
                    "what": "late",
                    "report": report.report,
                    "delivered_at": report.delivered_at.isoformat(),
                    "last_day": report.last_day.isoformat(),
                    "hours": settings.ALERT_BILL_LATE_HOURS,
                },
            )


def _differs(organisation: Organisation, now: datetime) -> Iterable[Found]:
    rows = Delivery.objects.filter(
        report__in=reports_visible(organisation=organisation),
        state=DeliveryState.CURRENT,
        reconciled=False,
        delivered_at__gt=now - RECENT,
    ).select_related("report")
    for row in rows.defer("files", "columns").order_by("pk"):
        yield Found(
            key=f"differs:{row.report_id}",
            period=f"{row.billing_period:%Y-%m}",
            facts={"what": "differs", "report": str(row.report), "month": f"{row.billing_period:%Y-%m}"},
        )


def _feeds(organisation: Organisation, now: datetime) -> Iterable[Found]:
    mine = Q(organisation=organisation) | Q(organisation__isnull=True)
    for row in Feed.objects.filter(mine, state=FeedState.FAILING).order_by("pk"):
        since = row.last_success_at or row.created_at
        if now - since > FEED_AWAY:
            yield Found(
                key=f"feed:{row.pk}",
                period=since.isoformat()[:16],
                facts={
                    "what": "feed",
                    "feed": row.name,
                    "since": since.isoformat(),
                    "answered": row.last_success_at is not None,
                },
            )


def _told(facts: Facts) -> Told:
    if facts["what"] == "late":
        at = datetime.fromisoformat(facts["delivered_at"])
        values = {
            "report": w.clean(facts["report"]),
            "day": w.day(datetime.fromisoformat(facts["last_day"]).date()),
            "at": fmt.moment(at, lang=w.lang()),
            "hours": facts["hours"],
        }
        title = _("The bill %(report)s is late: it ends on %(day)s") % values
        text = _("The newest delivery is of %(at)s, more than %(hours)s h ago.") % values
        return Told(title, text, w.link("bills-connect"))
    if facts["what"] == "differs":
        values = {"report": w.clean(facts["report"]), "month": facts["month"]}
        title = _("The bill %(report)s of %(month)s does not reconcile") % values
        return Told(title, _("Its sum differs from the invoice or manifest."), w.link("overview"))
    values = {
        "feed": w.clean(facts["feed"]),
        "at": fmt.moment(datetime.fromisoformat(facts["since"]), lang=w.lang()),
    }
    title = _("The feed %(feed)s fails") % values
    text = _("It last answered %(at)s.") if facts["answered"] else _("It has not answered since %(at)s.")
    return Told(title, text % values, w.link("data"))
