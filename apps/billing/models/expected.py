"""What invoices say: the totals that deliveries are compared with."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from finops.frames.focus import DECIMAL_PRECISION, DECIMAL_SCALE


class ExpectedTotal(models.Model):
    """The invoice of a payer and month in one currency; "" as `report` is for all of the payer.

    `places`: decimals in which it is written and to which a bill is compared. `source`: whose word it is.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="expected_totals"
    )
    billing_period = models.DateField(_("billing period"))
    payer = models.CharField(_("billing account"), max_length=200)
    report = models.CharField(_("report"), max_length=300, blank=True)
    currency = models.CharField(_("currency"), max_length=10)
    amount = models.DecimalField(_("total"), max_digits=DECIMAL_PRECISION, decimal_places=DECIMAL_SCALE)
    places = models.PositiveSmallIntegerField(default=2)
    source = models.CharField(_("source"), max_length=300)
    set_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-billing_period", "payer", "report", "currency"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "billing_period", "payer", "report", "currency"],
                name="expected_total_once",
            ),
            models.CheckConstraint(condition=Q(billing_period__day=1), name="expected_total_from_first"),
            models.CheckConstraint(
                condition=~Q(source="") & ~Q(payer="") & ~Q(currency=""), name="expected_total_has_source"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.payer} {self.billing_period:%Y-%m} {self.total} {self.currency}"

    @property
    def total(self) -> Decimal:
        """The amount in the places in which it was written."""
        return self.amount.quantize(Decimal(1).scaleb(-self.places))
