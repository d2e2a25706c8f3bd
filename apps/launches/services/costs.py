"""What machines cost: the hours that they ran at the prices of the lake, of a list, or of their own place."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import structlog
from django.db import transaction
from django.db.models import Q

from apps.launches.models import Attempt, AttemptState, Launch, Market
from apps.launches.selectors.values import decimal_text
from apps.launches.services.timeline import launch_event
from apps.prices.selectors.list_prices import on_demand_price
from apps.recommendations.services.answers import run_cost
from finops.engine.workload import WorkloadError
from finops.frames.billed_time import increment_of

log = structlog.get_logger(__name__)
AGAIN = timedelta(hours=1)
# Feeds bring prices within hours; what is not known by then is asked for no more.
PATIENCE = timedelta(days=14)
SCALE = Decimal("1E-10")


def costs_fill(*, now: datetime) -> int:
    """Price the attempts that have ended and are not priced yet; how many were."""
    waiting = (
        Attempt.objects.filter(
            Q(priced_at__isnull=True) | Q(priced_at__lt=now - AGAIN),
            state=AttemptState.ENDED,
            paid__isnull=True,
            ended_at__gt=now - PATIENCE,
        )
        .select_related("launch__plan__target")
        .order_by("pk")[:200]
    )
    return sum(attempt_price(one, now) for one in waiting)


def attempt_price(attempt: Attempt, now: datetime) -> bool:
    """Whether what an attempt cost is known now; its launch then shows the sum."""
    found = _cost(attempt)
    with transaction.atomic():
        launch = Launch.objects.select_for_update().get(pk=attempt.launch_id)
        if found is None:
            Attempt.objects.filter(pk=attempt.pk).update(priced_at=now)
            return False
        paid, currency = found
        changed = Attempt.objects.filter(pk=attempt.pk, paid__isnull=True).update(
            paid=paid, currency=currency, priced_at=now
        )
        if changed:
            launch_event(launch, "priced", attempt=attempt.number, paid=decimal_text(paid), currency=currency)
            _sum(launch)
    return bool(changed)


def _sum(launch: Launch) -> None:
    """The launch's cost so far: null while a part of it is not known or in another currency."""
    ran = launch.attempts.filter(started_at__isnull=False).exclude(state=AttemptState.RUNNING)
    parts = list(ran.values_list("paid", "currency"))
    currencies = {currency for _, currency in parts}
    known = all(paid is not None for paid, _ in parts) and len(currencies) == 1
    launch.paid = sum((paid for paid, _ in parts), Decimal(0)) if known else None
    launch.currency = currencies.pop() if known else launch.currency
    launch.save(update_fields=["paid", "currency"])


def _cost(attempt: Attempt) -> tuple[Decimal, str] | None:
    if attempt.started_at is None or attempt.ended_at is None:
        return None
    job, target = attempt.launch.plan.job, attempt.launch.plan.target
    ran_us = max(1, (attempt.ended_at - attempt.started_at) // timedelta(microseconds=1))
    counted = increment_of(target.provider, str(job.get("product") or ""))
    hours = Decimal(counted.billed_us(ran_us) if counted else ran_us) / Decimal(3_600_000_000)
    spot = attempt.market == Market.SPOT and "spot_price" in target.settings
    own = target.settings.get("spot_price" if spot else "price")
    if own is not None:
        return (Decimal(str(own)) * hours * attempt.count).quantize(SCALE), str(
            target.settings.get("currency") or ""
        )
    product = str(job.get("product") or "")
    if attempt.market == Market.SPOT:
        return _spot(attempt, product, Decimal(ran_us) / 3_600_000_000)
    listed = on_demand_price(
        provider=target.provider,
        region=attempt.region,
        instance_type=attempt.instance_type,
        product=product,
        at=attempt.started_at,
    )
    if listed is None:
        return None
    # What was planned holds the negotiated discount; the list does not.
    price = attempt.price if attempt.currency == listed.currency else None
    return ((listed.price if price is None else min(price, listed.price)) * hours * attempt.count).quantize(
        SCALE
    ), (listed.currency)


def _spot(attempt: Attempt, product: str, hours: Decimal) -> tuple[Decimal, str] | None:
    if attempt.started_at is None:
        return None
    try:
        answer = run_cost(
            provider=attempt.launch.plan.target.provider,
            region=attempt.region,
            type=attempt.instance_type,
            zone=attempt.zone,
            product=product,
            start=attempt.started_at,
            hours=hours,
            count=attempt.count,
        )
    except WorkloadError as error:
        log.info("attempt_not_priced", attempt=attempt.pk, reason=str(error))
        return None
    if not answer["known"]:
        return None
    return Decimal(answer["cost"]).quantize(SCALE), str(answer["currency"])
