"""Deliveries as an organisation sees them, and what changed between two of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db.models import Max, Q, QuerySet, Sum

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery, DeliveryPart, DeliveryState
from finops.frames.focus import BASES
from finops.frames.money import EXACT

# What changes can be told by: the columns of `DeliveryPart`.
CHANGE_DIMENSIONS = ("service", "account", "charge_category")
DEFAULT_CHANGES = ("service", "charge_category")


@dataclass(frozen=True, slots=True)
class PartChange:
    """One part of two deliveries; `before` or `after` is None where the part was not there at all."""

    key: tuple[str, ...]
    currency: str
    before: Decimal | None
    after: Decimal | None

    @property
    def difference(self) -> Decimal:
        """After less before; what was not there counts nothing."""
        return EXACT.subtract(self.after or Decimal(0), self.before or Decimal(0))


def reports_visible(*, organisation: Organisation | None) -> QuerySet[BillReport]:
    """The organisation's reports and those of the whole installation."""
    return BillReport.objects.filter(Q(organisation=organisation) | Q(organisation__isnull=True))


def deliveries_visible(*, organisation: Organisation | None) -> QuerySet[Delivery]:
    """All deliveries of those reports, newest period first."""
    reports = reports_visible(organisation=organisation)
    return Delivery.objects.filter(report__in=reports).select_related("report")


def deliveries_current(
    *, organisation: Organisation | None, start: date | None = None, end: date | None = None
) -> QuerySet[Delivery]:
    """The current deliveries of the billing periods that begin in [start, end)."""
    found = deliveries_visible(organisation=organisation).filter(state=DeliveryState.CURRENT)
    if start is not None:
        found = found.filter(billing_period__gte=start)
    return found if end is None else found.filter(billing_period__lt=end)


def delivery_before(delivery: Delivery) -> Delivery | None:
    """The delivery of the same report and period that this one took the place of; None for a first one."""
    older = Delivery.objects.filter(report=delivery.report_id, billing_period=delivery.billing_period)
    older = older.filter(
        Q(delivered_at__lt=delivery.delivered_at) | Q(delivered_at=delivery.delivered_at, pk__lt=delivery.pk)
    )
    return older.order_by("-delivered_at", "-pk").first()


def delivery_changes(
    before: Delivery | None,
    after: Delivery,
    *,
    by: Iterable[str] = DEFAULT_CHANGES,
    basis: str = "billed",
) -> list[PartChange]:
    """What differs between two deliveries, largest difference first; parts that are the same are left out.

    A part that is in one delivery only is told even where it sums to zero. The differences of a currency sum
    to the difference of the deliveries' totals. Raises ValueError for another dimension or basis.
    """
    names = tuple(by)
    if not set(names) <= set(CHANGE_DIMENSIONS):
        raise ValueError(f"dimensions of changes: {', '.join(CHANGE_DIMENSIONS)}")
    if basis not in BASES:
        raise ValueError(f"bases: {', '.join(BASES)}")
    sides = [_sums(delivery, names, basis) for delivery in (before, after)]
    changes = [
        PartChange(key[:-1], key[-1], sides[0].get(key), sides[1].get(key))
        for key in sides[0].keys() | sides[1].keys()
    ]
    told = [c for c in changes if c.before != c.after]
    return sorted(told, key=lambda c: (c.currency, -abs(c.difference), c.key))


def _sums(delivery: Delivery | None, names: tuple[str, ...], basis: str) -> dict[tuple[str, ...], Decimal]:
    if delivery is None:
        return {}
    found: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    rows = DeliveryPart.objects.filter(delivery=delivery).order_by()
    for row in rows.values(*names, "currency").annotate(sum=Sum(basis)):
        found[(*(row[name] for name in names), row["currency"])] = row["sum"] or Decimal(0)
    return dict(found)


def newest_period(*, organisation: Organisation | None) -> date | None:
    """The newest billing period that is there; None where nothing is."""
    found = deliveries_current(organisation=organisation).aggregate(newest=Max("billing_period"))
    newest: date | None = found["newest"]
    return newest
