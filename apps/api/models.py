"""What the installation knows about its own health."""

from django.db import models
from django.db.models.functions import Now


class Heartbeat(models.Model):
    """When a long-running part of the installation (worker, beat) last said that it lives."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.name} {self.at:%H:%M:%S}"
