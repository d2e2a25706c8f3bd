"""For how many seconds nobody used this machine: asked of the system, by what there is on it."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import time
from pathlib import Path


def idle_seconds(command: str = "") -> int:
    """Seconds since the last input of a person; 0 where that cannot be told, so that nothing is taken.

    `command`: a program of the machine's own that prints the seconds.
    """
    for ask in [lambda: _printed(command.split())] if command else _ways():
        try:
            found = ask()
        except (OSError, ValueError, subprocess.SubprocessError, AttributeError):
            continue
        if found is not None:
            return max(0, int(found))
    return 0


def _ways() -> list:  # type: ignore[type-arg]
    if sys.platform == "win32":
        return [_windows]
    if sys.platform == "darwin":
        return [_mac]
    return [_x11, _terminals]


def _printed(words: list[str]) -> float:
    done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)
    return float(done.stdout.strip())


def _x11() -> float:
    return _printed(["xprintidle"]) / 1000


def _terminals() -> float | None:
    """A terminal is read when somebody types; a machine without one is used since it started."""
    places = [*Path("/dev/pts").glob("[0-9]*"), *Path("/dev").glob("tty[0-9]*")]
    touched = [place.stat().st_atime for place in places if place.exists()]
    up = float(Path("/proc/uptime").read_text().split()[0])
    return min([time.time() - max(touched)] if touched else [up], default=up)


def _mac() -> float:
    words = ["ioreg", "-c", "IOHIDSystem", "-d", "4"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)
    found = re.search(r'"HIDIdleTime" = (\d+)', done.stdout)
    if found is None:
        raise ValueError("no HIDIdleTime")
    return int(found[1]) / 1e9


def _windows() -> float:
    class LastInput(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("time", ctypes.c_uint)]

    last = LastInput(ctypes.sizeof(LastInput), 0)
    if not ctypes.windll.user32.GetLastInputInfo(ctypes.byref(last)):  # type: ignore[attr-defined]
        raise ValueError("no answer")
    now = ctypes.windll.kernel32.GetTickCount()  # type: ignore[attr-defined]
    return ((now - last.time) & 0xFFFFFFFF) / 1000
