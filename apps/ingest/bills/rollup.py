"""Daily sums while lines are written: grouped by small numbers instead of by a row of texts."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from apps.ingest.bills.contents import DAILY, Contents
from finops.lake.bill_tables import BILL_DAILY, DAILY_DIMENSIONS, DAILY_SUMS
from finops.lake.tables import TABLES

_ORDER = ("x_day", "service_name", "sub_account_id")


class Rollup:
    """Sums of some files: a row is told by what each group of columns says of a day's dimensions.

    `by_group` says which group a column hangs on, `by_row` are the columns that hang on several.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        contents: Sequence[Contents],
        by_group: Mapping[str, int],
        by_row: Sequence[str],
    ) -> None:
        self._con = con
        self._contents = contents
        self._by_group = by_group
        self._loose = [c for c in DAILY_DIMENSIONS if c in by_row]
        # What is added must tell, beside the number of each group's dimensions.
        self.columns = (*self._loose, *DAILY_SUMS)
        self._table = f"daily_{uuid.uuid4().hex}"
        self._keys = [f"k{g}" for g in range(len(contents))]
        self._made = False
        self._lock = threading.Lock()

    def add(self, file: int, rows: pa.Table) -> None:
        """Count rows of a file: `k0` … say what each group's content says of a day, then `columns`."""
        by = ", ".join([*self._keys, *self._loose])
        sums = ", ".join(f"sum({c}) AS {c}" for c in DAILY_SUMS)
        what = f"SELECT {file} AS file, {by}, {sums}, count(*) AS x_rows FROM rows_to_add GROUP BY ALL"
        with self._lock:
            self._con.register("rows_to_add", rows)
            if self._made:
                self._con.execute(f"INSERT INTO {self._table} {what}")
            else:
                self._con.execute(f"CREATE TABLE {self._table} AS {what}")
                self._made = True
            self._con.unregister("rows_to_add")

    def batches(self, files: Sequence[int], fixed: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """Rows of the daily table, in its order."""
        by = ", ".join([*self._keys, *self._loose])
        sums = ", ".join(f"sum({c}) AS {c}" for c in DAILY_SUMS)
        numbers = ", ".join(str(f) for f in files)
        found = self._con.sql(
            f"SELECT {by}, {sums}, CAST(sum(x_rows) AS BIGINT) AS x_rows FROM {self._table} "
            f"WHERE file IN ({numbers}) GROUP BY ALL"
        ).to_arrow_table()
        first = [self._first(found, key, c) for key, c in zip(self._keys, self._contents, strict=True)]
        order = pa.array(np.lexsort([self._rank(c, found, first) for c in reversed(_ORDER)]))
        spec = TABLES[BILL_DAILY]
        for at in range(0, found.num_rows, spec.row_group_rows):
            rows = order.slice(at, spec.row_group_rows)
            yield pa.RecordBatch.from_arrays(
                [self._column(c, found, first, fixed).take(rows) for c in spec.column_names],
                names=list(spec.column_names),
            )

    @staticmethod
    def _first(found: pa.Table, key: str, contents: Contents) -> npt.NDArray[np.int64]:
        """For each row a content of the group that says the same of the dimensions."""
        codes = contents.column(DAILY).codes
        kinds, first = np.unique(codes, return_index=True)
        of = np.zeros(int(kinds.max(initial=0)) + 1, np.int64)
        of[kinds] = first
        return np.asarray(of[found[key].to_numpy()])

    def _column(
        self, column: str, found: pa.Table, first: Sequence[npt.NDArray[np.int64]], fixed: Mapping[str, Any]
    ) -> pa.Array:
        if column in found.column_names:
            return found[column].combine_chunks()
        if column in fixed:
            value = fixed[column]
            if isinstance(value, str):
                zeros = pa.array(np.zeros(found.num_rows, np.int32))
                return pa.DictionaryArray.from_arrays(zeros, pa.array([value]))
            return pa.array(np.full(found.num_rows, value, np.int64))
        group = self._by_group[column]
        return self._contents[group].column(column).of(first[group])

    def _rank(
        self, column: str, found: pa.Table, first: Sequence[npt.NDArray[np.int64]]
    ) -> npt.NDArray[np.int64]:
        """Numbers in the order of a column's values; nulls last."""
        values = self._column(column, found, first, {})
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        told = coded.dictionary
        ranks = np.empty(len(told) + 1, np.int64)
        ranks[np.asarray(pc.sort_indices(told))] = np.arange(len(told))
        ranks[len(told)] = len(told)
        return np.asarray(ranks[coded.indices.fill_null(len(told)).to_numpy(zero_copy_only=False)])
