"""Commitments as the provider's own interface shows them. Grain: one row per commitment and look.

Of Reserved Instances `count`, `fixed` (paid once) and `hourly` (in every hour, used or not) are per
reservation; of savings plans `commitment_per_hour`, `fixed` and `hourly` are of the whole plan. `id` is the
provider's short id; the bill names the same commitment by an ARN that ends in it. None: the source does
not say. A region is empty where neither the answer nor its caller tells one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from finops.frames.commitments import CommitmentKind, PlanKind, Reserved, SavingsPlan
from finops.frames.limits import beyond
from finops.frames.money import currencies
from finops.frames.offers import OfferingClass, OfferKey

# The words of the EC2 and savings plans interfaces, in this project's writing.
STATES = frozenset(
    {
        "active", "payment-pending", "payment-failed", "retired", "queued", "queued-deleted",
        "pending-return", "returned",
    }
)  # fmt: skip
# Of a reservation's listings the one that says most: the first of these that is there.
LISTING_STATES = ("active", "pending", "closed", "cancelled")
# On the market, or about to be.
FOR_SALE = frozenset({"active", "pending"})
# Nothing is covered by a commitment in one of these.
OVER = frozenset({"retired", "payment-failed", "queued-deleted", "returned"})


@dataclass(frozen=True, slots=True)
class Owned:
    """One commitment as it was seen at `seen_at`; see the module."""

    provider: str
    id: str
    kind: CommitmentKind
    account: str
    region: str
    zone: str
    platform: str
    tenancy: str
    instance_type: str
    plan: str
    family: str
    offering_class: str
    payment: str
    count: int | None
    commitment_per_hour: Decimal | None
    fixed: Decimal | None
    hourly: Decimal | None
    currency: str
    start: datetime
    end: datetime
    state: str
    seen_at: datetime

    @property
    def term_hours(self) -> Decimal:
        """Hours of the whole term."""
        return Decimal(int((self.end - self.start).total_seconds())) / 3600


@dataclass(frozen=True, slots=True)
class Listed:
    """A listing of a reservation on the marketplace, as its seller sees it: `id` is the reservation's."""

    provider: str
    id: str
    state: str
    seen_at: datetime


_LIMITS = (
    "id", "account", "region", "zone", "platform", "tenancy", "instance_type", "family", "offering_class",
    "currency", "commitment_per_hour", "fixed", "hourly", "count",
)  # fmt: skip


def check(owned: Owned) -> tuple[str, str] | None:
    """(field, reason) where a row is no commitment, else None."""
    if not owned.id:
        return "id", "empty"
    if owned.start.tzinfo is not UTC or owned.end.tzinfo is not UTC or owned.seen_at.tzinfo is not UTC:
        return "start", "not in UTC"
    if owned.end <= owned.start:
        return "end", "not after the start"
    if owned.state not in STATES:
        return "state", f"not known: {owned.state!r}"
    if not owned.currency:
        return "currency", "empty"
    if owned.currency not in currencies():
        return "currency", f"not a currency: {owned.currency[:60]!r}"
    for name in ("commitment_per_hour", "fixed", "hourly"):
        value: Decimal | None = getattr(owned, name)
        if value is not None and (not value.is_finite() or value < 0):
            return name, "not an amount of money"
    reasons = ((name, beyond(name, getattr(owned, name))) for name in _LIMITS)
    return next((one for one in reasons if one[1]), None) or _check_kind(owned)


def _check_kind(owned: Owned) -> tuple[str, str] | None:
    if owned.kind is CommitmentKind.RESERVED:
        if not owned.instance_type:
            return "instance_type", "empty"
        if owned.count is None or owned.count < 1:
            return "count", "not above zero"
    elif owned.commitment_per_hour is None or owned.commitment_per_hour <= 0:
        return "commitment", "not above zero"
    return None


def reserved_of(owned: Owned, *, listing: str = "") -> Reserved:
    """The reservation that the engine applies. ValueError for a savings plan."""
    if owned.kind is not CommitmentKind.RESERVED or owned.count is None:
        raise ValueError(f"{owned.id} is no reservation")
    known = {one.value: one for one in OfferingClass}
    return Reserved(
        id=owned.id,
        account=owned.account,
        key=OfferKey(
            owned.provider, owned.region, owned.zone, owned.platform, owned.tenancy, owned.instance_type
        ),
        offering_class=known.get(owned.offering_class, OfferingClass.UNKNOWN),
        count=owned.count,
        start=owned.start,
        end=owned.end,
        fixed=owned.fixed,
        hourly=owned.hourly,
        currency=owned.currency,
        state=owned.state,
        payment=owned.payment,
        listing=listing,
    )


def plan_of(owned: Owned) -> SavingsPlan | None:
    """The savings plan that the engine applies; None for one that compute does not draw on."""
    known = {one.value: one for one in PlanKind}
    kind = known.get(owned.plan)
    if owned.kind is not CommitmentKind.SAVINGS_PLAN or kind is None or owned.commitment_per_hour is None:
        return None
    return SavingsPlan(
        id=owned.id,
        account=owned.account,
        plan=kind,
        region=owned.region,
        family=owned.family,
        commitment_per_hour=owned.commitment_per_hour,
        currency=owned.currency,
        start=owned.start,
        end=owned.end,
        payment=owned.payment,
        state=owned.state,
    )
