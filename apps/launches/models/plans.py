"""Plans of launches: what is to run, what it will cost, who said yes."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ActorKind
from apps.launches.models.fields import money
from apps.launches.models.guards import LaunchRule, LaunchTarget
from apps.recommendations.models.approval import Approval


class PlanState(models.TextChoices):
    """Where a plan stands. An approved one makes launches; `done`: all of them have ended."""

    DRAFT = "draft", _("Draft")
    REQUESTED = "requested", _("Waiting for approval")
    APPROVED = "approved", _("Approved")
    DONE = "done", _("Done")
    CANCELLED = "cancelled", _("Cancelled")
    EXPIRED = "expired", _("Expired")


class Preemption(models.TextChoices):
    """Whether a launch may take the place of one with a lower priority, as in Kubernetes' PriorityClass."""

    LOWER = "PreemptLowerPriority", _("Takes the place of lower priority")
    NEVER = "Never", _("Waits")


MAX_PRIORITY = 1000


class LaunchPlan(models.Model):
    """A plan, frozen as it was made: `job` is what runs (the fields of a workload and how it starts),
    `document` the advice it rests on with the offers in the order in which they are tried.

    One launch a machine (`count`) and due time; with `gang` one launch of all of them, which start together
    or not at all. `due_at` is the first one; with `repeat` ("mon-fri"), `clock` ("22:00") and `timezone`
    there is one on each such day, rows up to `made_until`. Costs are of one turn, of all its machines:
    `cost_high` is the worst case, the fallback included; null is not known. `start_minutes`: how late a
    launch may start, else it is missed. `budget`: what one turn may cost. `burst`: the queue that it helps.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="launch_plans"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="launch_plans", null=True, blank=True
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    workload = models.ForeignKey(
        "workloads.Workload", on_delete=models.SET_NULL, related_name="launch_plans", null=True, blank=True
    )
    target = models.ForeignKey(LaunchTarget, on_delete=models.PROTECT, related_name="plans")
    name = models.CharField(_("name"), max_length=100)
    job = models.JSONField()
    document = models.JSONField()
    count = models.PositiveIntegerField(default=1)
    gang = models.BooleanField(_("all or none"), default=False)
    hours = models.FloatField(_("hours of work"))
    priority = models.PositiveSmallIntegerField(_("priority"), default=0)
    preemption = models.CharField(max_length=20, choices=Preemption, default=Preemption.NEVER)
    due_at = models.DateTimeField(_("due"))
    start_minutes = models.PositiveIntegerField(_("start deadline in minutes"), default=60)
    deadline_hours = models.FloatField(_("hours from due to deadline"), null=True, blank=True)
    repeat = models.CharField(max_length=40, blank=True)
    clock = models.CharField(max_length=5, blank=True)
    timezone = models.CharField(max_length=60, blank=True)
    made_until = models.DateTimeField(null=True, blank=True)
    checkpoint_location = models.CharField(max_length=1000, blank=True)
    checkpoint_marker = models.CharField(max_length=200, blank=True)
    retry = models.JSONField(default=dict, blank=True)
    cost_low = money(null=True, blank=True)
    cost = money(null=True, blank=True)
    cost_high = money(null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=3, blank=True)
    budget = money(null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    burst = models.ForeignKey(
        "launches.LaunchBurst", on_delete=models.PROTECT, related_name="plans", null=True, blank=True
    )
    request_key = models.CharField(max_length=100, blank=True)
    requested_at = models.DateTimeField()
    requested_kind = models.CharField(max_length=6, choices=ActorKind)
    requested_id = models.BigIntegerField(null=True)
    requested_by = models.CharField(max_length=254)
    approvals_needed = models.PositiveSmallIntegerField(default=1)
    approved_by_rule = models.ForeignKey(
        LaunchRule, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    valid_until = models.DateTimeField()

    state = models.CharField(_("state"), max_length=10, choices=PlanState, default=PlanState.DRAFT)
    stated_at = models.DateTimeField()
    message = models.CharField(max_length=1000, blank=True)
    tried_at = models.DateTimeField(_("dry run"), null=True, blank=True)
    trial = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["organisation", "state"], name="launch_plan_by_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "request_key"],
                condition=~Q(request_key=""),
                name="launch_plan_requested_once",
            ),
            models.CheckConstraint(condition=Q(state__in=PlanState.values), name="launch_plan_state_known"),
            models.CheckConstraint(
                condition=Q(preemption__in=Preemption.values), name="launch_plan_preemption_known"
            ),
            models.CheckConstraint(
                condition=Q(priority__lte=MAX_PRIORITY, count__gte=1, hours__gt=0),
                name="launch_plan_in_range",
            ),
            models.CheckConstraint(
                condition=Q(cost_high__isnull=True)
                | Q(cost_low__gte=0, cost__gte=F("cost_low"), cost_high__gte=F("cost")) & ~Q(currency=""),
                name="launch_plan_costs_in_order",
            ),
            models.CheckConstraint(
                condition=Q(repeat="", clock="", timezone="")
                | ~Q(repeat="") & ~Q(clock="") & ~Q(timezone=""),
                name="launch_plan_repeats_wholly",
            ),
            models.CheckConstraint(
                condition=Q(approvals_needed__in=[1, 2]), name="launch_plan_needs_approval"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.state}"

    @property
    def parts(self) -> int:
        """Launches of one turn: costs of a turn are shared by so many."""
        return 1 if self.gang else self.count


class PlanApproval(Approval):
    """One person's yes, in the role they had. A second one is another person in another role."""

    plan = models.ForeignKey(LaunchPlan, on_delete=models.CASCADE, related_name="approvals")

    class Meta(Approval.Meta):
        constraints = [
            models.UniqueConstraint(fields=["plan", "user"], name="launch_plan_approved_once_by_person"),
            models.UniqueConstraint(fields=["plan", "role"], name="launch_plan_approved_once_by_role"),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id}: {self.role}"
