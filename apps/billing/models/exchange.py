"""Exchange rates: dated, with their source."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class ExchangeRate(models.Model):
    """One unit of `base` costs `rate` units of `quote` from the day `on` until the pair's next row.

    `both_ways`: an amount in `quote` may be divided by it. Rules: `finops.engine.exchange`.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="exchange_rates"
    )
    base = models.CharField(_("one unit of"), max_length=10)
    quote = models.CharField(_("costs in"), max_length=10)
    on = models.DateField(_("date"))
    rate = models.DecimalField(_("rate"), max_digits=38, decimal_places=18)
    both_ways = models.BooleanField(_("both ways"), default=False)
    source = models.CharField(_("source"), max_length=300)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["base", "quote", "-on"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "base", "quote", "on"], name="exchange_rate_once_a_day"
            ),
            models.CheckConstraint(condition=Q(rate__gt=0), name="exchange_rate_above_zero"),
            models.CheckConstraint(condition=~Q(base=F("quote")), name="exchange_rate_of_two_currencies"),
            models.CheckConstraint(
                condition=~Q(source="") & ~Q(base="") & ~Q(quote=""), name="exchange_rate_has_source"
            ),
        ]

    def __str__(self) -> str:
        return f"1 {self.base} = {self.rate_text} {self.quote} ({self.on})"

    @property
    def rate_text(self) -> str:
        """The rate without needless zeros."""
        return format(self.rate.normalize(), "f")
