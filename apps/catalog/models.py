"""What a cloud is made of: accounts, regions, zones, instance types."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class CloudAccount(models.Model):
    """A customer's account at a provider; the right to read it is a role's name, never a secret."""

    organisation = models.ForeignKey(
        "accounts.Organisation",
        on_delete=models.PROTECT,
        related_name="cloud_accounts",
        null=True,
        blank=True,
    )
    provider = models.CharField(_("provider"), max_length=20)
    account_id = models.CharField(_("account"), max_length=64)
    name = models.CharField(_("name"), max_length=100, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["provider", "account_id"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "account_id"], name="cloud_account_once"),
            models.CheckConstraint(condition=~Q(account_id=""), name="cloud_account_has_id"),
        ]

    def __str__(self) -> str:
        return self.name or f"{self.provider} {self.account_id}"


class Region(models.Model):
    """A region of a provider and the name it goes by."""

    provider = models.CharField(_("provider"), max_length=20)
    code = models.CharField(_("region"), max_length=40)
    name = models.CharField(_("name"), max_length=100, blank=True)

    class Meta:
        ordering = ["provider", "code"]
        constraints = [models.UniqueConstraint(fields=["provider", "code"], name="region_once")]

    def __str__(self) -> str:
        return self.code


class Zone(models.Model):
    """A zone as one account names it: names are shuffled per account, the zone id is the place itself."""

    account = models.ForeignKey(CloudAccount, on_delete=models.PROTECT, related_name="zones")
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="zones")
    name = models.CharField(_("zone"), max_length=60)
    zone_id = models.CharField(_("zone id"), max_length=60)
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["region", "name"]
        constraints = [
            models.UniqueConstraint(fields=["account", "name"], name="zone_name_once_per_account"),
            models.UniqueConstraint(
                fields=["account", "zone_id"],
                name="zone_id_once_per_account",
                deferrable=models.Deferrable.DEFERRED,
            ),
            models.CheckConstraint(condition=~Q(name="") & ~Q(zone_id=""), name="zone_has_name_and_id"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.zone_id})"


class InstanceType(models.Model):
    """Facts about an instance type; null is "not said by the source". Memory in MiB, that of one GPU."""

    provider = models.CharField(_("provider"), max_length=20)
    name = models.CharField(_("instance type"), max_length=60)
    vcpus = models.PositiveIntegerField(_("vCPU"))
    memory_mib = models.PositiveIntegerField(_("memory"))
    architectures = ArrayField(models.CharField(max_length=30))
    gpu_manufacturer = models.CharField(max_length=60, blank=True)
    gpu_name = models.CharField(_("GPU"), max_length=60, blank=True)
    gpu_count = models.PositiveIntegerField(_("GPUs"), null=True, default=0)
    gpu_memory_mib = models.PositiveIntegerField(null=True)
    accelerator_manufacturer = models.CharField(max_length=60, blank=True)
    accelerator_name = models.CharField(max_length=60, blank=True)
    accelerator_count = models.PositiveIntegerField(null=True, default=0)
    accelerator_memory_mib = models.PositiveIntegerField(null=True)
    bare_metal = models.BooleanField(null=True)
    current_generation = models.BooleanField(null=True)
    burstable = models.BooleanField(null=True)
    spot = models.BooleanField(null=True)
    hypervisor = models.CharField(max_length=20, blank=True)
    network = models.CharField(max_length=100, blank=True)
    network_mbps = models.PositiveIntegerField(null=True)
    source = models.CharField(max_length=1000)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["provider", "name"]
        indexes = [GinIndex(fields=["architectures"], name="instance_type_architectures")]
        constraints = [
            models.UniqueConstraint(fields=["provider", "name"], name="instance_type_once"),
            models.CheckConstraint(
                condition=Q(vcpus__gt=0, memory_mib__gt=0, architectures__len__gt=0),
                name="instance_type_has_size",
            ),
            models.CheckConstraint(
                condition=Q(gpu_count__isnull=True)
                | Q(gpu_count=0, gpu_name="")
                | (Q(gpu_count__gt=0) & ~Q(gpu_name="")),
                name="instance_type_gpu_named_and_counted",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def memory_gib(self) -> float:
        """Memory in GiB."""
        return self.memory_mib / 1024


class PoolUse(models.TextChoices):
    """Kinds of pools, as `finops.frames.pools.PoolKind`."""

    OWN = "own", _("Own servers")
    DEVICE = "device", _("Idle devices")
    COMMITMENT = "commitment", _("Spare hours of a commitment")
    SPOT = "spot", _("Spot")
    ON_DEMAND = "on_demand", _("On demand")


class Pool(models.Model):
    """Where an organisation's work can run, and what an hour of a unit (one GPU, say) costs there.

    `power` and `wear` are of own machines, `price` of a market's; an hour costs their sum, null is not known.
    `speed` is relative to the unit in which work is told; `speed_source` says where it is from. `window`
    ("20:00-08:00") and `days` on the clock of `zone`: when the pool is open, "" always. `queue`: of the
    broker, for own servers.
    """

    organisation = models.ForeignKey("accounts.Organisation", on_delete=models.PROTECT, related_name="pools")
    name = models.CharField(_("name"), max_length=60)
    kind = models.CharField(_("kind"), max_length=12, choices=PoolUse)
    provider = models.CharField(_("provider"), max_length=20, blank=True)
    region = models.CharField(_("region"), max_length=40, blank=True)
    unit = models.CharField(_("unit"), max_length=30, default="GPU")
    units = models.PositiveIntegerField(_("units"), null=True, blank=True)
    largest = models.PositiveIntegerField(_("most for one job"), null=True, blank=True)
    machine = models.PositiveIntegerField(_("units a machine"), default=1)
    power = models.DecimalField(_("power an hour"), max_digits=16, decimal_places=6, null=True, blank=True)
    wear = models.DecimalField(_("wear an hour"), max_digits=16, decimal_places=6, null=True, blank=True)
    price = models.DecimalField(_("price an hour"), max_digits=16, decimal_places=6, null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=3)
    speed = models.FloatField(_("speed"), default=1.0)
    speed_source = models.CharField(_("where the speed is from"), max_length=200, blank=True)
    interruptions_per_hour = models.FloatField(_("interruptions an hour"), default=0.0)
    start_minutes = models.FloatField(_("minutes to start"), default=0.0)
    window = models.CharField(_("window"), max_length=11, blank=True)
    zone = models.CharField(_("time zone"), max_length=60, blank=True)
    days = models.CharField(_("days"), max_length=40, blank=True)
    queue = models.CharField(_("queue"), max_length=60, blank=True)
    active = models.BooleanField(_("in use"), default=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="pool_once"),
            models.CheckConstraint(condition=Q(kind__in=PoolUse.values), name="pool_kind_known"),
            models.CheckConstraint(
                condition=Q(
                    speed__gt=0,
                    speed__lt=float("inf"),
                    interruptions_per_hour__gte=0,
                    start_minutes__gte=0,
                    machine__gte=1,
                ),
                name="pool_in_range",
            ),
            models.CheckConstraint(
                condition=Q(window="", zone="") | (~Q(window="") & ~Q(zone="")), name="pool_window_has_zone"
            ),
            models.CheckConstraint(
                condition=(Q(power__isnull=True) | Q(power__gte=0))
                & (Q(wear__isnull=True) | Q(wear__gte=0))
                & (Q(price__isnull=True) | Q(price__gte=0)),
                name="pool_costs_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def hourly(self) -> Decimal | None:
        """What an hour of a unit costs; a commitment's spare hours cost nothing at the margin."""
        if self.kind == PoolUse.COMMITMENT:
            return Decimal(0)
        if self.kind in (PoolUse.SPOT, PoolUse.ON_DEMAND):
            return self.price
        return None if self.power is None or self.wear is None else self.power + self.wear


class Device(models.Model):
    """A machine that works while nobody uses it. Its key opens its own work only; the secret is shown once
    and kept as its SHA-256. `window`, `zone`, `days` narrow the pool's; `idle_minutes`: unused for so long.
    """

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="devices")
    name = models.CharField(_("name"), max_length=100)
    prefix = models.CharField(max_length=12, unique=True, editable=False)
    secret_hash = models.CharField(max_length=64, editable=False)
    window = models.CharField(_("window"), max_length=11, blank=True)
    zone = models.CharField(_("time zone"), max_length=60, blank=True)
    days = models.CharField(_("days"), max_length=40, blank=True)
    idle_minutes = models.PositiveIntegerField(_("minutes nobody used it"), default=15)
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)
    idle_seconds = models.PositiveIntegerField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "name"], name="device_once"),
            models.CheckConstraint(
                condition=Q(secret_hash__regex="^[0-9a-f]{64}$"),  # noqa: S106
                name="device_hash_is_sha256",
            ),
            models.CheckConstraint(
                condition=Q(window="", zone="") | (~Q(window="") & ~Q(zone="")), name="device_window_has_zone"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (opd_{self.prefix}_…)"
