"""What endpoints of reports and alerts answer, field by field."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.reports.models import SendState


def _time(text: str) -> serializers.CharField:
    return serializers.CharField(allow_null=True, help_text=f"{text}; ISO 8601 in UTC.")


def _or_null(text: str) -> serializers.CharField:
    return serializers.CharField(allow_null=True, help_text=text)


class RecipientAnswer(serializers.Serializer[Any]):
    """An address and whether mail is sent to it."""

    email = serializers.CharField()
    unsubscribed_at = _time("Since when it wants none")
    refused_at = _time("Since when mail for it comes back")
    reason = _or_null("As the other side told it.")


class SubscriptionAnswer(serializers.Serializer[Any]):
    """Who gets which report when."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    team = _or_null("Slug; null: not only about a team.")
    account = _or_null("Account id; null: not only about an account.")
    edition = serializers.CharField(help_text="finance or engineering.")
    language = serializers.CharField(help_text="en or zh-hans.")
    time_zone = serializers.CharField(help_text="IANA name.")
    weekday = serializers.IntegerField(help_text="ISO: Monday is 1.")
    hour = serializers.IntegerField(help_text="On the zone's clock.")
    currency = _or_null("Amounts are converted to it; null: each currency by itself.")
    attach_pdf = serializers.BooleanField()
    attach_csv = serializers.BooleanField()
    active = serializers.BooleanField()
    next_due_at = _time("When the next report is due; null: none is")
    error = _or_null("Why the last try to write one failed.")
    recipients = RecipientAnswer(many=True)


class ReportAnswer(serializers.Serializer[Any]):
    """A report in short."""

    id = serializers.IntegerField()
    subscription = serializers.IntegerField(allow_null=True, help_text="Null: it was removed.")
    title = serializers.CharField()
    week = serializers.CharField(help_text="ISO week: 2018-W47.")
    last_day = serializers.CharField(help_text="Sunday.")
    edition = serializers.CharField()
    language = serializers.CharField()
    test = serializers.BooleanField(help_text="Asked for by a person for themselves.")
    subject = serializers.CharField()
    preheader = serializers.CharField()
    missed_weeks = serializers.ListField(
        child=serializers.CharField(), help_text="Weeks before it without a report: nothing ran then."
    )
    composed_at = _time("When it was written")
    mails = serializers.IntegerField(help_text="How many.")
    sent = serializers.IntegerField(help_text="Taken by the mail server.")
    failed = serializers.IntegerField(help_text="Refused, given up, came back or of unknown outcome.")

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's own."""
        return {"from": serializers.CharField(help_text="Monday."), **super().get_fields()}


class MailAnswer(serializers.Serializer[Any]):
    """What became of a mail."""

    id = serializers.IntegerField()
    email = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=SendState.values)
    message_id = serializers.CharField()
    attempts = serializers.IntegerField()
    next_try_at = _time("When it is tried next")
    sent_at = _time("When the server took it")
    error = _or_null("Why it was not sent, or the last trouble.")


class MessageAnswer(MailAnswer):
    """What became of an alert in a channel."""

    channel = serializers.CharField()


class AlertAnswer(serializers.Serializer[Any]):
    """An alert and what was sent."""

    id = serializers.IntegerField()
    cause = serializers.CharField(help_text="budget, anomaly, deal, data, launch, storm or test.")
    key = serializers.CharField(help_text="What it is about.")
    period = serializers.CharField(help_text="The turn in which it happened.")
    team = _or_null("Slug.")
    title = serializers.CharField()
    text = serializers.CharField()
    link = serializers.CharField()
    facts = serializers.JSONField(help_text="Figures as they were; money as decimal strings.")
    raised_at = _time("When it was raised")
    over_at = _time("Since when it no longer holds")
    snoozed_until = _time("Until when nothing is sent about it")
    snooze_reason = _or_null("Why.")
    deliveries = MessageAnswer(many=True)


class ChannelAnswer(serializers.Serializer[Any]):
    """Where alerts go; of an address only its host."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.CharField(help_text="mail, slack or webhook.")
    team = _or_null("Slug; null: every alert.")
    host = _or_null("Host of the address.")
    emails = serializers.ListField(child=serializers.CharField())
    causes = serializers.ListField(child=serializers.CharField(), help_text="Empty: all.")
    language = serializers.CharField()
    time_zone = serializers.CharField()
    quiet_from = _or_null("As 22:00, on the zone's clock.")
    quiet_to = _or_null("As 07:00.")
    active = serializers.BooleanField()


class NewChannelAnswer(ChannelAnswer):
    """A channel that was just added."""

    signing_secret = _or_null("Of a webhook, shown this once.")
