"""Making reports: one a subscription and week, with a row for each recipient, in one transaction."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.urls import reverse

from apps.accounts.models import Organisation
from apps.reports.models import Attachment, Delivery, Recipient, Report, SendState, Subscription
from apps.reports.services.composing import Composed, compose
from apps.reports.services.sending import new_message_id
from apps.reports.wording import link
from finops.engine.spend import Week
from finops.engine.weekly import Clock, due_now, next_due, reported_week

log = structlog.get_logger(__name__)
# After a failure to compose (a lake that is away, say) it is tried again.
RETRY = timedelta(minutes=5)


def clock_of(subscription: Subscription) -> Clock:
    """When it is due."""
    return Clock(subscription.weekday, subscription.hour, ZoneInfo(subscription.time_zone))


def unsubscribe_link(recipient: Recipient) -> str:
    """The address of the recipient's own page; the token opens nothing else."""
    return f"{settings.PUBLIC_URL}{reverse('unsubscribe', args=[recipient.token])}"


def reports_due(*, now: datetime) -> list[int]:
    """Ids of subscriptions that are due."""
    ready = Q(retry_at__isnull=True) | Q(retry_at__lte=now)
    rows = Subscription.objects.filter(ready, active=True, next_due_at__lte=now)
    return list(rows.order_by("next_due_at", "pk").values_list("pk", flat=True))


def report_due_make(*, subscription_id: int, now: datetime) -> Report | None:
    """Write the report that is due; None where another worker has it or it is not due any more.

    The row stays locked until the report and its deliveries are there and the next due time is set: they
    come together or not at all.
    """
    try:
        with transaction.atomic():
            row = (
                Subscription.objects.select_for_update(skip_locked=True, of=("self",))
                .select_related("organisation", "team")
                .filter(pk=subscription_id, active=True, next_due_at__lte=now)
                .first()
            )
            return None if row is None else _make_due(row, now)
    except Exception as error:
        log.exception("report_not_made", subscription=subscription_id)
        Subscription.objects.filter(pk=subscription_id).update(
            error=f"{type(error).__name__}: {error}"[:500], retry_at=now + RETRY
        )
        return None


def _make_due(row: Subscription, now: datetime) -> Report | None:
    clock = clock_of(row)
    due, earlier = due_now(clock, row.next_due_at, now)
    if due is None:
        return None
    missed = tuple(dict.fromkeys(reported_week(one, clock.zone).label for one in earlier))
    week = reported_week(due, clock.zone)
    report = Report.objects.filter(subscription=row, week=week.label, test=False).first()
    if report is None:  # it may have been sent by hand
        report = _write(row, compose_as(row, week, now, missed=missed), now)
    Subscription.objects.filter(pk=row.pk).update(next_due_at=next_due(clock, now), retry_at=None, error="")
    return report


def compose_as(
    row: Subscription, week: Week, now: datetime, *, missed: tuple[str, ...] = (), test: bool = False
) -> tuple[int, Composed]:
    """The number that the report will have, which its own link needs, and the report."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('reports_report', 'id'))")
        number = int(cursor.fetchone()[0])
    return number, compose(row, week=week, now=now, report_id=number, missed=missed, test=test)


def report_make(*, subscription: Subscription, week: Week, now: datetime) -> tuple[Report, bool]:
    """(the report of a week, whether it was written just now). Raises SpendError."""
    with transaction.atomic():
        row = (
            Subscription.objects.select_for_update(of=("self",))
            .select_related("organisation", "team")
            .get(pk=subscription.pk)
        )
        found = Report.objects.filter(subscription=row, week=week.label, test=False).first()
        if found is not None:
            return found, False
        return _write(row, compose_as(row, week, now), now), True


def report_test(*, subscription: Subscription, week: Week, email: str, now: datetime) -> Report:
    """A report for one person, marked as a test; the subscription's own is untouched. Raises SpendError."""
    with transaction.atomic():
        number, made = compose_as(subscription, week, now, test=True)
        return _write(subscription, (number, made), now, test_for=email)


def _write(row: Subscription, numbered: tuple[int, Composed], now: datetime, *, test_for: str = "") -> Report:
    number, made = numbered
    report = Report.objects.create(
        pk=number,
        organisation=row.organisation,
        subscription=row,
        title=row.name,
        week=made.week.label,
        first_day=made.week.first,
        last_day=made.week.last,
        edition=row.edition,
        language=row.language,
        test=bool(test_for),
        subject=made.letter.subject,
        preheader=made.letter.preheader,
        html=made.html,
        text=made.text,
        chart=made.chart,
        document=made.document,
        missed=made.document["missed_weeks"],
        composed_at=now,
    )
    Attachment.objects.bulk_create(
        Attachment(report=report, name=one.name, content_type=one.content_type, body=one.body)
        for one in made.files
    )
    Delivery.objects.bulk_create(_deliveries(row, report, now, test_for))
    return report


def _deliveries(row: Subscription, report: Report, now: datetime, test_for: str) -> list[Delivery]:
    waiting = {
        "report": report,
        "state": SendState.WAITING,
        "next_try_at": now,
        "dated": now,
        "sender": settings.DEFAULT_FROM_EMAIL,
    }
    if test_for:
        page = link("reports")
        return [Delivery(email=test_for, message_id=new_message_id(), unsubscribe=page, **waiting)]
    wanted = row.recipients.filter(unsubscribed_at__isnull=True, refused_at__isnull=True)
    return [
        Delivery(
            recipient=one,
            email=one.email,
            message_id=new_message_id(),
            unsubscribe=unsubscribe_link(one),
            **waiting,
        )
        for one in wanted
    ]


def last_week(subscription: Subscription, now: datetime) -> Week:
    """The week that a report written now is about."""
    return reported_week(now, ZoneInfo(subscription.time_zone))


def subscription_of(organisation: Organisation | None, pk: int) -> Subscription | None:
    """One of the organisation's, or of any for the installation itself."""
    rows = Subscription.objects.select_related("organisation", "team")
    if organisation is not None:
        rows = rows.filter(organisation=organisation)
    return rows.filter(pk=pk).first()
