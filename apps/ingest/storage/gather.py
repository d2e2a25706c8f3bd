"""Files behind paths; zip and tar archives are unpacked into a folder of the run, within limits."""

from __future__ import annotations

import tarfile
import uuid
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from apps.ingest.storage.sources import File
from finops.providers.files.archives import CHUNK, ArchiveLimits, UnreadableError, Walk
from finops.providers.files.storage_files import magic

_ZIP = b"PK\x03\x04"
_BROKEN = (
    OSError,
    EOFError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    RuntimeError,
    NotImplementedError,
)


def files_of(paths: Sequence[str], folder: Path, limits: ArchiveLimits | None = None) -> list[File]:
    """Every file once, sorted by name within its path. Raises UnreadableError for a path that is not there
    and for an archive that cannot be unpacked.
    """
    limits = limits or ArchiveLimits()
    found: dict[Path, File] = {}
    for path in paths:
        for name, file in Walk(path).top:
            if file.is_symlink():
                continue
            for one in _unpacked(File(name, file), folder, limits):
                found.setdefault(one.path.resolve(), one)
    return list(found.values())


def _unpacked(file: File, folder: Path, limits: ArchiveLimits) -> Iterator[File]:
    head = magic(file.path)
    try:
        if head.startswith(_ZIP):
            with zipfile.ZipFile(file.path) as archive:
                members = [m for m in archive.infolist() if not m.is_dir()]
                packed = max(file.path.stat().st_size, 1)
                yield from _members(((m.filename, archive.open(m)) for m in members), folder, packed, limits)
        elif tarfile.is_tarfile(file.path):
            with tarfile.open(file.path) as archive:
                plain = ((m.name, archive.extractfile(m)) for m in archive if m.isreg())
                packed = max(file.path.stat().st_size, 1)
                yield from _members(((n, s) for n, s in plain if s is not None), folder, packed, limits)
        else:
            yield file
    except _BROKEN as error:
        raise UnreadableError(f"{file.name}: archive cut short or broken: {error}") from error


def _members(
    members: Iterator[tuple[str, IO[bytes]]], folder: Path, packed: int, limits: ArchiveLimits
) -> Iterator[File]:
    size = 0
    for count, (name, stream) in enumerate(members, start=1):
        if count > limits.members:
            raise UnreadableError(f"the archive holds more than {limits.members} files")
        parts = PurePosixPath(name).parts
        if any(part.startswith((".", "__MACOSX")) for part in parts):
            continue
        # A member's name is shown and matched with manifests, never used as a path.
        target = folder / uuid.uuid4().hex
        with stream, target.open("wb") as out:
            while chunk := stream.read(CHUNK):
                size += len(chunk)
                if size > max(limits.ratio_from, packed * limits.ratio) or size > limits.total_bytes:
                    raise UnreadableError("the archive expands to more than is allowed")
                out.write(chunk)
        yield File(name, target)
