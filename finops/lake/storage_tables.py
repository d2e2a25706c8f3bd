"""Tables of storage: the objects of each bucket's current listing, and the daily reads of objects.

Keys are not kept: `key_id` is 63 bits of DuckDB's hash of a key, which is enough to find its reads again (two
of ten million keys share one once in 180,000 listings). An import refuses to go on where DuckDB hashes
another way. `bucket` is organisation, provider and name ("3:aws:data", 0 for everybody's).
"""

from __future__ import annotations

from pyiceberg.types import DateType, IcebergType, LongType, StringType

STORAGE_OBJECTS = "storage.objects"
STORAGE_READS = "storage.reads"

Columns = tuple[tuple[str, IcebergType, str], ...]
_TEXT = (StringType(), "VARCHAR")
_COUNT = (LongType(), "BIGINT")
_DAY = (DateType(), "DATE")

# One row per object version of the listing; `modified` is a UTC date, null where the listing tells none.
OBJECT_COLUMNS: Columns = (
    ("bucket", *_TEXT),
    ("key_id", *_COUNT),
    ("prefix", *_TEXT),
    ("storage_class", *_TEXT),
    ("tier", *_TEXT),
    ("state", *_TEXT),
    ("size", *_COUNT),
    ("modified", *_DAY),
)
# One row per object, UTC date, source and run. `bytes`: sent; null where the source tells none.
READ_COLUMNS: Columns = (
    ("bucket", *_TEXT),
    ("month", *_TEXT),
    ("key_id", *_COUNT),
    ("prefix", *_TEXT),
    ("day", *_DAY),
    ("source", *_TEXT),
    ("requests", *_COUNT),
    ("bytes", *_COUNT),
    ("run_id", *_COUNT),
)
