"""The sorted rows of a delivery, one partition of the lake at a time, as Arrow batches of its table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from finops.lake import SPOT_CHANGES, TABLES
from finops.lake.tables import ROW_GROUP_ROWS

LABELS = ("region", "account", "zone", "zone_key", "instance_type", "product", "currency")


@dataclass(frozen=True)
class SeriesTexts:
    """What the series' numbers stand for: per label its distinct texts, and the code of each series."""

    texts: dict[str, tuple[NDArray[np.int32], pa.Array]]

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection) -> SeriesTexts:
        """From the table `series`, whose `sid` are 0, 1, 2, …"""
        series = con.sql("SELECT * FROM series ORDER BY sid").to_arrow_table()
        coded = {label: series.column(label).combine_chunks().dictionary_encode() for label in LABELS}
        return cls({k: (c.indices.to_numpy().astype(np.int32), c.dictionary) for k, c in coded.items()})

    def column(self, label: str, sids: NDArray[np.int32]) -> pa.DictionaryArray:
        """The label of each of the series."""
        codes, texts = self.texts[label]
        return pa.DictionaryArray.from_arrays(pa.array(codes[sids]), texts)


def same(text: str, count: int) -> pa.DictionaryArray:
    """A column of one text."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, dtype=np.int32)), pa.array([text]))


@dataclass(frozen=True)
class ChangesPart:
    """The rows of the table `sorted` in one month of one region; `month` is the first of it, UTC."""

    con: duckdb.DuckDBPyConnection
    series: SeriesTexts
    provider: str
    region_place: int
    month: datetime
    run_id: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        """In the order of `sorted`; on a connection of its own: partitions may go in parallel."""
        with self.con.cursor() as con:
            rows = con.sql(
                'SELECT sid, "at", price FROM sorted '  # noqa: S608 - numbers and a time of our own
                f"WHERE region_place = {self.region_place} AND month = TIMESTAMP '{self.month:%Y-%m-%d}'"
            ).to_arrow_reader(ROW_GROUP_ROWS)
            for batch in rows:
                yield self._labelled(batch)

    def _labelled(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        sids = batch.column("sid").to_numpy()
        columns = {label: self.series.column(label, sids) for label in LABELS}
        columns |= {
            "provider": same(self.provider, len(sids)),
            "month": same(f"{self.month:%Y-%m}", len(sids)),
            "at": batch.column("at"),
            "price": batch.column("price"),
            "run_id": pa.array(np.full(len(sids), self.run_id, dtype=np.int64)),
        }
        names = TABLES[SPOT_CHANGES].column_names
        return pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))
