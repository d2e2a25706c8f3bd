"""What a plan is made of, in the words of prices. Grain: one `Item` per resource, side and priced component.

Amounts are exact decimals a month; a `Range` is low, expected and high of one amount. Unknown amounts are
None with a reason, never 0. Readers make these, the check engine prices them, neither knows the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

# Hours that a resource which runs all the time is counted with; a usage file can say another number.
HOURS_PER_MONTH = Decimal(730)
ON_DEMAND, SPOT = "on-demand", "spot"
MACHINE = "machine"  # the service of instances: their prices are in the list prices, by product


class CheckInputError(ValueError):
    """Input that is refused: the file, the address (or document) in it, the field, and the reason."""

    def __init__(self, reason: str, *, file: str, address: str = "", field: str = "") -> None:
        self.reason, self.file, self.address, self.field = reason, file, address, field
        place = ", ".join(part for part in (file, address, field) if part)
        super().__init__(f"{place}: {reason}")


@dataclass(frozen=True, slots=True)
class Range:
    """Low <= expected <= high."""

    low: Decimal
    expected: Decimal
    high: Decimal

    @classmethod
    def of(cls, amount: Decimal | int) -> Range:
        """A known amount."""
        exact = Decimal(amount)
        return cls(exact, exact, exact)

    def times(self, other: Range) -> Range:
        """Both at their low, expected and high; none is negative."""
        return Range(self.low * other.low, self.expected * other.expected, self.high * other.high)


class Sku(NamedTuple):
    """What has a price: (machine, us-east-1, c5.4xlarge, Linux/UNIX), (ebs, us-east-1, gp3, storage)."""

    service: str
    region: str
    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Item:
    """`amount` units a month of one sku, or of one of several (`skus`, the first is expected to be taken).

    `weights`: units of capacity of one unit of each sku; () for 1 each. `amount` None: see `reason`.
    `market` is on-demand or spot. `zone`: where its machines are pinned, "" for any. `count`: how many equal
    ones there are, each with its part of the amount; None: it is not a number of whole things.
    """

    component: str
    unit: str
    skus: tuple[Sku, ...] = ()
    amount: Range | None = None
    reason: str = ""
    market: str = ON_DEMAND
    weights: tuple[Decimal, ...] = ()
    zone: str = ""
    count: Range | None = None

    @property
    def priced_as(self) -> str:
        """The market of its price: Spot of a pinned zone has that zone's price."""
        return f"{SPOT} {self.zone}" if self.market == SPOT and self.zone else self.market


def spot_zone(market: str) -> str | None:
    """The zone of a Spot market ("" for any); None for another market."""
    word, _space, zone = market.partition(" ")
    return zone if word == SPOT else None


@dataclass(frozen=True, slots=True)
class Run:
    """What somebody said of one run: its hours, how long its start may wait, the zone where it starts."""

    hours: Decimal | None = None
    slack_hours: Decimal | None = None
    home_zone: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """What lies in a bucket: GiB, objects, and the requests of a month. None: nobody said it."""

    name: str
    storage_class: str
    gib: Range | None = None
    objects: Range | None = None
    puts: Range | None = None
    gets: Range | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """A resource before or after: its items (none: it has no cost of its own) and tags.

    `tags` None: not known. A value of None: the tag is there, its value is not known; the key "", which no
    tag has, says that there may be others.
    """

    items: tuple[Item, ...] = ()
    tags: Mapping[str, str | None] | None = field(default_factory=dict)
    region: str = ""
    summary: str = ""
    interruptible: bool | None = None
    run: Run | None = None
    stored: Stored | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of a plan; a side of None: it is not there ("absent"), which is not the same as cost 0.

    `action`: create, update, replace, delete or no-op. `taggable`: it can carry tags.
    """

    address: str
    kind: str
    action: str
    before: Side | None
    after: Side | None
    taggable: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The resources of an input in the order of their addresses, what was assumed, what was dropped."""

    resources: tuple[Resource, ...]
    assumptions: tuple[str, ...] = ()
    sensitive_dropped: int = 0
    has_base: bool = False  # the input itself says what was there before


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Size of an instance type."""

    vcpus: Decimal
    memory_mib: Decimal
