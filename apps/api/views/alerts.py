"""Alerts and their channels."""

from __future__ import annotations

import re
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import PageQuery, StrictSerializer, UtcDateTimeField
from apps.api.views.report_answers import AlertAnswer, ChannelAnswer, NewChannelAnswer
from apps.api.views.reports import team_named
from apps.reports.causes import causes
from apps.reports.models import LANGUAGES, Alert, Channel, ChannelKind
from apps.reports.selectors.alerts import (
    alert_delivery_document,
    alert_document,
    alert_list,
    channel_document,
    channel_list,
    snoozes_of,
)
from apps.reports.services.alerts import alert_snooze, alert_wake, channel_test
from apps.reports.services.channels import channel_remove, channel_save, host_of

CLOCK = r"^([01]\d|2[0-3]):[0-5]\d$"


class AlertsQuery(PageQuery):
    """Which alerts."""

    cause = serializers.CharField(required=False, max_length=20, help_text="budget, anomaly, deal, data, …")

    def validate_cause(self, value: str) -> str:
        """One of those that are known."""
        known = [one.name for one in causes()]
        if value not in known:
            raise serializers.ValidationError(f"Known: {', '.join(known)}.")
        return value


class _AlertView(ApiView):
    tag = "alerts"

    def find(self, alert_id: int) -> Alert:
        """The organisation's own; 404 for any other."""
        found: Alert = found_or_404(alert_list(self.organisation), pk=alert_id)
        return found

    def told(self, row: Alert) -> Response:
        """The alert with its snooze and what was sent."""
        snooze = snoozes_of(self.organisation, timezone.now()).get((row.cause, row.key))
        return self.answer(alert_document(row, snooze, sent=True))


class Alerts(_AlertView):
    """What was raised."""

    endpoints = {
        "GET": Endpoint(
            summary="Alerts, newest first, with what was sent",
            action=Action.VIEW,
            scope=Scope.READ_REPORTS,
            query=AlertsQuery,
            answer=page_of(AlertAnswer),
        )
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        snoozes = snoozes_of(self.organisation, timezone.now())
        rows = alert_list(self.organisation, cause=self.query.get("cause", ""))
        number, size = self.query["page"], self.query["page_size"]
        start = (number - 1) * size
        shown = {
            start + i: alert_document(row, snoozes.get((row.cause, row.key)), sent=True)
            for i, row in enumerate(rows[start : start + size])
        }
        return self.page([shown.get(i, {}) for i in range(rows.count())])


class SnoozeBody(StrictSerializer):
    """Until when, and why."""

    until = UtcDateTimeField(help_text="From then on it is told again, if it still holds.")
    reason = serializers.CharField(max_length=500, help_text="Others will read it.")


class SnoozeAlert(_AlertView):
    """Hold a cause back."""

    endpoints = {
        "POST": Endpoint(
            summary="Send nothing about this cause until a time",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            body=SnoozeBody,
            answer=AlertAnswer,
        )
    }

    def post(self, request: Request, alert_id: int) -> Response:
        """The alert."""
        row = self.find(alert_id)
        alert_snooze(alert=row, actor=self.actor, now=timezone.now(), **self.body)
        return self.told(row)


class WakeAlert(_AlertView):
    """Take a snooze back."""

    endpoints = {
        "POST": Endpoint(
            summary="Take a snooze back; what waited for it is sent",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            answer=AlertAnswer,
        )
    }

    def post(self, request: Request, alert_id: int) -> Response:
        """The alert."""
        row = self.find(alert_id)
        alert_wake(alert=row, actor=self.actor, now=timezone.now())
        return self.told(row)


class ChannelBody(StrictSerializer):
    """A channel, whole: what is left out is its default; an address that is left out is kept."""

    name = serializers.CharField(max_length=100, help_text="Once in the organisation.")
    kind = serializers.ChoiceField(choices=ChannelKind.values)
    address = serializers.CharField(
        required=False, max_length=500, help_text="Of Slack or your own server, https; never shown again."
    )
    emails = serializers.ListField(
        child=serializers.CharField(max_length=254), required=False, max_length=2000, help_text="For mail."
    )
    causes = serializers.ListField(
        child=serializers.CharField(max_length=20), required=False, max_length=20, help_text="Empty: all."
    )
    team = serializers.SlugField(required=False, allow_null=True, max_length=50, help_text="Only its alerts.")
    language = serializers.ChoiceField(choices=[code for code, _name in LANGUAGES], default="en")
    time_zone = serializers.CharField(default="UTC", max_length=64, help_text="An IANA name: Europe/Berlin.")
    quiet_from = serializers.RegexField(CLOCK, required=False, allow_null=True, help_text="As 22:00.")
    quiet_to = serializers.RegexField(CLOCK, required=False, allow_null=True, help_text="As 07:00.")
    active = serializers.BooleanField(default=True)


def minutes(text: str | None) -> int | None:
    """`22:00` as minutes after midnight."""
    if not text:
        return None
    hour, minute = re.split(":", text)
    return int(hour) * 60 + int(minute)


class _ChannelView(ApiView):
    tag = "alerts"

    def find(self, channel_id: int) -> Channel:
        """The organisation's own; 404 for any other."""
        found: Channel = found_or_404(channel_list(self.organisation), pk=channel_id)
        return found

    def save(self, row: Channel | None) -> Response:
        """Keep the body; a new webhook's signing secret is in this answer alone."""
        fields: dict[str, Any] = dict(self.body)
        fields["team"] = team_named(self, fields.pop("team", None))
        for name in ("quiet_from", "quiet_to"):
            fields[name] = minutes(fields.get(name))
        try:
            saved, secret = channel_save(
                organisation=self.organisation,
                actor=self.actor,
                fields=fields,
                now=timezone.now(),
                channel=row,
            )
        except Channel.DoesNotExist as error:
            raise NotFound from error
        found = channel_document(saved, host_of(saved))
        return self.answer({**found, "signing_secret": secret})


class Channels(_ChannelView):
    """Where alerts go."""

    endpoints = {
        "GET": Endpoint(
            summary="Channels of alerts, by name; of an address only its host",
            action=Action.VIEW,
            scope=Scope.READ_REPORTS,
            query=PageQuery,
            answer=page_of(ChannelAnswer),
        ),
        "POST": Endpoint(
            summary="Add a channel of alerts",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            body=ChannelBody,
            answer=NewChannelAnswer,
            status=201,
            description="`signing_secret` of a webhook is shown this once.",
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([channel_document(row, host_of(row)) for row in channel_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """The channel as it is kept."""
        return self.save(None)


class OneChannel(_ChannelView):
    """A channel."""

    endpoints = {
        "GET": Endpoint(
            summary="Read a channel",
            action=Action.VIEW,
            scope=Scope.READ_REPORTS,
            answer=ChannelAnswer,
        ),
        "PUT": Endpoint(
            summary="Replace a channel: what the body leaves out is its default",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            body=ChannelBody,
            answer=ChannelAnswer,
        ),
        "DELETE": Endpoint(
            summary="Forget a channel with what waits in it",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            answer=None,
            status=204,
        ),
    }

    def get(self, request: Request, channel_id: int) -> Response:
        """The document of one."""
        row = self.find(channel_id)
        return self.answer(channel_document(row, host_of(row)))

    def put(self, request: Request, channel_id: int) -> Response:
        """The channel as it is kept now."""
        return self.save(self.find(channel_id))

    def delete(self, request: Request, channel_id: int) -> Response:
        """Nothing."""
        channel_remove(channel=self.find(channel_id), actor=self.actor)
        return self.answer(None)


class TestChannel(_ChannelView):
    """A test through a channel."""

    endpoints = {
        "POST": Endpoint(
            summary="Send a test through a channel now",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request, channel_id: int) -> Response:
        """What came of it."""
        rows = channel_test(channel=self.find(channel_id), now=timezone.now())
        return self.answer({"deliveries": [alert_delivery_document(row) for row in rows]})
