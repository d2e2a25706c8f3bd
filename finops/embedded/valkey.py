"""Valkey 9 of one home: broker (database 0) and cache (database 1); Unix socket only, queues kept on disk."""

import socket
import time
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM

from finops.embedded import processes
from finops.embedded.binaries import Wheel
from finops.embedded.errors import EmbeddedError
from finops.embedded.home import Home, write_private
from finops.embedded.postgres import tail
from finops.embedded.run_as import RunAs

START_SECONDS = 30.0
STOP_STEPS = ((SIGTERM, 10.0), (SIGKILL, 5.0))
# Cache entries carry a time to live, queues do not: when memory runs out only cache entries are evicted.
CONFIGURATION = """\
port 0
unixsocket {socket}
unixsocketperm 700
requirepass {password}
dir {folder}
appendonly {appendonly}
appendfsync everysec
save ""
maxmemory 512mb
maxmemory-policy volatile-lru
daemonize no
set-proc-title no
logfile ""
"""


@dataclass(frozen=True)
class Valkey:
    """The broker and cache server; `durable` off keeps nothing on disk (tests)."""

    home: Home
    run_as: RunAs
    wheel: Wheel
    sockets: Path
    durable: bool = True

    @property
    def socket(self) -> Path:
        """The server's only address."""
        return self.sockets / "valkey.sock"

    @property
    def configuration(self) -> Path:
        """The configuration file; its name in the command line marks the process as ours."""
        return self.run_as.folder / "valkey" / "valkey.conf"

    @property
    def record(self) -> Path:
        """The record of the running process."""
        return self.home.run / "valkey.json"

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.home.logs / "valkey.log"

    def broker_url(self) -> str:
        """Return the address in Celery's form."""
        return f"redis+socket://:{self.home.secret('valkey')}@{self.socket}?virtual_host=0"

    def cache_url(self) -> str:
        """Return the address in redis-py's form, which Django's cache uses."""
        return f"unix://:{self.home.secret('valkey')}@{self.socket}?db=1"

    def process(self) -> processes.Process | None:
        """Return the running server of this home."""
        found = processes.load(self.record)
        return found if found and found.alive(str(self.configuration)) else None

    def start(self) -> processes.Process:
        """Start the server and return once it answers."""
        running = self.process()
        if running is None:
            folder = self.run_as.make_folder("valkey")
            text = CONFIGURATION.format(
                socket=self.socket,
                password=self.home.secret("valkey"),
                folder=quoted(folder),
                appendonly="yes" if self.durable else "no",
            )
            write_private(self.configuration, text, self.run_as.owner)
            self.socket.unlink(missing_ok=True)
            command = self.run_as.command(self.wheel.program("valkey-server"), self.configuration)
            running = processes.spawn(command, log=self.log, cwd=Path("/"))
            processes.save(self.record, running)
        self._wait_ready(running)
        return running

    def _wait_ready(self, process: processes.Process) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and process.alive():
            if self.answers():
                return
            time.sleep(0.02)
        raise EmbeddedError(
            f"Valkey did not start ({tail(self.log, 1).strip()[-300:]}); its log is {self.log}."
        )

    def answers(self) -> bool:
        """Tell whether the server answers a PING."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.settimeout(2)
                client.connect(str(self.socket))
                client.sendall(f"AUTH {self.home.secret('valkey')}\r\nPING\r\n".encode())
                answer = b""
                while b"PONG" not in answer:
                    part = client.recv(256)
                    if not part or b"-" in part[:1]:
                        return False
                    answer += part
                return True
        except OSError:
            return False

    def stop(self) -> None:
        """Stop the server within its time limits; nothing happens when it does not run."""
        running = self.process()
        if running:
            processes.end(running, STOP_STEPS)
        self.record.unlink(missing_ok=True)


def quoted(path: Path) -> str:
    """Quote a path for Valkey's configuration file."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
