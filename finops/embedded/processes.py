"""Processes that outlive the one that started them: records, identity, ordered ends.

A process id alone names nobody: after a crash it may belong to a stranger. A record therefore holds the start
time as well, and a process counts as ours only when id, start time and a marker in its command line agree.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from finops.embedded.home import write_private

# Popen objects of this process; kept so that ended children are reaped here and not left as zombies.
_children: dict[int, "subprocess.Popen[bytes]"] = {}


@dataclass(frozen=True)
class Process:
    """A running process; `started` is opaque and differs between two holders of the same id."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> "Process":
        """Return the identity of a process; `started` is empty when it is gone."""
        return cls(pid, start_time(pid))

    def alive(self, marker: str = "") -> bool:
        """Tell whether this very process still runs, with `marker` in its command line."""
        if self.pid in _children and _children[self.pid].poll() is not None:
            return False
        return (
            bool(self.started) and start_time(self.pid) == self.started and marker in command_line(self.pid)
        )


def start_time(pid: int) -> str:
    """Return a text that belongs to this process and no other; '' when it is gone or a zombie."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "" if Path("/proc/self/stat").exists() else _ps(pid, "lstart=")
    # fields after the command's name, which may hold spaces and brackets itself: state is 3, start time is 22
    fields = line.rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        return ""
    return f"{_boot_id()}:{fields[19]}"


def command_line(pid: int) -> str:
    """Return the command line of a process, '' when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return "" if Path("/proc/self/stat").exists() else _ps(pid, "command=")


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _ps(pid: int, column: str) -> str:
    """Ask `ps`, for systems without /proc."""
    answer = subprocess.run(["ps", "-o", column, "-p", str(pid)], capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def spawn(
    command: Sequence[str], *, log: Path, env: dict[str, str] | None = None, cwd: Path | None = None
) -> Process:
    """Start `command` in a session of its own with both outputs appended to `log`."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        child = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,  # Ctrl-C at the terminal must reach the supervisor alone
            env=env,
            cwd=cwd,
            umask=0o077,
        )
    finally:
        os.close(descriptor)
    _children[child.pid] = child
    return Process.of(child.pid)


def save(path: Path, process: Process) -> None:
    """Write the record of a process."""
    write_private(path, json.dumps(asdict(process)))


def load(path: Path) -> Process | None:
    """Read the record of a process; None when there is none or it was cut short."""
    try:
        found = json.loads(path.read_text())
        return Process(int(found["pid"]), str(found["started"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def wait_gone(process: Process, seconds: float) -> bool:
    """Wait until a process has ended; False when it still runs after `seconds`."""
    until = time.monotonic() + seconds
    pause = 0.01
    while process.alive():
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)
    _children.pop(process.pid, None)
    return True


def end(process: Process, steps: Sequence[tuple[signal.Signals, float]], *, group: bool = False) -> None:
    """Send each signal in turn until the process is gone; each step has its own time limit in seconds.

    With `group` what is left of its session gets the last signal too (pool processes of a killed worker).
    """
    for number, limit in steps:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            break
        if wait_gone(process, limit):
            break
    if group:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
