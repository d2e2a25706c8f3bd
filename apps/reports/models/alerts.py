"""Alerts: what happened once a cause and period, through which channels, and who wants quiet."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.validators import validate_time_zone
from apps.reports.models.subscriptions import LANGUAGES


class ChannelKind(models.TextChoices):
    """How an alert travels."""

    MAIL = "mail", _("Mail")
    SLACK = "slack", _("Slack")
    WEBHOOK = "webhook", _("Signed webhook")


class Channel(models.Model):
    """Where alerts go. `team`: only that team's; without one every alert of the organisation.

    `address` is the webhook's (a secret: Slack's opens the door by itself), `emails` those of mail.
    Empty `causes` is all of them. Quiet hours are minutes after midnight in `time_zone`. The signing secret
    is made of `salt` and the installation's key: it is stored nowhere.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="alert_channels"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="alert_channels", null=True, blank=True
    )
    name = models.CharField(_("name"), max_length=100)
    kind = models.CharField(_("kind"), max_length=7, choices=ChannelKind)
    address = models.CharField(_("address"), max_length=500, blank=True)
    emails = ArrayField(models.EmailField(), default=list, blank=True)
    causes = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    language = models.CharField(_("language"), max_length=10, choices=LANGUAGES, default="en")
    time_zone = models.CharField(
        _("time zone"), max_length=64, default="UTC", validators=[validate_time_zone]
    )
    quiet_from = models.PositiveSmallIntegerField(null=True, blank=True)
    quiet_to = models.PositiveSmallIntegerField(null=True, blank=True)
    salt = models.CharField(max_length=32, editable=False)
    active = models.BooleanField(_("is used"), default=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="channel_name_once"),
            models.CheckConstraint(condition=Q(kind__in=ChannelKind.values), name="channel_kind_known"),
            models.CheckConstraint(
                condition=(Q(kind="mail", address="") & ~Q(emails=[]))
                | (Q(kind__in=["slack", "webhook"], emails=[]) & ~Q(address="")),
                name="channel_has_an_address",
            ),
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_to__isnull=True)
                | Q(quiet_from__lt=1440, quiet_to__lt=1440),
                name="channel_quiet_hours_in_a_day",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Alert(models.Model):
    """Something that somebody should know, once for each cause and period.

    `cause` is its kind ("budget"), `key` names what it is about ("12:actual:80"), `period` the turn of it.
    `facts`: JSON values from which it is worded in any language. `over_at`: it no longer holds.
    """

    organisation = models.ForeignKey("accounts.Organisation", on_delete=models.PROTECT, related_name="alerts")
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.SET_NULL, related_name="alerts", null=True, blank=True
    )
    cause = models.CharField(_("cause"), max_length=20)
    key = models.CharField(max_length=200)
    period = models.CharField(_("period"), max_length=40)
    facts = models.JSONField(default=dict)
    raised_at = models.DateTimeField(_("raised"))
    over_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-raised_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "cause", "key", "period"], name="alert_once_a_cause_and_period"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cause} {self.key} {self.period}"


class Snooze(models.Model):
    """Nothing is sent about this cause until a time; what is still true then is sent then."""

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="snoozes"
    )
    cause = models.CharField(max_length=20)
    key = models.CharField(max_length=200)
    until = models.DateTimeField()
    reason = models.CharField(_("reason"), max_length=500)
    author = models.CharField(max_length=254)
    stated_at = models.DateTimeField()

    class Meta:
        ordering = ["until", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "cause", "key"], name="snooze_once_a_cause"),
            models.CheckConstraint(condition=~Q(reason="") & ~Q(author=""), name="snooze_says_who_and_why"),
        ]

    def __str__(self) -> str:
        return f"{self.cause} {self.key} {self.until:%Y-%m-%d}"
