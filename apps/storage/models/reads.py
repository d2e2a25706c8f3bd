"""How buckets were read, in bands; reads of single objects are facts in the lake."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from apps.storage.models.listings import Bucket


class ReadSpan(models.Model):
    """Days, both included, whose reads of a bucket are known; spans of a bucket do not touch."""

    bucket = models.ForeignKey(Bucket, on_delete=models.CASCADE, related_name="read_spans")
    first_day = models.DateField()
    last_day = models.DateField()

    class Meta:
        ordering = ["bucket", "first_day"]
        constraints = [
            models.UniqueConstraint(fields=["bucket", "first_day"], name="read_span_once"),
            models.CheckConstraint(condition=Q(first_day__lte=F("last_day")), name="read_span_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.bucket} {self.first_day} to {self.last_day}"


class ReadDay(models.Model):
    """One row of a bucket's reads: `finops.frames.storage.ReadsCell`."""

    bucket = models.ForeignKey(Bucket, on_delete=models.CASCADE, related_name="read_days")
    prefix = models.CharField(max_length=1024, blank=True)
    day = models.DateField()
    idle_from = models.IntegerField(null=True)
    idle_to = models.IntegerField(null=True)
    age_from = models.IntegerField(null=True)
    age_to = models.IntegerField(null=True)
    reads = models.BigIntegerField()
    requests = models.BigIntegerField()
    bytes = models.BigIntegerField(null=True)
    exposure = models.BigIntegerField()

    class Meta:
        ordering = ["bucket", "day", "prefix", "idle_from", "age_from"]
        constraints = [
            models.UniqueConstraint(
                fields=["bucket", "day", "prefix", "idle_from", "age_from"],
                name="read_day_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(reads__gte=0, requests__gte=F("reads"), exposure__gte=F("reads")),
                name="read_day_counts_fit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bucket} {self.day} {self.prefix}: {self.reads} of {self.exposure}"
