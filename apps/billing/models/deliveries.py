"""Reports, their deliveries, and the totals of each delivery, which outlive its lines."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from finops.frames.focus import DECIMAL_PRECISION, DECIMAL_SCALE


class BillReport(models.Model):
    """One export definition of one payer: what its deliveries replace is a billing period of this report.

    `payer` is the billing account; `name` the report's name in its manifest or path, else the kind's name.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="bill_reports", null=True, blank=True
    )
    provider = models.CharField(_("provider"), max_length=40)
    payer = models.CharField(_("billing account"), max_length=200)
    name = models.CharField(_("report"), max_length=300)
    kind = models.CharField(_("kind"), max_length=40)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["provider", "payer", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "provider", "payer", "name"],
                name="bill_report_once",
                nulls_distinct=False,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.payer} {self.name}"


class DeliveryState(models.TextChoices):
    """`current`: its lines are in the lake; `superseded`: a newer one took its place; `late`: it came after a
    newer one and never was current.
    """

    CURRENT = "current", _("Current")
    SUPERSEDED = "superseded", _("Superseded")
    LATE = "late", _("Older than the current one")


class Delivery(models.Model):
    """One delivery of one billing period: which files, what was read, what it sums to.

    `delivered_at` orders deliveries: the manifest's or assembly's own time, never the time of loading. It is
    null where the source tells none; such a delivery is as old as its newest file. `columns` are the headers
    as delivered; `tag_keys` the tag keys that the delivery could report, null where tags come as a map and
    every key can. `totals` is {currency: {billed, amortised, net, list}}, `by_line_item_type` {type:
    {currency: {rows, billed, amortised, net, list, quantity}}}, both with decimal texts. `expected` is what
    the manifest or invoice says; `reconciled` is null when nothing was said. `run_id` is the ingest run.
    """

    report = models.ForeignKey(BillReport, on_delete=models.PROTECT, related_name="deliveries")
    billing_period = models.DateField(_("billing period"))
    kind = models.CharField(_("kind"), max_length=40)
    state = models.CharField(max_length=10, choices=DeliveryState)
    assembly = models.CharField(_("assembly"), max_length=300, blank=True)
    delivered_at = models.DateTimeField(_("delivered"))
    loaded_at = models.DateTimeField(db_default=Now(), editable=False)
    content_hash = models.CharField(max_length=64)
    files = models.JSONField(default=list)
    columns = ArrayField(models.TextField(), default=list)
    tag_keys = ArrayField(models.TextField(), null=True, blank=True)
    final = models.BooleanField(_("final"), null=True, blank=True)
    stopgap = models.BooleanField(_("daily totals only"), default=False)
    run_id = models.BigIntegerField()

    rows_read = models.BigIntegerField()
    stored = models.BigIntegerField()
    rejected = models.BigIntegerField()
    first_day = models.DateField(null=True, blank=True)
    last_day = models.DateField(null=True, blank=True)
    totals = models.JSONField(default=dict)
    by_line_item_type = models.JSONField(default=dict)
    notes = models.JSONField(default=list)
    expected = models.JSONField(null=True, blank=True)
    reconciled = models.BooleanField(_("reconciled"), null=True, blank=True)
    difference = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-billing_period", "report", "-delivered_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["report", "billing_period"],
                name="delivery_one_current",
                condition=Q(state="current"),
            ),
            models.CheckConstraint(condition=Q(state__in=DeliveryState.values), name="delivery_state_known"),
            models.CheckConstraint(
                condition=Q(rows_read=F("stored") + F("rejected")), name="delivery_rows_add_up"
            ),
            models.CheckConstraint(condition=Q(billing_period__day=1), name="delivery_period_from_first"),
        ]

    def __str__(self) -> str:
        return f"{self.report} {self.billing_period:%Y-%m} ({self.state})"


def _money() -> models.DecimalField[Decimal | None, Decimal | None]:
    return models.DecimalField(max_digits=DECIMAL_PRECISION, decimal_places=DECIMAL_SCALE, null=True)


class DeliveryPart(models.Model):
    """A delivery's sum by service, account, charge category and currency: kept when its lines are gone."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="parts")
    service = models.CharField(max_length=300, blank=True)
    account = models.CharField(max_length=200, blank=True)
    charge_category = models.CharField(max_length=40, blank=True)
    currency = models.CharField(max_length=10)
    rows = models.BigIntegerField()
    billed = _money()
    amortised = _money()
    net = _money()
    list = _money()

    class Meta:
        ordering = ["delivery", "service", "account", "charge_category", "currency"]
        constraints = [
            models.UniqueConstraint(
                fields=["delivery", "service", "account", "charge_category", "currency"],
                name="delivery_part_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.service} {self.account} {self.charge_category} {self.billed} {self.currency}"
