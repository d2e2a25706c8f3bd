"""Prices that change by list, and how often Spot is taken away; Spot prices themselves are facts in the
lake.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from finops.frames.list_prices import PRICE_DECIMALS, PRICE_DIGITS


class ListPrice(models.Model):
    """One on-demand price of one dated list, per instance-hour.

    Why it is here and not in the lake: docs/adr/0004-list-prices-in-postgresql.md.
    """

    provider = models.CharField(_("provider"), max_length=20)
    region = models.CharField(_("region"), max_length=40)
    instance_type = models.CharField(_("instance type"), max_length=60)
    operating_system = models.CharField(_("operating system"), max_length=30)
    licence = models.CharField(_("licence"), max_length=20)
    tenancy = models.CharField(_("tenancy"), max_length=20)
    currency = models.CharField(_("currency"), max_length=3)
    effective_from = models.DateTimeField(_("list of"))
    price = models.DecimalField(_("price"), max_digits=PRICE_DIGITS, decimal_places=PRICE_DECIMALS)
    source = models.CharField(_("source"), max_length=1000)

    class Meta:
        ordering = ["provider", "region", "instance_type", "effective_from"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "provider",
                    "region",
                    "operating_system",
                    "licence",
                    "tenancy",
                    "instance_type",
                    "currency",
                    "effective_from",
                ],
                name="list_price_once",
            ),
            models.CheckConstraint(condition=Q(price__gt=0), name="list_price_above_zero"),
            models.CheckConstraint(condition=~Q(currency=""), name="list_price_has_currency"),
        ]

    def __str__(self) -> str:
        return f"{self.instance_type} {self.region} {self.price} {self.currency}"


class InterruptionBand(models.Model):
    """The published share of instances of a type interrupted within a month; a null `high` is an open top
    band.
    """

    provider = models.CharField(_("provider"), max_length=20)
    region = models.CharField(_("region"), max_length=40)
    instance_type = models.CharField(_("instance type"), max_length=60)
    operating_system = models.CharField(_("operating system"), max_length=30)
    as_of = models.DateField(_("published"))
    low = models.DecimalField(max_digits=6, decimal_places=4)
    high = models.DecimalField(max_digits=6, decimal_places=4, null=True)
    label = models.CharField(max_length=20)
    saving_share = models.DecimalField(max_digits=6, decimal_places=4, null=True)
    source = models.CharField(_("source"), max_length=1000)

    class Meta:
        ordering = ["provider", "region", "instance_type", "as_of"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "region", "operating_system", "instance_type", "as_of"],
                name="interruption_band_once",
            ),
            models.CheckConstraint(
                condition=Q(low__gte=0, low__lt=1)
                & (Q(high__isnull=True) | Q(high__gt=F("low"), high__lte=1)),
                name="interruption_band_is_a_share",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.instance_type} {self.region} {self.label}"


class ReservedPrice(models.Model):
    """One term of one dated list: paid once and hourly, per instance."""

    provider = models.CharField(_("provider"), max_length=20)
    region = models.CharField(_("region"), max_length=40)
    instance_type = models.CharField(_("instance type"), max_length=60)
    operating_system = models.CharField(_("operating system"), max_length=30)
    licence = models.CharField(_("licence"), max_length=20)
    tenancy = models.CharField(_("tenancy"), max_length=20)
    offering_class = models.CharField(_("class"), max_length=20)
    payment = models.CharField(_("payment"), max_length=20)
    term_months = models.PositiveSmallIntegerField(_("term in months"))
    currency = models.CharField(_("currency"), max_length=3)
    effective_from = models.DateTimeField(_("list of"))
    fixed = models.DecimalField(_("paid once"), max_digits=18, decimal_places=6)
    hourly = models.DecimalField(_("paid hourly"), max_digits=18, decimal_places=10)
    source = models.CharField(_("source"), max_length=1000)

    class Meta:
        ordering = ["provider", "region", "instance_type", "effective_from"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "provider", "region", "operating_system", "licence", "tenancy", "instance_type",
                    "offering_class", "payment", "term_months", "currency", "effective_from",
                ],
                name="reserved_price_once",
            ),
            models.CheckConstraint(
                condition=Q(fixed__gte=0, hourly__gte=0) & (Q(fixed__gt=0) | Q(hourly__gt=0)),
                name="reserved_price_is_a_price",
            ),
            models.CheckConstraint(condition=~Q(currency=""), name="reserved_price_has_currency"),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.instance_type} {self.region} {self.term_months} {self.payment}"


class SavingsPlanPrice(models.Model):
    """One rate of savings plans of one dated list, per instance-hour.

    `family` is empty for plans for all compute; `offering`: the seller's id of the plan, where it is told.
    """

    provider = models.CharField(_("provider"), max_length=20)
    plan = models.CharField(_("plan"), max_length=20)
    region = models.CharField(_("region"), max_length=40)
    family = models.CharField(_("family"), max_length=30, blank=True)
    instance_type = models.CharField(_("instance type"), max_length=60)
    operating_system = models.CharField(_("operating system"), max_length=30)
    licence = models.CharField(_("licence"), max_length=20)
    tenancy = models.CharField(_("tenancy"), max_length=20)
    payment = models.CharField(_("payment"), max_length=20)
    term_months = models.PositiveSmallIntegerField(_("term in months"))
    currency = models.CharField(_("currency"), max_length=3)
    effective_from = models.DateTimeField(_("list of"))
    hourly = models.DecimalField(_("rate"), max_digits=18, decimal_places=10)
    offering = models.CharField(_("offer"), max_length=100, blank=True)
    source = models.CharField(_("source"), max_length=1000)

    class Meta:
        ordering = ["provider", "region", "instance_type", "effective_from"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "provider", "region", "operating_system", "licence", "tenancy", "instance_type", "plan",
                    "family", "payment", "term_months", "currency", "effective_from",
                ],
                name="savings_plan_price_once",
            ),
            models.CheckConstraint(condition=Q(hourly__gt=0), name="savings_plan_price_above_zero"),
            models.CheckConstraint(condition=~Q(currency=""), name="savings_plan_price_has_currency"),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.instance_type} {self.region} {self.plan} {self.term_months} {self.payment}"
