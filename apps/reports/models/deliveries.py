"""What was sent to whom: one row a mail or message, claimed before it leaves."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class SendState(models.TextChoices):
    """Where a mail or message stands."""

    WAITING = "waiting", _("Waiting")
    SENDING = "sending", _("Being sent")
    SENT = "sent", _("Sent")
    REFUSED = "refused", _("Refused by the other side")
    FAILED = "failed", _("Given up")
    UNKNOWN = "unknown", _("Outcome unknown")
    BOUNCED = "bounced", _("Came back")
    DROPPED = "dropped", _("Not sent")


class Sending(models.Model):
    """One thing to one receiver.

    A worker turns `waiting` into `sending` with its `claim` and a lease, tells that the last byte is about to
    leave (`handed_at`), and writes how it ended. Dead before `handed_at`: nothing was accepted and it waits
    again. Dead after: `unknown`, because the other side may have it. `message_id` is made once and kept.
    """

    state = models.CharField(_("state"), max_length=8, choices=SendState, default=SendState.WAITING)
    message_id = models.CharField(max_length=120, unique=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(_("next try"), null=True, blank=True)
    claim = models.CharField(max_length=32, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    handed_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(_("sent"), null=True, blank=True)
    error = models.CharField(_("error"), max_length=500, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.message_id}: {self.state}"


def _rules(name: str) -> list[models.BaseConstraint]:
    return [
        models.CheckConstraint(condition=Q(state__in=SendState.values), name=f"{name}_state_known"),
        models.CheckConstraint(
            condition=~Q(state="sending") | (~Q(claim="") & Q(lease_until__isnull=False)),
            name=f"{name}_sending_is_claimed",
        ),
        models.CheckConstraint(
            condition=~Q(state="waiting") | Q(next_try_at__isnull=False), name=f"{name}_waiting_has_a_time"
        ),
        models.CheckConstraint(
            condition=~Q(state="sent") | Q(sent_at__isnull=False), name=f"{name}_sent_has_a_time"
        ),
    ]


class Delivery(Sending):
    """A report to one address. `digest`: SHA-256 of the message's bytes as they left; `sender` and `dated`:
    its From and Date.
    """

    report = models.ForeignKey("reports.Report", on_delete=models.CASCADE, related_name="deliveries")
    recipient = models.ForeignKey(
        "reports.Recipient", on_delete=models.SET_NULL, related_name="deliveries", null=True, blank=True
    )
    email = models.EmailField(_("e-mail address"))
    unsubscribe = models.CharField(max_length=200, blank=True)
    sender = models.CharField(max_length=320)
    dated = models.DateTimeField()
    digest = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["email", "pk"]
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(
                fields=["next_try_at"], condition=Q(state__in=["waiting", "sending"]), name="report_mail_due"
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["report", "email"], name="delivery_once_an_address"),
            *_rules("report_mail"),
        ]


class AlertDelivery(Sending):
    """An alert through one channel."""

    alert = models.ForeignKey("reports.Alert", on_delete=models.CASCADE, related_name="deliveries")
    channel = models.ForeignKey("reports.Channel", on_delete=models.CASCADE, related_name="deliveries")
    email = models.EmailField(_("e-mail address"), blank=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "alert deliveries"
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=Q(state__in=["waiting", "sending"]),
                name="alert_message_due",
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["alert", "channel", "email"], name="alert_delivery_once"),
            *_rules("alert_message"),
        ]
