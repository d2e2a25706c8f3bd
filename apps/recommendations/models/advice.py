"""Advice that was given: what was asked, the answer, and what it rests on."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.recommendations.fields import DocumentField


class Advice(models.Model):
    """One answer about one launch. A row is never changed: another state of the data makes another row.

    `digest` names question, data, language and scope; `parameters` is the workload as it was judged;
    `document` the answer as every way in gives it; `at` the decision time.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="advice", null=True, blank=True
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    at = models.DateTimeField(_("decision time"))
    verdict = models.CharField(_("verdict"), max_length=20)
    sentence = models.TextField(_("answer"))
    parameters = models.JSONField()
    document = DocumentField()
    snapshots = models.JSONField(default=dict)
    engine = models.CharField(max_length=40)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "advice"
        indexes = [models.Index(fields=["organisation", "-id"], name="advice_by_organisation")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(verdict__in=["now", "wait", "cannot judge"]), name="advice_verdict_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.verdict}: {self.sentence}"
