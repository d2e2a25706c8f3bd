"""Buckets and the listings of what lies in them, in bands. The objects themselves are facts in the lake."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from finops.frames.storage import STATES


class Bucket(models.Model):
    """A bucket of one organisation; null: of everybody here, as what the command line loads.

    `region`, `account` and `versioning` are "" until a source tells them.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="buckets", null=True, blank=True
    )
    provider = models.CharField(_("provider"), max_length=20)
    name = models.CharField(_("bucket"), max_length=255)
    region = models.CharField(_("region"), max_length=40, blank=True)
    account = models.CharField(_("account"), max_length=64, blank=True)
    versioning = models.CharField(_("versioning"), max_length=10, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["provider", "name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "provider", "name"], name="bucket_once", nulls_distinct=False
            ),
            models.CheckConstraint(condition=~Q(name=""), name="bucket_has_name"),
            models.CheckConstraint(
                condition=Q(versioning__in=["", "Enabled", "Suspended", "Off"]),
                name="bucket_versioning_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.name}"


class ListingState(models.TextChoices):
    """`late`: it came after a newer one and never was current."""

    CURRENT = "current", _("Current")
    SUPERSEDED = "superseded", _("Superseded")
    LATE = "late", _("Older than the current one")


class Listing(models.Model):
    """Everything in a bucket at `listed_at`; a newer one takes its place whole.

    `states`: which kinds of bytes the source lists. `log_from`, `log_to`: the days of reads that idle times
    rest on, null without. `content_hash`: of the checksums of its files. `run_id` is the ingest run.
    """

    bucket = models.ForeignKey(Bucket, on_delete=models.CASCADE, related_name="listings")
    state = models.CharField(max_length=10, choices=ListingState)
    listed_at = models.DateTimeField(_("listed"))
    source = models.CharField(_("source"), max_length=1000)
    states = ArrayField(models.CharField(max_length=10))
    content_hash = models.CharField(max_length=64)
    log_from = models.DateField(null=True, blank=True)
    log_to = models.DateField(null=True, blank=True)
    objects_count = models.BigIntegerField(_("objects"))
    bytes = models.BigIntegerField(_("bytes"))
    run_id = models.BigIntegerField()
    loaded_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["bucket", "-listed_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["bucket"], name="listing_one_current", condition=Q(state="current")
            ),
            models.UniqueConstraint(fields=["bucket", "listed_at"], name="listing_once"),
            models.CheckConstraint(condition=Q(state__in=ListingState.values), name="listing_state_known"),
            models.CheckConstraint(
                condition=Q(log_from__isnull=True, log_to__isnull=True) | Q(log_from__lte=F("log_to")),
                name="listing_log_in_order",
            ),
            models.CheckConstraint(
                condition=Q(objects_count__gte=0, bytes__gte=0), name="listing_counts_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bucket} {self.listed_at:%Y-%m-%d} ({self.state})"


class ListingCell(models.Model):
    """One row of a listing's histogram: `finops.frames.storage.StorageCell`."""

    listing = models.ForeignKey(Listing, on_delete=models.CASCADE, related_name="cells")
    prefix = models.CharField(max_length=1024, blank=True)
    storage_class = models.CharField(max_length=40)
    tier = models.CharField(max_length=40, blank=True)
    state = models.CharField(max_length=10)
    size_from = models.BigIntegerField()
    size_to = models.BigIntegerField(null=True)
    age_from = models.IntegerField(null=True)
    age_to = models.IntegerField(null=True)
    idle_from = models.IntegerField(null=True)
    idle_to = models.IntegerField(null=True)
    objects_count = models.BigIntegerField()
    bytes = models.BigIntegerField()

    class Meta:
        ordering = ["listing", "prefix", "storage_class", "tier", "state", "size_from", "age_from"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "listing", "prefix", "storage_class", "tier", "state", "size_from", "age_from",
                    "idle_from", "idle_to",
                ],
                name="listing_cell_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=Q(state__in=STATES), name="listing_cell_state_known"),
            models.CheckConstraint(
                condition=Q(objects_count__gt=0, bytes__gte=0), name="listing_cell_holds_objects"
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.prefix} {self.storage_class} {self.state}: {self.objects_count}"


class ReportedPart(models.Model):
    """Bytes of one bucket, class and state of one day by a report of totals (Storage Lens)."""

    bucket = models.ForeignKey(Bucket, on_delete=models.CASCADE, related_name="reported")
    day = models.DateField(_("day"))
    storage_class = models.CharField(max_length=40)
    state = models.CharField(max_length=10)
    objects_count = models.BigIntegerField(null=True)
    bytes = models.BigIntegerField()
    run_id = models.BigIntegerField()

    class Meta:
        ordering = ["bucket", "-day", "storage_class", "state"]
        constraints = [
            models.UniqueConstraint(
                fields=["bucket", "day", "storage_class", "state"], name="reported_part_once"
            ),
            models.CheckConstraint(condition=Q(state__in=STATES), name="reported_part_state_known"),
            models.CheckConstraint(condition=Q(bytes__gte=0), name="reported_part_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.bucket} {self.day} {self.storage_class} {self.state}: {self.bytes}"
