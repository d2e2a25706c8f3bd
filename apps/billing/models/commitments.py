"""Commitments on offer, as they were seen: the history of deals."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from finops.frames.offers import OfferKind


class SeenOffer(models.Model):
    """An offer at one price: when it was first and last seen, and when a complete look no longer showed it.

    `count` is that of the last look; null: not limited. `gone_at` null: it may still stand.
    """

    provider = models.CharField(_("provider"), max_length=20)
    offer = models.CharField(_("offer"), max_length=100)
    kind = models.CharField(
        _("kind"), max_length=20, choices=[(kind.value, kind.value) for kind in OfferKind]
    )
    region = models.CharField(_("region"), max_length=40)
    zone = models.CharField(_("zone"), max_length=40, blank=True)
    platform = models.CharField(_("platform"), max_length=60)
    tenancy = models.CharField(_("tenancy"), max_length=20)
    instance_type = models.CharField(_("instance type"), max_length=60)
    offering_class = models.CharField(_("class"), max_length=20)
    payment = models.CharField(_("payment"), max_length=20)
    duration_hours = models.DecimalField(_("hours left when last seen"), max_digits=12, decimal_places=4)
    fixed = models.DecimalField(_("paid once"), max_digits=18, decimal_places=6)
    hourly = models.DecimalField(_("paid hourly"), max_digits=18, decimal_places=10)
    currency = models.CharField(_("currency"), max_length=3)
    count = models.PositiveIntegerField(_("how many"), null=True, blank=True)
    first_seen_at = models.DateTimeField(_("first seen"))
    seen_at = models.DateTimeField(_("last seen"))
    gone_at = models.DateTimeField(_("gone"), null=True, blank=True)
    source = models.CharField(_("source"), max_length=1000)

    class Meta:
        ordering = ["provider", "region", "instance_type", "fixed"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "region", "offer", "fixed", "first_seen_at"], name="seen_offer_once"
            ),
            models.CheckConstraint(
                condition=Q(seen_at__gte=F("first_seen_at"))
                & (Q(gone_at__isnull=True) | Q(gone_at__gt=F("seen_at"))),
                name="seen_offer_in_order",
            ),
            models.CheckConstraint(condition=Q(duration_hours__gt=0), name="seen_offer_has_hours"),
        ]
        indexes = [models.Index(fields=["provider", "region", "gone_at"], name="seen_offer_open")]

    def __str__(self) -> str:
        return f"{self.offer} {self.instance_type} {self.fixed} {self.currency}"
