"""Runs about storage as the document that the command line and the API give."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apps.ingest.models import IngestRun
from apps.ingest.reports import iso, runs_report
from apps.storage.models import Listing, ReadSpan


def storage_runs_document(runs: Sequence[IngestRun], *, now: datetime) -> dict[str, Any]:
    """As `import_prices`, with what was left aside or assumed and the buckets that the runs speak of."""
    found = runs_report(runs, now=now)
    for entry, run in zip(found["runs"], runs, strict=True):
        entry["ignored"] = run.options.get("ignored", {})
        entry["assumed"] = run.options.get("assumed", {})
        entry["listings"] = _listings(run)
        entry["reads"] = _reads(run)
    return found


def _listings(run: IngestRun) -> list[dict[str, Any]]:
    made = (
        Listing.objects.filter(run_id=run.pk).select_related("bucket").order_by("bucket__name", "listed_at")
    )
    return [
        {
            "bucket": listing.bucket.name,
            "listed_at": iso(listing.listed_at),
            "state": listing.state,
            "objects": listing.objects_count,
            "bytes": listing.bytes,
            "states": listing.states,
            "log_from": listing.log_from.isoformat() if listing.log_from else None,
            "log_to": listing.log_to.isoformat() if listing.log_to else None,
            "cells": listing.cells.count(),
        }
        for listing in made
    ]


def _reads(run: IngestRun) -> list[dict[str, Any]]:
    spans = ReadSpan.objects.filter(
        bucket__organisation=run.organisation, bucket__name__in=run.options.get("buckets", [])
    ).select_related("bucket")
    return [
        {
            "bucket": span.bucket.name,
            "first_day": span.first_day.isoformat(),
            "last_day": span.last_day.isoformat(),
        }
        for span in spans.order_by("bucket__name", "first_day")
    ]
