"""Negotiated rates: what a contract takes off list prices, from when to when."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class NegotiatedRateRow(models.Model):
    """One row of the table; the rules of which row wins are in `finops.engine.rates`.

    Exactly one of `percent` (off the list price) and `price` (for one unit, in `currency`). Empty `service`,
    `sku`, `product`, `region` mean any. Valid on the days [valid_from, valid_until). `source` names the
    contract. A row is ended or replaced, never edited: what advice cited stays readable.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="negotiated_rates"
    )
    provider = models.CharField(_("provider"), max_length=20)
    service = models.CharField(_("service"), max_length=100, blank=True)
    sku = models.CharField(_("SKU pattern"), max_length=100, blank=True)
    product = models.CharField(_("product"), max_length=100, blank=True)
    region = models.CharField(_("region"), max_length=40, blank=True)
    percent = models.DecimalField(_("percent off"), max_digits=9, decimal_places=6, null=True, blank=True)
    price = models.DecimalField(_("price"), max_digits=38, decimal_places=18, null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=10, blank=True)
    valid_from = models.DateField(_("valid from"))
    valid_until = models.DateField(_("valid until"), null=True, blank=True)
    source = models.CharField(_("contract"), max_length=300)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["provider", "service", "sku", "product", "region", "-valid_from", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(percent__isnull=False, price__isnull=True, currency="")
                | (Q(percent__isnull=True, price__isnull=False) & ~Q(currency="")),
                name="negotiated_rate_percent_or_price",
            ),
            models.CheckConstraint(
                condition=Q(percent__isnull=True) | Q(percent__gte=0, percent__lte=100),
                name="negotiated_rate_percent_0_100",
            ),
            models.CheckConstraint(
                condition=Q(price__isnull=True) | Q(price__gte=0), name="negotiated_rate_price_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(valid_until__isnull=True) | Q(valid_until__gt=F("valid_from")),
                name="negotiated_rate_days_in_order",
            ),
            models.CheckConstraint(
                condition=~Q(source="") & ~Q(provider=""), name="negotiated_rate_has_source"
            ),
        ]

    def __str__(self) -> str:
        what = self.sku or self.service or self.provider
        off = f"{self.price_text} {self.currency}" if self.percent is None else f"-{self.percent_text} %"
        return f"{what} {off} ({self.source})"

    @property
    def percent_text(self) -> str:
        """The percentage without needless zeros; "" where the row is a price."""
        return "" if self.percent is None else format(self.percent.normalize(), "f")

    @property
    def price_text(self) -> str:
        """The price without needless zeros; "" where the row is a percentage."""
        return "" if self.price is None else format(self.price.normalize(), "f")
