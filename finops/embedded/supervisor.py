"""`make run`: everything of one home under one command, started and stopped in order."""

import errno
import fcntl
import http.client
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from finops.embedded import logs, processes
from finops.embedded.children import GaveUpError, children, environment
from finops.embedded.errors import AlreadyRunningError, EmbeddedError
from finops.embedded.home import Home
from finops.embedded.postgres import tail
from finops.embedded.prepare import STEP_SIGN
from finops.embedded.servers import Servers
from finops.embedded.verbs import CHECKOUT

READY_SECONDS = 120.0
PREPARE_SECONDS = 1800.0
TURN_SECONDS = 0.5
ROTATE_EVERY_SECONDS = 60.0


class StoppedError(Exception):
    """Somebody asked for the end while things were still starting."""


def say(text: str) -> None:
    """Tell the person at the terminal, at once."""
    with suppress(OSError, ValueError):  # the terminal may be gone
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


class Supervisor:
    """Runs one home until it is told to stop; `parent` is a process whose end means stop as well."""

    def __init__(self, servers: Servers, host: str, port: int, parent: int | None = None) -> None:
        self.servers = servers
        self.home = servers.home
        self.host = host
        self.port = port
        self.parent = processes.Process.of(parent) if parent else None
        self.children = children(servers.home, host, port)
        self.stopping = False
        self._lock: int | None = None

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"http://{self.host}:{self.port}"

    def run(self) -> int:
        """Start all, watch all, stop all; returns the exit code."""
        self._take_lock()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        holder: Path | None = None
        try:
            self._end_left_overs()
            self._check_port()
            say("Starting PostgreSQL and Valkey …")
            holder = self.servers.acquire()
            # Links in mails name the port that was asked for.
            env = {**environment(self.servers.environment()), "OFFPEAK_PORT": str(self.port)}
            self._prepare(env)
            for child in self.children:
                child.start(env, time.monotonic())
            self._wait_ready()
            self._greet()
            self._watch(env)
            return 0
        except StoppedError:
            return 0
        except GaveUpError as error:
            name, log = error.child.name, error.child.log
            say(f"Offpeak stops: {name} does not keep running. The last lines of {log}:")
            say(tail(log))
            return 1
        finally:
            self._stop(holder)

    def _ask_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def _check_stop(self) -> None:
        if self.parent and not self.parent.alive():
            self.stopping = True
        if self.stopping:
            raise StoppedError

    def _take_lock(self) -> None:
        """Hold the lock of the home for life; the system frees it even after kill -9."""
        path = self.home.run / "supervisor.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = path.read_text()
            os.close(descriptor)
            other = json.loads(text) if text else {"pid": "?", "address": "its address"}
            raise AlreadyRunningError(
                f"Offpeak of the home {self.home.path} already runs at {other['address']}"
                f" (process {other['pid']})."
            ) from None
        self._lock = descriptor
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "address": self.address}).encode())

    def _end_left_overs(self) -> None:
        for child in reversed(self.children):
            if child.end_left_over():
                say(f"Ended the {child.name} that an earlier run had left behind.")

    def _check_port(self) -> None:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
                probe.listen(1)
            except (OSError, OverflowError) as error:
                raise self._port_error(error) from error

    def _port_error(self, error: Exception) -> EmbeddedError:
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EADDRINUSE:
            return EmbeddedError(
                f"Port {self.port} is in use by another program: end that, or choose another port,"
                " for example OFFPEAK_PORT=8001."
            )
        if number == errno.EACCES:
            return EmbeddedError(
                f"Port {self.port} needs more rights: choose one above 1023 in OFFPEAK_PORT."
            )
        return EmbeddedError(f"Offpeak cannot listen on {self.host} port {self.port} ({error}).")

    def _prepare(self, env: dict[str, str]) -> None:
        """Bring tables, static files and demo data up to date in one process, showing its steps."""
        log = self.home.logs / "prepare.log"
        offset = log.stat().st_size if log.exists() else 0
        command = [sys.executable, "-m", "finops.embedded", "prepare"]
        process = processes.spawn(command, log=log, env=env, cwd=CHECKOUT)
        done = self.home.run / "prepared"
        done.unlink(missing_ok=True)
        until = time.monotonic() + PREPARE_SECONDS
        while process.alive():
            if self.stopping or time.monotonic() > until:
                processes.end(process, ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)), group=True)
            self._check_stop()
            offset = _show_new(log, offset)
            time.sleep(0.1)
        _show_new(log, offset)
        if not done.exists():
            say(tail(log))
            raise EmbeddedError(f"the first steps failed; the lines above are the last of {log}.")

    def _wait_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while not (all(child.says_ready() for child in self.children) and self._answers()):
            self._check_stop()
            dead = next(
                (child for child in self.children if child.process and not child.process.alive()), None
            )
            if dead or time.monotonic() > until:
                raise GaveUpError(dead or self.children[0])
            time.sleep(0.2)

    def _answers(self) -> bool:
        """Tell whether the web process answers its health address."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=10)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _greet(self) -> None:
        say(f"Offpeak is running at {self.address}")
        login = (self.home.run / "prepared").read_text().strip()
        if login:
            password = self.home.secret("demo_password")
            say(f"Sign in as {login} with the password {password}")
            say(f"(the password is kept in {self.home.path / 'secrets' / 'demo_password'})")
        say("Ctrl-C stops it.")

    def _watch(self, env: dict[str, str]) -> None:
        rotate_at = time.monotonic()
        while True:
            self._check_stop()
            now = time.monotonic()
            for child in self.children:
                event = child.watch(env, now)
                if event:
                    say(event)
            self._watch_servers()
            if now >= rotate_at:
                logs.rotate(self.home.logs)
                rotate_at = now + ROTATE_EVERY_SECONDS
            time.sleep(TURN_SECONDS)

    def _watch_servers(self) -> None:
        for name, server in (("PostgreSQL", self.servers.postgres), ("Valkey", self.servers.valkey)):
            if server.process() is None:
                say(f"{name} ended by itself; starting it again (its log: {server.log}).")
                with self.home.locked():
                    server.start()

    def _stop(self, holder: Path | None) -> None:
        """Stop beat, worker, web, Valkey, PostgreSQL in this order, each within its limits."""
        steps: list[tuple[str, Callable[[], None]]] = [
            (child.name, child.stop) for child in reversed(self.children) if child.process
        ]
        if steps or holder:
            say("Stopping …")
        for name, stop in steps:
            stop()
            say(f"{name} stopped.")
        if holder:
            self.servers.release(holder)
            if not self.servers.holders():
                say("Valkey and PostgreSQL stopped.")
        if self._lock is not None:
            os.close(self._lock)


def _show_new(log: Path, offset: int) -> int:
    """Print the steps that a log gained; returns the new offset."""
    with log.open("rb") as file:
        file.seek(offset)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    for line in whole.decode(errors="replace").splitlines():
        if line.startswith(STEP_SIGN):
            say(line.removeprefix(STEP_SIGN))
    return offset + len(whole)


def run(home: Path, host: str, port: int, parent: int | None = None) -> int:
    """Run the home at `home`; returns the exit code and raises `EmbeddedError` with a sentence."""
    servers = Servers.of(home)
    try:
        return Supervisor(servers, host, port, parent).run()
    except OSError as error:
        raise Home.at(home).explain(error) from error
