"""What a cloud is made of: accounts, regions, zones, instance types."""

from __future__ import annotations

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
