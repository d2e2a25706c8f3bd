"""What the product's own advice says about the machines and buckets of a check."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Max

from apps.accounts.models import Organisation
from apps.billing.models import SeenOffer
from apps.costchecks.services.prices import MOST_SPOT, PROVIDER, hourly
from apps.recommendations.services import advise_launch
from apps.recommendations.services.commitments_offers import seen_offer, standing
from apps.recommendations.services.storage_advice import advise_storage
from apps.storage.models import Listing
from apps.storage.selectors.buckets import buckets_visible
from apps.storage.selectors.prices import storage_prices_of, terms_of
from finops.engine.checks.measured import Freedom, LaunchFacts, RunKey
from finops.engine.checks.second_hand import OfferPlace, StandingOffer
from finops.engine.checks.stored import ListedBucket, StorageFacts
from finops.engine.commitments.cost import TermPrice
from finops.engine.commitments.evaluate import offer_hours_left
from finops.engine.workload import WorkloadError
from finops.frames.cost_items import Range, Stored
from finops.frames.offers import OfferKind, platform_of
from finops.frames.storage_classes import INTELLIGENT, StorageClass

MONTHS_A_YEAR = 12
# Buckets whose listing is looked at: each costs a second or so where the day has not asked for it yet.
MOST_BUCKETS = 20
Document = Mapping[str, Any]


def launch_facts(
    keys: Collection[RunKey], *, at: datetime, organisation: Organisation
) -> tuple[dict[RunKey, LaunchFacts], tuple[str, ...]]:
    """What launch advice says of each question; (facts, those that were not asked)."""
    found: dict[RunKey, LaunchFacts] = {}
    asked = sorted(keys)
    for key in asked[:MOST_SPOT]:
        try:
            document = advise_launch(
                hours=float(key.hours), types=[key.sku.name], regions=[key.sku.region],
                product=key.sku.detail, slack_hours=float(key.slack_hours), interruptible=True,
                home_zone=key.home_zone or None, at=at, organisation=organisation,
            )  # fmt: skip
        except WorkloadError:
            continue
        found[key] = _launch(document, key)
    return found, tuple(f"{key.sku.name} in {key.home_zone or key.sku.region}" for key in asked[MOST_SPOT:])


def _launch(document: Document, key: RunKey) -> LaunchFacts:
    home = document["home"]
    now = [
        plan
        for plan in document["plans"]
        if plan["market"] == "spot" and plan["type"] == key.sku.name and plan["cost"] is not None
    ]
    best = min(now, key=lambda plan: (Decimal(plan["cost"]), plan["zone"] or ""), default=None)
    base = home if home is not None and home["cost"] is not None else best
    same = home is not None and best is not None and home["zone"] == best["zone"]
    cells = [c for c in document["flexibility"] if c["where"] == "zone" and c["wait_hours"] == 0]
    return LaunchFacts(
        home=None if base is None else hourly(base, key.hours),
        best_zone=key.home_zone if same else (best["zone_name"] if best else "") or "",
        zone=_freedom(cells[0], 0) if cells else Freedom(None, 0, 0),
        window=_freedom(document["waiting"], int(key.slack_hours)),
        as_of=base["price_at"] if base is not None else document["evidence"]["at"],
    )


def _freedom(cell: Document, wait_hours: int) -> Freedom:
    """A cell of the grid, or what waiting was worth, as the engine takes it."""
    numbers = [cell[name] for name in ("low", "saving_pct", "high")]
    decisions = int(cell["decisions"] or 0)
    if None in numbers or not decisions:
        return Freedom(None, decisions, wait_hours, cell.get("reason") or "")
    low, expected, high = (Decimal(repr(number)) for number in numbers)
    return Freedom(Range(min(low, expected), expected, max(high, expected)), decisions, wait_hours)


def offer_facts(
    places: Collection[OfferPlace], *, at: datetime
) -> dict[OfferPlace, tuple[StandingOffer, ...]]:
    """Second-hand offers that stand, by what they apply to, with what is left of their terms."""
    asked: dict[tuple[str, str, str], list[OfferPlace]] = {}
    for place in places:
        asked.setdefault((*place[:2], platform_of(place.product)), []).append(place)
    found: dict[OfferPlace, list[StandingOffer]] = {}
    if not asked:
        return {}
    rows = standing(PROVIDER, at).filter(
        kind=OfferKind.SECOND_HAND, tenancy="default", region__in={place.region for place in places},
        instance_type__in={place.instance_type for place in places},
    )  # fmt: skip
    for row in rows:
        offer = seen_offer(row)
        key = offer.key
        hours = offer_hours_left(offer, at)
        for place in asked.get((key.region, key.instance_type, platform_of(key.platform)), ()):
            if hours > 0 and key.platform:
                found.setdefault(place, []).append(
                    StandingOffer(
                        row.pk, key.zone, TermPrice(offer.fixed, offer.hourly, hours), offer.currency,
                        offer.count, offer.seen_at.isoformat().replace("+00:00", "Z"),
                    )
                )  # fmt: skip
    return {place: tuple(offers) for place, offers in found.items()}


def storage_facts(
    buckets: Sequence[tuple[str, Stored]], *, at: datetime, organisation: Organisation
) -> StorageFacts:
    """Classes that a new bucket may choose, with the organisation's own prices, and the advice on buckets
    that were listed.
    """
    regions = sorted({region for region, _ in buckets if region})
    named = sorted({held.name for _, held in buckets if held.name})
    known = set(
        buckets_visible(organisation=organisation)
        .filter(provider=PROVIDER, name__in=named)
        .values_list("name", flat=True)
    ) if named else set()  # fmt: skip
    return StorageFacts(
        classes={region: _classes(region, at, organisation) for region in regions},
        listed={name: _listed(name, at, organisation) for name in sorted(known)[:MOST_BUCKETS]},
    )


def _classes(region: str, at: datetime, organisation: Organisation) -> dict[str, StorageClass]:
    terms = terms_of(PROVIDER, region, at.date(), organisation=organisation)
    if terms is None:
        return {}
    return {
        name: one
        for name, one in terms.classes.items()
        if one.instant and name not in terms.single_zone and name != INTELLIGENT
    }


def _listed(name: str, at: datetime, organisation: Organisation) -> ListedBucket:
    document = advise_storage(organisation=organisation, bucket=name, at=at, provider=PROVIDER)
    groups = document["groups"]
    moved = [one for one in groups if one["verdict"] == "move" and one["saving"] is not None]
    blocked = [one for one in groups if one["verdict"] == "blocked"]
    ends = [sum((Decimal(one[end]) for one in moved), Decimal(0)) / MONTHS_A_YEAR
            for end in ("saving_low", "saving", "saving_high")]  # fmt: skip
    judged = bool(moved) or not blocked
    listed_at = document["buckets"][0].get("listed_at") if document["buckets"] else None
    return ListedBucket(
        saving=Range(*ends) if judged else None,
        currency=document["currency"],
        prefixes=len({(one["prefix"], one["state"]) for one in moved}),
        objects=sum(int(one["objects"]) for one in groups),
        as_of=listed_at or document["evidence"]["at"],
        reason="" if judged or not blocked else str(blocked[0]["reason"]),
    )


def facts_marks(
    places: Collection[OfferPlace], buckets: Sequence[tuple[str, Stored]], *, organisation: Organisation
) -> list[Any]:
    """Names the state of the data behind offers, storage prices and listings: other data, another answer."""
    marks: list[Any] = []
    if places:
        offers = SeenOffer.objects.filter(
            provider=PROVIDER, instance_type__in={place.instance_type for place in places}
        )
        marks += map(str, offers.aggregate(Max("pk"), Max("seen_at"), Max("gone_at"), Count("pk")).values())
    if buckets:
        own = storage_prices_of(organisation).order_by("pk").values_list("pk", "price", "currency", "on")
        marks += [str(row) for row in own]
        names = {held.name for _, held in buckets if held.name}
        listed = Listing.objects.filter(bucket__name__in=names).aggregate(Max("pk"), Count("pk"))
        marks += map(str, listed.values())
    return marks
