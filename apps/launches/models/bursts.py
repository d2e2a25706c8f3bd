"""Help for a queue of an organisation's own machines: bought when its backlog grows, ended when it drains."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class LaunchBurst(models.Model):
    """On-demand machines on `target` for the work of `pool`, at most `most` at once.

    `start`, `stop`: hours of backlog above which help is bought, and at or below which it ends. `job`: what a
    helper is and runs, as a plan takes it; it lives `hours` at most. `turn` counts the plans that were made.
    `bursting`, `idle_since`, `backlog` (hours, null for work that nothing takes), `judged_at`, `message`: as
    last judged.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="launch_bursts"
    )
    name = models.CharField(_("name"), max_length=80)
    pool = models.ForeignKey("catalog.Pool", on_delete=models.PROTECT, related_name="bursts")
    target = models.ForeignKey("launches.LaunchTarget", on_delete=models.PROTECT, related_name="bursts")
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    start = models.FloatField(_("help above, hours"))
    stop = models.FloatField(_("ends at, hours"))
    most = models.PositiveIntegerField(_("machines at most"))
    hours = models.FloatField(_("hours of a machine"))
    job = models.JSONField()
    active = models.BooleanField(_("active"), default=True)
    bursting = models.BooleanField(default=False)
    backlog = models.FloatField(null=True, blank=True)
    idle_since = models.DateTimeField(null=True, blank=True)
    message = models.CharField(max_length=500, blank=True)
    judged_at = models.DateTimeField(null=True, blank=True)
    turn = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="launch_burst_once"),
            models.CheckConstraint(
                condition=Q(stop__gte=0, start__gte=F("stop"), most__gte=1, hours__gt=0),
                name="launch_burst_in_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name
