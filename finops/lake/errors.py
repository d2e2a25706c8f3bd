"""What can go wrong in the lake, in words an operator can act on."""

import errno
from pathlib import Path

# A full disk, a used-up quota, a limit on the size of a file.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class LakeError(Exception):
    """The lake cannot do what was asked; the message says why."""


class LakeConflictError(LakeError):
    """Another writer committed first, again and again; trying later can help."""


class SnapshotMissingError(LakeError):
    """The named snapshot is not in the table: expired, or of another lake."""


def unwritten(error: Exception, folder: Path) -> LakeError:
    """What to raise when a file of the lake could not be written."""
    if getattr(error, "errno", None) in _NO_ROOM or "No space left" in str(error):
        return LakeError(
            f"there is no room left for the lake in {folder}: nothing was stored; make room and try again"
        )
    return LakeError(f"the lake could not be written: {error}")
