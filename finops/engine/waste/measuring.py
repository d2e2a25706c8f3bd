"""What was measured of a resource, and what it needs with head-room.

A percentile stands for what is needed: p99 of CPU, network, operations; the least free memory, since what
was free at the worst moment is all that could go.
"""

from __future__ import annotations

from decimal import Decimal

from finops.engine.waste.model import Params, World
from finops.frames.waste import Measured, TypeFacts, Use

MIB_IN_GIB = 1024


def metric_of(world: World, params: Params, use: Use, name: str) -> Measured | None:
    """A metric that was measured for long enough, at least in part in the judged days."""
    found = world.metrics(use.key).get(name)
    if (
        found is None
        or found.end < world.start
        or Decimal(repr(found.days)) < params.number("days") - Decimal("0.5")
    ):
        return None
    return found


def measured_facts(use: Use, **found: Measured | None) -> dict[str, str]:
    """Percentiles, how long and how often, and where from."""
    facts = {"type": use.instance_type}
    for name, one in found.items():
        if one is not None:
            facts |= {
                f"{name}_p95": f"{one.p95:g}",
                f"{name}_p99": f"{one.p99:g}",
                f"{name}_high": f"{one.high:g}",
                f"{name}_low": f"{one.low:g}",
                "days": f"{one.days:.0f}",
                "samples": str(one.samples),
                "source": one.source,
            }
    return facts


def needed(
    own: TypeFacts, cpu: Measured, memory: Measured | None, network: Measured | None, head_room: float
) -> tuple[float, float, float]:
    """(vCPU, MiB, Mbit/s) that p99 asks for with head-room; memory that nobody measured stays as it is.

    >>> own = TypeFacts("m5.4xlarge", 16, 65536, ("x86_64",), False, 0)
    >>> from datetime import UTC, datetime
    >>> day = datetime(2026, 3, 1, tzinfo=UTC)
    >>> needed(own, Measured("cpu", day, day, 9, 10.0, 20.0, 30.0, 1.0), None, None, 0.25)
    (4.0, 65536.0, 0.0)
    """
    vcpus = (own.vcpus or 0) * cpu.p99 / 100 * (1 + head_room)
    held = float(own.memory_mib or 0)
    if memory is not None and memory.metric == "memory_free":
        held = max(held - memory.low * MIB_IN_GIB, 0.0) * (1 + head_room)
    elif memory is not None:
        held = held * memory.p99 / 100 * (1 + head_room)
    return vcpus, held, 0.0 if network is None else network.p99 * (1 + head_room)
