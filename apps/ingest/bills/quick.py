"""Files of CSV text into lines, computing once what many lines have in common.

The same expressions over the same texts as reading a file row by row (`stage`), only fewer of them: a block
of text is cut into cells, its columns are parted (`finops.providers.bills.parting`), and what hangs on one
group of columns is computed for each content of the group once. What is not plain text without any fault
ends with NotPlainError; nothing of it is kept, and the file is read row by row, which says what is wrong.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from apps.ingest.bills.contents import DAILY, FAULT, Contents, Values, filled, text_name
from apps.ingest.bills.maps import spread_maps
from apps.ingest.bills.rollup import Rollup
from finops.lake.bill_tables import DAILY_DIMENSIONS
from finops.lake.sql import name
from finops.lake.tables import TableSpec
from finops.providers.bills import Given
from finops.providers.bills.parting import Hanging, Parting, bad_of, part
from finops.providers.files.bill_files import BillFile
from finops.providers.files.bill_text import BLOCK_BYTES, Cells, NotPlainError, Room, blocks

# Rows of the first block by which the columns are parted.
SAMPLE_ROWS = 16_384
# Texts are written once for so many lines.
BATCH_ROWS = 80_000
# Columns that the pipeline gives, the same on each line of a file but for the row's number.
GIVEN = ("x_report", "x_month", "x_delivery", "x_file")


@dataclass
class _Block:
    """Rows of a block: the content of each group, and what was computed line by line."""

    ids: list[npt.NDArray[np.int32]]
    rows: pa.Table

    def __len__(self) -> int:
        return len(self.ids[0])


@dataclass
class Quick:
    """Files of one kind, one header and one delivery; they share the contents of their groups."""

    con: duckdb.DuckDBPyConnection
    spec: TableSpec
    folder: Path
    given: Given
    columns: dict[str, str]
    null_word: str
    like: BillFile
    pool: ThreadPoolExecutor
    threads: int
    _plan: _Plan | None = None
    _rooms: list[Room] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def batches(self, number: int, file: BillFile, fixed: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        """The lines of a file as the table's rows, a row group a batch. Raises NotPlainError.

        `fixed` are the values of GIVEN; `number` tells the file from others in the roll-up.
        """
        waiting: list[_Block] = []
        done = 0
        for block in self._blocks(file):
            if block is not None:
                waiting.append(block)
                del block
            rows = sum(map(len, waiting))
            if rows >= BATCH_ROWS:
                batch = self._batch(waiting, number, done, fixed)
                done += rows
                waiting.clear()
                yield batch
                del batch
        if waiting:
            yield self._batch(waiting, number, done, fixed)

    def _blocks(self, file: BillFile) -> Iterator[_Block | None]:
        """In the order of the file; some are worked on at once."""
        going: deque[Future[_Block | None]] = deque()
        try:
            for room in blocks(file.path, file.compression, self._room):
                going.append(self.pool.submit(self._block, room))
                if len(going) >= self.threads:
                    yield going.popleft().result()
            while going:
                yield going.popleft().result()
        finally:
            for future in going:
                future.cancel()

    def _room(self) -> Room:
        with suppress(IndexError):
            return self._rooms.pop()
        return Room(BLOCK_BYTES)

    def _block(self, room: Room) -> _Block | None:
        """The rows of a block, None for one without any; its room is free again."""
        if not room.length:
            return None
        cells = Cells(room, len(self.like.headers), self.like.delimiter)
        with self._lock:
            if self._plan is None:
                self._plan = self._planned(cells)
            plan = self._plan
            ids = [contents.ids(cells) for contents in plan.contents]
            leaves = {leaf: plan.contents[group].column(leaf) for leaf, group in plan.leaves.items()}
        made = _Block(ids, self._by_row(plan, cells, ids, leaves))
        self._rooms.append(room)
        return made

    def _planned(self, cells: Cells) -> _Plan:
        hanging = Hanging(self.given)
        needed = {p for sql in self.columns.values() for p in hanging.places(sql)}
        needed |= {p for check in self.given.checks for p in hanging.places(check.bad)}
        return _Plan(self, hanging, self._parted(cells, sorted(needed)))

    def _parted(self, cells: Cells, places: Sequence[int]) -> Parting:
        rows = min(cells.rows, SAMPLE_ROWS)
        sample = pa.table({f"r{p}": cells.raw(p, p, slice(rows)) for p in places})
        hashes = ", ".join(f"hash(r{p}) AS r{p}" for p in places)
        with self.con.cursor() as cursor:
            cursor.register("sample", sample)
            codes = cursor.sql(f"SELECT {hashes} FROM sample").fetchnumpy()
        return part({p: codes[f"r{p}"] for p in places}, {p: cells.blank(p, rows) for p in places})

    def _by_row(
        self, plan: _Plan, cells: Cells, ids: list[npt.NDArray[np.int32]], leaves: dict[str, Values]
    ) -> pa.Table:
        """What hangs on more than one group, line by line; the order is kept."""
        held: dict[str, pa.Array] = {"i": pa.array(np.arange(cells.rows, dtype=np.int32))}
        for leaf, values in leaves.items():
            held[leaf] = values.of(ids[plan.leaves[leaf]])
        for place in plan.loose:
            held[f"r{place}"] = cells.texts(place, self.null_word)
        with self.con.cursor() as cursor:
            cursor.register("rows_of_block", pa.table(held))
            try:
                found = cursor.sql(plan.sql).to_arrow_table()
            except duckdb.Error as error:
                raise NotPlainError(str(error)) from error
        if not np.array_equal(found["i"].to_numpy(), np.arange(cells.rows)):
            raise NotPlainError("rows out of order")
        if pc.any(found[FAULT]).as_py():
            raise NotPlainError("a fault")
        return found.drop_columns(["i", FAULT])

    def _batch(
        self, waiting: Sequence[_Block], number: int, done: int, fixed: dict[str, Any]
    ) -> pa.RecordBatch:
        """Blocks as one row group, lines of the same content beside each other."""
        plan = self._plan
        assert plan is not None  # noqa: S101 - there is a block
        ids = [np.concatenate([b.ids[g] for b in waiting]) for g in range(len(plan.contents))]
        rows = pa.concat_tables([b.rows for b in waiting]).combine_chunks()
        order = np.argsort(ids[0], kind="stable")
        ids = [i[order] for i in ids]
        rows = rows.take(pa.array(order))
        with self._lock:
            told = {column: plan.contents[g].column(column) for column, g in plan.by_group.items()}
            maps = {
                (column, g): plan.contents[g].column(spread.held(g)).map
                for column, spread in plan.spread.items()
                for g in spread.groups
            }
            days = [contents.column(DAILY) for contents in plan.contents]
        held = {f"k{g}": day.codes[found] for g, (day, found) in enumerate(zip(days, ids, strict=True))}
        for column in plan.rollup.columns:
            group = plan.by_group.get(column)
            held[column] = rows[column] if group is None else told[column].of(ids[group])
        plan.rollup.add(number, pa.table(held))
        arrays = []
        for column, _, _kind in self.spec.columns:
            if column == "x_row":
                arrays.append(pa.array(order + (done + 1)))
            elif column in GIVEN:
                arrays.append(_same(fixed[column], len(order)))
            elif column in plan.spread:
                spread = plan.spread[column]
                parts = [(values, ids[g]) for (c, g), values in maps.items() if c == column and values]
                loose = {key: rows[text_name(p)].combine_chunks() for key, p in spread.loose.items()}
                arrays.append(spread_maps(parts, loose))
            elif column in told:
                arrays.append(told[column].of(ids[plan.by_group[column]]))
            else:
                arrays.append(rows[column].combine_chunks())
        return pa.RecordBatch.from_arrays(arrays, names=list(self.spec.column_names))

    def daily(self, numbers: Sequence[int], fixed: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        """The roll-up of these files, as rows of the daily table."""
        assert self._plan is not None  # noqa: S101 - called after batches
        return self._plan.rollup.batches(numbers, fixed)


class _Plan:
    """What is computed where."""

    def __init__(self, quick: Quick, hanging: Hanging, parting: Parting) -> None:
        if not parting.groups:
            raise NotPlainError("no columns that repeat")
        given = quick.given
        kinds = {column: kind for column, _, kind in quick.spec.columns}
        columns = {c: f"CAST({sql} AS {kinds[c]})" for c, sql in quick.columns.items()}
        self.by_group: dict[str, int] = {}
        by_row: dict[str, str] = {}
        self.spread: dict[str, _Spread] = {}
        for column, sql in columns.items():
            group = parting.group_of(hanging.places(sql))
            if column not in DAILY_DIMENSIONS and quick.columns[column] in given.maps:
                spread = _Spread.of(column, given.maps[quick.columns[column]], parting)
                self.spread[column] = spread
                by_row |= {text_name(place): filled(place) for place in spread.loose.values()}
            elif group is not None:
                self.by_group[column] = group
            else:
                by_row[column] = sql
        checks: dict[int | None, list[Any]] = {}
        for check in given.checks:
            checks.setdefault(parting.group_of(hanging.places(check.bad)), []).append(check)
        by_row[FAULT] = bad_of(checks.get(None, []))
        self.leaves, self.loose, typed = _needed(by_row.values(), hanging, parting, given)
        listed = ", ".join(f"{sql} AS {name(column)}" for column, sql in by_row.items())
        inner = "".join(f", {given.typed[alias]} AS {alias}" for alias in given.typed if alias in typed)
        self.sql = f"SELECT i, {listed} FROM (SELECT *{inner} FROM rows_of_block)"
        self.contents = []
        for number, members in enumerate(parting.groups):
            own = [c for c, g in self.by_group.items() if g == number]
            computed = {c: columns[c] for c in own}
            computed |= {leaf: leaf for leaf, g in self.leaves.items() if g == number}
            maps = {s.held(number): s.groups[number] for s in self.spread.values() if number in s.groups}
            computed[FAULT] = bad_of(checks.get(number, []))
            keys = ", ".join(f"{c} := {columns[c]}" for c in own if c in DAILY_DIMENSIONS)
            computed[DAILY] = f"CAST(to_json(struct_pack({keys})) AS VARCHAR)" if keys else "''"
            inside = {a: sql for a, sql in given.typed.items() if hanging.places(sql) <= set(members)}
            self.contents.append(
                Contents(
                    quick.con.cursor(),
                    members,
                    computed,
                    inside,
                    maps,
                    quick.like,
                    quick.null_word,
                    quick.folder,
                )
            )
        self.rollup = Rollup(quick.con.cursor(), self.contents, self.by_group, sorted(by_row))


@dataclass(frozen=True)
class _Spread:
    """A map of columns of several groups: one by content for each, and a text by row for each loose one.

    `groups` has the place of each key by group, `loose` of the keys that are of none.
    """

    column: str
    groups: dict[int, dict[str, int]]
    loose: dict[str, int]

    @classmethod
    def of(cls, column: str, keys: Mapping[str, int], parting: Parting) -> _Spread:
        """The parts of a map, given the place of each of its keys."""
        groups = {
            number: own
            for number, group in enumerate(parting.groups)
            if (own := {key: place for key, place in keys.items() if place in group})
        }
        return cls(column, groups, {key: place for key, place in keys.items() if place in parting.loose})

    def held(self, group: int) -> str:
        """The name of what is computed for a group's contents."""
        return f"_{self.column}{group}"


def _needed(
    expressions: Any, hanging: Hanging, parting: Parting, given: Given
) -> tuple[dict[str, int], list[int], set[str]]:
    """(named expressions and columns to take from groups, loose columns, expressions to compute by row)."""
    leaves: dict[str, int] = {}
    loose: set[int] = set()
    typed: set[str] = set()
    open_ = [word for sql in expressions for word in hanging.names(sql)]
    while open_:
        word = open_.pop()
        group = parting.group_of(hanging.places(word))
        if group is not None:
            leaves[word] = group
        elif word not in given.typed:
            loose.add(int(word[1:]))
        elif word not in typed:
            typed.add(word)
            open_ += hanging.names(given.typed[word])
    return leaves, sorted(loose), typed


def _same(value: Any, rows: int) -> pa.Array:
    """One value on every row."""
    if isinstance(value, str):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))
    return pa.array(np.full(rows, value, np.int64))
