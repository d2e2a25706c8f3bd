"""Where work can run besides one cloud: the pools of an organisation.

Grain of `PoolOffer`: one row per pool. A unit is what work is counted in, such as one GPU. `hourly` is what a
unit costs while it runs: for own machines power and wear, for a commitment's spare hours nothing, because
they are paid whether used or not. `speed` is relative to the unit in which the work's hours are told.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from finops.frames.money import currencies

EXAMPLE = Path(__file__).parent / "data" / "pools_example.csv"
COLUMNS = (
    "name", "kind", "provider", "region", "units", "largest", "machine", "hourly", "currency", "speed",
    "interruptions_per_hour", "start_minutes", "window", "zone", "days",
)  # fmt: skip


class PoolKind(StrEnum):
    """Kinds of pools; the market of a cloud, or what is there already."""

    OWN = "own"
    DEVICE = "device"
    COMMITMENT = "commitment"
    SPOT = "spot"
    ON_DEMAND = "on_demand"

    @property
    def bought(self) -> bool:
        """Whether a machine is launched and paid for each time."""
        return self in (PoolKind.SPOT, PoolKind.ON_DEMAND)


@dataclass(frozen=True, slots=True)
class PoolOffer:
    """One pool.

    `units`: how many there are, None for no limit; `largest`: the most that one job may have, None for as
    many as there are; `machine`: units that end together. `window`, `zone`, `days` as
    `finops.engine.calendar.ClockWindow.parse` takes them, `window` empty: always open.
    """

    name: str
    kind: PoolKind
    hourly: float
    currency: str
    provider: str = ""
    region: str = ""
    units: int | None = None
    largest: int | None = None
    machine: int = 1
    speed: float = 1.0
    interruptions_per_hour: float = 0.0
    start_hours: float = 0.0
    window: str = ""
    zone: str = ""
    days: str = ""

    def __post_init__(self) -> None:
        values = (self.hourly, self.speed, self.interruptions_per_hour, self.start_hours)
        if not all(math.isfinite(value) and value >= 0 for value in values) or self.speed <= 0:
            raise ValueError("prices, rates and times are finite and not below 0, a speed is above 0")
        if self.machine < 1 or any(count is not None and count < 1 for count in (self.units, self.largest)):
            raise ValueError("units are whole numbers from 1")
        if bool(self.window) != bool(self.zone):
            raise ValueError("a window needs its time zone, a time zone its window")
        if self.window.count("-") > 1 or (self.window and "-" not in self.window):
            raise ValueError(f"a window is written like 20:00-08:00, not {self.window!r}")
        if not self.name.strip() or self.currency not in currencies():
            raise ValueError("a pool has a name and a currency of ISO 4217")

    def machines(self, units: int) -> int:
        """Machines that a job of so many units takes."""
        return -(-units // self.machine)


class PoolRowError(ValueError):
    """A row that says no pool: `row` is the 1-based data record, None for the whole file."""

    def __init__(self, row: int | None, field: str, reason: str) -> None:
        super().__init__(f"row {row}, {field}: {reason}" if row is not None else f"{field}: {reason}")
        self.row = row
        self.field = field


def read_pools(lines: Iterable[str]) -> list[PoolOffer]:
    """Pools of a CSV with at least the columns name, kind, hourly and currency. Raises PoolRowError."""
    table = csv.DictReader(lines)
    heads = {name.strip() for name in table.fieldnames or []}
    if missing := [name for name in ("name", "kind", "hourly", "currency") if name not in heads]:
        raise PoolRowError(None, missing[0], "this column is needed")
    found = [_offer(row, number) for number, row in enumerate(table, start=1)]
    if not found:
        raise PoolRowError(None, "name", "no rows")
    seen: set[str] = set()
    for number, one in enumerate(found, start=1):
        if one.name in seen:
            raise PoolRowError(number, "name", f"twice: {one.name!r}")
        seen.add(one.name)
        if one.currency != found[0].currency:
            raise PoolRowError(number, "currency", "all pools of a file have the same one")
    return found


def _offer(row: Mapping[str, str | None], number: int) -> PoolOffer:
    text = {key: (row.get(key) or "").strip() for key in COLUMNS}
    try:
        kind = PoolKind(text["kind"])
    except ValueError:
        known = ", ".join(PoolKind)
        raise PoolRowError(number, "kind", f"one of {known}, not {text['kind']!r}") from None
    try:
        return PoolOffer(
            name=text["name"], kind=kind, provider=text["provider"], region=text["region"],
            hourly=_number(text, "hourly", number), currency=text["currency"].upper(),
            units=_count(text, "units", number), largest=_count(text, "largest", number),
            machine=_count(text, "machine", number) or 1,
            speed=_number(text, "speed", number, 1.0),
            interruptions_per_hour=_number(text, "interruptions_per_hour", number, 0.0),
            start_hours=_number(text, "start_minutes", number, 0.0) / 60,
            window=text["window"], zone=text["zone"], days=text["days"],
        )  # fmt: skip
    except PoolRowError:
        raise
    except ValueError as error:
        raise PoolRowError(number, "name", str(error)) from None


def _number(text: Mapping[str, str], field: str, number: int, missing: float | None = None) -> float:
    if not text[field] and missing is not None:
        return missing
    try:
        value = float(text[field])
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise PoolRowError(number, field, f"no number from 0: {text[field][:40]!r}")
    return value


def _count(text: Mapping[str, str], field: str, number: int) -> int | None:
    if not text[field]:
        return None
    if not text[field].isdecimal() or not 1 <= int(text[field]) <= 10_000_000:
        raise PoolRowError(number, field, f"no whole number from 1: {text[field][:40]!r}")
    return int(text[field])


def example_pools() -> list[PoolOffer]:
    """The example that comes with the product; its rows name their sources."""
    with EXAMPLE.open(newline="", encoding="utf-8") as handle:
        return read_pools(handle)
