"""Pytest plugin: real servers for one test session, in a temporary home.

It is loaded by `-p` because pytest-django reads the settings before any conftest.py. The controller starts
the servers and stops them at the end; xdist workers inherit the addresses and take a lake folder and database
numbers of their own. With DATABASE_URL set nothing is started and only the folders are made.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from finops.embedded import processes
from finops.embedded.errors import EmbeddedError
from finops.embedded.servers import Servers

PREFIX = "offpeak-test-"
OURS = "OFFPEAK_TEST_HOME"
_session: list[tuple[Servers, Path]] = []


def _sweep(base: Path) -> None:
    """End what killed sessions left behind."""
    for folder in base.glob(f"{PREFIX}*"):
        if not folder.is_dir() or folder.stat().st_uid != os.geteuid():
            continue
        owner = processes.load(folder / "owner.json")
        if owner is None or owner.alive():
            continue
        servers = Servers.of(folder / "home", durable=False)
        if not servers.holders():
            servers.valkey.stop()
            servers.postgres.stop()
            shutil.rmtree(folder, ignore_errors=True)


def _start() -> None:
    base = Path(tempfile.gettempdir())
    _sweep(base)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    processes.save(folder / "owner.json", processes.Process.of(os.getpid()))
    environment = {"LAKE_WAREHOUSE": str(folder / "home" / "lake"), "OFFPEAK_HOME": str(folder / "home")}
    if not os.environ.get("DATABASE_URL"):
        servers = Servers.of(folder / "home", durable=False)
        holder = servers.acquire()
        _session.append((servers, holder))
        environment = servers.environment()
    os.environ.update(environment)
    os.environ[OURS] = str(folder)


def _worker(name: str) -> None:
    """Give one xdist worker its own lake, home and Valkey databases (2 and 3 for gw0, 4 and 5 for gw1 …)."""
    home = Path(os.environ[OURS]) / name
    (home / "lake").mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["OFFPEAK_HOME"] = str(home)
    os.environ["LAKE_WAREHOUSE"] = str(home / "lake")
    number = 2 + 2 * (int(name.removeprefix("gw")) % 7)
    for variable, default, mine in (
        ("BROKER_URL", "virtual_host=0", f"virtual_host={number}"),
        ("CACHE_URL", "db=1", f"db={number + 1}"),
    ):
        os.environ[variable] = os.environ.get(variable, "").replace(default, mine)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """A page asked for in Chinese by one test leaves no language behind for the next one."""
    from django.utils import translation

    translation.deactivate()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    """Set the environment before pytest-django reads the settings."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and os.environ.get(OURS):
        _worker(worker)
        return
    if "--help" in args or "-h" in args or "--version" in args:
        return
    # without this a SIGTERM ends Python before the servers are stopped
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        _start()
    except EmbeddedError as error:
        raise pytest.UsageError(str(error)) from error


def _stop() -> None:
    while _session:
        servers, holder = _session.pop()
        servers.release(holder)
    folder = os.environ.pop(OURS, "")
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Stop the servers, also after a failed or interrupted session."""
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        _stop()
