"""A run as the document that the command line and the API give."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from apps.ingest.models import IngestRun, RejectionKind

REJECTIONS_SHOWN = 100


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC with Z; None stays None."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def run_report(run: IngestRun) -> dict[str, Any]:
    """Counts, known range and the first rejections; keys as in the commands' contract and some more."""
    shown = run.rejections.filter(kind=RejectionKind.REJECTED)[:REJECTIONS_SHOWN]
    return {
        "id": run.pk,
        "source": run.source,
        "state": run.state,
        "rows_read": run.rows_read,
        "stored": run.stored,
        "duplicates": run.duplicates,
        "rejected": run.rejected,
        "rejections": [{"file": r.file, "row": r.row, "field": r.field, "reason": r.reason} for r in shown],
        "replaced": run.replaced,
        "files": run.files_done,
        "files_rejected": run.files_rejected,
        "series": run.series,
        "new_series": run.new_series,
        "known_from": iso(run.known_from),
        "known_to": iso(run.known_to),
        "known": run.known,
        "seconds": None if run.seconds is None else round(run.seconds, 3),
        "error": run.error or None,
    }


def runs_report(runs: Sequence[IngestRun], *, now: datetime) -> dict[str, Any]:
    """The document of `import_prices`; the snapshots are those of the last run that names any."""
    snapshots: dict[str, int] = next((run.snapshots for run in reversed(runs) if run.snapshots), {})
    return {
        "runs": [run_report(run) for run in runs],
        "evidence": {
            # Text: JavaScript and jq shorten integers of 19 digits.
            "snapshots": {table: str(snapshot) for table, snapshot in snapshots.items()},
            "engine": settings.OFFPEAK_VERSION,
            "at": iso(now),
            "later_prices": False,
        },
    }
