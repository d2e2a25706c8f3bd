"""The contents of a group of columns that were met so far, each with what was computed of it once."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from apps.ingest.bills.maps import MapValues, spread_maps
from finops.lake.sql import name
from finops.providers.files.bill_files import BillFile
from finops.providers.files.bill_text import Cells, NotPlainError

# Files whose lines differ more than that are read line by line.
MOST_CONTENTS = 400_000
Ids = npt.NDArray[np.int32]
# Names of what is computed beside the columns of the lake.
FAULT, DAILY = "_fault", "_daily"


class Values:
    """A column of values by content, to be spread over rows; texts are numbers of a dictionary."""

    def __init__(self, values: pa.Array) -> None:
        self.values = values
        self.coded = bool(pa.types.is_dictionary(values.type))
        self.map = MapValues(values) if pa.types.is_map(values.type) else None
        if self.coded:
            codes = values.indices
            self._valid = None if not codes.null_count else codes.is_valid().to_numpy(zero_copy_only=False)
            self.codes: Ids = codes.fill_null(0).to_numpy(zero_copy_only=False)

    def of(self, ids: npt.NDArray[np.integer[Any]]) -> pa.Array:
        """The value of each row's content."""
        if self.map is not None:
            return spread_maps([(self.map, ids)])
        if not self.coded:
            return self.values.take(pa.array(ids))
        told = self.values.dictionary
        if not len(told):
            return pa.DictionaryArray.from_arrays(pa.nulls(len(ids), pa.int32()), told)
        if len(told) == 1 and self._valid is None:
            return pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(ids), np.int32)), told)
        valid = None if self._valid is None else np.packbits(self._valid[ids], bitorder="little")
        buffers = [None if valid is None else pa.py_buffer(valid), pa.py_buffer(self.codes[ids])]
        codes = pa.Array.from_buffers(pa.int32(), len(ids), buffers)
        return pa.DictionaryArray.from_arrays(codes, told, safe=False)


@dataclass
class Contents:
    """Of one group: `columns` are its places, `computed` SQL over texts by name.

    `typed` are the named expressions that these need, `maps` maps of texts as they stand (name -> key ->
    place). `like` is a file of the same form, `folder` takes one for a moment. Not for threads at once.
    """

    con: duckdb.DuckDBPyConnection
    columns: Sequence[int]
    computed: Mapping[str, str]
    typed: Mapping[str, str]
    maps: Mapping[str, Mapping[str, int]]
    like: BillFile
    null_word: str
    folder: Path
    size: int = 0
    _prepared: bool = False
    _values: dict[str, list[pa.Array]] = field(default_factory=dict)
    _joined: dict[str, Values] = field(default_factory=dict)
    _table: str = field(default_factory=lambda: f"contents_{uuid.uuid4().hex}")

    def __post_init__(self) -> None:
        self.runs = _runs(self.columns)
        keys = ", ".join(f"k{i} VARCHAR" for i in range(len(self.runs)))
        self.con.execute(f"CREATE TABLE {self._table} ({keys}, id INTEGER)")
        self._path = self.folder / f"{self._table}.csv"

    def ids(self, cells: Cells) -> Ids:
        """The number of each row's content; new ones are computed."""
        found = np.full(cells.rows, -1, np.int32)
        if self.size:
            self._look(self._keys(cells, slice(None)), self._table, found)
        missing = np.flatnonzero(found < 0).astype(np.int32)
        if len(missing):
            fresh = self._keys(cells, missing)
            self._learn(fresh, cells)
            self._look(fresh, "fresh", found)
        return found

    def _keys(self, cells: Cells, rows: slice | Ids) -> pa.Table:
        texts = {f"k{i}": cells.raw(first, last, rows) for i, (first, last) in enumerate(self.runs)}
        return pa.table({**texts, "i": np.arange(cells.rows, dtype=np.int32)[rows]})

    def _look(self, rows: pa.Table, table: str, found: Ids) -> None:
        same = " AND ".join(f"r.k{i} = c.k{i}" for i in range(len(self.runs)))
        self.con.register("rows_of_block", rows)
        told = self.con.sql(f"SELECT r.i, c.id FROM rows_of_block r JOIN {table} c ON {same}").fetchnumpy()
        self.con.unregister("rows_of_block")
        found[told["i"]] = told["id"]

    def _learn(self, rows: pa.Table, cells: Cells) -> None:
        """Number and compute the contents of rows that are not known; they stay in `fresh` until the next."""
        keys = ", ".join(f"k{i}" for i in range(len(self.runs)))
        self.con.register("rows_of_block", rows)
        self.con.execute(
            f"CREATE OR REPLACE TEMP TABLE fresh AS SELECT {keys}, i, "
            f"CAST({self.size} + row_number() OVER (ORDER BY i) - 1 AS INTEGER) AS id "
            f"FROM (SELECT {keys}, min(i) AS i FROM rows_of_block GROUP BY {keys})"
        )
        self.con.unregister("rows_of_block")
        first = self.con.sql("SELECT i FROM fresh ORDER BY id").fetchnumpy()["i"]
        if self.size + len(first) > MOST_CONTENTS:
            raise NotPlainError("lines that have too little in common")
        self._compute(cells.lines(first), len(first))
        self.con.execute(f"INSERT INTO {self._table} SELECT {keys}, id FROM fresh")
        self.size += len(first)

    def _compute(self, lines: bytes, count: int) -> None:
        """By the very reader and expressions that read whole files."""
        self._path.write_bytes(self.like.delimiter.encode() * (len(self.like.headers) - 1) + b"\n" + lines)
        try:
            if not self._prepared:
                self.con.execute(f"PREPARE {self._table} AS {self._sql()}")
                self._prepared = True
            made = self.con.sql(f"EXECUTE {self._table}").to_arrow_table()
        except duckdb.Error as error:
            raise NotPlainError(str(error)) from error
        finally:
            self._path.unlink()
        if made.num_rows != count:
            raise NotPlainError("records of several lines")
        if pc.any(made[FAULT]).as_py():
            raise NotPlainError("a fault")
        for column, keys in self.maps.items():
            texts = {key: made[text_name(place)].combine_chunks() for key, place in keys.items()}
            self._values.setdefault(column, []).append(spread_maps([], texts))
        for column in self.computed:
            values = made[column].combine_chunks()
            if pa.types.is_string(values.type):
                values = values.dictionary_encode()
            self._values.setdefault(column, []).append(values)

    def _sql(self) -> str:
        """Planned once for a file that is written anew each time: its plan takes as long as 5,000 lines."""
        few = BillFile(self._path, self.like.headers, "csv", self.like.delimiter)
        typed = "".join(f", {sql} AS {alias}" for alias, sql in self.typed.items())
        listed = [f"{sql} AS {name(column)}" for column, sql in self.computed.items()]
        places = sorted({place for keys in self.maps.values() for place in keys.values()})
        listed += [f"{filled(place)} AS {text_name(place)}" for place in places]
        inner = f"SELECT *{typed} FROM {few.relation(self.null_word)}"
        return f"SELECT {', '.join(listed)} FROM ({inner}) ORDER BY rn"

    def column(self, column: str) -> Values:
        """What was computed, by content; texts as dictionaries."""
        pieces = self._values[column]
        if len(pieces) > 1 or column not in self._joined:
            joined = pa.chunked_array(pieces)
            if pa.types.is_dictionary(joined.type):
                joined = joined.unify_dictionaries()
            joined = joined.combine_chunks()
            self._values[column] = [joined]
            self._joined[column] = Values(joined)
        return self._joined[column]


def filled(place: int) -> str:
    """SQL of the text of a column for a map: null is no entry."""
    return f"nullif(r{place}, '')"


def text_name(place: int) -> str:
    """The name under which such a text is computed."""
    return f"_text{place}"


def _runs(columns: Sequence[int]) -> list[tuple[int, int]]:
    """(first, last) of columns that lie beside each other."""
    runs: list[tuple[int, int]] = []
    for column in sorted(columns):
        if runs and runs[-1][1] == column - 1:
            runs[-1] = (runs[-1][0], column)
        else:
            runs.append((column, column))
    return runs
