"""Feeds, runs and rejected rows: how facts came into the lake."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Provider(models.TextChoices):
    """A cloud whose prices are kept."""

    AWS = "aws", "AWS"
    AZURE = "azure", "Azure"
    GCP = "gcp", "Google Cloud"


class FeedState(models.TextChoices):
    """Whether a feed is polled and how its last try went."""

    NEW = "new", _("Not run yet")
    OK = "ok", _("Working")
    FAILING = "failing", _("Failing")
    OFF = "off", _("Switched off")


class FeedKind(models.TextChoices):
    """What a feed brings in."""

    SPOT_PRICES = "spot-prices", _("Spot prices")
    BILLS = "bills", _("Bills")
    STORAGE = "storage", _("Storage")
    COMMITMENTS = "commitments", _("Own commitments")
    OFFERS = "offers", _("Commitments on offer")


class Feed(models.Model):
    """Something polled: which prices or commitments of which account, or which bills of which bucket, how
    often.

    `account` is the provider's account id (zone names belong to it), `credentials` names where the right to
    ask comes from (a role to assume or a profile), never a secret. Empty `instance_types` and `products` mean
    all. Of bills and storage: the files of a bucket under a prefix; `regions` holds the bucket's region
    alone. Of bills: `cost_explorer` asks for daily totals until the first export arrives, at a price;
    `paid_requests` counts those calls. Of offers: `filters` are names and lists of values of the provider's
    own question.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="feeds", null=True, blank=True
    )
    name = models.CharField(_("name"), max_length=100)
    provider = models.CharField(_("provider"), max_length=20, choices=Provider)
    kind = models.CharField(max_length=30, choices=FeedKind, default=FeedKind.SPOT_PRICES)
    account = models.CharField(_("account"), max_length=64, blank=True)
    credentials = models.CharField(_("role or profile"), max_length=200, blank=True)
    external_id = models.CharField(_("external id"), max_length=1224, blank=True)
    regions = ArrayField(models.CharField(max_length=40), verbose_name=_("regions"))
    instance_types = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    products = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    bucket = models.CharField(_("bucket"), max_length=63, blank=True)
    prefix = models.CharField(_("prefix"), max_length=256, blank=True)
    filters = models.JSONField(_("filters"), default=dict, blank=True)
    cost_explorer = models.BooleanField(_("daily totals until then"), default=False)
    cost_explorer_at = models.DateTimeField(null=True, blank=True)
    paid_requests = models.PositiveIntegerField(default=0)
    interval = models.DurationField(_("interval"))
    state = models.CharField(max_length=10, choices=FeedState, default=FeedState.NEW)
    last_success_at = models.DateTimeField(null=True, blank=True)
    last_try_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="feed_name_once", nulls_distinct=False
            ),
            models.CheckConstraint(condition=Q(state__in=FeedState.values), name="feed_state_known"),
            models.CheckConstraint(condition=Q(regions__len__gt=0), name="feed_has_regions"),
            models.CheckConstraint(
                condition=(~Q(kind__in=["bills", "storage"]) & Q(bucket="", prefix="", cost_explorer=False))
                | (Q(kind="bills") & ~Q(bucket=""))
                | (Q(kind="storage", cost_explorer=False) & ~Q(bucket="")),
                name="feed_kind_has_its_place",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RunKind(models.TextChoices):
    """Where the rows of a run came from; `upkeep` rewrites the lake's files and reads nothing."""

    FILES = "files", _("Files")
    UPLOAD = "upload", _("Upload")
    LIVE = "live", _("Live feed")
    DEMO = "demo", _("Demo data")
    UPKEEP = "upkeep", _("Upkeep")


class RunSubject(models.TextChoices):
    """What a run brings in."""

    PRICES = "prices", _("Spot prices")
    BILLS = "bills", _("Bills")
    STORAGE = "storage", _("Storage")


class RunState(models.TextChoices):
    """`refused`: nothing of the input could be used and nothing was stored; `failed`: we could not do it."""

    QUEUED = "queued", _("Waiting")
    RUNNING = "running", _("Running")
    FINISHED = "finished", _("Finished")
    REFUSED = "refused", _("Refused")
    FAILED = "failed", _("Failed")


class IngestRun(models.Model):
    """One delivery into the lake: a path of an import, an upload, or one live collection.

    rows_read = stored + duplicates + rejected, where a file that cannot be read counts as one row read and
    one rejected. `snapshots` names the lake as this run left it; readers use those of the newest finished
    run. Times are of the database clock.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="ingest_runs", null=True, blank=True
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    feed = models.ForeignKey(Feed, on_delete=models.PROTECT, related_name="runs", null=True, blank=True)
    kind = models.CharField(max_length=10, choices=RunKind)
    subject = models.CharField(max_length=10, choices=RunSubject, default=RunSubject.PRICES)
    source = models.CharField(_("source"), max_length=1000)
    location = models.CharField(max_length=1000, blank=True, editable=False)
    provider = models.CharField(_("provider"), max_length=20, choices=Provider)
    options = models.JSONField(default=dict)

    state = models.CharField(max_length=10, choices=RunState, default=RunState.QUEUED)
    phase = models.CharField(max_length=20, blank=True)
    queued_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True)

    files_done = models.PositiveIntegerField(default=0)
    files_total = models.PositiveIntegerField(null=True, blank=True)
    files_rejected = models.PositiveIntegerField(default=0)
    bytes_done = models.BigIntegerField(default=0)
    bytes_total = models.BigIntegerField(null=True, blank=True)
    rows_seen = models.BigIntegerField(default=0)

    rows_read = models.BigIntegerField(default=0)
    stored = models.BigIntegerField(default=0)
    duplicates = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)
    replaced = models.BigIntegerField(default=0)
    series = models.IntegerField(default=0)
    new_series = models.IntegerField(default=0)
    known_from = models.DateTimeField(null=True, blank=True)
    known_to = models.DateTimeField(null=True, blank=True)
    known = models.JSONField(default=dict)
    seconds = models.FloatField(null=True, blank=True)
    error = models.TextField(blank=True)
    snapshots = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(
                fields=["-finished_at", "-id"], name="run_newest_finished", condition=Q(state="finished")
            ),
            models.Index(fields=["organisation", "-id"], name="run_by_organisation"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=RunKind.values), name="run_kind_known"),
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(rows_read=F("stored") + F("duplicates") + F("rejected")), name="run_rows_add_up"
            ),
            models.CheckConstraint(
                condition=Q(stored__gte=0, duplicates__gte=0, rejected__gte=0, replaced__gte=0),
                name="run_counts_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running"], finished_at__isnull=True)
                | Q(state__in=["finished", "refused", "failed"], finished_at__isnull=False),
                name="run_ends_once",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["finished", "running"]) | Q(stored=0),
                name="run_stores_only_when_finished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.source} ({self.state})"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to this run."""
        return self.state in {RunState.FINISHED, RunState.REFUSED, RunState.FAILED}

    @property
    def progress(self) -> float | None:
        """Share of the input read, 0-1; None while that is not known."""
        if self.is_over:
            return 1.0
        if not self.bytes_total:
            return None
        return min(1.0, self.bytes_done / self.bytes_total)


class RejectionKind(models.TextChoices):
    """`replacement` is no rejection: the run stored its row in place of a cheaper one of the same instant."""

    REJECTED = "rejected", _("Rejected")
    REPLACEMENT = "replacement", _("Replaced a stored price")


class RejectedRow(models.Model):
    """A row, or a whole file (`row` null), that did not become a price, and why.

    `row` is the 1-based data record of the file; `field` the column or JSON key, empty for the whole row.
    `region` and `instance_type` are known where only the price was wrong, else null.
    """

    run = models.ForeignKey(IngestRun, on_delete=models.CASCADE, related_name="rejections")
    kind = models.CharField(max_length=12, choices=RejectionKind, default=RejectionKind.REJECTED)
    file = models.CharField(max_length=1000)
    row = models.BigIntegerField(null=True, blank=True)
    field = models.CharField(max_length=100, blank=True)
    reason = models.TextField()
    region = models.CharField(max_length=40, null=True, blank=True)
    instance_type = models.CharField(max_length=60, null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["run", "kind", "id"], name="rejection_by_run"),
            models.Index(
                fields=["instance_type", "region", "-id"],
                name="rejection_by_type",
                condition=Q(instance_type__isnull=False),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(row__isnull=True) | Q(row__gte=1), name="rejection_row_from_one"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="rejection_has_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.file}:{self.row} {self.reason}"


class FetchState(models.TextChoices):
    """`refused`: the delivery was read and not taken; it is tried again when a newer one comes."""

    FETCHING = "fetching", _("Being fetched")
    LOADED = "loaded", _("Loaded")
    REFUSED = "refused", _("Refused")
    FAILED = "failed", _("Failed")


class FeedDelivery(models.Model):
    """One billing period of one export as a feed of bills saw it last.

    `etag` is that of the manifest seen, `loaded_etag` that of the one whose files are in the lake: they
    differ while a newer delivery waits.
    """

    feed = models.ForeignKey(Feed, on_delete=models.CASCADE, related_name="deliveries")
    report = models.CharField(_("export"), max_length=1000)
    billing_period = models.DateField(_("billing period"))
    manifest = models.CharField(max_length=1024)
    etag = models.CharField(max_length=100)
    modified = models.DateTimeField(_("delivered"))
    state = models.CharField(max_length=10, choices=FetchState)
    loaded_etag = models.CharField(max_length=100, blank=True)
    run = models.ForeignKey(IngestRun, on_delete=models.SET_NULL, related_name="+", null=True, blank=True)
    error = models.TextField(blank=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-billing_period", "report"]
        constraints = [
            models.UniqueConstraint(
                fields=["feed", "report", "billing_period"], name="feed_delivery_once_a_period"
            ),
            models.CheckConstraint(
                condition=Q(state__in=FetchState.values), name="feed_delivery_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.report} {self.billing_period:%Y-%m} ({self.state})"


class FeedObject(models.Model):
    """An object of a delivery that is fetched: not fetched again while its ETag is the same."""

    delivery = models.ForeignKey(FeedDelivery, on_delete=models.CASCADE, related_name="objects_fetched")
    key = models.CharField(max_length=1024)
    etag = models.CharField(max_length=100)
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    fetched_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["delivery", "key"], name="feed_object_once")]

    def __str__(self) -> str:
        return f"{self.key} {self.etag}"


class LoadedState(models.Model):
    """The one row that says of which state of the lake `LoadedRegion` speaks: the price tables' snapshots."""

    snapshots = models.JSONField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="loaded_state_once")]

    def __str__(self) -> str:
        return f"{self.snapshots}"


class LoadedRegion(models.Model):
    """What is loaded of one region, written with the run row so that pages need not look into the lake.

    `series`, `types` and `gaps` (unknown stretches inside series) count what has a known range, whose ends
    are `known_from` and `known_to`; null when nothing has one. `choices` lists [instance type, product,
    changes, zones, whether the type has a known range].
    """

    state = models.ForeignKey(LoadedState, on_delete=models.CASCADE, related_name="regions")
    provider = models.CharField(max_length=20)
    region = models.CharField(max_length=80)
    series = models.PositiveIntegerField()
    types = models.PositiveIntegerField()
    gaps = models.PositiveIntegerField()
    known_from = models.DateTimeField(null=True)
    known_to = models.DateTimeField(null=True)
    choices = models.JSONField()

    class Meta:
        ordering = ["provider", "region"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "region"], name="loaded_region_once"),
            models.CheckConstraint(
                condition=Q(known_from__isnull=True, known_to__isnull=True) | Q(known_from__lt=F("known_to")),
                name="loaded_region_range_in_order",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.region}"
