"""Rotation of the log files below home/logs."""

import shutil
from pathlib import Path

ROTATE_BYTES = 10 * 1024 * 1024
KEPT = 3


def rotate(folder: Path, limit: int = ROTATE_BYTES) -> list[Path]:
    """Move what every log over `limit` bytes holds to `<name>.1` (older to .2, .3); returns those logs.

    The file itself is copied and cut, not renamed: running processes hold it open for appending and go on at
    its start. Lines written between copy and cut are lost; that is a moment every ten megabytes.
    """
    rotated = []
    for log in sorted(folder.glob("*.log")):
        if log.stat().st_size <= limit:
            continue
        for number in range(KEPT - 1, 0, -1):
            older = log.with_name(f"{log.name}.{number}")
            if older.exists():
                older.replace(log.with_name(f"{log.name}.{number + 1}"))
        target = log.with_name(f"{log.name}.1")
        shutil.copyfile(log, target)
        target.chmod(0o600)
        with log.open("r+b") as file:
            file.truncate(0)
        rotated.append(log)
    return rotated
