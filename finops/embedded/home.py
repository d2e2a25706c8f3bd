"""The home folder: everything that one installation writes, and nothing outside of it.

A home is made with mode 0700 and so are its folders; a folder that was there before keeps its mode. Two
exceptions lie elsewhere because they must: sockets of a home with a long path (`Home.socket_folder`) and the
servers' data of a root without user namespaces (`finops.embedded.run_as`).
"""

import errno
import fcntl
import hashlib
import os
import pwd
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from finops.embedded.errors import EmbeddedError

# sun_path holds 108 bytes with the closing zero; PostgreSQL's name is the longest socket here.
SOCKET_PATH_LIMIT = 107
LONGEST_SOCKET_NAME = ".s.PGSQL.5432"
# Kombu, libpq and Django's cache each quote a path in a URL differently, so only plain paths are used there.
PLAIN_PATH = re.compile(r"[A-Za-z0-9._/-]+")
# A fresh PostgreSQL takes 40 MB, its first WAL segments and the demo lake 60 MB more.
FREE_BYTES_NEEDED = 300 * 1024 * 1024
LONGEST_HOME = 3500
LOCK_SECONDS = 120.0


def user_name(uid: int) -> str:
    """Return the name of a user id, or the number where it has no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@dataclass(frozen=True)
class Home:
    """Paths of one installation; `path` is absolute and resolved."""

    path: Path

    @classmethod
    def at(cls, path: Path | str) -> "Home":
        """Return the home at `path`, relative to the working directory; nothing is written."""
        return cls(Path(path).expanduser().resolve())

    @property
    def run(self) -> Path:
        """Locks and process records."""
        return self.path / "run"

    @property
    def logs(self) -> Path:
        """One log file a process."""
        return self.path / "logs"

    @property
    def lake(self) -> Path:
        """The Iceberg warehouse."""
        return self.path / "lake"

    @property
    def static(self) -> Path:
        """Collected static files."""
        return self.path / "static"

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that name this home in folders outside of it."""
        return hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]

    def prepare(self) -> None:
        """Make the home and its folders; raises `EmbeddedError` when this user cannot use it."""
        if len(os.fsencode(self.path)) > LONGEST_HOME:
            raise EmbeddedError(
                "The path of OFFPEAK_HOME is longer than the system allows: choose a shorter folder."
            )
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            owner = self.path.stat().st_uid
            if owner != os.geteuid():
                raise EmbeddedError(
                    f"The home {self.path} belongs to user {user_name(owner)}: run as that user,"
                    " or set OFFPEAK_HOME to a folder of your own."
                )
            if not os.access(self.path, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, "not writable")
            for folder in (self.run, self.run / "holders", self.logs, self.lake, self.path / "secrets"):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise self.explain(error) from error
        self.check_space()

    def check_space(self) -> None:
        """Raise `EmbeddedError` when the disk of the home is as good as full."""
        free = shutil.disk_usage(self.path).free
        if free < FREE_BYTES_NEEDED:
            raise EmbeddedError(
                f"Only {free // 2**20} MB are free on the disk of {self.path} and at least"
                f" {FREE_BYTES_NEEDED // 2**20} MB are needed: free some space, or set OFFPEAK_HOME to a"
                " folder on another disk."
            )

    def explain(self, error: OSError) -> EmbeddedError:
        """Turn a system error on a path of the home into a sentence."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return EmbeddedError(f"The disk of {self.path} is full: free some space and start again.")
        if error.errno == errno.ENAMETOOLONG:
            return EmbeddedError(
                "The path of OFFPEAK_HOME is longer than the system allows: choose a shorter folder."
            )
        if error.errno in (errno.ENOTDIR, errno.EEXIST):
            return EmbeddedError(f"The home {self.path} is not a folder: set OFFPEAK_HOME to a folder.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return EmbeddedError(
                f"The home {self.path} is not writable for user {user_name(os.geteuid())}:"
                " set OFFPEAK_HOME to a folder of your own."
            )
        return EmbeddedError(f"The home {self.path} cannot be used: {error.strerror or error}.")

    def secret(self, name: str) -> str:
        """Return the secret of that name, made at random on first use in a file of mode 0600."""
        path = self.path / "secrets" / name
        try:
            return path.read_text().strip()
        except FileNotFoundError:
            pass
        draft = path.with_name(f"{name}.{os.getpid()}.{secrets.token_hex(4)}")
        write_private(draft, secrets.token_urlsafe(32) + "\n")
        try:
            os.link(draft, path)  # the first of several starters wins, and nobody sees half a file
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        return path.read_text().strip()

    def socket_folder(self, preferred: Path) -> Path:
        """Return a 0700 folder whose sockets have short addresses: `preferred`, else one elsewhere."""
        if fits_socket(preferred):
            preferred.mkdir(mode=0o700, exist_ok=True)
            return preferred
        return self._short_folder()

    def _short_folder(self) -> Path:
        name = f"offpeak-{os.geteuid()}-{self.digest}"
        for base in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"):  # noqa: S108 - see below
            folder = Path(base) / name
            if not base or not fits_socket(folder) or not os.access(base, os.W_OK | os.X_OK):
                continue
            # /tmp is shared: only a real folder of this user, closed to others, will do
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                raise EmbeddedError(
                    f"{folder} is not a private folder of this user: remove it and start again."
                )
            return folder
        raise EmbeddedError(
            f"The path of the home {self.path} is too long for a socket and no short folder"
            " is writable: set OFFPEAK_HOME to a shorter path."
        )

    @contextmanager
    def locked(self, name: str = "lock", seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Hold an exclusive lock of the home; the system drops it when the process dies."""
        path = self.run / name
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            until = time.monotonic() + seconds
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise EmbeddedError(
                            f"Another command has held {path} for over {seconds:.0f} s: end it and try again."
                        ) from None
                    time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)


def fits_socket(folder: Path) -> bool:
    """Tell whether a socket in `folder` has an address short and plain enough for every client."""
    address = os.fsencode(folder / LONGEST_SOCKET_NAME)
    return len(address) <= SOCKET_PATH_LIMIT and PLAIN_PATH.fullmatch(str(folder)) is not None


def write_private(path: Path, text: str, owner: tuple[int, int] | None = None) -> None:
    """Write a new file of mode 0600, replacing an old one of that name; never follows a link."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if owner:
            os.fchown(descriptor, *owner)
        file.write(text)
