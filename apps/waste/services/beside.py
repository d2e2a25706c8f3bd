"""What an organisation knows beside its bill: settings, lists, metrics, owners, the catalog and prices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from apps.accounts.models import Organisation
from apps.billing.selectors.allocation import Allocation, allocation_of, rule_sql
from apps.billing.selectors.commitment_months import MonthUse
from apps.billing.selectors.commitments import Standing
from apps.billing.selectors.spend_sql import PLAIN_DAY, Parameters
from apps.catalog.models import InstanceType
from apps.prices.selectors import OnDemandPrice, on_demand_prices
from apps.recommendations.services.commitments_bill import platform_by_operation
from apps.recommendations.services.commitments_owned import month_of, owned_at
from apps.recommendations.services.spot_measured import zone_means
from apps.waste.selectors import listed_of, measured_of, settings_of
from apps.waste.services.gather import JUDGED, RUNNING, Beside
from finops.frames.sizes import family_of
from finops.frames.waste import OwnedPart, TypeFacts, Use, burst_baselines

PROVIDER = "aws"
SHARED = "shared"


@dataclass(frozen=True)
class Known:
    """What is known, and the bill's columns that its SQL reads."""

    known: Beside
    columns: tuple[str, ...]


def beside_of(
    organisation: Organisation | None, *, end: datetime, snapshots: Mapping[str, int], history: date
) -> Known:
    """Everything beside the bill, at the end of the judged days."""
    rules = allocation_of(organisation)
    given = Parameters()
    team = rule_sql(rules, PLAIN_DAY, given, given.cell)
    known = Beside(
        settings=settings_of(organisation),
        listed=listed_of(organisation, end - JUDGED),
        measured=measured_of(organisation),
        history=datetime.combine(history, time(), UTC),
        team=team,
        given=given.values,
        owner=lambda number: owner_of(rules, number),
        platform=lambda operation: platform_by_operation("", operation),
        types=lambda uses: types_of(uses, end=end, snapshots=snapshots),
        sizes=sizes_of,
        commitments=lambda uses: parts_of(uses, organisation, end=end, snapshots=snapshots),
    )
    columns = rules.columns | {"x_cost_categories"}
    return Known(known, tuple(sorted(columns - {"tags", "resource_id", "sub_account_id"})))


def owner_of(rules: Allocation, number: Any) -> str:
    """The team whose rule a line matches; of divided cost "shared"; "" for nobody."""
    if number is None:
        return ""
    rule = rules.rule(int(number))
    if rule.split:
        return SHARED
    return rules.slugs.get(rule.team, "") if rule.team is not None else ""


def types_of(
    uses: Sequence[Use], *, end: datetime, snapshots: Mapping[str, int]
) -> dict[tuple[str, str], dict[str, TypeFacts]]:
    """Types with list prices by (region, platform) of the instances that ran; Spot: cheapest mean zone of
    the judged days.
    """
    places: dict[tuple[str, str], set[str]] = {}
    for use in uses:
        if use.kind in RUNNING and use.platform and use.key.region:
            places.setdefault((use.key.region, use.platform), set()).add(use.instance_type)
    if not places:
        return {}
    catalog = {row.name: row for row in InstanceType.objects.filter(provider=PROVIDER)}
    found: dict[tuple[str, str], dict[str, TypeFacts]] = {}
    for (region, platform), names in places.items():
        listed = on_demand_prices(provider=PROVIDER, region=region, product=platform, at=end)
        spot = _spot(region, platform, names | listed.keys(), end, snapshots)
        found[(region, platform)] = {
            name: _facts(name, catalog.get(name), listed.get(name), spot)
            for name in sorted(names | listed.keys())
        }
    return found


def sizes_of(uses: Sequence[Use]) -> dict[str, TypeFacts]:
    """vCPUs and memory of the families that classes of databases are named after."""
    families = {family_of(use.instance_type.removeprefix("db.")) for use in uses if use.kind == "database"}
    if not families:
        return {}
    rows = InstanceType.objects.filter(provider=PROVIDER)
    return {row.name: _facts(row.name, row, None, {}) for row in rows if family_of(row.name) in families}


def parts_of(
    uses: Sequence[Use], organisation: Organisation | None, *, end: datetime, snapshots: Mapping[str, int]
) -> list[OwnedPart]:
    """Own commitments with what of them nothing used, where instances ran."""
    if not any(use.kind == "instance" for use in uses):
        return []
    own = owned_at(at=end, organisation=organisation, snapshots=snapshots)
    return [_part(one, month_of(one, own.month)) for one in own.found if one.end is None or one.end > end]


def _part(one: Standing, use: MonthUse | None) -> OwnedPart:
    values = {name: value or "" for name, value in one.values.items()}
    reserved = use is not None and use.hours > 0 and use.unit == "hour"
    spare = use.idle / use.hours if use is not None and reserved else Decimal(0)
    return OwnedPart(
        one.id.rpartition("/")[2], str(one.kind), values["region"], values["zone"], values["platform"],
        values["tenancy"], values["instance_type"], values["plan"], values["family"], max(spare, Decimal(0)),
    )  # fmt: skip


def _facts(
    name: str, row: InstanceType | None, listed: OnDemandPrice | None, spot: Mapping[str, Decimal]
) -> TypeFacts:
    price = None if listed is None else listed.price
    later = listed is not None and listed.later_prices
    currency = "USD" if listed is None else listed.currency
    # Some sources of the catalog leave it out: types with a baseline are those that burst.
    burstable = name in burst_baselines() or bool(row is not None and row.burstable)
    if row is None:
        return TypeFacts(name, None, None, (), burstable, 0, None, price, spot.get(name), later, currency)
    return TypeFacts(
        name, row.vcpus, row.memory_mib, tuple(row.architectures), burstable, row.gpu_count or 0,
        row.network_mbps, price, spot.get(name), later, currency,
    )  # fmt: skip


def _spot(
    region: str, platform: str, names: Collection[str], end: datetime, snapshots: Mapping[str, int]
) -> dict[str, Decimal]:
    """The mean price of the cheapest zone, where at least half of the judged days is known."""
    found: dict[str, Decimal] = {}
    rows = zone_means(
        provider=PROVIDER, region=region, types=names, platform=platform, start=end - JUDGED, end=end,
        snapshots=snapshots,
    )  # fmt: skip
    for one in rows:
        if one.known_share >= 0.5 and one.currency == "USD":
            price = Decimal(repr(one.price))
            found[one.instance_type] = min(found.get(one.instance_type, price), price)
    return found
