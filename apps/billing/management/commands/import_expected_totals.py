"""`import_expected_totals PATH`: totals of invoices from a CSV; current deliveries are compared at once."""

from __future__ import annotations

from typing import Any

from apps.billing.management.table_command import TableCommand
from apps.billing.services.expected import expected_totals_import


class Command(TableCommand):
    """Columns: billing_period (2026-03), payer, currency, total; report and source where wanted."""

    help = "Import totals of invoices from a CSV file."

    def store(self, *, options: Any, **given: Any) -> Any:
        """Rows read, stored, corrected and already there; deliveries compared and reconciled."""
        return expected_totals_import(**given)
