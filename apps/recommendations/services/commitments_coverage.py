"""How far use of instances is covered by commitments: in hours, and in what it costs on demand."""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.recommendations.services.commitments_bill import BillUse
from apps.recommendations.services.document import Document, decimal_text, rounded

LOOKBACK_DAYS = 30
_GRAINS = ((1, "hour"), (24, "day"))


def grain_word(hours: int) -> str:
    """The word for the longest line of an export."""
    return next((word for most, word in _GRAINS if hours <= most), "month")


def coverage_rows(use: BillUse) -> list[Document]:
    """A row a region, platform and type: hours in all, by reservations, by plans, on demand."""
    sums: dict[tuple[str, str, str], np.ndarray] = {}
    found = use.coverage
    for one, left, reserved, plans in zip(
        found.demand.uses, found.left, found.by_reserved, found.by_plans, strict=True
    ):
        key = (one.key.region, one.key.platform, one.key.instance_type)
        part = np.array([float(np.nansum(hours)) for hours in (one.hours, reserved, plans, left)])
        sums[key] = sums.get(key, np.zeros(4)) + part
    return [
        {"region": region, "platform": platform, "type": kind, **_hours(*values.tolist())}
        for (region, platform, kind), values in sorted(sums.items())
    ]


def _hours(total: float, reserved: float, plans: float, left: float) -> Document:
    return {
        "hours": rounded(total),
        "covered_hours": rounded(reserved + plans),
        "reserved_hours": rounded(reserved),
        "plan_hours": rounded(plans),
        "on_demand_hours": rounded(left),
        "coverage_pct": rounded((reserved + plans) / total * 100) if total > 0 else None,
    }


def coverage_total(rows: list[Document], use: BillUse) -> Document:
    """All types together, in hours and by currency in on-demand equivalent: 1 covered hour of a large type
    counts as much as it costs.
    """
    sums = [
        sum(row[name] for row in rows)
        for name in ("hours", "reserved_hours", "plan_hours", "on_demand_hours")
    ]
    money = []
    for currency in sorted({currency for currency, _how in use.list_cost}):
        parts = {
            how: float(use.list_cost.get((currency, how), np.zeros(1)).sum())
            for how in ("on_demand", "reserved", "plans")
        }
        whole = sum(parts.values())
        money.append(
            {
                "currency": currency,
                **{how: decimal_text(round(value, 8)) for how, value in parts.items()},
                "coverage_pct": rounded((whole - parts["on_demand"]) / whole * 100) if whole > 0 else None,
            }
        )
    return {
        **_hours(*sums),
        "on_demand_equivalent": money,
        "hours_without_list_price": rounded(use.missing),
        "grain": grain_word(use.grain_hours),
        "free_tier_hours": rounded(use.free_hours),
        "not_judged": [{"lines": name, "hours": rounded(hours)} for name, hours in use.unread.items()],
    }


def coverage_series(use: BillUse) -> dict[str, list[float | None]]:
    """Instance-hours an hour, by how they were paid; None where no bill reaches."""
    found = use.coverage
    none = np.zeros(found.demand.length)

    def total(parts: Any) -> list[float | None]:
        summed = np.sum(parts, axis=0) if parts else none
        return [None if np.isnan(value) else round(float(value), 6) for value in summed]

    return {
        "reserved": total(found.by_reserved),
        "plans": total(found.by_plans),
        "on_demand": total(found.left),
    }
