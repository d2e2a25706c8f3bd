"""What files about storage have in common, whoever wrote them: their kinds, and how objects and reads are
named in SQL.

A key is not kept: `key_id` is a hash of the key after URL decoding. Logs encode keys twice, inventories once
or not at all, so decoding is repeated; two keys that differ only in encoding are one.
"""

from finops.providers.storage.kinds import Kind, StorageFileError, nearest_kind
from finops.providers.storage.sql import (
    KEY_HASH,
    KNOWN_KEY,
    day_of,
    instant_of,
    key_id,
    prefix_of,
    whole_number,
)

__all__ = [
    "KEY_HASH",
    "KNOWN_KEY",
    "Kind",
    "StorageFileError",
    "day_of",
    "instant_of",
    "key_id",
    "nearest_kind",
    "prefix_of",
    "whole_number",
]
