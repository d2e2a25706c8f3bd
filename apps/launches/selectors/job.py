"""What a plan's job runs in a container or as a process: from `container`, else from the job's own fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def container_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """image, command, args, env, cpu, memory, gpus, as far as the job says them.

    A job's `command` is a line for a shell; its vCPUs, memory and GPUs are those of the workload.
    """
    given = job.get("container")
    found: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    for name in ("image", "command"):
        if not found.get(name) and job.get(name):
            found[name] = job[name]
    if job.get("min_vcpu") and not found.get("cpu"):
        found["cpu"] = job["min_vcpu"]
    if job.get("min_memory_gib") and not found.get("memory"):
        found["memory"] = f"{float(job['min_memory_gib']):g}Gi"
    if not found.get("gpus") and (job.get("gpus") or job.get("gpu")):
        found["gpus"] = job.get("gpus") or 1
    return found
