"""What is known of buckets as JSON values, for command, API and page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings

from apps.accounts.models import Organisation
from apps.storage.selectors.buckets import bucket_of
from apps.storage.selectors.coverage import coverage_of, coverages_of
from apps.storage.selectors.histograms import span_of
from finops.frames.storage import BucketCoverage, StorageCharge
from finops.lake import BILL_LINES, STORAGE_OBJECTS, STORAGE_READS, facts
from finops.text.numbers import decimal_text


def buckets_document(
    *,
    organisation: Organisation | None,
    now: datetime,
    bucket: str = "",
    at: datetime | None = None,
) -> dict[str, Any]:
    """Every bucket (or one) with what is listed, billed and missing; `at`: nothing later is looked at."""
    if bucket:
        one = coverage_of(bucket, organisation, at)
        found = [] if one is None else [one]
    else:
        found = coverages_of(organisation, at)
    snapshots = facts.current_snapshots()
    tables = (BILL_LINES, STORAGE_OBJECTS, STORAGE_READS)
    return {
        "buckets": [_bucket(one, organisation, at) for one in found],
        "evidence": {
            "snapshots": {t: str(snapshots[t]) for t in tables if t in snapshots},
            "engine": settings.OFFPEAK_VERSION,
            "at": _iso(at or now),
            "later_prices": False,
        },
    }


def _bucket(found: BucketCoverage, organisation: Organisation | None, at: datetime | None) -> dict[str, Any]:
    row = bucket_of(found.bucket, organisation=organisation)
    span = span_of(row, until=at.date() if at else None) if row else None
    return {
        "provider": found.provider,
        "bucket": found.bucket,
        "region": found.region or None,
        "account": found.account or None,
        "versioning": found.versioning,
        "listed_at": _iso(found.listed_at),
        "listed": [
            {"class": storage_class, "state": state, "bytes": size}
            for (storage_class, state), size in sorted(found.listed.items())
        ],
        "listed_bytes": sum(found.listed.values()) if found.listed_at else None,
        "reads_from": span[0].isoformat() if span else None,
        "reads_to": span[1].isoformat() if span else None,
        "idle_known": found.log_from is not None,
        "billed": [
            {
                "class": name,
                "gib_months": decimal_text(months),
                "mean_gib": decimal_text(found.billed_gib[name]),
                "cost": decimal_text(found.billed_cost[name]),
                "currency": found.currency,
            }
            for name, months in sorted(found.billed_gib_months.items())
        ],
        "billed_from": found.billed_from.isoformat() if found.billed_from else None,
        "billed_to": found.billed_to.isoformat() if found.billed_to else None,
        "charges": [_charge(charge) for charge in found.charges],
        "scope": found.scope,
        "gap_bytes": found.gap_bytes,
        "gap_share": _share(found.gap_share),
        "missing": list(found.missing),
        "blocked": found.blocked,
        "reason_code": found.reason_code,
        "reason": found.reason,
    }


def _charge(charge: StorageCharge) -> Mapping[str, Any]:
    return {
        "kind": charge.kind,
        "class": charge.storage_class or None,
        "usage_type": charge.usage_type,
        "quantity": decimal_text(charge.quantity),
        "unit": charge.unit,
        "cost": decimal_text(charge.cost),
        "currency": charge.currency,
    }


def _share(share: Decimal | None) -> float | None:
    return None if share is None else round(float(share), 6)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
