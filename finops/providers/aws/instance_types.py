"""Facts about instance types from `describe-instance-types` answers.

Quirks: memory is MiB; GPU memory is per GPU; Inferentia and Trainium chips stand under
`InferenceAcceleratorInfo` in older answers and under `NeuronInfo` in newer ones, sometimes under both; a
bare-metal type has no hypervisor; fractional GPUs (g6f) are counted as the whole GPU they are cut from, as
the answer's Count does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from finops.frames.instance_types import InstanceTypeFacts, check
from finops.providers.aws.reading import Reading

PROVIDER = "aws"


class _Chips(NamedTuple):
    """Processors beside the CPU, all of one kind."""

    manufacturer: str = ""
    name: str = ""
    number: int = 0
    memory_mib: int | None = None


def is_instance_types(document: Any) -> bool:
    """Whether parsed JSON looks like an answer of `describe-instance-types`."""
    return isinstance(document, Mapping) and isinstance(document.get("InstanceTypes"), list)


def read_instance_types(document: Mapping[str, Any]) -> Reading[InstanceTypeFacts]:
    """The facts of one document; `row` is the 1-based position in InstanceTypes."""
    reading: Reading[InstanceTypeFacts] = Reading()
    for row, entry in enumerate(document["InstanceTypes"], start=1):
        try:
            facts = _facts(entry)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            field = str(error.args[0]) if isinstance(error, KeyError) else ""
            reading.refuse(row, field, f"incomplete entry: {type(error).__name__} {error}")
            continue
        field, reason = check(facts)
        if reason:
            reading.refuse(row, field, reason)
        else:
            reading.rows.append((row, facts))
    return reading


def _facts(entry: Mapping[str, Any]) -> InstanceTypeFacts:
    gpus = _chips((entry.get("GpuInfo") or {}).get("Gpus", []))
    neuron = (entry.get("NeuronInfo") or {}).get("NeuronDevices", [])
    inference = (entry.get("InferenceAcceleratorInfo") or {}).get("Accelerators", [])
    chips = _chips(neuron, manufacturer="AWS") if neuron else _chips(inference)
    return InstanceTypeFacts(
        provider=PROVIDER,
        instance_type=str(entry["InstanceType"]),
        vcpus=int(entry["VCpuInfo"]["DefaultVCpus"]),
        memory_mib=int(entry["MemoryInfo"]["SizeInMiB"]),
        architectures=tuple(sorted(entry["ProcessorInfo"]["SupportedArchitectures"])),
        gpu_manufacturer=gpus.manufacturer,
        gpu_name=gpus.name,
        gpu_count=gpus.number,
        gpu_memory_mib=gpus.memory_mib,
        accelerator_manufacturer=chips.manufacturer,
        accelerator_name=chips.name,
        accelerator_count=chips.number,
        accelerator_memory_mib=chips.memory_mib,
        bare_metal=entry.get("BareMetal"),
        current_generation=entry.get("CurrentGeneration"),
        burstable=entry.get("BurstablePerformanceSupported"),
        spot="spot" in entry["SupportedUsageClasses"] if "SupportedUsageClasses" in entry else None,
        hypervisor=str(entry.get("Hypervisor") or ""),
        network=str((entry.get("NetworkInfo") or {}).get("NetworkPerformance") or ""),
        network_mbps=_network_mbps(entry.get("NetworkInfo") or {}),
    )


def _chips(entries: Sequence[Mapping[str, Any]], *, manufacturer: str = "") -> _Chips:
    """One kind of chip with its count. Raises ValueError where a type mixes kinds: there is no such type
    today.
    """
    if not entries:
        return _Chips()
    if len({entry["Name"] for entry in entries}) > 1:
        raise ValueError(f"several kinds of chips: {', '.join(str(entry['Name']) for entry in entries)}")
    memory = (entries[0].get("MemoryInfo") or {}).get("SizeInMiB")
    return _Chips(
        manufacturer=str(entries[0].get("Manufacturer") or manufacturer),
        name=str(entries[0]["Name"]),
        number=sum(int(entry["Count"]) for entry in entries),
        memory_mib=int(memory) if memory else None,
    )


def _network_mbps(network: Mapping[str, Any]) -> int | None:
    """Baseline bandwidth over all cards where the answer has it."""
    cards = network.get("NetworkCards") or []
    baselines = [card["BaselineBandwidthInGbps"] for card in cards if "BaselineBandwidthInGbps" in card]
    return round(sum(float(gbps) for gbps in baselines) * 1000) if baselines else None
