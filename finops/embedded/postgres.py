"""PostgreSQL 18 of one home: Unix socket only, passwords always; Django's tables and the lake's catalog."""

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGQUIT
from urllib.parse import quote

from finops.embedded import processes
from finops.embedded.binaries import Wheel
from finops.embedded.errors import EmbeddedError
from finops.embedded.home import Home, write_private
from finops.embedded.run_as import RunAs

ADMIN = "postgres"
ROLE = "offpeak"
DATABASE = "offpeak"
START_SECONDS = 60.0
# SIGINT: fast shutdown (sessions end, a checkpoint is written); SIGQUIT: immediate (replay at next start).
STOP_STEPS = ((SIGINT, 30.0), (SIGQUIT, 10.0), (SIGKILL, 5.0))
VOLATILE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@dataclass(frozen=True)
class Postgres:
    """The database server; `durable` off trades safety at power loss for speed (tests)."""

    home: Home
    run_as: RunAs
    wheel: Wheel
    sockets: Path
    durable: bool = True

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.run_as.folder / "postgres"

    @property
    def record(self) -> Path:
        """The record of the running process."""
        return self.home.run / "postgres.json"

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.home.logs / "postgres.log"

    def url(self) -> str:
        """Return the address; with `postgresql+psycopg2` as scheme it is SQLAlchemy's too."""
        return self._url(ROLE, self.home.secret("postgres"), DATABASE)

    def _url(self, user: str, password: str, database: str) -> str:
        return f"postgres://{user}:{quote(password)}@/{database}?host={quote(str(self.sockets))}"

    def process(self) -> processes.Process | None:
        """Return the running server of this home, also one whose record was lost."""
        found = processes.load(self.record)
        if found is None or not found.alive(str(self.data)):
            found = self._from_pid_file()
        return found if found and found.alive(str(self.data)) else None

    def _from_pid_file(self) -> processes.Process | None:
        try:
            return processes.Process.of(int((self.data / "postmaster.pid").read_text().split("\n", 1)[0]))
        except (OSError, ValueError):
            return None

    def start(self) -> processes.Process:
        """Start the server (making its data first when new) and return once it answers."""
        fresh = not self.data.is_dir()
        if fresh:
            self._initialise()
        running = self.process()
        if running is None:
            # Nobody runs on these data (checked above), so ids in left-over lock files are strangers'.
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            (self.sockets / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
            running = processes.spawn(self._command(), log=self.log, cwd=Path("/"))
            processes.save(self.record, running)
        self._wait_ready(running)
        if not (self.data / "offpeak.ready").exists():
            self._make_database()
            write_private(self.data / "offpeak.ready", "", self.run_as.owner)
        return running

    def _command(self) -> list[str]:
        options = [
            "listen_addresses=",
            f"unix_socket_directories={self.sockets}",
            "unix_socket_permissions=0700",
            "max_connections=100",
            "shared_buffers=128MB",
            "jit=off",
            *(() if self.durable else VOLATILE),
        ]
        words = [word for option in options for word in ("-c", option)]
        return self.run_as.command(self.wheel.program("postgres"), "-D", self.data, *words)

    def _initialise(self) -> None:
        """Make the data directory under another name first: a killed start leaves nothing half-made."""
        draft = self.run_as.make_folder("postgres.new")
        shutil.rmtree(draft)
        draft = self.run_as.make_folder("postgres.new")
        password = self.run_as.folder / "postgres.pw"
        write_private(password, self.home.secret("postgres_admin"), self.run_as.owner)
        command = self.run_as.command(
            *(
                self.wheel.program("initdb"),
                "-D",
                draft,
                "-U",
                ADMIN,
                "-A",
                "scram-sha-256",
                f"--pwfile={password}",
            ),
            *("-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "-k"),
            *("-c", "timezone=UTC", "-c", "log_timezone=UTC"),
            *(() if self.durable else ("--no-sync",)),
        )
        try:
            # the working directory must be one that the account can enter
            made = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", umask=0o077)
        finally:
            password.unlink(missing_ok=True)
        if made.returncode != 0:
            shutil.rmtree(draft, ignore_errors=True)
            raise self._failure("could not make its data", made.stderr)
        draft.rename(self.data)

    def _wait_ready(self, process: processes.Process) -> None:
        """Wait for the status line that PostgreSQL keeps in its pid file."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if not process.alive():
                break
            try:
                lines = (self.data / "postmaster.pid").read_text().split("\n")
            except FileNotFoundError:
                lines = []
            if len(lines) > 7 and lines[7].strip() == "ready" and lines[0] == str(process.pid):
                return
            time.sleep(0.02)
        raise self._failure("did not start", tail(self.log))

    def _failure(self, what: str, output: str) -> EmbeddedError:
        if "No space left on device" in output:
            return EmbeddedError(f"The disk of {self.data.parent} is full: free some space and start again.")
        last = next(
            (line for line in reversed(output.splitlines()) if "FATAL" in line or "error" in line), output
        )
        return EmbeddedError(f"PostgreSQL {what} ({last.strip()[-300:]}); its log is {self.log}.")

    def _make_database(self) -> None:
        """Make the role and the database of the application; a repeat changes nothing."""
        import psycopg2  # not needed by a verb that finds the servers running
        from psycopg2 import sql

        connection = psycopg2.connect(self._url(ADMIN, self.home.secret("postgres_admin"), "postgres"))
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE])
                verb = "ALTER" if cursor.fetchone() else "CREATE"
                # CREATEDB: the test suite and a restore make databases beside this one
                statement = sql.SQL(verb + " ROLE {} LOGIN CREATEDB PASSWORD {}")
                cursor.execute(
                    statement.format(sql.Identifier(ROLE), sql.Literal(self.home.secret("postgres")))
                )
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
                if not cursor.fetchone():
                    create = sql.SQL("CREATE DATABASE {} OWNER {}")
                    cursor.execute(create.format(sql.Identifier(DATABASE), sql.Identifier(ROLE)))
        finally:
            connection.close()

    def stop(self) -> None:
        """Stop the server within its time limits; nothing happens when it does not run."""
        running = self.process()
        if running:
            processes.end(running, STOP_STEPS)
        self.record.unlink(missing_ok=True)


def tail(path: Path, lines: int = 15) -> str:
    """Return the last lines of a log file, '' when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 16_384))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""
