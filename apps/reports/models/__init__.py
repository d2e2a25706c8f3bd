"""Subscriptions, reports, alerts and what was sent."""

from apps.reports.models.alerts import Alert, Channel, ChannelKind, Snooze
from apps.reports.models.deliveries import AlertDelivery, Delivery, Sending, SendState
from apps.reports.models.subscriptions import (
    LANGUAGES,
    Attachment,
    Edition,
    Recipient,
    Report,
    Subscription,
    Weekday,
)

__all__ = [
    "LANGUAGES",
    "Alert",
    "AlertDelivery",
    "Attachment",
    "Channel",
    "ChannelKind",
    "Delivery",
    "Edition",
    "Recipient",
    "Report",
    "SendState",
    "Sending",
    "Snooze",
    "Subscription",
    "Weekday",
]
