"""Both servers of a home together, shared by every command that needs them.

Each user of the servers keeps a holder file while it runs. The first starts what is not running, the last one
out stops it; a holder that was killed does not count, because its record names a process that is gone.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from finops.embedded import processes, run_as
from finops.embedded.binaries import postgres_wheel, valkey_wheel
from finops.embedded.home import Home
from finops.embedded.postgres import Postgres
from finops.embedded.valkey import Valkey


@dataclass(frozen=True)
class Servers:
    """PostgreSQL and Valkey of one home."""

    home: Home
    postgres: Postgres
    valkey: Valkey

    @classmethod
    def of(cls, path: Path | str, *, durable: bool = True, forced: run_as.Kind | None = None) -> "Servers":
        """Prepare the home at `path` and return its servers, not started; raises `EmbeddedError`."""
        home = Home.at(path)
        home.prepare()
        try:
            database, broker = postgres_wheel(), valkey_wheel()
            way = run_as.choose(home, database, forced)
            if way.kind == "account":
                sockets = way.make_folder("sockets")
            else:
                sockets = home.socket_folder(home.run / "sockets")
            return cls(
                home,
                Postgres(home, way, way.reachable(database), sockets, durable),
                Valkey(home, way, way.reachable(broker), sockets, durable),
            )
        except OSError as error:
            raise home.explain(error) from error

    def environment(self) -> dict[str, str]:
        """Return the variables that lead the settings to these servers."""
        return {
            "OFFPEAK_HOME": str(self.home.path),
            "DATABASE_URL": self.postgres.url(),
            "BROKER_URL": self.valkey.broker_url(),
            "CACHE_URL": self.valkey.cache_url(),
            "LAKE_WAREHOUSE": str(self.home.lake),
            "SECRET_KEY": self.home.secret("secret_key"),
        }

    def acquire(self) -> Path:
        """Start what is not running and return this process's holder file."""
        try:
            with self.home.locked():
                holder = self.home.run / "holders" / f"{os.getpid()}-{secrets.token_hex(4)}.json"
                processes.save(holder, processes.Process.of(os.getpid()))
                try:
                    self.postgres.start()
                    self.valkey.start()
                except BaseException:
                    holder.unlink(missing_ok=True)
                    self._stop_unless_held()
                    raise
                return holder
        except OSError as error:
            raise self.home.explain(error) from error

    def release(self, holder: Path) -> None:
        """Give up a holder file; the last one stops the servers."""
        with self.home.locked():
            holder.unlink(missing_ok=True)
            self._stop_unless_held()

    def _stop_unless_held(self) -> None:
        if not self.holders():
            self.valkey.stop()
            self.postgres.stop()

    def holders(self) -> list[processes.Process]:
        """Return the live users of the servers and drop the records of dead ones."""
        alive = []
        for path in sorted((self.home.run / "holders").glob("*.json")):
            holder = processes.load(path)
            if holder and holder.alive():
                alive.append(holder)
            else:
                path.unlink(missing_ok=True)
        return alive

    @contextmanager
    def held(self) -> Iterator[dict[str, str]]:
        """Have the servers running inside the block; yields the environment for the settings."""
        holder = self.acquire()
        owner = os.getpid()
        try:
            yield self.environment()
        finally:
            if os.getpid() == owner:  # a forked child leaves the parent's servers alone
                self.release(holder)
