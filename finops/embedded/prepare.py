"""What `make run` does between the servers and the web process: tables, static files, demo data."""

import hashlib
import sys
import time
from collections.abc import Callable

from finops.embedded.home import Home, write_private
from finops.embedded.verbs import CHECKOUT, home_path, migrate

# Lines of the log that start with it are shown at the terminal; the rest is for whoever looks for a fault.
STEP_SIGN = "» "


def static_state() -> str:
    """Return a digest of the static sources: names, sizes, times, and the pinned packages."""
    digest = hashlib.sha256((CHECKOUT / "requirements" / "base.txt").read_bytes())
    folders = [CHECKOUT / "static", *sorted((CHECKOUT / "apps").glob("*/static"))]
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        found = path.stat()
        digest.update(f"{path} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def collect_static(home: Home) -> None:
    """Collect, compress and fingerprint the static files when a source changed."""
    from django.core.management import call_command

    stamp = home.run / "static"
    state = static_state()
    if stamp.exists() and stamp.read_text() == state and home.static.is_dir():
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    write_private(stamp, state)


def load_demo(home: Home) -> None:
    """Load the demo data and make the demo user; the login goes to the supervisor in a file."""
    from finops.demo import demo_prepare

    stamp = home.run / "demo"  # loaded once: what somebody deletes later stays deleted
    login = demo_prepare(password=home.secret("demo_password"), load=not stamp.exists())
    write_private(stamp, login)
    write_private(home.run / "prepared", login)


def main() -> int:
    """Do the steps in order, saying how long each took when it was not at once."""
    import django

    home = Home.at(home_path())
    steps: list[tuple[str, Callable[[Home], None]]] = [
        ("Bringing the database up to date", migrate),
        ("Collecting static files", collect_static),
        ("Loading the demo data", load_demo),
    ]
    django.setup()
    for title, step in steps:
        started = time.monotonic()
        step(home)
        seconds = time.monotonic() - started
        if seconds > 0.5:
            sys.stdout.write(f"{STEP_SIGN}{title}: done in {seconds:.1f} s\n")
            sys.stdout.flush()
    return 0
