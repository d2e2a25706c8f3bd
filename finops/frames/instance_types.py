"""Facts about instance types. Grain: one row per provider and instance type.

Unknown is None (a source that does not say), never 0: a type without GPUs has `gpu_count` 0, a type whose
GPUs the source does not describe has None. Memory is in MiB (1024 x 1024 bytes), `gpu_memory_mib` is that
of one GPU.
"""

from __future__ import annotations

from typing import NamedTuple


class InstanceTypeFacts(NamedTuple):
    """What one instance type is made of."""

    provider: str
    instance_type: str
    vcpus: int
    memory_mib: int
    architectures: tuple[str, ...]  # "x86_64", "arm64", "i386", "x86_64_mac", …; sorted
    gpu_manufacturer: str = ""
    gpu_name: str = ""
    gpu_count: int | None = 0
    gpu_memory_mib: int | None = None
    accelerator_manufacturer: str = (
        ""  # inference and training chips that are no GPUs (Inferentia, Trainium, …)
    )
    accelerator_name: str = ""
    accelerator_count: int | None = 0
    accelerator_memory_mib: int | None = None
    bare_metal: bool | None = None
    current_generation: bool | None = None
    burstable: bool | None = None
    spot: bool | None = None
    hypervisor: str = ""
    network: str = ""  # as the provider says it: "Up to 10 Gigabit"
    network_mbps: int | None = None


def check(facts: InstanceTypeFacts) -> tuple[str, str]:
    """(field, reason) of the first thing that cannot be, or two empty texts."""
    if not facts.instance_type:
        return "InstanceType", "no name"
    if facts.vcpus <= 0:
        return "VCpuInfo", "no vCPU"
    if facts.memory_mib <= 0:
        return "MemoryInfo", "no memory"
    if not facts.architectures:
        return "ProcessorInfo", "no architecture"
    if facts.gpu_count is not None and (facts.gpu_count > 0) != bool(facts.gpu_name):
        return "GpuInfo", "a GPU needs a name and a count"
    return "", ""
