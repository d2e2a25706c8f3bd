"""`import_exchange_rates PATH`: dated exchange rates from a CSV."""

from __future__ import annotations

from typing import Any

from apps.billing.management.table_command import TableCommand
from apps.billing.services.exchange import exchange_rates_import


class Command(TableCommand):
    """Columns: date, base, quote, rate (one base in quote), source; both_ways (yes or no)."""

    help = "Import exchange rates from a CSV file."

    def store(self, *, options: Any, **given: Any) -> Any:
        """Rows read, stored, corrected and already there."""
        return exchange_rates_import(**given)
