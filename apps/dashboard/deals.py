"""What the pages of deals are made of: the question in the address, and the documents that answer it, kept
while bills, prices and offers stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.http import HttpRequest, QueryDict

from apps.accounts.models import Organisation
from apps.billing.selectors.bill_days import bill_days
from apps.dashboard import freshness
from apps.dashboard.caching import cache_key, kept
from apps.dashboard.words import lang
from apps.recommendations.services.commitments_advice import advise_commitments, gather
from apps.recommendations.services.deal_offer import WhatIf, what_if
from apps.recommendations.services.deal_watch import market_state
from finops.engine.workload import WorkloadError

CACHE_SECONDS = 3600
KINDS = ("second-hand", "new", "savings-plan")
HORIZONS = (8760, 26_280)
LOOKBACKS = (14, 30, 60, 90, 365)
LIMITS: Mapping[str, tuple[str, ...]] = {"risk": ("", "0", "5", "10", "20")}
Document = dict[str, Any]


def number_of(text: str) -> Decimal | None:
    """A number of the address that is not negative; None where it is none."""
    try:
        found = Decimal(text.strip().replace(",", ""))
    except InvalidOperation:
        return None
    return found if found.is_finite() and 0 <= found < 10**9 else None


def whole_of(text: str) -> int | None:
    """A whole number above zero of the address."""
    found = number_of(text)
    return int(found) if found is not None and found == int(found) and found >= 1 else None


def moment_of(organisation: Organisation, text: str, now: datetime) -> tuple[datetime, bool]:
    """(decision time, whether it is not the present): the asked one; the present; the end of the bills where
    they end too long ago to say anything about today.
    """
    asked = freshness.parse_at(text) if text else None
    if asked is not None:
        return min(asked, now), True
    days = bill_days(organisation, at=now)
    if days is not None:
        end = datetime.combine(days.end, datetime.min.time(), UTC)
        if end < now - timedelta(days=28):
            return end, True
    return now.replace(minute=0, second=0, microsecond=0), False


@dataclass(frozen=True)
class Asked:
    """The question: limits and filters of the address; what cannot be read counts as not asked."""

    kind: str
    type: str
    platform: str
    horizon: int
    lookback: int
    cash: Decimal | None
    risk: Decimal | None
    offer: str
    every: bool
    at: datetime
    past: bool

    @classmethod
    def of(cls, query: QueryDict, organisation: Organisation, now: datetime) -> Asked:
        """The question of an address."""
        at, past = moment_of(organisation, query.get("at", ""), now)
        horizon, lookback = whole_of(query.get("horizon", "")), whole_of(query.get("lookback", ""))
        risk = number_of(query.get("risk", ""))
        return cls(
            kind=query.get("kind", "") if query.get("kind") in KINDS else "",
            type=query.get("type", "")[:60],
            platform=query.get("platform", "")[:60],
            horizon=horizon if horizon in HORIZONS else HORIZONS[0],
            lookback=lookback if lookback in LOOKBACKS else 30,
            cash=number_of(query.get("cash", "")),
            risk=risk if risk is not None and risk <= 100 else None,
            offer=query.get("offer", "")[:200],
            every="all" in query,
            at=at,
            past=past,
        )


def advice_for(request: HttpRequest, asked: Asked, organisation: Organisation) -> Document:
    """The document of `advise_commitments` for the question."""
    snapshots = freshness.snapshots_of(request)
    given: dict[str, Any] = {
        "lookback_days": asked.lookback,
        "horizon_hours": asked.horizon,
        "max_upfront": asked.cash,
        "max_loss_probability": None if asked.risk is None else float(asked.risk) / 100,
        "kinds": (asked.kind,) if asked.kind else (),
        "at": asked.at,
    }
    return remembered(
        request, "deals", organisation, given,
        lambda: advise_commitments(**given, organisation=organisation, snapshots=snapshots),
    )  # fmt: skip


def remembered(
    request: HttpRequest,
    name: str,
    organisation: Organisation,
    given: Mapping[str, Any],
    make: Callable[[], Document],
) -> Document:
    """A document, kept under all that it rests on."""
    key = cache_key(
        name, freshness.snapshots_of(request), freshness.state_of(request), market_state(), organisation.pk,
        lang(), sorted((k, str(v)) for k, v in given.items()),
    )  # fmt: skip
    return kept(key, make, CACHE_SECONDS, dict[str, Any])


def slider(query: QueryDict, name: str) -> Decimal | None:
    """A slider's value: the range or the number beside it, whichever was moved from where it stood."""
    number, moved = number_of(query.get(name, "")), number_of(query.get(f"{name}_at", ""))
    stood = number_of(query.get(f"{name}_was", ""))
    return moved if moved is not None and stood is not None and moved != stood and number == stood else number


def what_if_of(query: QueryDict) -> WhatIf:
    """The what-if values of an address."""
    quantity = slider(query, "quantity")
    return WhatIf(
        slider(query, "price"),
        slider(query, "hours_left"),
        slider(query, "used_pct"),
        int(quantity) if quantity is not None and 1 <= quantity == int(quantity) else None,
    )


def what_if_for(
    request: HttpRequest, asked: Asked, organisation: Organisation, offer: Mapping[str, Any], values: WhatIf
) -> Document | None:
    """An offer of the answer with other values; None where nothing is asked or nothing can be said."""
    try:
        values.check()
    except WorkloadError:
        return None
    if not values.asks:
        return None

    def make() -> Document:
        gathered = gather(
            lookback_days=asked.lookback, at=asked.at, organisation=organisation,
            snapshots=freshness.snapshots_of(request),
        )  # fmt: skip
        for one in gathered.market.offers:
            if one.offer == offer["offer"] and gathered.market.row_of(one) == offer["id"]:
                return {"found": what_if(gathered, one, values)}
        return {"found": None}

    given = {"offer": offer["offer"], "id": offer["id"], "at": asked.at, "lookback": asked.lookback}
    found = remembered(request, "what-if", organisation, {**given, "values": values}, make)["found"]
    return None if found is None else dict(found)
