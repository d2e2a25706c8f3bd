"""Servers for one verb of manage.py: started when they do not run, left as they were found.

The addresses travel in environment variables because the settings read them there; this package runs before
the settings can be loaded and is the one other place that looks at the environment.
"""

import hashlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from finops.embedded.home import Home, write_private
from finops.embedded.servers import Servers

CHECKOUT = Path(__file__).resolve().parent.parent.parent
DEFAULT_HOME = CHECKOUT / "var"
WITHOUT_SERVERS = frozenset(
    {
        *("help", "version", "check", "collectstatic", "makemessages", "compilemessages", "diffsettings"),
        *("startapp", "startproject", "spectacular", "findstatic"),
    }
)
# These look after the tables themselves.
WITHOUT_TABLES = frozenset(
    {
        *(
            "migrate",
            "makemigrations",
            "showmigrations",
            "sqlmigrate",
            "squashmigrations",
            "optimizemigration",
        ),
        *("dbshell", "flush", "inspectdb", "restore"),
    }
)


def home_path() -> Path:
    """Return the home folder that the environment names."""
    return Path(os.environ.get("OFFPEAK_HOME") or DEFAULT_HOME)


def needs_servers(arguments: Sequence[str]) -> bool:
    """Tell whether a command line of manage.py talks to the database."""
    words = arguments[1:]
    if not words or {"-h", "--help", "--version"} & set(words):
        return False
    return words[0] not in WITHOUT_SERVERS


@contextmanager
def servers_for(arguments: Sequence[str]) -> Iterator[None]:
    """Have DATABASE_URL and its companions set while one command of manage.py runs."""
    if os.environ.get("DATABASE_URL"):
        yield
        return
    if not needs_servers(arguments):
        home = Home.at(home_path())
        known = home.path / "secrets" / "secret_key"
        # a verb that only prints must not make a home
        key = known.read_text().strip() if os.access(known, os.R_OK) else os.urandom(32).hex()
        os.environ.setdefault("SECRET_KEY", key)
        yield
        return
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    servers = Servers.of(home_path())
    with servers.held() as environment:
        for name, value in environment.items():
            os.environ.setdefault(name, value)
        if arguments[1] not in WITHOUT_TABLES:
            migrate(servers.home)
        yield


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    """End by the ordinary way out, so that the servers are released."""
    sys.exit(128 + number)


def migrate(home: Home) -> None:
    """Bring the tables up to date, once for each state of the code."""
    stamp = home.run / "migrated"
    state = code_state()
    if stamp.exists() and stamp.read_text() == state:
        return
    with home.locked("migrate.lock", seconds=600):
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", interactive=False, verbosity=0, stdout=sys.stderr)
        write_private(stamp, state)


def code_state() -> str:
    """Return a digest of what decides the tables: our migrations and the versions of the installed apps."""
    digest = hashlib.sha256((CHECKOUT / "requirements" / "base.txt").read_bytes())
    for path in sorted((CHECKOUT / "apps").glob("*/migrations/*.py")):
        digest.update(str(path.relative_to(CHECKOUT)).encode() + path.read_bytes())
    return digest.hexdigest()
