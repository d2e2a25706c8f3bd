"""A packed file whose bytes were changed on the way is found out by its checksum."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from finops.providers.files.gzip_sums import altered

TEXT = b"a,b\n" + b"".join(b"%d,x\n" % i for i in range(5000))
PACKED = gzip.compress(TEXT, mtime=0)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (PACKED, ""),
        (PACKED + gzip.compress(TEXT, mtime=0), ""),
        (PACKED + b"\0" * 512, ""),
        (gzip.compress(b"", mtime=0), ""),
        (TEXT, ""),
        (b"", ""),
        (PACKED[:-8] + bytes(4) + PACKED[-4:], "the packed content is damaged (incorrect data check)"),
        (PACKED[:-4] + bytes(4), "the packed content is damaged (incorrect length check)"),
        (PACKED[:-5], "the gzip stream ends too early"),
        (PACKED + PACKED[: len(PACKED) // 2], "the gzip stream ends too early"),
    ],
)
def test_only_what_was_packed_passes(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "bill.csv.gz"
    path.write_bytes(content)
    assert altered(path) == told


def test_a_changed_byte_in_the_middle_is_found(tmp_path: Path) -> None:
    path = tmp_path / "bill.csv.gz"
    # stored, not compressed: any byte may change and it still reads
    stored = bytearray(gzip.compress(TEXT, 0, mtime=0))
    place = stored.index(b"4711,x")
    stored[place] = ord("9")
    path.write_bytes(stored)
    assert altered(path) == "the packed content is damaged (incorrect data check)"
