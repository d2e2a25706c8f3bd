"""The two servers of a home: shared by several commands, whoever runs them, wherever the home lies."""

import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from finops.embedded import processes, run_as
from finops.embedded.home import Home, user_name

USE = Path(__file__).with_name("use.py")
CHECKOUT = USE.parents[3]
ROOT = os.geteuid() == 0
NAMED = pwd.getpwnam("nobody").pw_uid
NAMELESS = 23456  # a user id that no account has


def running(home: Path) -> set[str]:
    found = {name: processes.load(home / "run" / f"{name}.json") for name in ("postgres", "valkey")}
    return {name for name, process in found.items() if process and process.alive()}


class User:
    """One process that holds the servers of a home."""

    def __init__(
        self, home: Path, *words: str, before: tuple[str, ...] = (), env: dict[str, str] | None = None
    ):
        self.process = subprocess.Popen(
            [*before, *(() if before else (sys.executable,)), str(USE), str(home), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, **(env or {})},
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def answer(self) -> dict[str, Any]:
        text = self.line()
        assert text.startswith("{"), text
        return dict(json.loads(text))

    def leave(self) -> int:
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "home"
    yield path
    for name in ("postgres", "valkey"):
        left = processes.load(path / "run" / f"{name}.json")
        if left and left.alive():
            os.kill(left.pid, signal.SIGKILL)


def test_four_commands_at_once_share_the_servers_and_the_last_one_stops_them(home: Path) -> None:
    users = [User(home) for _ in range(4)]
    answers = [user.answer() for user in users]
    assert [(answer["user"], answer["version"], answer["valkey"]) for answer in answers] == [
        ("offpeak", 18, True)
    ] * 4
    assert len({answer["DATABASE_URL"] for answer in answers}) == 1
    for user in users[:3]:
        assert user.leave() == 0
    assert running(home) == {"postgres", "valkey"}
    assert users[3].leave() == 0
    assert running(home) == set()
    assert list((home / "run" / "holders").iterdir()) == []


def test_a_killed_command_counts_no_more(home: Path) -> None:
    killed = User(home)
    killed.answer()
    killed.process.kill()
    killed.process.communicate()
    assert running(home) == {"postgres", "valkey"}
    before = processes.load(home / "run" / "postgres.json")
    after = User(home)
    after.answer()
    assert processes.load(home / "run" / "postgres.json") == before
    assert after.leave() == 0
    assert running(home) == set()


def test_killed_servers_are_started_again_with_their_data(home: Path) -> None:
    user = User(home)
    user.answer()
    for name in ("postgres", "valkey"):
        process = processes.load(home / "run" / f"{name}.json")
        assert process
        os.kill(process.pid, signal.SIGKILL)
    user.process.kill()
    user.process.communicate()
    again = User(home)
    assert again.answer()["version"] == 18
    assert again.leave() == 0


def test_files_are_private_and_nothing_around_the_home_changes(home: Path) -> None:
    before = [(path, path.stat().st_mode, path.stat().st_uid) for path in home.parents]
    user = User(home)
    user.answer()
    wrong = [
        str(path)
        for path in [home, *home.rglob("*")]
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert user.leave() == 0
    assert wrong == []
    for secret in ("secret_key", "postgres", "postgres_admin", "valkey"):
        assert stat.S_IMODE((home / "secrets" / secret).stat().st_mode) == 0o600
    assert [(path, path.stat().st_mode, path.stat().st_uid) for path in home.parents] == before


def test_a_home_with_a_long_path_has_its_sockets_in_a_short_private_folder(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 20) / "and with spaces"
    user = User(home, env={"XDG_RUNTIME_DIR": ""})
    folder = Path(parse_qs(urlsplit(user.answer()["DATABASE_URL"]).query)["host"][0])
    found = folder.stat()
    assert folder.name == f"offpeak-{os.geteuid()}-{Home.at(home).digest}"
    assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o700, os.geteuid())
    assert user.leave() == 0
    shutil.rmtree(folder)


def interpreter_for(uid: int) -> tuple[str, ...] | None:
    """Return a command that runs this Python version as another user, None where it cannot reach one."""
    names = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}")
    way = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
    for name in names:
        test = [*way, name, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if subprocess.run(test, capture_output=True, cwd="/", check=False).returncode == 0:
            return (*way, name)
    return None


@pytest.mark.skipif(not ROOT, reason="only root can be another user")
@pytest.mark.parametrize("uid", [NAMED, NAMELESS])
def test_an_ordinary_user_runs_them_and_root_leaves_that_home_alone(uid: int) -> None:
    before = interpreter_for(uid)
    if before is None:
        pytest.skip("no Python here that another user can reach")
    # below /tmp itself: pytest's own folders are closed to others
    home = Path(f"/tmp/offpeak-stranger-{os.getpid()}")
    home.mkdir(mode=0o700)
    os.chown(home, uid, uid)
    packages = str(Path(pytest.__file__).resolve().parents[1])
    env = {"PYTHONPATH": packages, "XDG_RUNTIME_DIR": "", "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        user = User(home, before=before, env=env)
        assert user.answer()["version"] == 18
        process = processes.load(home / "run" / "postgres.json")
        assert process
        assert Path(f"/proc/{process.pid}").stat().st_uid == uid
        assert user.leave() == 0
        assert running(home) == set()
        refused = User(home)
        assert refused.line() == (
            f"The home {home} belongs to user {user_name(uid)}: run as that user,"
            " or set OFFPEAK_HOME to a folder of your own."
        )
        assert refused.leave() == 1
    finally:
        shutil.rmtree(home)


@pytest.mark.skipif(not ROOT, reason="an ordinary user needs no other account")
def test_root_without_user_namespaces_runs_them_as_nobody(home: Path) -> None:
    existed = run_as.SYSTEM_FOLDER.exists()
    user = User(home, "account")
    try:
        assert user.answer()["version"] == 18
        process = processes.load(home / "run" / "postgres.json")
        assert process
        assert Path(f"/proc/{process.pid}").stat().st_uid != 0
        assert user.leave() == 0
        assert running(home) == set()
    finally:
        shutil.rmtree(run_as.SYSTEM_FOLDER / Home.at(home).digest, ignore_errors=True)
        if not existed:
            shutil.rmtree(run_as.SYSTEM_FOLDER, ignore_errors=True)


def manage(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith("_URL")
        and name not in ("SECRET_KEY", "LAKE_WAREHOUSE", "DJANGO_SETTINGS_MODULE")
    }
    return subprocess.run(
        [sys.executable, str(CHECKOUT / "manage.py"), *words],
        env={**kept, "OFFPEAK_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_makes_no_home(home: Path) -> None:
    done = manage(home, "migrate", "--help")
    assert done.returncode == 0
    assert "usage: manage.py migrate" in done.stdout
    assert not home.exists()


def test_a_verb_on_a_new_home_finds_its_tables_and_leaves_no_server(home: Path) -> None:
    done = manage(home, "shell", "-c", "from apps.accounts.models import User; print(User.objects.count())")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0"
    assert running(home) == set()
