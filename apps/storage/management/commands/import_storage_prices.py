"""`import_storage_prices PATH`: dated prices of storage classes from a CSV."""

from __future__ import annotations

from typing import Any

from apps.billing.management.table_command import TableCommand
from apps.storage.services.prices import storage_prices_import


class Command(TableCommand):
    """Columns: provider, region, class, item, price, currency, valid_from, source; lines without a price are
    passed over. `storage_prices` writes such a file.
    """

    help = "Import prices of storage classes from a CSV file."

    def store(self, *, options: Any, **given: Any) -> Any:
        """Rows read, stored, corrected, already there, and lines without a price."""
        return storage_prices_import(**given)
