"""A path into readable files: folders, globs, compression and archives, by content and never by file name.

Nothing is unpacked to disk and no member's name is used as a path, so an archive cannot write anywhere;
limits on expanded bytes, members, depth and ratio end a bomb early. What is cut short or broken is refused
with the position.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self, cast

import pyarrow as pa

from finops.providers.base import PermanentError

CHUNK = 1 << 20
# A larger buffer makes looking at the first bytes of many small files dear; long reads pass it by.
BUFFER = 1 << 16
_BROKEN = (
    EOFError,
    OSError,
    lzma.LZMAError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,
)


# What is said of a path or an entry without a file: an empty folder or archive.
NOTHING = "nothing to read"


class UnreadableError(PermanentError):
    """A file cannot be used; the message says why and, for broken data, where."""


@dataclass(frozen=True)
class ArchiveLimits:
    """The largest honest delivery seen here expands 49 times (pretty-printed JSON in xz)."""

    total_bytes: int = 64 << 30
    members: int = 200_000
    ratio: int = 300
    ratio_from: int = 64 << 20
    depth: int = 4


@dataclass
class Meter:
    """Bytes taken from disk and bytes they expanded to; the ratio is judged on both."""

    limits: ArchiveLimits
    taken: int = 0
    expanded: int = 0
    members: int = 0

    def expand(self, count: int) -> None:
        """Count expanded bytes. Raises UnreadableError past a limit."""
        self.expanded += count
        if self.expanded > self.limits.total_bytes:
            raise UnreadableError(f"expands to more than {self.limits.total_bytes} bytes")
        if self.expanded > max(self.limits.ratio_from, self.taken * self.limits.ratio):
            raise UnreadableError(f"expands more than {self.limits.ratio} times")

    def member(self) -> None:
        """Count one member of an archive. Raises UnreadableError past the limit."""
        self.members += 1
        if self.members > self.limits.members:
            raise UnreadableError(f"holds more than {self.limits.members} files")


@dataclass(frozen=True)
class Entry:
    """One file to read, or why it cannot be. `stream` is valid until the next entry is asked for."""

    name: str
    stream: io.BufferedReader | None
    refused: str | None = None


class _Pipe(io.RawIOBase):
    """A raw stream over a read function that counts what passes and says where broken data ends."""

    def __init__(self, read: Callable[[int], bytes], count: Callable[[int], None], kind: str) -> None:
        super().__init__()
        self._read, self._count, self._kind = read, count, kind
        self.position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._read(min(len(buffer), CHUNK))
        except UnreadableError:
            raise
        except _BROKEN as error:
            cut = isinstance(error, EOFError) or "runcated" in str(error) or "end of data" in str(error)
            what = "cut short" if cut else f"broken ({error})"
            raise UnreadableError(f"{self._kind} {what} after {self.position} bytes") from error
        self._count(len(data))
        self.position += len(data)
        buffer[: len(data)] = data
        return len(data)


def _piped(read: Callable[[int], bytes], count: Callable[[int], None], kind: str) -> io.BufferedReader:
    return io.BufferedReader(_Pipe(read, count, kind), BUFFER)


def _no_count(_: int) -> None:
    return None


def _open_zstd(stream: IO[bytes]) -> Any:
    # The zstandard package ends silently where the data is cut; Arrow says so.
    return pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")


_COMPRESSIONS: tuple[tuple[bytes, str, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", "gzip data", lambda s: gzip.GzipFile(fileobj=s)),
    (b"\xfd7zXZ\x00", "xz data", lzma.LZMAFile),
    (b"(\xb5/\xfd", "zstd data", _open_zstd),
    (b"BZh", "bzip2 data", bz2.BZ2File),
)


@dataclass
class Walk:
    """The files behind a path, in sorted order. `total_files` is None where an archive hides the number."""

    path: str
    limits: ArchiveLimits = field(default_factory=ArchiveLimits)
    meter: Meter = field(init=False)
    bytes_total: int = field(init=False, default=0)
    _tops: list[tuple[str, Path]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.meter = Meter(self.limits)
        self._tops = _top_files(self.path)
        self.bytes_total = sum(path.stat().st_size for _, path in self._tops if not path.is_symlink())

    @property
    def top_files(self) -> int:
        """Files found before any archive is opened."""
        return len(self._tops)

    @property
    def top(self) -> list[tuple[str, Path]]:
        """(name to show, path) of those files, links among them."""
        return list(self._tops)

    def entries(self) -> Iterator[Entry]:
        """Every file once; broken and unsafe ones with the reason."""
        for name, path in self._tops:
            if path.is_symlink():
                yield Entry(name, None, "a link: links inside a folder are not followed")
                continue
            try:
                handle = path.open("rb", buffering=0)
            except OSError as error:
                yield Entry(name, None, f"cannot be opened: {error.strerror}")
                continue
            with handle:
                stream = _piped(handle.read, self._take, "file")
                yield from self._unwrap(name, stream, depth=0, alone=len(self._tops) == 1, file=handle)

    def _take(self, count: int) -> None:
        self.meter.taken += count

    def _unwrap(
        self, name: str, stream: io.BufferedReader, *, depth: int, alone: bool, file: IO[bytes] | None = None
    ) -> Iterator[Entry]:
        """The entry itself, or what is inside it."""
        if depth > self.limits.depth:
            yield Entry(name, None, f"packed more than {self.limits.depth} times over")
            return
        try:
            head = stream.peek(600)[:600]
        except UnreadableError as error:
            yield Entry(name, None, str(error))
            return
        for magic, kind, opener in _COMPRESSIONS:
            if head.startswith(magic):
                inner = _piped(opener(stream).read, self.meter.expand, kind)
                yield from self._unwrap(name, inner, depth=depth + 1, alone=alone)
                return
        if head[257:262] == b"ustar":
            yield from self._tar(name, stream, depth=depth, alone=alone)
        elif head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            yield from self._zip(name, stream, file, depth=depth, alone=alone)
        else:
            yield Entry(name, stream)

    def _tar(self, name: str, stream: io.BufferedReader, *, depth: int, alone: bool) -> Iterator[Entry]:
        last, header = "its first file", _marked_header()
        try:
            with tarfile.open(fileobj=stream, mode="r|", bufsize=CHUNK, tarinfo=header) as archive:
                for member in archive:
                    if member.isdir():
                        continue
                    self.meter.member()
                    shown = last = member.name if alone else f"{name}/{member.name}"
                    refused = _unsafe(member.name) or (
                        None if member.isreg() else "a link or device in an archive"
                    )
                    if refused:
                        yield Entry(shown, None, refused)
                        continue
                    content = cast(IO[bytes], archive.extractfile(member))
                    inner = _piped(content.read, _no_count, "tar member")
                    yield from self._unwrap(shown, inner, depth=depth + 1, alone=False)
            # Packed data says only at its own end whether it is whole.
            while stream.read(CHUNK):
                pass
            # tarfile takes data that stops after a member, or in the middle of a header, for the end.
            if not header.ended:
                raise UnreadableError(f"cut short after {cast(_Pipe, stream.raw).position} bytes")
        except (UnreadableError, *_BROKEN) as error:
            yield Entry(name, None, f"archive broken at {last}: {error}")

    def _zip(
        self, name: str, stream: io.BufferedReader, file: IO[bytes] | None, *, depth: int, alone: bool
    ) -> Iterator[Entry]:
        try:
            with _seekable(stream, file) as seekable, zipfile.ZipFile(seekable) as archive:
                for info in archive.infolist():
                    if info.is_dir():
                        continue
                    self.meter.member()
                    shown = info.filename if alone else f"{name}/{info.filename}"
                    refused = _unsafe(info.filename) or ("encrypted" if info.flag_bits & 1 else None)
                    if refused:
                        yield Entry(shown, None, refused)
                        continue
                    self.meter.taken += info.compress_size
                    with archive.open(info) as content:
                        inner = _piped(content.read, self.meter.expand, "zip member")
                        yield from self._unwrap(shown, inner, depth=depth + 1, alone=False)
        except (UnreadableError, *_BROKEN) as error:
            yield Entry(name, None, f"zip archive broken: {error}")


class _MarkedHeader(tarfile.TarInfo):
    """`ended`: the block of zeros came that ends an archive."""

    ended = False

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        cls.ended = cls.ended or (len(buf) == tarfile.BLOCKSIZE and not any(buf))
        return super().frombuf(buf, encoding, errors)


def _marked_header() -> type[_MarkedHeader]:
    """A kind of header of its own for one archive."""
    return type("_MarkedHeader", (_MarkedHeader,), {})


def _seekable(stream: io.BufferedReader, file: IO[bytes] | None) -> IO[bytes]:
    """A file one can seek in (zip keeps its index at the end): the one on disk, else a copy."""
    if file is not None:
        return open(file.name, "rb")
    return spooled(stream)


def spooled(stream: io.BufferedReader) -> IO[bytes]:
    """A seekable copy; the limits of whatever it is packed in still hold while it is made."""
    copy = tempfile.SpooledTemporaryFile(max_size=8 << 20)  # noqa: SIM115 - handed to the caller
    while chunk := stream.read(CHUNK):
        copy.write(chunk)
    copy.seek(0)
    return cast(IO[bytes], copy)


def _unsafe(name: str) -> str | None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\x00" in name or (path.parts and ":" in path.parts[0]):
        return "a name that leads out of the archive"
    return None


def _top_files(path: str) -> list[tuple[str, Path]]:
    """(name to show, path) of a file, of a folder's files (dot files left out), or of a glob's."""
    given = Path(path)
    try:
        if given.is_file():
            # A link that the operator names is followed; one found inside a folder is not.
            return [(given.name, given.resolve())]
        if given.is_dir():
            return _in_folder(given, "")
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}") from error
    if any(sign in path for sign in "*?["):
        found: list[tuple[str, Path]] = []
        for match in sorted(glob.glob(path, recursive=True)):
            hit = Path(match)
            found += _in_folder(hit, f"{hit.name}/") if hit.is_dir() else [(hit.name, hit)]
        if found:
            return list({file: (shown, file) for shown, file in found}.values())
    raise UnreadableError("no such file, folder or pattern")


def _in_folder(folder: Path, prefix: str) -> list[tuple[str, Path]]:
    """Raises UnreadableError for a folder that cannot be listed: half of a delivery is no delivery."""

    def stop(error: OSError) -> None:
        raise UnreadableError(f"folder {error.filename} cannot be read: {error.strerror}") from error

    found = []
    for root, folders, names in os.walk(folder, onerror=stop):
        links = [name for name in folders if Path(root, name).is_symlink()]
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in (Path(root, name) for name in (*names, *links) if not name.startswith(".")):
            if file.is_file() or file.is_symlink():
                found.append((f"{prefix}{file.relative_to(folder).as_posix()}", file))
    return sorted(found, key=lambda entry: entry[1])
