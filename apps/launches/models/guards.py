"""What stops a launch before money is spent: limits, budgets of teams, rules that approve."""

from __future__ import annotations

import secrets

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.launches.models.fields import money


class Executor(models.TextChoices):
    """Where a target runs machines."""

    AWS = "aws", _("AWS")
    KUBERNETES = "kubernetes", _("Kubernetes")
    CELERY = "celery", _("Own servers")
    DEVICE = "device", _("Idle devices")
    SIMULATED = "simulated", _("Simulated market")


def new_owner() -> str:
    """A name that no other installation has: by it a machine is known as ours."""
    return secrets.token_hex(16)


class LaunchTarget(models.Model):
    """A place where an organisation runs machines, and the right to: a role's name, never a secret.

    `provider` names the prices of the place. `settings` is what its executor needs (docs/algorithms/
    launches.md), such as images by region. `max_instances` is the quota, null for none known; `notices` the
    address of the queue of interruption notices. `owner` is in the tags of its machines. Without `active`
    nothing is launched there.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="launch_targets"
    )
    name = models.CharField(_("name"), max_length=60)
    executor = models.CharField(_("executor"), max_length=12, choices=Executor)
    provider = models.CharField(_("provider"), max_length=20, default="aws")
    account = models.CharField(_("account"), max_length=64, blank=True)
    credentials = models.CharField(_("role"), max_length=200, blank=True)
    external_id = models.CharField(_("external id"), max_length=1224, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    max_instances = models.PositiveIntegerField(_("at most"), null=True, blank=True)
    owner = models.CharField(max_length=32, default=new_owner, unique=True, editable=False)
    notices = models.CharField(_("queue of notices"), max_length=500, blank=True)
    active = models.BooleanField(_("may launch"), default=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="launch_target_once"),
            models.CheckConstraint(
                condition=Q(executor__in=Executor.values), name="launch_target_executor_known"
            ),
            models.CheckConstraint(condition=Q(name__regex=r"^\S(.*\S)?$"), name="launch_target_has_name"),
        ]

    def __str__(self) -> str:
        return self.name


class LaunchGuard(models.Model):
    """Limits of one organisation; one without a row launches nothing dearer than its approvals allow.

    `frozen` is the freeze switch. `dry_run`: everything but the call. `max_price` caps the price of a machine
    an hour. `regions`: the only ones allowed, none named allows all.
    """

    organisation = models.OneToOneField(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="launch_guard"
    )
    frozen = models.BooleanField(_("frozen"), default=False)
    frozen_reason = models.CharField(_("reason"), max_length=500, blank=True)
    frozen_by = models.CharField(max_length=254, blank=True)
    frozen_at = models.DateTimeField(null=True, blank=True)
    dry_run = models.BooleanField(_("dry run"), default=False)
    max_instances = models.PositiveIntegerField(_("machines at most"), null=True, blank=True)
    max_price = money(null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=3, blank=True)
    regions = ArrayField(models.CharField(max_length=40), default=list, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(max_price__isnull=True) | (Q(max_price__gt=0) & ~Q(currency="")),
                name="launch_guard_price_in_currency",
            ),
            models.CheckConstraint(
                condition=Q(frozen=False) | Q(frozen_at__isnull=False), name="launch_guard_frozen_since"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.organisation_id}: {'frozen' if self.frozen else 'open'}"


class LaunchBudget(models.Model):
    """What launches of a team may cost in a month of UTC; without a team: all of the organisation's."""

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="launch_budgets"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="launch_budgets", null=True, blank=True
    )
    monthly = money()
    currency = models.CharField(_("currency"), max_length=3)

    class Meta:
        ordering = ["team__name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "team"], nulls_distinct=False, name="launch_budget_once"
            ),
            models.CheckConstraint(condition=Q(monthly__gte=0), name="launch_budget_not_below_zero"),
            models.CheckConstraint(condition=~Q(currency=""), name="launch_budget_has_currency"),
        ]

    def __str__(self) -> str:
        return f"{self.monthly} {self.currency}"


class LaunchRule(models.Model):
    """A standing yes: plans of a team or a workload that cost at most `limit` in the worst case.

    Without a team and a workload it holds for all of the organisation's.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="launch_rules"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    workload = models.ForeignKey(
        "workloads.Workload", on_delete=models.CASCADE, related_name="+", null=True, blank=True
    )
    limit = money()
    currency = models.CharField(_("currency"), max_length=3)
    active = models.BooleanField(_("active"), default=True)
    made_by = models.CharField(max_length=254)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(limit__gt=0), name="launch_rule_has_limit"),
            models.CheckConstraint(condition=~Q(currency=""), name="launch_rule_has_currency"),
        ]

    def __str__(self) -> str:
        return f"up to {self.limit} {self.currency}"


class GrantKind(models.TextChoices):
    """What belongs to the installation, not to an organisation."""

    CLUSTER = "cluster", _("Kubernetes cluster")
    OWN_CREDENTIALS = "own-credentials", _("The installation's own AWS credentials")


class LaunchGrant(models.Model):
    """The operator lets an organisation use what belongs to the installation: a cluster whose credentials lie
    on the server, by `name`, or the server's own AWS credentials (a target without a role).
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="launch_grants"
    )
    kind = models.CharField(max_length=20, choices=GrantKind)
    name = models.CharField(max_length=63, blank=True)
    made_by = models.CharField(max_length=254)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["kind", "name"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "kind", "name"], name="launch_grant_once"),
            models.CheckConstraint(
                condition=Q(kind="cluster") & ~Q(name="") | Q(kind="own-credentials", name=""),
                name="launch_grant_names_a_cluster",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.organisation_id}: {self.kind} {self.name}".rstrip()
