"""The document of `advise_waste`: what could stop, shrink or change, what would save nothing, what was not
judged.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max
from django.utils import timezone
from django.utils.translation import get_language

from apps.accounts.models import Organisation
from apps.billing.selectors.allocation import allocation_version
from apps.billing.selectors.bill_days import BillDays, bill_days
from apps.billing.selectors.spend_reading import connect, report_ids
from apps.catalog.models import InstanceType
from apps.ingest.selectors import current_snapshots
from apps.prices.selectors import price_list_dates
from apps.recommendations.services.document import Document, check_moment, decimal_text, evidence, iso
from apps.waste.commands import commands
from apps.waste.models import ClusterUse, ListedResource, MetricSummary, WasteSetting
from apps.waste.services.beside import beside_of
from apps.waste.services.clusters import cluster_outcomes
from apps.waste.services.gather import JUDGED, Gathered, gather
from apps.waste.wording import kept_text, text_of, title_of, unjudged_text
from finops.engine.spend import Window
from finops.engine.waste.judge import Judged, judge
from finops.engine.waste.model import Candidate, Kept, Target, Unjudged, World, interval, uncovered
from finops.fingerprint import code_fingerprint
from finops.frames.waste import Key, Told, waste_rules
from finops.lake import BILL_LINES
from finops.lake import waste as lines

DAY = 24 * 3600
PLACES = Decimal("0.00000001")
# Bills are read so far back for the age of snapshots.
HISTORY_DAYS = 800
MOST_KEPT = 500


@dataclass(frozen=True)
class Looked:
    """What one look found; `days` is None without a bill."""

    days: BillDays | None
    world: World | None
    judged: Judged
    costs: Mapping[tuple[Key, str], list[Decimal]]
    gathered: Gathered | None = None


def advise_waste(
    *, organisation: Organisation | None, at: datetime | None = None, rule: str = ""
) -> Document:
    """Everything found at `at`, dearest first; one rule's where asked. The same data are judged once a
    day.
    """
    moment = (at or timezone.now()).replace(microsecond=0)
    check_moment(moment)
    key = _cache_key(organisation, moment, fixed=at is not None)
    found: Document | None = cache.get(key)
    if found is None:
        found = waste_document(look(organisation, moment), moment, organisation)
        cache.set(key, found, DAY)
    if rule:
        found = found | {
            name: [one for one in found[name] if one["rule"] == rule]
            for name in ("findings", "not_saving", "not_judged")
        }
    return found


def look(organisation: Organisation | None, moment: datetime) -> Looked:
    """Judge the last thirty days of the bill that are known at `moment`."""
    snapshots = current_snapshots()
    days = bill_days(organisation, at=moment)
    reports = report_ids(organisation)
    nothing = Judged((), (), (Unjudged("", "no-bill"),))
    if days is None or not reports or BILL_LINES not in snapshots:
        return Looked(None, None, nothing, {})
    end = min(datetime.combine(days.end, time(), UTC), moment.astimezone(UTC))
    beside = beside_of(organisation, end=end, snapshots=snapshots, history=days.first)
    first = max(days.first, (end - JUDGED * (HISTORY_DAYS / JUDGED.days)).date())
    window = Window(first.replace(day=1), days.end)
    with connect(window, snapshots, reports, BILL_LINES, (*lines.COLUMNS, *beside.columns)) as con:
        gathered = gather(con, end, beside.known)
        judged = judge(gathered.world)
        names = sorted({one.key.resource for one in judged.candidates})
        costs = lines.day_costs(con, names)
    return Looked(days, gathered.world, judged, costs, gathered)


def billed_resources(organisation: Organisation | None, region: str, moment: datetime) -> list[str]:
    """What can be measured of a region and is still on the bill: instances, volumes with provisioned IOPS,
    databases, warehouses, tables.
    """
    world = look(organisation, moment).world
    if world is None:
        return []
    kinds = ("instance", "volume-iops", "database", "warehouse", "table-reads", "table-writes")
    return sorted(
        {
            use.key.resource
            for use in world.of(*kinds)
            if use.key.region == region and use.key.resource and not world.gone(use)
        }
    )


def waste_document(looked: Looked, moment: datetime, organisation: Organisation | None) -> Document:
    """The document; amounts are of a month of 730 h."""
    world = looked.world
    clusters = cluster_outcomes(organisation)
    found = [
        *(finding(one, world, looked.costs) for one in looked.judged.candidates if world is not None),
        *clusters.findings,
    ]
    found.sort(key=lambda one: (-Decimal(one["saving"]), one["rule"], one["resource"]))
    alternatives(found)
    return {
        "findings": found,
        "not_saving": [_kept(one) for one in looked.judged.kept[:MOST_KEPT]],
        "not_saving_left_out": max(0, len(looked.judged.kept) - MOST_KEPT),
        "not_judged": [
            *(_unjudged(one) for one in _all_rules(looked.judged.unjudged)),
            *_unread(looked),
            *clusters.not_judged,
        ],
        "totals": totals(found),
        "judged": None
        if world is None
        else {"from": iso(world.start), "to": iso(world.end), "bill_ends": iso(_bill_end(looked))},
        "evidence": evidence(
            current_snapshots(),
            moment,
            later_prices=any("later-prices" in one["notes"] for one in found),
            interval_pct=90,
        ),
    }


def _bill_end(looked: Looked) -> datetime:
    assert looked.days is not None  # noqa: S101 - there is a world only with days
    return datetime.combine(looked.days.end, time(), UTC)


def finding(one: Candidate, world: World, costs: Mapping[tuple[Key, str], list[Decimal]]) -> Document:
    """A candidate as a finding, its interval by the resource's days."""
    low, high = interval(one, _days_of(one, costs))
    rule, told = waste_rules()[one.rule], world.told.get(one.key, Told())
    found: Document = {
        "rule": one.rule,
        "doing": rule.doing,
        "provider": one.key.provider or "aws",
        "resource": one.key.resource,
        "account": one.key.account,
        "region": one.key.region,
        "currency": one.currency,
        "monthly_cost": amount(one.monthly_cost),
        "uncovered_monthly": amount(one.uncovered),
        "metered_monthly": amount(metered_monthly(one, world)),
        "saving_low": amount(low),
        "saving": amount(one.saving),
        "saving_high": amount(high),
        "effort": one.effort or rule.effort,
        "risk": rule.risk,
        "reversible": rule.reversible,
        "team": told.team or None,
        "facts": dict(one.facts),
        "notes": list(one.notes),
        "target": dict(one.target),
        "confidence": one.confidence,
        "targets": [_target(target) for target in one.targets],
    }
    found["evidence"] = {
        "lines": [{"delivery": told.delivery, "file": told.file, "row": told.row}] if told.row else [],
        "where": {"account": one.key.account, "region": one.key.region, "resource": one.key.resource},
        "from": iso(world.start),
        "to": iso(world.end),
        "kinds": list(one.kinds),
        "rule_source": rule.source,
    }
    return found | {"title": title_of(found), "text": text_of(found), "commands": commands(found)}


def metered_monthly(one: Candidate, world: World) -> Decimal:
    """What all metered lines of the resource cost a month without what a commitment paid: later bills are
    measured against it, whatever the lines are called then.
    """
    uses = world.by_key.get(one.key, {}).values()
    whole = sum((world.monthly(use, uncovered(use) or Decimal(0)) for use in uses), Decimal(0))
    return whole or one.uncovered


def _target(one: Target) -> Document:
    """A type that it could become; prices of a month of the hours that the resource ran."""
    return {
        "type": one.name,
        "vcpus": one.vcpus or None,
        "memory_gib": round(one.memory_mib / 1024, 3) or None,
        "on_demand": amount(one.on_demand),
        "with_commitments": amount(one.with_commitments),
        "spot": None if one.spot is None else amount(one.spot),
        "kept_share": float(round(one.kept_share, 6)),
        "spare_share": float(round(one.spare_share, 6)),
        "architecture_change": one.architecture,
        "burst": one.burst,
        "later_prices": one.later,
        "effort": "high" if one.architecture else "medium",
    }


def _days_of(one: Candidate, costs: Mapping[tuple[Key, str], list[Decimal]]) -> list[Decimal]:
    return list(costs.get((one.key, one.kinds[0]), ()))


def amount(value: Decimal) -> str:
    """An amount as text, eight places."""
    return decimal_text(value.quantize(PLACES)) or "0"


def alternatives(found: Sequence[Document]) -> None:
    """Mark what is about the same resource: only the largest saving of each counts."""
    by_resource: dict[tuple[str, str, str], list[Document]] = defaultdict(list)
    for one in found:
        by_resource[(one["account"], one["region"], one["resource"] or one["rule"])].append(one)
    for group in by_resource.values():
        for place, one in enumerate(group):
            one["counted"] = place == 0
            one["alternatives"] = [other["rule"] for other in group if other is not one]


def totals(found: Sequence[Document]) -> dict[str, Document]:
    """By currency: how many resources, what they cost and what the best finding of each saves."""
    sums: dict[str, list[Decimal]] = {}
    for one in found:
        if one["counted"]:
            held = sums.setdefault(one["currency"], [Decimal(0), Decimal(0), Decimal(0)])
            held[0] += 1
            held[1] += Decimal(one["monthly_cost"])
            held[2] += Decimal(one["saving"])
    return {
        currency: {"resources": int(n), "monthly_cost": amount(cost), "saving": amount(saving)}
        for currency, (n, cost, saving) in sorted(sums.items())
    }


def _kept(one: Kept) -> Document:
    return {
        "rule": one.rule,
        "resource": one.key.resource,
        "account": one.key.account,
        "region": one.key.region,
        "currency": one.currency,
        "monthly_cost": amount(one.monthly_cost),
        "reason": kept_text(one.code, one.facts),
        "reason_code": one.code,
    }


def _all_rules(found: Sequence[Unjudged]) -> list[Unjudged]:
    """Without a bill no rule was asked: each is named."""
    if [one.code for one in found] == ["no-bill"]:
        return [Unjudged(rule, "no-bill") for rule in waste_rules()]
    return list(found)


def _unjudged(one: Unjudged) -> Document:
    return {
        "rule": one.rule,
        "resource": one.key.resource if one.key is not None else None,
        "reason": unjudged_text(one.code, one.facts),
        "reason_code": one.code,
    }


def _unread(looked: Looked) -> list[Document]:
    """Providers whose lines no rule reads."""
    if looked.gathered is None:
        return []
    return [
        {
            "rule": "*",
            "resource": None,
            "reason": unjudged_text(
                "provider", {"provider": provider, "cost": f"{currency} {cost.quantize(Decimal('0.01'))}"}
            ),
            "reason_code": "provider",
        }
        for (provider, currency), cost in sorted(looked.gathered.kinds.unread.items())
    ]


def known_state(organisation: Organisation | None) -> list[object]:
    """Names everything that an answer rests on but the time."""

    def loaded(model: Any, field: str) -> object:
        rows = model.objects.filter(organisation=organisation)
        return rows.aggregate(n=Count("pk"), last=Max(field), newest=Max("pk"))

    said = WasteSetting.objects.filter(organisation=organisation).order_by("pk")
    return [
        code_fingerprint(), sorted(current_snapshots().items()), allocation_version(organisation),
        list(said.values_list("pk", "team", "rule", "enabled", "thresholds", "accounts", "regions")),
        loaded(ListedResource, "listed_at"), loaded(MetricSummary, "loaded_at"),
        loaded(ClusterUse, "loaded_at"), price_list_dates()[-1:], InstanceType.objects.count(),
    ]  # fmt: skip


def _cache_key(organisation: Organisation | None, moment: datetime, *, fixed: bool) -> str:
    when = iso(moment) if fixed else moment.date().isoformat()
    seen = [get_language() or "", organisation.pk if organisation else None, when, *known_state(organisation)]
    raw = json.dumps(seen, default=str, sort_keys=True)
    return f"waste:{hashlib.sha256(raw.encode()).hexdigest()[:40]}"
