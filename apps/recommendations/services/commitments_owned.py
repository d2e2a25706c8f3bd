"""Commitments that are owned, as the bill shows them: the document of `commitments`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots
from apps.recommendations.services.commitments_bill import BillUse, OwnReserved, bill_use, own_reserved
from apps.recommendations.services.document import Document, decimal_text, evidence, iso, rounded
from finops.engine.spend import Window, next_month

LOOKBACK_DAYS = 30


def commitments(
    *,
    at: datetime | None = None,
    organisation: Organisation | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> Document:
    """Reservations with a fee in the billing month of `at`, that month's use and idle hours; coverage of
    the use in the 30 days before it, by region, platform and type. Ends of terms are not in bill lines:
    null.
    """
    moment = (at or timezone.now()).astimezone(UTC)
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    month = date(moment.year, moment.month, 1)
    owned = own_reserved(organisation=organisation, window=Window(month, next_month(month)), snapshots=chosen)
    end = moment.replace(minute=0, second=0, microsecond=0)
    use = bill_use(
        organisation=organisation,
        start=end - timedelta(days=LOOKBACK_DAYS),
        hours=24 * LOOKBACK_DAYS,
        snapshots=chosen,
    )
    return {
        "commitments": [_owned(one) for one in owned],
        "coverage": _coverage(use),
        "period": {"from": month.isoformat(), "to": next_month(month).isoformat()},
        "evidence": evidence(chosen, moment, later_prices=None, coverage_days=LOOKBACK_DAYS),
    }


def _owned(one: OwnReserved) -> Document:
    hours = one.reserved_hours
    return {
        "id": one.id,
        "kind": "reserved",
        "region": one.key.region,
        "zone": None,
        "type": one.key.instance_type,
        "platform": one.key.platform or None,
        "count": one.count,
        "start": None if one.start is None else iso(one.start),
        "end": None,
        "hours_left": None,
        "reserved_hours": decimal_text(hours),
        "utilisation_pct": rounded(float(one.used_hours / hours) * 100) if hours else None,
        "idle_hours": decimal_text(_hundred_thousandths(one.idle_hours)),
        "idle_cost": decimal_text(one.idle_cost),
        "effective_hourly": decimal_text(_hundred_thousandths(one.cost / hours)) if hours else None,
        "currency": one.currency,
    }


def _hundred_thousandths(value: Decimal) -> Decimal:
    """Bills give hours with six decimals; a share of them is no finer."""
    return value.quantize(Decimal("0.000001"))


def _coverage(use: BillUse) -> list[Document]:
    sums: dict[tuple[str, str, str], np.ndarray] = {}
    for one, left, taken in zip(
        use.coverage.demand.uses, use.coverage.left, use.coverage.by_reserved, strict=True
    ):
        key = (one.key.region, one.key.platform, one.key.instance_type)
        part = np.array([np.nansum(one.hours), np.nansum(taken), np.nansum(left)])
        sums[key] = sums.get(key, np.zeros(3)) + part
    return [
        {
            "region": region,
            "platform": platform,
            "type": kind,
            "hours": rounded(float(total)),
            "covered_hours": rounded(float(covered)),
            "on_demand_hours": rounded(float(left)),
            "coverage_pct": rounded(float(covered / total) * 100) if total > 0 else None,
        }
        for (region, platform, kind), (total, covered, left) in sorted(sums.items())
    ]
