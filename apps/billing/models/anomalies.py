"""Anomalies that were found, what people said about them, and what the judging of new bills has seen."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from finops.frames.focus import DECIMAL_PRECISION, DECIMAL_SCALE


class AnomalyState(models.TextChoices):
    """What a person made of it."""

    OPEN = "open", _("Open")
    SNOOZED = "snoozed", _("Snoozed")
    CLOSED = "closed", _("Closed")


class AnomalyDirection(models.TextChoices):
    """Whether it costs more or less than usual."""

    RISE = "rise", _("Rise")
    DROP = "drop", _("Drop")


class AnomalyCourse(models.TextChoices):
    """What its cost did."""

    OPEN = "open", _("Going on")
    OVER = "over", _("Over")
    NEW_LEVEL = "new level", _("New level")
    RESTATED = "restated", _("No longer on the bill")


def _money() -> models.DecimalField[Decimal, Decimal]:
    return models.DecimalField(max_digits=DECIMAL_PRECISION, decimal_places=DECIMAL_SCALE)


class Anomaly(models.Model):
    """One cause: a slice of the bill that left its usual cost in one direction on `first_day`.

    `cause` is the slice as text ("service=AWSGlue"), "" the whole bill; `slice` the same as pairs.
    `amount`: cost over (negative: under) the usual of its days; `low`, `high` its 90 % interval.
    `days`: [{day, actual, expected, low, high}], `drivers`: [{dimension, key, usual, actual, change, share}],
    decimal texts. `state`, `until`, `reason`, `author` are what a person said; a restated bill keeps them.
    `announcements`: [{key, amount, facts}] of the decisions that explain it; `announced`: all of it.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="anomalies"
    )
    basis = models.CharField(max_length=9)
    currency = models.CharField(_("currency"), max_length=10)
    cause = models.CharField(_("cause"), max_length=600, blank=True)
    slice = models.JSONField(default=list)
    direction = models.CharField(max_length=4, choices=AnomalyDirection)
    first_day = models.DateField(_("first day"))
    last_day = models.DateField(_("last day"))
    course = models.CharField(max_length=9, choices=AnomalyCourse)
    actual = _money()
    expected = _money()
    amount = _money()
    low = _money()
    high = _money()
    days = models.JSONField(default=list)
    drivers = models.JSONField(default=list)
    announcements = models.JSONField(default=list, blank=True)
    announced = models.BooleanField(default=False)
    found_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    evidence = models.JSONField(default=dict)

    state = models.CharField(_("state"), max_length=7, choices=AnomalyState, default=AnomalyState.OPEN)
    until = models.DateField(_("until"), null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    author = models.CharField(max_length=254, blank=True)
    stated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-first_day", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "basis", "currency", "cause", "direction", "first_day"],
                name="anomaly_cause_once_a_day",
            ),
            models.CheckConstraint(
                condition=Q(direction__in=AnomalyDirection.values), name="anomaly_direction_known"
            ),
            models.CheckConstraint(condition=Q(course__in=AnomalyCourse.values), name="anomaly_course_known"),
            models.CheckConstraint(condition=Q(last_day__gte=F("first_day")), name="anomaly_days_in_order"),
            models.CheckConstraint(
                condition=Q(low__lte=F("amount"), high__gte=F("amount")), name="anomaly_amount_in_interval"
            ),
            models.CheckConstraint(
                condition=Q(state="open", until__isnull=True)
                | (Q(state="snoozed", until__isnull=False) & ~Q(reason="") & ~Q(author=""))
                | (Q(state="closed", until__isnull=True) & ~Q(reason="") & ~Q(author="")),
                name="anomaly_says_who_and_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cause or '*'} {self.direction} {self.first_day}"


class DeliveryDay(models.Model):
    """What a delivery said a day costs, kept when its lines are gone: how later deliveries of it grew."""

    delivery = models.ForeignKey("billing.Delivery", on_delete=models.CASCADE, related_name="days")
    day = models.DateField()
    currency = models.CharField(max_length=10)
    billed = _money()

    class Meta:
        ordering = ["delivery", "day", "currency"]
        constraints = [
            models.UniqueConstraint(fields=["delivery", "day", "currency"], name="delivery_day_once"),
        ]

    def __str__(self) -> str:
        return f"{self.delivery_id} {self.day}: {self.billed} {self.currency}"


class BillWatch(models.Model):
    """What the judging of an organisation's bills has seen: the same `seen` is not judged again.

    `problems`: sentences of what could not be judged, for the pages.
    """

    organisation = models.OneToOneField(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="bill_watch"
    )
    seen = models.CharField(max_length=64, blank=True)
    judged_at = models.DateTimeField(null=True, blank=True)
    judged_from = models.DateField(null=True, blank=True)
    judged_to = models.DateField(null=True, blank=True)
    problems = ArrayField(models.TextField(), default=list, blank=True)

    def __str__(self) -> str:
        return f"{self.organisation_id}: {self.seen}"
