"""Rules of waste, what bill lines meter for them, and what one resource used.

Grain of `Use`: one row per provider, account, region, resource, kind and currency over the judged days.
Money is exact, in `currency`; costs are amortised (`effective_cost`) unless named otherwise. Times are
aware UTC.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

_DATA = Path(__file__).parent / "data"
# Bills put the region before a usage type: EUC1-, USE1-, USW2-, EU-, APN1-, UGW1-, MES1-, US-ISO.
_PREFIX = re.compile(r"^(?:[A-Z]{2,3}[A-Z0-9]{0,3}\d?-)(?=[A-Za-z])")

ZERO = Decimal(0)
MONTH_HOURS = Decimal(730)


@dataclass(frozen=True, slots=True)
class Rule:
    """One question that is asked of the bill. `thresholds` hold texts: numbers or lists of words."""

    id: str
    doing: str
    question: str
    inputs: str
    condition: str
    saving: str
    needs: str
    thresholds: Mapping[str, str]
    effort: str
    risk: str
    reversible: str
    since: date
    source: str


@dataclass(frozen=True, slots=True)
class Meter:
    """What a usage type counts."""

    kind: str
    unit: str


@dataclass(frozen=True, slots=True)
class Key:
    """A resource as the bill names it; `resource` is "" where lines name none."""

    provider: str
    account: str
    region: str
    resource: str


@dataclass(frozen=True, slots=True)
class Use:
    """What a resource used of one kind in the judged days.

    `quantity` in the kind's unit; `hours`: distinct hours with a line, null where lines are longer than
    an hour; `night_hours`, `night_cost`: those of nights and weekends, the cost without what a commitment
    paid; `covered`, `covered_cost`: quantity and amortised cost paid by a commitment, `plan_covered` the part
    of the quantity that savings plans paid, `commitment` the id of one that did. `cost` is null where a line
    has none. `last_quantity`: of the last day that it has lines on. `platform`: product text
    of an instance; `series`: quantity by day, of log storage only.
    """

    key: Key
    kind: str
    usage_type: str
    operation: str
    instance_type: str
    currency: str
    quantity: Decimal
    last_quantity: Decimal
    cost: Decimal | None
    covered: Decimal
    covered_cost: Decimal
    hours: int | None
    night_hours: int
    night_cost: Decimal
    first: datetime
    last: datetime
    days: int
    platform: str = ""
    series: tuple[Decimal, ...] = ()
    plan_covered: Decimal = ZERO
    commitment: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list of resources says of one: a volume or a snapshot. Null is "not said"."""

    resource: str
    kind: str
    attached_to: str | None = None
    volume: str | None = None
    created_at: datetime | None = None
    image: str | None = None
    iops: Decimal | None = None
    throughput: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric of a resource over [`start`, `end`): cpu (%), memory (%), memory_free (GiB), network (Mbit/s),
    iops, connections, credits, reads and writes (units a second). `low` is the smallest sample.
    """

    metric: str
    start: datetime
    end: datetime
    samples: int
    p95: float
    p99: float
    high: float
    low: float
    source: str = ""

    @property
    def days(self) -> float:
        """How long it was measured."""
        return (self.end - self.start).total_seconds() / 86400


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """An instance type of the catalog with its list price an hour; null is "not known". `later`: the price is
    of a list after the judged days. `currency`: of list and Spot price.
    """

    name: str
    vcpus: int | None
    memory_mib: int | None
    architectures: tuple[str, ...]
    burstable: bool
    gpus: int
    network_mbps: float | None = None
    price: Decimal | None = None
    spot: Decimal | None = None
    later: bool = False
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class OwnedPart:
    """An own commitment at the end of the judged days: `id` as the end of its ARN. `spare`: instances of a
    reservation that nothing used, on average of its billing month; `zone` empty: regional; `plan` and
    `family` of savings plans.
    """

    id: str
    kind: str
    region: str
    zone: str
    platform: str
    tenancy: str
    instance_type: str
    plan: str = ""
    family: str = ""
    spare: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a resource beside its lines: tags of its newest line, owner, that line's place."""

    tags: Mapping[str, str] = field(default_factory=dict)
    team: str = ""
    delivery: int = 0
    file: str = ""
    row: int = 0


def _table(name: str) -> list[dict[str, str]]:
    with (_DATA / name).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(line for line in handle if not line.startswith("#")))


@cache
def waste_rules() -> dict[str, Rule]:
    """All rules by id, in the order of the table."""
    return {
        row["rule"]: Rule(
            id=row["rule"],
            doing=row["doing"],
            question=row["question"],
            inputs=row["inputs"],
            condition=row["condition"],
            saving=row["saving"],
            needs=row["needs"],
            thresholds=dict(part.split("=", 1) for part in row["thresholds"].split(";") if part),
            effort=row["effort"],
            risk=row["risk"],
            reversible=row["reversible"],
            since=date.fromisoformat(row["since"]),
            source=row["source"],
        )
        for row in _table("waste_rules.csv")
    }


@cache
def _meters() -> tuple[tuple[str, re.Pattern[str], Meter], ...]:
    return tuple(
        (row["product"], re.compile(row["pattern"]), Meter(row["kind"], row["unit"]))
        for row in _table("waste_usage.csv")
    )


def meter_of(product: str, usage_type: str) -> Meter | None:
    """What a usage type counts; None for what no rule looks at.

    >>> meter_of("AmazonEC2", "EUC1-EBS:VolumeUsage.gp2").kind
    'volume-gp2'
    """
    bare = _PREFIX.sub("", usage_type)
    for code, pattern, meter in _meters():
        if (not code or not product or code == product) and (
            pattern.fullmatch(bare) or pattern.fullmatch(usage_type)
        ):
            return meter
    return None


@cache
def newer_families() -> dict[str, tuple[str, ...]]:
    """Families that may take the place of one, best known first."""
    return {row["family"]: tuple(row["newer"].split()) for row in _table("waste_generations.csv")}


@cache
def burst_baselines() -> dict[str, float]:
    """CPU that a burstable type earns credits for, in % of each vCPU, by type name."""
    return {
        f"{family}.{row['size']}": float(row["baseline_pct"])
        for row in _table("burst_baselines.csv")
        for family in row["families"].split()
    }


@cache
def database_engines() -> dict[str, tuple[str, bool]]:
    """(engine, whether large gp3 storage has four volumes) of RDS operations whose price follows the size."""
    return {
        row["operation"]: (row["engine"], row["striped_gp3"] == "yes")
        for row in _table("database_engines.csv")
    }
