"""Storage prices that an organisation knows itself: dated, with their source."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class StoragePriceRow(models.Model):
    """What an item of a storage class costs from the day `on` until the item's next row; rules and items:
    `finops.frames.storage_prices`.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="storage_prices"
    )
    provider = models.CharField(_("provider"), max_length=20)
    region = models.CharField(_("region"), max_length=40)
    storage_class = models.CharField(_("storage class"), max_length=40)
    item = models.CharField(_("item"), max_length=60)
    on = models.DateField(_("valid from"))
    price = models.DecimalField(_("price"), max_digits=38, decimal_places=18)
    currency = models.CharField(_("currency"), max_length=10)
    source = models.CharField(_("source"), max_length=300)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["provider", "region", "storage_class", "item", "-on"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "provider", "region", "storage_class", "item", "on"],
                name="storage_price_once_a_day",
            ),
            models.CheckConstraint(condition=Q(price__gte=0), name="storage_price_not_negative"),
            models.CheckConstraint(
                condition=~Q(region="") & ~Q(currency="") & ~Q(source=""), name="storage_price_has_source"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.region} {self.storage_class} {self.item}: {self.price_text}"

    @property
    def price_text(self) -> str:
        """The price without needless zeros."""
        return format(self.price.normalize(), "f")
