"""Cost checks that were made (the answer, and the state after the change, the base of the next check), and
the policies that every check is held against.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.recommendations.fields import DocumentField
from finops.engine.checks.policies import KINDS as POLICY_KINDS
from finops.engine.checks.policies import Verdict

KINDS = ("terraform", "kubernetes", "workload")


class CheckPolicy(models.Model):
    """A policy that every check of the organisation is held against, whatever the caller sends.

    `team`: only checks of this team; none: all. `rule`: the policy as a document names it (kind, level, limit
    …), checked by `finops.engine.checks.policies`.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="check_policies"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="check_policies", null=True, blank=True
    )
    kind = models.CharField(_("kind"), max_length=30)
    rule = models.JSONField(_("rule"))
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["organisation", "team"], name="check_policy_by_organisation")]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "team", "kind", "rule"],
                name="check_policy_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=Q(kind__in=POLICY_KINDS), name="check_policy_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.team or self.organisation}"


class CostCheck(models.Model):
    """One check of one input. A row is never changed: other data make another row.

    `digest` names input (without secrets), policies, usage, base and the data it rests on; `key` is the
    caller's own, once in the organisation. `state`: the resources after the change, without anything secret.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="cost_checks"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="cost_checks", null=True, blank=True
    )
    base = models.ForeignKey("self", on_delete=models.PROTECT, related_name="+", null=True, blank=True)
    kind = models.CharField(_("kind"), max_length=20)
    project = models.CharField(_("project"), max_length=200, blank=True)
    ref = models.CharField(_("branch"), max_length=200, blank=True)
    commit = models.CharField(_("commit"), max_length=64, blank=True)
    key = models.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=64, editable=False)
    at = models.DateTimeField(_("decision time"))
    verdict = models.CharField(_("verdict"), max_length=20)
    document = DocumentField()
    state = DocumentField()
    summary = models.JSONField(
        default=dict, help_text="What a list shows of the document, which may have megabytes."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["organisation", "-id"], name="cost_check_by_organisation"),
            models.Index(fields=["organisation", "project", "kind", "ref", "-id"], name="cost_check_base"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "digest"], name="cost_check_once"),
            models.UniqueConstraint(
                fields=["organisation", "key"], condition=~Q(key=""), name="cost_check_key_once"
            ),
            models.CheckConstraint(
                condition=Q(verdict__in=[verdict.value for verdict in Verdict]),
                name="cost_check_verdict_known",
            ),
            models.CheckConstraint(condition=Q(kind__in=KINDS), name="cost_check_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.project or self.kind} {self.verdict}"
