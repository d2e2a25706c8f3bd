"""Which paths of this machine may be read, and where uploads go."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _


class PathRefusedError(Exception):
    """The path or upload may not be used; the message says why."""


def import_path_resolve(path: str) -> str:
    """The real path of a file, folder or glob below one of IMPORT_ROOTS; for paths given by page or API.

    Every match of a glob is checked after links are followed. Raises PathRefusedError.
    """
    roots = [Path(root).resolve() for root in settings.IMPORT_ROOTS]
    if not roots:
        raise PathRefusedError(_("No folder is open for imports on this server (setting IMPORT_ROOTS)."))
    given = Path(path)
    if not given.is_absolute() or "\x00" in path:
        raise PathRefusedError(_("Give the full path of the file or folder."))
    if ".." in given.parts:
        raise PathRefusedError(_("The path may not contain “..”."))
    pattern = next((i for i, part in enumerate(given.parts) if any(s in part for s in "*?[")), None)
    fixed = Path(*given.parts[:pattern]) if pattern is not None else given
    try:
        real = fixed.resolve()
    except (OSError, RuntimeError):  # up to Python 3.12; later ones give the link itself
        real = fixed
    if os.path.islink(real):
        raise PathRefusedError(_("The links of this path lead in a circle."))
    if not any(real == root or root in real.parents for root in roots):
        raise PathRefusedError(_("The path is outside the folders that are open for imports."))
    rest = given.parts[pattern:] if pattern is not None else ()
    for match in real.glob("/".join(rest)) if rest else ():
        if not any(root in match.resolve().parents for root in roots):
            raise PathRefusedError(_("A match of the pattern leads outside the folders open for imports."))
    return str(real.joinpath(*rest))


def uploads_folder() -> Path:
    """Where uploads wait for their run."""
    return Path(settings.OFFPEAK_HOME) / "uploads"


def upload_store(*, name: str, chunks: Iterable[bytes]) -> tuple[str, str]:
    """Keep an upload for its run; returns (name to show, path). Raises PathRefusedError when it is too large.

    The folder is the run's own and the name is cut down to letters, digits and dots: an uploaded name
    chooses nothing.
    """
    shown = (
        re.sub(r"[^\w.+-]", "_", name.replace("\\", "/").rsplit("/", 1)[-1])[-120:].lstrip(".") or "upload"
    )
    folder = uploads_folder() / uuid.uuid4().hex
    folder.mkdir(parents=True, mode=0o700)
    target, size = folder / shown, 0
    try:
        with target.open("wb") as handle:
            for chunk in chunks:
                size += len(chunk)
                if size > settings.UPLOAD_MAX_BYTES:
                    raise PathRefusedError(
                        _("The file is larger than %(limit)d MiB.")
                        % {"limit": settings.UPLOAD_MAX_BYTES >> 20}
                    )
                handle.write(chunk)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return shown, str(target)


def upload_discard(path: str) -> None:
    """Remove an upload and its folder; a path elsewhere is left alone."""
    folder = Path(path).parent
    if folder.parent == uploads_folder():
        shutil.rmtree(folder, ignore_errors=True)
