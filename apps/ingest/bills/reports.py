"""A bill run as the document that the command line and the API give."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apps.billing.models import Delivery
from apps.billing.selectors.delivery_documents import delivery_document, evidence
from apps.ingest.models import IngestRun
from apps.ingest.reports import REJECTIONS_SHOWN


def bill_runs_document(runs: Sequence[IngestRun], *, now: datetime) -> dict[str, Any]:
    """All deliveries of the runs, what was refused and why, and the runs by number."""
    return {
        "deliveries": [entry for run in runs for entry in _deliveries(run)],
        "refused": [entry for run in runs for entry in run.options.get("refused", [])],
        "runs": [_run(run) for run in runs],
        "evidence": evidence(now),
    }


def _deliveries(run: IngestRun) -> list[dict[str, Any]]:
    made = run.options.get("deliveries", [])
    there = run.options.get("unchanged", [])
    found = Delivery.objects.filter(pk__in=[*made, *there]).select_related("report")
    return [
        {
            **delivery_document(delivery),
            "unchanged": delivery.pk in there,
            "rejections": _rejections(run, delivery) if delivery.pk in made and delivery.rejected else [],
        }
        for delivery in found.order_by("billing_period", "delivered_at", "pk")
    ]


def _rejections(run: IngestRun, delivery: Delivery) -> list[dict[str, Any]]:
    names = [file["name"] for file in delivery.files]
    shown = run.rejections.filter(file__in=names).order_by("pk")[:REJECTIONS_SHOWN]
    return [{"file": r.file, "row": r.row, "field": r.field, "reason": r.reason} for r in shown]


def _run(run: IngestRun) -> dict[str, Any]:
    return {
        "id": run.pk,
        "source": run.source,
        "state": run.state,
        "rows_read": run.rows_read,
        "stored": run.stored,
        "duplicates": run.duplicates,
        "rejected": run.rejected,
        "seconds": None if run.seconds is None else round(run.seconds, 3),
        "error": run.error or None,
    }
