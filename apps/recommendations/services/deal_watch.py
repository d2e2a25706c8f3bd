"""Deal watch: second-hand offers that beat a rule raise one alert each.

Offers are judged one by one, not against each other: an alert is a chance, the advice says what to buy. The
database keeps (rule, offer) once, so two looks at once or a look again raise nothing twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Max

from apps.accounts.models import Organisation
from apps.billing.models import SeenOffer
from apps.ingest.selectors import current_snapshots
from apps.prices.models import ListPrice, ReservedPrice, SavingsPlanPrice
from apps.recommendations.models import DealAlert, DealRule
from apps.recommendations.services.commitments_advice import Gathered, gather
from apps.recommendations.services.document import Document, decimal_text, rounded
from finops.engine.commitments.desk import Considered
from finops.engine.commitments.selection import consider
from finops.fingerprint import code_fingerprint
from finops.frames.offers import Offer, OfferKind

LOOKBACK_DAYS = 30


def deals_watch_all(*, now: datetime) -> int:
    """Every organisation with rules; how many alerts were raised."""
    found = Organisation.objects.filter(deal_rules__active=True).distinct().order_by("pk")
    return sum(deals_watch(organisation=one, now=now) for one in found)


def deals_watch(*, organisation: Organisation, now: datetime) -> int:
    """Judge the standing offers by the organisation's rules; the same state of the data costs a look."""
    state = _state(now)
    rules = list(DealRule.objects.filter(organisation=organisation, active=True).exclude(looked=state))
    if not rules:
        return 0
    gathered = gather(lookback_days=LOOKBACK_DAYS, at=now, organisation=organisation)
    offers = [o for o in gathered.market.offers if o.kind is OfferKind.SECOND_HAND]
    wanted = [offer for offer in offers if any(asks_about(rule, offer) for rule in rules)]
    found, _refused, _draws = consider(gathered.desk, wanted)
    alerts: list[DealAlert] = []
    for one in found:
        row = gathered.market.row_of(one.offer)
        facts = facts_of(gathered, one)
        for rule in rules:
            if row is not None and asks_about(rule, one.offer) and beats(rule, facts):
                alerts.append(DealAlert(rule=rule, offer_id=row, raised_at=now, document=facts))
    before = _count(rules)
    DealAlert.objects.bulk_create(alerts, ignore_conflicts=True)
    DealRule.objects.filter(pk__in=[rule.pk for rule in rules]).update(looked=state, looked_at=now)
    return _count(rules) - before


def asks_about(rule: DealRule, offer: Offer) -> bool:
    """Whether an offer is of the regions, types and platforms of a rule."""
    asked = (
        (rule.regions, offer.key.region),
        (rule.instance_types, offer.key.instance_type),
        (rule.platforms, offer.key.platform),
    )
    return all(not names or value in names for names, value in asked)


def facts_of(gathered: Gathered, one: Considered) -> Document:
    """The offer at its best quantity, with what rules ask about."""
    found = one.alone
    on_demand = found.saving + float(found.total)
    return {
        **gathered.rows.evaluated(found, one.pool.pool),
        "saving_pct": rounded(found.saving / on_demand * 100) if on_demand > 0 else None,
        "list_pct": list_pct(gathered, one),
        "judged_at": gathered.desk.now.isoformat().replace("+00:00", "Z"),
        "on_demand_cost": decimal_text(on_demand),
    }


def list_pct(gathered: Gathered, one: Considered) -> float | None:
    """The offer's whole cost, percent of what the same hours cost by the cheapest new year in the list; null
    where no list has one.
    """
    listed = next((r.price for r in gathered.rivals.of(one.offer.key) if r.name == "new-1y"), None)
    if listed is None:
        return None
    full = listed * float(one.units) * float(one.alone.hours_left)
    return rounded(float(one.alone.total) / one.alone.quantity / full * 100) if full > 0 else None


def beats(rule: DealRule, facts: Document) -> bool:
    """Whether the figures keep every condition; a figure that is not known keeps none."""
    if rule.min_saving_pct is not None:
        saving = facts["saving_pct"]
        if saving is None or Decimal(repr(saving)) < rule.min_saving_pct:
            return False
    if rule.break_even_before is not None:
        day = facts["break_even_date"]
        if day is None or day[:10] >= rule.break_even_before.isoformat():
            return False
    if rule.max_list_pct is not None:
        share = facts["list_pct"]
        if share is None or Decimal(repr(share)) > rule.max_list_pct:
            return False
    return True


def _count(rules: Sequence[DealRule]) -> int:
    return DealAlert.objects.filter(rule__in=rules).count()


def market_state() -> str:
    """Names the offers and lists that are stored."""
    seen = SeenOffer.objects.aggregate(pk=Max("pk"), seen=Max("seen_at"), gone=Max("gone_at"))
    lists = [
        model.objects.aggregate(pk=Max("pk"))["pk"] for model in (ListPrice, ReservedPrice, SavingsPlanPrice)
    ]
    return json.dumps([[str(seen[name]) for name in ("pk", "seen", "gone")], lists])


def _state(now: datetime) -> str:
    """Names what a judgement rests on: bills and Spot, offers, lists, the code, the day."""
    parts: list[Any] = [
        code_fingerprint(),
        sorted(current_snapshots().items()),
        market_state(),
        now.date().isoformat(),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
