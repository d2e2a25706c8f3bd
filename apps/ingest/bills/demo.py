"""The demo's bill, loaded by the way every bill takes."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from apps.ingest.bills.kinds import DEMO
from apps.ingest.bills.run import bill_import
from apps.ingest.models import IngestRun

DEMO_BILL = "bill_2018-10_2018-11.csv.gz"
DEMO_BILL_SOURCE = "demo: a real AWS bill of 2018-10 and 2018-11, daily sums"
# Own bills that differ are other reports; only this one is replaced by a repeat.
REPORT = "demo"


def demo_bill_load() -> IngestRun:
    """Load the bill; again it stores nothing."""
    return bill_import(
        paths=[Path(settings.BASE_DIR) / "fixtures" / DEMO_BILL],
        kind=DEMO.name,
        report=REPORT,
        source=DEMO_BILL_SOURCE,
    )
