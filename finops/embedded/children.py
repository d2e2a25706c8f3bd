"""Web, worker and beat of one home: how each is started, known again, and ended."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGQUIT, SIGTERM, Signals

from finops.embedded import processes
from finops.embedded.home import Home
from finops.embedded.verbs import CHECKOUT

WORKERS = 2
STEADY_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
# Seven ends without a steady minute between them: pauses of 1, 2, 4, 8, 16 and 30 s, a minute of trying.
MOST_CRASHES = 7


@dataclass
class Child:
    """One long-running process of the application; `stop_steps` are (signal, seconds to wait)."""

    name: str
    command: list[str]
    home: Home
    stop_steps: tuple[tuple[Signals, float], ...]
    ready_words: str = ""
    process: processes.Process | None = None
    crashes: int = 0
    started_at: float = 0.0
    restart_at: float = 0.0
    log_offset: int = field(default=0, repr=False)

    @property
    def record(self) -> Path:
        """The record of the running process."""
        return self.home.run / f"{self.name}.json"

    @property
    def log(self) -> Path:
        """The log file."""
        return self.home.logs / f"{self.name}.log"

    def end_left_over(self) -> bool:
        """End a process that a killed supervisor left; True when there was one."""
        found = processes.load(self.record)
        alive = found is not None and found.alive(self.command[2])
        if found and alive:
            processes.end(found, self.stop_steps, group=True)
        self.record.unlink(missing_ok=True)
        return alive

    def start(self, env: dict[str, str], now: float) -> None:
        """Start the process."""
        self.log_offset = self.log.stat().st_size if self.log.exists() else 0
        self.process = processes.spawn(self.command, log=self.log, env=env, cwd=CHECKOUT)
        processes.save(self.record, self.process)
        self.started_at = now

    def says_ready(self) -> bool:
        """Tell whether the process wrote its ready words since it was started."""
        if not self.ready_words:
            return True
        with self.log.open("rb") as file:
            file.seek(self.log_offset)
            return self.ready_words.encode() in file.read()

    def watch(self, env: dict[str, str], now: float) -> str | None:
        """Restart an ended process after a growing pause; returns a sentence on each event, None otherwise.

        Raises `GaveUpError` when it keeps dying.
        """
        if self.process is None:
            if now < self.restart_at:
                return None
            self.start(env, now)
            return f"{self.name} started again."
        if self.process.alive():
            if self.crashes and now - self.started_at > STEADY_SECONDS:
                self.crashes = 0
            return None
        processes.end(self.process, (), group=True)
        self.process = None
        self.crashes += 1
        if self.crashes >= MOST_CRASHES:
            raise GaveUpError(self)
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (self.crashes - 1), LONGEST_PAUSE_SECONDS)
        self.restart_at = now + pause
        return f"{self.name} ended by itself; next try in {pause:.0f} s (its log: {self.log})."

    def stop(self) -> None:
        """End the process and what is left of its session within the time limits."""
        if self.process:
            processes.end(self.process, self.stop_steps, group=True)
            self.process = None
        self.record.unlink(missing_ok=True)


class GaveUpError(Exception):
    """A child that keeps dying; `child` is the one."""

    def __init__(self, child: Child) -> None:
        super().__init__(child.name)
        self.child = child


def children(home: Home, host: str, port: int) -> list[Child]:
    """Return web, worker and beat in the order of their start; they are stopped in the opposite order."""
    python = sys.executable
    web = [
        *(python, "-m", "gunicorn", "finops.wsgi", "--bind", f"{host}:{port}", "--workers", str(WORKERS)),
        *(
            "--threads",
            "4",
            "--timeout",
            "120",
            "--graceful-timeout",
            "10",
            "--worker-tmp-dir",
            str(home.run),
        ),
        # its default is a socket under ~/.gunicorn, outside the home and shared by all homes
        *("--no-control-socket", "--access-logfile", "-", "--name", f"offpeak-{home.digest}"),
    ]
    celery = [python, "-m", "celery", "-A", "finops.celery"]
    worker = [
        *(*celery, "worker", "--loglevel", "INFO", "--concurrency", str(WORKERS)),
        *("--without-gossip", "--without-mingle", "--hostname", f"offpeak-{home.digest}@%h"),
    ]
    beat = [
        *(*celery, "beat", "--loglevel", "INFO", "--pidfile=", "--schedule", str(home.run / "beat-schedule")),
    ]
    quick = ((SIGTERM, 15.0), (SIGQUIT, 3.0), (SIGKILL, 3.0))
    # SIGTERM lets running tasks end; what is cut off after that is handed out again (acks_late)
    patient = ((SIGTERM, 30.0), (SIGQUIT, 5.0), (SIGKILL, 3.0))
    return [
        Child("web", web, home, quick, "Listening at"),
        Child("worker", worker, home, patient, " ready."),
        Child("beat", beat, home, quick, "beat: Starting"),
    ]


def environment(servers: dict[str, str]) -> dict[str, str]:
    """Return the environment of the children: ours, the servers' addresses, output without delay."""
    return {
        "DJANGO_SETTINGS_MODULE": "finops.settings.dev",
        **os.environ,
        **servers,
        "PYTHONUNBUFFERED": "1",
    }
