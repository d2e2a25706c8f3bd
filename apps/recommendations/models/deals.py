"""Rules that watch commitments on offer, and what they found."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.recommendations.fields import DocumentField


class DealRule(models.Model):
    """An offer beats a rule when it keeps all of its conditions; a null condition asks for nothing.

    `min_saving_pct`: the expected saving, percent of the on-demand cost of the hours covered;
    `break_even_before`: its money is back before that day; `max_list_pct`: its price, percent of what is left
    of the list price of its term. Empty `regions`, `instance_types` and `platforms` mean all. `looked` names
    the state of bills, prices and offers that was last judged.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="deal_rules"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    name = models.CharField(_("name"), max_length=100)
    min_saving_pct = models.DecimalField(
        _("saves at least, %"), max_digits=6, decimal_places=3, null=True, blank=True
    )
    break_even_before = models.DateField(_("money back before"), null=True, blank=True)
    max_list_pct = models.DecimalField(
        _("costs at most, % of the list price left"), max_digits=7, decimal_places=3, null=True, blank=True
    )
    regions = ArrayField(models.CharField(max_length=40), verbose_name=_("regions"), default=list, blank=True)
    instance_types = ArrayField(
        models.CharField(max_length=60), verbose_name=_("instance types"), default=list, blank=True
    )
    platforms = ArrayField(
        models.CharField(max_length=60), verbose_name=_("platforms"), default=list, blank=True
    )
    active = models.BooleanField(_("watches"), default=True)
    looked = models.CharField(max_length=64, blank=True, editable=False)
    looked_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="deal_rule_name_once"),
            models.CheckConstraint(
                condition=Q(min_saving_pct__isnull=False)
                | Q(break_even_before__isnull=False)
                | Q(max_list_pct__isnull=False),
                name="deal_rule_asks_for_something",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class DealAlert(models.Model):
    """An offer that beat a rule: once for each rule and offer as long as it stands at its price.

    `document` is the offer with its figures at that moment; `seen_at`, `seen_by`: somebody took note of it.
    """

    rule = models.ForeignKey(DealRule, on_delete=models.CASCADE, related_name="alerts")
    offer = models.ForeignKey("billing.SeenOffer", on_delete=models.PROTECT, related_name="+")
    raised_at = models.DateTimeField(_("raised"))
    document = DocumentField()
    seen_at = models.DateTimeField(null=True, blank=True)
    seen_by = models.ForeignKey(
        "accounts.User", on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )

    class Meta:
        ordering = ["-raised_at", "-pk"]
        constraints = [models.UniqueConstraint(fields=["rule", "offer"], name="deal_alert_once")]

    def __str__(self) -> str:
        return f"{self.rule}: {self.offer}"
