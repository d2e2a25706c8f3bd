"""Budgets, their thresholds, and the alerts that were raised: one a budget, period, threshold and measure."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

from finops.frames.focus import BASES, DECIMAL_PRECISION, DECIMAL_SCALE


class BudgetScope(models.TextChoices):
    """What a budget covers."""

    ORGANISATION = "organisation", _("Whole organisation")
    TEAM = "team", _("Team")
    SERVICE = "service", _("Service")
    ACCOUNT = "account", _("Account")
    TAG = "tag", _("Tag")


class BudgetPeriod(models.TextChoices):
    """How long a turn is; every turn begins on the first of a month."""

    MONTH = "month", _("Month")
    QUARTER = "quarter", _("Quarter")
    YEAR = "year", _("Year")


class BudgetMeasure(models.TextChoices):
    """What a threshold is held against."""

    ACTUAL = "actual", _("Actual cost")
    FORECAST = "forecast", _("Forecast")


class BudgetBasis(models.TextChoices):
    """How cost is counted."""

    BILLED = "billed", _("Billed")
    AMORTISED = "amortised", _("Amortised")
    NET = "net", _("Net")
    LIST = "list", _("List")


class Budget(models.Model):
    """An amount of one currency for each period of a scope, on the days [valid_from, valid_to).

    `scope_value`: the service, account or tag value; empty for the organisation and for a team. `tag_key`:
    the key of a tag budget. Budgets that overlap are judged one by one.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="budgets"
    )
    name = models.CharField(_("name"), max_length=100)
    scope = models.CharField(_("covers"), max_length=12, choices=BudgetScope)
    scope_value = models.CharField(_("value"), max_length=300, blank=True)
    tag_key = models.CharField(_("tag key"), max_length=300, blank=True)
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="budgets", null=True, blank=True
    )
    period = models.CharField(_("period"), max_length=7, choices=BudgetPeriod)
    basis = models.CharField(_("basis"), max_length=9, choices=BudgetBasis)
    amount: models.DecimalField[Decimal, Decimal] = models.DecimalField(
        _("amount"), max_digits=DECIMAL_PRECISION, decimal_places=DECIMAL_SCALE
    )
    currency = models.CharField(_("currency"), max_length=10)
    valid_from = models.DateField(_("valid from"))
    valid_to = models.DateField(_("valid to (excluded)"), null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = [Lower("name"), "pk"]
        constraints = [
            models.UniqueConstraint("organisation", Lower("name"), name="budget_name_once"),
            models.CheckConstraint(condition=Q(name__regex=r"\S"), name="budget_has_name"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="budget_above_zero"),
            models.CheckConstraint(
                condition=Q(currency__regex=r"^[A-Z][A-Z0-9]{2,9}$"), name="budget_has_currency"
            ),
            models.CheckConstraint(condition=Q(period__in=BudgetPeriod.values), name="budget_period_known"),
            models.CheckConstraint(condition=Q(basis__in=list(BASES)), name="budget_basis_known"),
            models.CheckConstraint(
                condition=Q(scope="organisation", scope_value="", tag_key="", team__isnull=True)
                | Q(scope="team", scope_value="", tag_key="", team__isnull=False)
                | (Q(scope__in=["service", "account"], tag_key="", team__isnull=True) & ~Q(scope_value=""))
                | (Q(scope="tag", team__isnull=True) & ~Q(tag_key="")),
                name="budget_says_what_it_covers",
            ),
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
                name="budget_days_in_order",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class BudgetThreshold(models.Model):
    """A percent of the amount that alerts, by actual or by forecast cost."""

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="thresholds")
    percent: models.DecimalField[Decimal, Decimal] = models.DecimalField(
        _("percent"), max_digits=6, decimal_places=2
    )
    measure = models.CharField(_("measure"), max_length=8, choices=BudgetMeasure)

    class Meta:
        ordering = ["budget", "measure", "percent"]
        constraints = [
            models.UniqueConstraint(fields=["budget", "measure", "percent"], name="budget_threshold_once"),
            models.CheckConstraint(
                condition=Q(percent__gt=0, percent__lte=1000), name="budget_threshold_in_range"
            ),
            models.CheckConstraint(
                condition=Q(measure__in=BudgetMeasure.values), name="budget_threshold_measure_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.budget_id}: {self.measure} {self.percent}"


class BudgetAlert(models.Model):
    """A threshold was reached in a period. The amount, limit and cost are those of that moment.

    It outlives a threshold that is taken off later; it goes with its budget. `evidence`: snapshots, forecast
    interval, settled day.
    """

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="alerts")
    period_start = models.DateField(_("period"))
    measure = models.CharField(max_length=8, choices=BudgetMeasure)
    percent: models.DecimalField[Decimal, Decimal] = models.DecimalField(max_digits=6, decimal_places=2)
    limit: models.DecimalField[Decimal, Decimal] = models.DecimalField(
        max_digits=DECIMAL_PRECISION, decimal_places=DECIMAL_SCALE
    )
    cost: models.DecimalField[Decimal, Decimal] = models.DecimalField(
        max_digits=DECIMAL_PRECISION, decimal_places=DECIMAL_SCALE
    )
    currency = models.CharField(max_length=10)
    raised_at = models.DateTimeField(db_default=Now(), editable=False)
    evidence = models.JSONField(default=dict)

    class Meta:
        ordering = ["-raised_at", "-pk"]
        constraints = [
            # What makes a second task, or the same one twice, raise nothing again.
            models.UniqueConstraint(
                fields=["budget", "period_start", "measure", "percent"], name="budget_alert_once"
            ),
            models.CheckConstraint(
                condition=Q(measure__in=BudgetMeasure.values), name="budget_alert_measure_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.budget_id} {self.period_start:%Y-%m}: {self.measure} {self.percent}"
