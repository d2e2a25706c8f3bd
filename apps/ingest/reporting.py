"""A run as the command line and the API show it: one shape for every import."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.ingest.models import IngestRun, RejectionKind, RunState

REJECTIONS_SHOWN = 100
EXIT_REFUSED = 3


def reference_run_report(run: IngestRun) -> dict[str, Any]:
    """The run's counts and its first rejections; times are ISO 8601 in UTC."""
    rejections = run.rejections.filter(kind=RejectionKind.REJECTED).order_by("pk")[:REJECTIONS_SHOWN]
    return {
        "run": run.pk,
        "source": run.source,
        "state": run.state,
        "rows_read": run.rows_read,
        "stored": run.stored,
        "duplicates": run.duplicates,
        "rejected": run.rejected,
        "replaced": run.replaced,
        "rejections": [
            {"file": row.file, "row": row.row, "field": row.field, "reason": row.reason} for row in rejections
        ],
        "ignored": run.options.get("ignored", {}),
        "assumed": run.options.get("assumed", {}),
        "series": run.series,
        "known_from": _iso(run.known_from),
        "known_to": _iso(run.known_to),
        "seconds": run.seconds,
    }


def reference_report(runs: list[IngestRun]) -> dict[str, Any]:
    """The document of a command."""
    return {
        "runs": [reference_run_report(run) for run in runs],
        "evidence": {
            "snapshots": {},
            "engine": settings.OFFPEAK_VERSION,
            "at": _iso(timezone.now()),
            "later_prices": None,
        },
    }


def exit_code(runs: list[IngestRun]) -> int:
    """3 when every run was refused, else 0."""
    return EXIT_REFUSED if runs and all(run.state == RunState.REFUSED for run in runs) else 0


def _iso(at: Any) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
