"""Bill lines, lists and metrics as the world that rules are asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb

from finops.engine.waste.model import Setting, World
from finops.frames.cost_items import Sku
from finops.frames.resource_prices import resource_price
from finops.frames.waste import Listed, Measured, OwnedPart, TypeFacts, Use
from finops.lake import waste as lines

# Rules look at this many days before the end of the bill.
JUDGED = timedelta(days=30)
# Whose lines tell tags and owner.
NEWEST = timedelta(days=3)
RUNNING = ("instance", "instance-spot")
# Shares of list prices that volumes are judged by, of the one region whose prices are here.
PRICED_REGION = "us-east-1"
_THINGS = {
    "gp2": ("gp2", "storage"), "gp3": ("gp3", "storage"), "io1": ("io1", "storage"),
    "io2": ("io2", "storage"), "st1": ("st1", "storage"), "sc1": ("sc1", "storage"),
    "standard": ("standard", "storage"), "snapshot": ("snapshot", "storage"),
    "iops": ("gp3", "iops"), "throughput": ("gp3", "throughput"),
}  # fmt: skip
_DATABASE_THINGS = {"rds-gp3": ("gp3", "single"), "rds-io1": ("io1", "single")}
SizesOf = Callable[[Sequence[Use]], Mapping[str, TypeFacts]]
TypesOf = Callable[[Sequence[Use]], Mapping[tuple[str, str], Mapping[str, TypeFacts]]]


@dataclass(frozen=True)
class Beside:
    """What is known beside the bill. `team`: SQL of the rule that owns a line, with its values in `given`;
    `owner`: the team that it stands for.
    """

    settings: Sequence[Setting] = ()
    listed: Mapping[str, Listed] = field(default_factory=dict)
    measured: Mapping[str, Mapping[str, Measured]] = field(default_factory=dict)
    history: datetime | None = None
    team: str = "NULL"
    given: Mapping[str, Any] = field(default_factory=dict)
    owner: Callable[[Any], str] = lambda _number: ""
    platform: Callable[[str], str] = lambda _operation: ""
    types: TypesOf = lambda _uses: {}
    sizes: SizesOf = lambda _uses: {}
    commitments: Callable[[Sequence[Use]], Sequence[OwnedPart]] = lambda _uses: ()


@dataclass(frozen=True)
class Gathered:
    """The world, and what no rule can read."""

    world: World
    kinds: lines.Kinds


def gather(
    con: duckdb.DuckDBPyConnection, end: datetime, beside: Beside, *, judged: timedelta = JUDGED
) -> Gathered:
    """The judged days before `end` on a connection that has `billing.lines`."""
    start = end - judged
    kinds = lines.kinds_in(con, start, end)
    empty = World(start, end, (), settings=beside.settings)
    uses = [
        replace(use, platform=beside.platform(use.operation)) if use.kind in RUNNING else use
        for use in lines.uses_of(con, start, end, empty.nights)
    ]
    found = lines.newest_lines(
        con, start, end, since=(end - NEWEST).date(), team=beside.team, given=beside.given
    )
    stopped = [
        use.key.resource for use in uses if use.kind in RUNNING and use.key not in found and use.key.resource
    ]
    volumes = any(use.kind.startswith("volume-") for use in uses)
    if stopped and volumes:
        found |= lines.newest_lines(
            con, start, end, since=start.date(), team=beside.team, given=beside.given, resources=stopped
        )
    snapshots = any(use.kind == "snapshot" for use in uses)
    return Gathered(
        World(
            start=start,
            end=end,
            uses=uses,
            told={key: replace(told, team=beside.owner(rule)) for key, (told, rule) in found.items()},
            listed=beside.listed,
            measured=beside.measured,
            types=beside.types(uses),
            first_seen=lines.first_seen(con, end, "snapshot") if snapshots else {},
            history=beside.history,
            free=lines.free_before(con, start, end),
            shares=price_shares(end),
            settings=beside.settings,
            commitments=beside.commitments(uses),
            sizes=beside.sizes(uses),
        ),
        kinds,
    )


def price_shares(on: datetime) -> dict[str, Decimal]:
    """List prices of kinds of volumes by each other's; the nearest later list where none is older."""
    prices: dict[str, Decimal] = {}
    for service, things in (("ebs", _THINGS), ("rds-storage", _DATABASE_THINGS)):
        for name, (sku, detail) in things.items():
            found = resource_price("aws", Sku(service, PRICED_REGION, sku, detail), on.date())
            if found is not None:
                prices[name] = found.price
    return {
        f"{one}/{other}": prices[one] / prices[other]
        for one in prices
        for other in prices
        if one != other and prices[other]
    }
