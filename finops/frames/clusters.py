"""Use of Kubernetes clusters. Grain: one row per cluster, namespace, workload and kind over one span; idle
and shared cost are rows of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

WORK, IDLE, SHARED = "work", "idle", "shared"


@dataclass(frozen=True, slots=True)
class Work:
    """One workload over [`start`, `end`): CPU in cores, memory in GiB, cost of the whole span. Null is "not
    said".
    """

    cluster: str
    namespace: str
    workload: str
    kind: str
    start: datetime
    end: datetime
    cpu_request: float | None
    cpu_p99: float | None
    memory_request: float | None
    memory_p99: float | None
    cpu_cost: Decimal | None
    memory_cost: Decimal | None
    cost: Decimal | None
    currency: str
    cpu_mean: float | None = None
    memory_mean: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def hours(self) -> Decimal:
        """Length of the span."""
        return Decimal((self.end - self.start).total_seconds()) / 3600
