"""What a launch has cost so far, what it may cost in all, and which offers still fit into that.

A launch that is interrupted again and again pays for each machine. Before each call the sum so far and the
work that is left must fit into the worst case that was approved; else it stops and asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from apps.launches.models import Attempt, Launch, Market
from apps.launches.services.choosing import pace_of
from apps.launches.services.executors import Offer
from apps.launches.services.offers import costs_of
from finops.engine.launches.worst_case import Prospect, worst_if_spot

LEAST = timedelta(minutes=1)
_CENT_OF_A_CENT = Decimal("0.0001")
# What EC2 takes as a highest price has so many decimals at most.
_PRICE = Decimal("0.000001")


def ceiling_of(row: Launch) -> Decimal | None:
    """What a launch may cost in all: as people or a rule approved it, null for not known."""
    share, rule = promise_of(row), row.plan.approved_by_rule
    if share is None or rule is None or not rule.active or rule.currency != row.plan.currency:
        return share
    # The rule's yes is to all that costs at most its limit.
    return max(share, rule.limit / row.plan.parts)


def promise_of(row: Launch) -> Decimal | None:
    """What a launch counts with in budgets: the worst case of its plan, or what it was raised to."""
    share = None if row.plan.cost_high is None else row.plan.cost_high / row.plan.parts
    return share if row.approved_high is None or share is None else max(share, row.approved_high)


def spent_of(row: Launch, now: datetime) -> Decimal:
    """What its machines cost so far: as priced, else their hours at the price that was planned."""
    total = Decimal(0)
    for one in row.attempts.filter(started_at__isnull=False):
        total += one.paid if one.paid is not None else _so_far(one, now)
    return total


def affordable(row: Launch, offers: Sequence[Offer], now: datetime) -> tuple[list[Offer], Decimal | None]:
    """(the offers that fit into what was approved, what it would need in all where none does).

    After a machine was lost a Spot offer fits only where losing it too leaves enough for all of the rest on
    demand. At the first start of a turn that repeats the worst case at the prices of now must fit.
    """
    high = ceiling_of(row)
    if high is None or not offers:
        return list(offers), None
    spent = spent_of(row, now)
    begun = _begun(row)
    if not begun and row.plan.repeat and (worst := _worst(row, offers, now)) is not None and worst > high:
        return [], _rounded(worst)
    left, start = _hours(row, now)
    rest = left + start if begun else left
    fallback = min(
        (one for one in (_hour(row, offer) for offer in offers if offer["market"] != Market.SPOT)
         if one is not None),
        default=None,
    )  # fmt: skip
    kept, needs = [], []
    for offer in offers:
        hour = _hour(row, offer)
        if hour is None:
            kept.append(offer)
            continue
        need = spent + hour * rest
        if begun and offer["market"] == Market.SPOT and row.deadline is not None:
            ahead = Prospect(left, min(left, _unsaved(row, now)), start, hour, fallback)
            need = max(need, worst_if_spot(spent, ahead) or need)
        if need <= high:
            kept.append(offer)
        needs.append(need)
    return kept, None if kept else _rounded(min(needs))


def highest_price(
    row: Launch, offer: Offer, offers: Sequence[Offer], caps: Sequence[Decimal], now: datetime
) -> str | None:
    """The price above which a Spot machine is to be taken back, as EC2 takes it; None for no such call.

    The lowest of `caps` (the job's own, the organisation's) and of what is left of the approved money for an
    hour of the work that is left; that one only where it is below the price on demand, which Spot never
    passes.
    """
    if offer["market"] != Market.SPOT:
        return None
    found = list(caps)
    high, (left, start) = ceiling_of(row), _hours(row, now)
    if high is not None and left > 0:
        rest = left + start if _begun(row) else left
        an_hour = (high - spent_of(row, now)) / rest / row.plan.count * row.plan.parts
        listed = [
            Decimal(str(one["price"])) for one in offers
            if one["market"] != Market.SPOT and one.get("price") is not None
            and (one.get("region"), one.get("type")) == (offer.get("region"), offer.get("type"))
        ]  # fmt: skip
        if not listed or an_hour < min(listed) or found:
            found.append(an_hour)
    if not found or (lowest := min(found).quantize(_PRICE, ROUND_DOWN)) <= 0:
        return None
    return format(lowest.normalize(), "f")


def _begun(row: Launch) -> bool:
    return row.attempts.filter(started_at__isnull=False).exists()


def _so_far(attempt: Attempt, now: datetime) -> Decimal:
    if attempt.price is None or attempt.started_at is None:
        return Decimal(0)
    length = max(LEAST, (attempt.ended_at or now) - attempt.started_at)
    hours = Decimal(length // timedelta(microseconds=1)) / Decimal(3_600_000_000)
    return attempt.price * hours * attempt.count


def _worst(row: Launch, offers: Sequence[Offer], now: datetime) -> Decimal | None:
    """The worst case of one launch at the prices of these offers, as the plan's was worked out."""
    pace = pace_of(row, now)
    costs = costs_of(
        offers, hours=row.hours, restart_hours=pace.overhead / 3600, slack_hours=pace.slack / 3600
    )
    return None if costs.high is None else costs.high / row.plan.parts


def _hours(row: Launch, now: datetime) -> tuple[Decimal, Decimal]:
    """(hours of work left, hours of a start)."""
    pace = pace_of(row, now)
    return Decimal(repr(pace.work)) / 3600, Decimal(repr(pace.overhead)) / 3600


def _unsaved(row: Launch, now: datetime) -> Decimal:
    return Decimal(repr(pace_of(row, now).unsaved)) / 3600


def _hour(row: Launch, offer: Offer) -> Decimal | None:
    """What an hour of work of this launch costs at an offer; None where it has no price."""
    plan = row.plan
    if offer.get("cost") is not None:
        return Decimal(str(offer["cost"])) / plan.parts / Decimal(repr(plan.hours))
    machines = plan.count // plan.parts
    return None if offer.get("price") is None else Decimal(str(offer["price"])) * machines


def _rounded(amount: Decimal) -> Decimal:
    """Up: what is asked for must be enough."""
    return amount.quantize(_CENT_OF_A_CENT, ROUND_UP)
