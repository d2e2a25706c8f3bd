"""Reading what a cloud is made of: types that fit or are alike, zone names and ids, product texts."""

from __future__ import annotations

from django.db.models import F, QuerySet

from apps.catalog.models import InstanceType, Zone
from finops.frames.products import Product, product, texts_of_same_meaning

__all__ = [
    "Product",
    "equivalents",
    "instance_type_facts",
    "instance_types_matching",
    "product",
    "texts_of_same_meaning",
    "zone_ids",
    "zone_names",
]


def instance_types_matching(
    *,
    min_vcpu: int = 0,
    min_memory_gib: float = 0,
    gpu: str = "",
    gpus: int = 0,
    architecture: str | None = "x86_64",
    provider: str = "aws",
) -> QuerySet[InstanceType]:
    """Types with at least so much of each, smallest first.

    `gpu` is a GPU's name in any letter case ("V100"); `gpus` at least so many (1 when only a name is
    given). A type whose GPUs are unknown does not match a question for GPUs. `architecture` None takes any;
    by default only what runs x86 programs. Bare metal is left out: it starts slowly and is sized for other
    uses.
    """
    types = (
        InstanceType.objects.filter(
            provider=provider, vcpus__gte=min_vcpu, memory_mib__gte=min_memory_gib * 1024
        )
        .exclude(bare_metal=True)
        .exclude(spot=False)
    )
    if architecture:
        types = types.filter(architectures__contains=[architecture])
    if gpu:
        types = types.filter(gpu_name__iexact=gpu.strip())
    if gpu or gpus:
        types = types.filter(gpu_count__gte=max(gpus, 1))
    return types.order_by("vcpus", "memory_mib", "name")


def equivalents(instance_type: str, *, provider: str = "aws") -> list[str]:
    """Names of types that can do the work of this one: itself left out, empty where its facts are not known.

    As many vCPU, the same GPUs and accelerators in kind and number, at least its memory, an architecture in
    common. A burstable type replaces only a burstable one, bare metal only bare metal.
    """
    asked = InstanceType.objects.filter(provider=provider, name=instance_type).first()
    if asked is None:
        return []
    alike = (
        InstanceType.objects.filter(
            provider=provider,
            vcpus=asked.vcpus,
            memory_mib__gte=asked.memory_mib,
            architectures__overlap=asked.architectures,
            gpu_name__iexact=asked.gpu_name,
            gpu_count=asked.gpu_count,
            accelerator_name__iexact=asked.accelerator_name,
            accelerator_count=asked.accelerator_count,
        )
        .exclude(pk=asked.pk)
        .exclude(spot=False)
    )
    if not asked.bare_metal:
        alike = alike.exclude(bare_metal=True)
    if not asked.burstable:
        alike = alike.exclude(burstable=True)
    return list(alike.order_by("memory_mib", "name").values_list("name", flat=True))


def instance_type_facts(names: list[str], *, provider: str = "aws") -> dict[str, InstanceType]:
    """The facts of each named type that is known."""
    return {row.name: row for row in InstanceType.objects.filter(provider=provider, name__in=names)}


def zone_ids(*, account_id: str, provider: str = "aws", region: str = "") -> dict[str, str]:
    """Zone name -> zone id as this account names them."""
    zones = Zone.objects.filter(account__provider=provider, account__account_id=account_id)
    if region:
        zones = zones.filter(region__code=region)
    return dict(zones.values_list("name", "zone_id"))


def zone_names(*, provider: str = "aws") -> dict[str, list[tuple[str, str]]]:
    """Zone id -> (account, name) pairs, over all accounts."""
    named: dict[str, list[tuple[str, str]]] = {}
    rows = Zone.objects.filter(account__provider=provider).values_list(
        "zone_id", F("account__account_id"), "name"
    )
    for zone_id, account, name in rows.order_by("zone_id", "account__account_id"):
        named.setdefault(zone_id, []).append((account, name))
    return named
