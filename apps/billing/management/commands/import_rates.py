"""`import_rates PATH`: negotiated rates from a CSV."""

from __future__ import annotations

from typing import Any

from apps.billing.management.table_command import TableCommand
from apps.billing.services.rates import rates_import


class Command(TableCommand):
    """Columns: provider, valid_from, source; service, sku, product, region, percent or price with currency,
    valid_until.
    """

    help = "Import negotiated rates from a CSV file."

    def store(self, *, options: Any, **given: Any) -> Any:
        """Rows read, stored and already there."""
        return rates_import(**given)
