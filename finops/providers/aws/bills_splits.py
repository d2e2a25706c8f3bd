"""Containers' shares of their machines in an AWS bill: split cost allocation data.

Source: AWS CUR user guide, "Split line item details", "Understanding split cost allocation data" and its
example, read 2026-11. Quirks:
- Two lines more an hour and container (vCPU and memory; three with an accelerator). They split the amortised
  cost of the machine in `splitLineItem/ParentResourceId`, whose own lines stay in the report and count it.
- The line's own cost is 0 or blank. Its `UsageAmount` and rates are no use of anything that is sold.
- What no container used comes twice: shared out in `UnusedCost`, and as lines of resources named `Unused`.
- Fargate lines are sold as they are: they have an own cost, no parent, and at most the actual usage.
- Without resource ids there is no parent; such a line is known by a share and no cost of its own.
- The net columns are there only in a month with a discount. The ratio is text in CUR 2.0.
"""

from __future__ import annotations

from finops.providers.bills import Given

_NUMBERS = {
    "x_split_usage": "SplitUsage",
    "x_split_usage_ratio": "SplitUsageRatio",
    "x_split_reserved_usage": "ReservedUsage",
    "x_split_actual_usage": "ActualUsage",
}
_MONEY = {
    "x_split_cost": "SplitCost",
    "x_split_unused_cost": "UnusedCost",
    "x_split_net_cost": "NetSplitCost",
    "x_split_net_unused_cost": "NetUnusedCost",
    "x_split_list_cost": "PublicOnDemandSplitCost",
    "x_split_list_unused_cost": "PublicOnDemandUnusedCost",
}
_PARENT = "splitLineItem/ParentResourceId"


def split_shares(given: Given) -> dict[str, str]:
    """The `x_split_…` columns, null where the line or the report has none."""
    return {
        "x_split_parent_resource_id": given.text(_PARENT),
        **{ours: given.number(f"splitLineItem/{theirs}") for ours, theirs in _NUMBERS.items()},
        **{ours: given.money(f"splitLineItem/{theirs}") for ours, theirs in _MONEY.items()},
    }


def split_word(given: Given) -> str:
    """SQL of the table's word: `yes`, `no`, or `costly` for a share that says to cost something itself."""
    told = [f"splitLineItem/{name}" for name in ("SplitCost", "UnusedCost")]
    shared = " OR ".join(f"coalesce({given.money(name)}, 0) <> 0" for name in told if given.has(name))
    parent = f"{given.text(_PARENT)} IS NOT NULL" if given.has(_PARENT) else ""
    either = " OR ".join(f"({part})" for part in (parent, shared) if part)
    if not either:
        return "'no'"
    free = f"coalesce({given.money('lineItem/UnblendedCost')}, 0) = 0"
    costly = f" WHEN {parent} THEN 'costly'" if parent else ""
    return f"CASE WHEN {free} AND ({either}) THEN 'yes'{costly} ELSE 'no' END"
