"""What every yes has: who gave it, in which role, when."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from apps.accounts.roles import Role


class Approval(models.Model):
    """One person's yes, in the role they had."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(max_length=10, choices=Role)
    at = models.DateTimeField()

    class Meta:
        abstract = True
        ordering = ["pk"]
