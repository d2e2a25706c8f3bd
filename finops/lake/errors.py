"""What can go wrong in the lake, in words an operator can act on."""


class LakeError(Exception):
    """The lake cannot do what was asked; the message says why."""


class LakeConflictError(LakeError):
    """Another writer committed first, again and again; trying later can help."""


class SnapshotMissingError(LakeError):
    """The named snapshot is not in the table: expired, or of another lake."""
