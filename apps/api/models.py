"""What the installation knows about its own health, and writes that must not be done twice."""

from django.db import models
from django.db.models.functions import Now


class Heartbeat(models.Model):
    """When a long-running part of the installation (worker, beat) last said that it lives."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.name} {self.at:%H:%M:%S}"


class IdempotentCall(models.Model):
    """A write that was sent with a key of the caller's; `status` None: it is being worked on."""

    organisation = models.ForeignKey("accounts.Organisation", on_delete=models.CASCADE, related_name="+")
    caller = models.CharField(max_length=40)
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    document = models.JSONField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "caller", "key"], name="idempotent_call_once")
        ]

    def __str__(self) -> str:
        return f"{self.caller} {self.key}"
