"""Who gets which report when, and the reports exactly as they were sent."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.validators import validate_time_zone

LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]


class Edition(models.TextChoices):
    """For whom a report is written."""

    FINANCE = "finance", _("Finance")
    ENGINEERING = "engineering", _("Engineering")


class Weekday(models.IntegerChoices):
    """ISO days of the week."""

    MONDAY = 1, _("Monday")
    TUESDAY = 2, _("Tuesday")
    WEDNESDAY = 3, _("Wednesday")
    THURSDAY = 4, _("Thursday")
    FRIDAY = 5, _("Friday")
    SATURDAY = 6, _("Saturday")
    SUNDAY = 7, _("Sunday")


class Subscription(models.Model):
    """A weekly report for some people, about the organisation, one of its teams or one account.

    `next_due_at` is when the next is due: a report is claimed by moving it on. `account` and `team` exclude
    each other. `currency` "": every currency by itself. `error`: why the last try to write one failed,
    which is repeated at `retry_at`.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="report_subscriptions"
    )
    name = models.CharField(_("name"), max_length=100)
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="report_subscriptions", null=True, blank=True
    )
    account = models.CharField(_("account"), max_length=100, blank=True)
    edition = models.CharField(_("edition"), max_length=11, choices=Edition, default=Edition.FINANCE)
    language = models.CharField(_("language"), max_length=10, choices=LANGUAGES, default="en")
    time_zone = models.CharField(
        _("time zone"), max_length=64, default="UTC", validators=[validate_time_zone]
    )
    weekday = models.PositiveSmallIntegerField(_("day"), choices=Weekday, default=Weekday.MONDAY)
    hour = models.PositiveSmallIntegerField(_("hour"), default=8)
    currency = models.CharField(_("currency"), max_length=10, blank=True)
    attach_pdf = models.BooleanField(_("attach a PDF"), default=False)
    attach_csv = models.BooleanField(_("attach a CSV"), default=False)
    active = models.BooleanField(_("is sent"), default=True)
    next_due_at = models.DateTimeField(_("next due"))
    retry_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(_("error"), max_length=500, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name", "pk"]
        indexes = [
            models.Index(fields=["next_due_at"], condition=Q(active=True), name="subscription_due"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="subscription_name_once"),
            models.CheckConstraint(condition=Q(name__regex=r"\S"), name="subscription_has_name"),
            models.CheckConstraint(
                condition=Q(team__isnull=True) | Q(account=""), name="subscription_team_or_account"
            ),
            models.CheckConstraint(
                condition=Q(weekday__gte=1, weekday__lte=7) & Q(hour__lte=23),
                name="subscription_on_the_clock",
            ),
            models.CheckConstraint(
                condition=Q(edition__in=Edition.values), name="subscription_edition_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Recipient(models.Model):
    """An address of a subscription. `refused_at`: since when mail for it comes back, `reason` as told.
    `token` opens the page to unsubscribe, and nothing else.
    """

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="recipients")
    email = models.EmailField(_("e-mail address"))
    token = models.CharField(max_length=64, unique=True, editable=False)
    unsubscribed_at = models.DateTimeField(null=True, blank=True)
    refused_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["email"]
        constraints = [
            models.UniqueConstraint(fields=["subscription", "email"], name="recipient_once"),
            models.CheckConstraint(condition=Q(email=Lower("email")), name="recipient_lower"),
        ]

    def __str__(self) -> str:
        return self.email


class Report(models.Model):
    """One mail as it was sent: a database trigger refuses to change what it says.

    `html` and `text` hold the mark `UNSUBSCRIBE` where each recipient's own link stands. `week`: 2018-W47.
    `test`: asked for by a person for themselves; else there is one a subscription and week. `document` holds
    the figures as JSON. `missed`: weeks before it that were not reported because nothing ran.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="reports"
    )
    subscription = models.ForeignKey(
        Subscription, on_delete=models.SET_NULL, related_name="reports", null=True, blank=True
    )
    title = models.CharField(max_length=100)
    week = models.CharField(_("week"), max_length=8)
    first_day = models.DateField()
    last_day = models.DateField()
    edition = models.CharField(max_length=11, choices=Edition)
    language = models.CharField(max_length=10, choices=LANGUAGES)
    test = models.BooleanField(default=False)
    subject = models.CharField(_("subject"), max_length=200)
    preheader = models.CharField(max_length=300)
    html = models.TextField()
    text = models.TextField()
    chart = models.BinaryField(null=True)
    document = models.JSONField()
    missed = ArrayField(models.CharField(max_length=8), default=list, blank=True)
    composed_at = models.DateTimeField()

    class Meta:
        ordering = ["-composed_at", "-pk"]
        indexes = [models.Index(fields=["organisation", "-composed_at"], name="report_by_organisation")]
        constraints = [
            models.UniqueConstraint(
                fields=["subscription", "week"], condition=Q(test=False), name="report_once_a_week"
            ),
            models.CheckConstraint(condition=Q(last_day__gt=F("first_day")), name="report_days_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.title} {self.week}"


class Attachment(models.Model):
    """A file that went with a report."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=120)
    content_type = models.CharField(max_length=60)
    body = models.BinaryField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["report", "name"], name="attachment_once")]

    def __str__(self) -> str:
        return self.name
