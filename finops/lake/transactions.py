"""Transactions of the catalog that work out their table's metadata once for each change, not at each look."""

from __future__ import annotations

from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata


class SteadyTransaction(Transaction):
    """PyIceberg's transaction, which else copies the whole metadata at each of about 25 looks of a commit.

    The metadata follows from the table as it was loaded and the changes so far, both replaced and never
    altered in place, so one copy serves until either is another one.
    """

    _worked_out: tuple[TableMetadata, tuple[object, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The table with the changes so far."""
        kept = self._worked_out
        if kept is None or kept[0] is not self._table.metadata or kept[1] is not self._updates:
            kept = (self._table.metadata, self._updates, super().table_metadata)
            self._worked_out = kept
        return kept[2]
