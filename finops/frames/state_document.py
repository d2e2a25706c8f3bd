"""Resources as JSON values and back: what a stored check keeps to be the base of the next one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from finops.frames.cost_items import Item, Range, Resource, Side, Sku


def range_values(found: Range | None) -> list[str] | None:
    """Low, expected, high as exact text."""
    return None if found is None else [str(found.low), str(found.expected), str(found.high)]


def _range(values: Sequence[str] | None) -> Range | None:
    return None if values is None else Range(*(Decimal(text) for text in values))


def side_values(side: Side) -> dict[str, Any]:
    """A side without its tags: policies look at what is there after a change only."""
    return {
        "items": [
            {
                "component": item.component,
                "unit": item.unit,
                "skus": [list(sku) for sku in item.skus],
                "amount": range_values(item.amount),
                "reason": item.reason,
                "market": item.market,
                "weights": [str(weight) for weight in item.weights],
                "zone": item.zone,
                "count": range_values(item.count),
            }
            for item in side.items
        ],
        "region": side.region,
        "summary": side.summary,
    }


def side_from(values: dict[str, Any]) -> Side:
    """The side that `side_values` kept, without tags."""
    return Side(
        items=tuple(
            Item(
                component=row["component"],
                unit=row["unit"],
                skus=tuple(Sku(*sku) for sku in row["skus"]),
                amount=_range(row["amount"]),
                reason=row["reason"],
                market=row["market"],
                weights=tuple(Decimal(text) for text in row["weights"]),
                zone=row.get("zone", ""),
                count=_range(row.get("count")),
            )
            for row in values["items"]
        ),
        region=values["region"],
        summary=values["summary"],
    )


def state_of(resources: Iterable[Resource]) -> list[dict[str, Any]]:
    """What is there after the change."""
    return [
        {"address": one.address, "kind": one.kind, "side": side_values(one.after)}
        for one in resources
        if one.after is not None
    ]


def against(resources: Sequence[Resource], state: Iterable[dict[str, Any]]) -> tuple[Resource, ...]:
    """The resources with the kept state as what was there before, by address."""
    before = {row["address"]: row for row in state}
    found = []
    for one in resources:
        row = before.pop(one.address, None)
        if one.after is None and row is None:
            continue
        side = side_from(row["side"]) if row else None
        action = "delete" if one.after is None else "create" if side is None else "update"
        found.append(Resource(one.address, one.kind, action, side, one.after, one.taggable))
    found += [
        Resource(address, row["kind"], "delete", side_from(row["side"]), None)
        for address, row in before.items()
    ]
    return tuple(sorted(found, key=lambda one: one.address))
