"""Documents of reference data below a path: plain or gz, xz, zst; tar archives; a folder; a glob.

Read with limits: on the bytes of one document after unpacking, on their number, and on how much larger they
may be than what is on the disk. What breaks a limit or cannot be unpacked is a document with a `problem`
and no bytes.
"""

from __future__ import annotations

import glob
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import zstandard

# The largest offer file (EC2, all regions, CSV) has about 5 GB, that of one region 300 MB.
MAX_BYTES = 1024 * 1024 * 1024
MAX_DOCUMENTS = 20_000
MAX_RATIO = 500
_RATIO_FREE_BYTES = 16 * 1024 * 1024
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst")


class Document(NamedTuple):
    """`data` is empty when there is a `problem`."""

    name: str
    data: bytes
    problem: str = ""


def documents(path: str) -> Iterator[Document]:
    """Every document of a path, in the order of names; a path that leads nowhere is one with a problem."""
    files = sorted(_files(path))
    if not files:
        yield Document(path, b"", "no such file or folder")
    count = 0
    for file in files:
        for document in _archive(file) if file.name.endswith(_TAR) else [_single(file)]:
            count += 1
            if count > MAX_DOCUMENTS:
                yield Document(str(file), b"", f"more than {MAX_DOCUMENTS} documents: stopped")
                return
            yield document


def _files(path: str) -> Iterator[Path]:
    place = Path(path)
    if place.is_dir():
        yield from (file for file in place.rglob("*") if file.is_file() and not file.name.startswith("."))
    elif place.is_file():
        yield place
    else:
        yield from (Path(found) for found in glob.glob(path, recursive=True) if Path(found).is_file())


def _unpacked(file: Path) -> Any:
    if file.name.endswith((".gz", ".tgz")):
        return gzip.open(file)
    if file.name.endswith((".xz", ".txz")):
        return lzma.open(file)
    if file.name.endswith(".zst"):
        return zstandard.ZstdDecompressor().stream_reader(file.open("rb"))
    return file.open("rb")


def _single(file: Path) -> Document:
    try:
        with _unpacked(file) as stream:
            return _limited(str(file), stream, on_disk=file.stat().st_size)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError) as error:
        return Document(str(file), b"", f"cannot be unpacked: {error}")


def _archive(file: Path) -> Iterator[Document]:
    left = max(_RATIO_FREE_BYTES, file.stat().st_size * MAX_RATIO)
    try:
        with _unpacked(file) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if not member.isfile():
                    continue
                name = f"{file}/{member.name}"
                content = archive.extractfile(member)
                left -= member.size
                if left < 0:
                    yield Document(name, b"", f"unpacks to more than {MAX_RATIO} times its size: stopped")
                    return
                yield _limited(name, content or io.BytesIO(), on_disk=None)
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error, zstandard.ZstdError) as error:
        yield Document(str(file), b"", f"archive cannot be read to its end: {error}")


def _limited(name: str, stream: IO[bytes], *, on_disk: int | None) -> Document:
    limit = MAX_BYTES
    if on_disk is not None:
        limit = min(limit, max(_RATIO_FREE_BYTES, on_disk * MAX_RATIO))
    data = stream.read(limit + 1)
    if len(data) > limit:
        return Document(name, b"", f"larger than {limit} bytes after unpacking")
    return Document(name, data)
