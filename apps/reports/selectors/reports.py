"""Reading subscriptions and reports, and their JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, Q, QuerySet

from apps.accounts.models import Organisation
from apps.reports.models import Delivery, Recipient, Report, Sending, SendState, Subscription

Document = dict[str, Any]


def subscription_list(organisation: Organisation) -> QuerySet[Subscription]:
    """The organisation's subscriptions by name."""
    return (
        Subscription.objects.filter(organisation=organisation)
        .select_related("team")
        .prefetch_related("recipients")
    )


def report_list(organisation: Organisation) -> QuerySet[Report]:
    """The organisation's reports, newest first, with how many mails stand how; without their bodies."""

    def count(*states: str) -> Count:
        return Count("deliveries", filter=Q(deliveries__state__in=states))

    return (
        Report.objects.filter(organisation=organisation)
        .select_related("subscription")
        .defer("html", "text", "chart", "document")
        .annotate(
            mails=Count("deliveries"),
            sent=count(SendState.SENT),
            waiting=count(SendState.WAITING, SendState.SENDING),
            bad=count(SendState.REFUSED, SendState.FAILED, SendState.BOUNCED, SendState.UNKNOWN),
        )
        .order_by("-composed_at", "-pk")  # counting groups the rows, which drops the model's own order
    )


def report_find(organisation: Organisation, pk: int) -> Report | None:
    """One of the organisation's with all it says; None for any other."""
    return (
        Report.objects.filter(organisation=organisation, pk=pk)
        .select_related("subscription")
        .prefetch_related("deliveries", "attachments")
        .first()
    )


def delivery_list(organisation: Organisation) -> QuerySet[Delivery]:
    """Mails of the organisation's reports."""
    return Delivery.objects.filter(report__organisation=organisation).select_related("report")


def subscription_document(row: Subscription) -> Document:
    """A subscription as JSON values."""
    return {
        "id": row.pk,
        "name": row.name,
        "team": row.team.slug if row.team else None,
        "account": row.account or None,
        "edition": row.edition,
        "language": row.language,
        "time_zone": row.time_zone,
        "weekday": row.weekday,
        "hour": row.hour,
        "currency": row.currency or None,
        "attach_pdf": row.attach_pdf,
        "attach_csv": row.attach_csv,
        "active": row.active,
        "next_due_at": iso(row.next_due_at) if row.active else None,
        "error": row.error or None,
        "recipients": [recipient_document(one) for one in row.recipients.all()],
    }


def recipient_document(row: Recipient) -> Document:
    """An address and whether mail is sent to it; never its token."""
    return {
        "email": row.email,
        "unsubscribed_at": iso(row.unsubscribed_at),
        "refused_at": iso(row.refused_at),
        "reason": row.reason or None,
    }


def report_document(row: Report) -> Document:
    """A report in short."""
    return {
        "id": row.pk,
        "subscription": row.subscription_id,
        "title": row.title,
        "week": row.week,
        "from": row.first_day.isoformat(),
        "last_day": row.last_day.isoformat(),
        "edition": row.edition,
        "language": row.language,
        "test": row.test,
        "subject": row.subject,
        "preheader": row.preheader,
        "missed_weeks": row.missed,
        "composed_at": iso(row.composed_at),
    }


def report_full_document(row: Report) -> Document:
    """A report as it was sent, with what became of its mails."""
    return {
        **report_document(row),
        "html": row.html,
        "text": row.text,
        "document": row.document,
        "attachments": [
            {"name": one.name, "content_type": one.content_type, "bytes": len(one.body)}
            for one in row.attachments.all()
        ],
        "deliveries": [delivery_document(one) for one in row.deliveries.all()],
    }


def sending_document(row: Sending) -> Document:
    """What became of a mail or message."""
    return {
        "id": row.pk,
        "state": row.state,
        "message_id": row.message_id,
        "attempts": row.attempts,
        "next_try_at": iso(row.next_try_at),
        "sent_at": iso(row.sent_at),
        "error": row.error or None,
    }


def delivery_document(row: Delivery) -> Document:
    """A mail to one address."""
    return {"email": row.email, **sending_document(row)}


def iso(at: datetime | None) -> str | None:
    """ISO 8601 in UTC with Z; None stays None."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")
