"""Who runs the servers: PostgreSQL refuses to run as root, and nothing of the system may be changed for it.

- An ordinary user runs them as himself.
- Root runs them inside a user namespace: there they have an ordinary id and no rights over the machine,
  outside they own root's files, so the data stay under the 0700 home.
- Root without user namespaces (or with a home in somebody else's private folder, which a namespace cannot
  enter) runs them as `nobody`, from a copy of the wheels and with the data under /var/lib/offpeak, which that
  account can reach.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from finops.embedded.binaries import Wheel
from finops.embedded.errors import EmbeddedError
from finops.embedded.home import Home, write_private

SYSTEM_FOLDER = Path("/var/lib/offpeak")
Kind = Literal["self", "namespace", "account"]


@dataclass(frozen=True)
class RunAs:
    """How a server's command is started: `prefix` before it, data below `folder`, files owned by `owner`."""

    kind: Kind
    prefix: tuple[str, ...]
    folder: Path
    owner: tuple[int, int] | None

    def command(self, *words: str | Path) -> list[str]:
        """Return the whole command for a server's program."""
        return [*self.prefix, *(str(word) for word in words)]

    def make_folder(self, name: str) -> Path:
        """Make a 0700 folder that the servers own."""
        path = self.folder / name
        path.mkdir(mode=0o700, exist_ok=True)
        if self.owner:
            os.chown(path, *self.owner, follow_symlinks=False)
        return path

    def reachable(self, wheel: Wheel) -> Wheel:
        """Return the wheel itself, or the copy that the account can reach."""
        if self.kind != "account":
            return wheel
        return copied(wheel)


def choose(home: Home, wheel: Wheel, forced: Kind | None = None) -> RunAs:
    """Return the way that works here; a home keeps the way it was made with."""
    if os.geteuid() != 0:
        return _as_self(home, wheel)
    record = home.path / "run_as"
    recorded = record.read_text().strip() if record.exists() else ""
    kind: Kind = forced or (
        "account" if recorded == "account" or not _namespace_works(home, wheel) else "namespace"
    )
    if recorded and recorded != kind:
        raise EmbeddedError(
            f"The home {home.path} was made with user namespaces and they do not work any more:"
            " allow them (sysctl user.max_user_namespaces), or set OFFPEAK_HOME to a new folder."
        )
    if not recorded:
        write_private(record, kind + "\n")
    if kind == "namespace":
        return RunAs(kind, namespace(), home.path, None)
    return _as_account(home)


def namespace() -> tuple[str, ...]:
    """Return the words that start a command in a user namespace.

    initdb looks up the name of its user id, so the id inside must be one with a name; 65534 stands for every
    id from outside and is the last choice.
    """
    ids = sorted(
        {entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0}, key=lambda uid: (uid == 65534, uid)
    )
    inside = ids[0] if ids else 65534
    return ("unshare", "-U", f"--map-user={inside}", f"--map-group={inside}")


def _as_self(home: Home, wheel: Wheel) -> RunAs:
    """An ordinary user needs no help, unless his id has no name (containers): a namespace gives him one."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        if _namespace_works(home, wheel):
            return RunAs("namespace", namespace(), home.path, None)
        raise EmbeddedError(
            f"PostgreSQL needs an account and user id {os.geteuid()} has none on this system: add one to"
            " /etc/passwd, or set DATABASE_URL, BROKER_URL and CACHE_URL to servers of your own."
        ) from None
    return RunAs("self", (), home.path, None)


def _namespace_works(home: Home, wheel: Wheel) -> bool:
    """Try a namespace: it must start, enter the home, write there, and reach the wheel's programs."""
    if shutil.which("unshare") is None:
        return False
    test = 'test -w "$1" && test -x "$1" && "$2" --version'
    command = [*namespace(), "sh", "-c", test, "sh", str(home.path), str(wheel.program("postgres"))]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _as_account(home: Home) -> RunAs:
    try:
        account = pwd.getpwnam("nobody")
    except KeyError:
        raise EmbeddedError(
            "PostgreSQL cannot run as root and this system has neither user namespaces nor an account"
            " nobody: run as an ordinary user."
        ) from None
    if shutil.which("setpriv") is None:
        raise EmbeddedError("PostgreSQL cannot run as root and setpriv is missing: run as an ordinary user.")
    folder = SYSTEM_FOLDER / home.digest
    try:
        SYSTEM_FOLDER.mkdir(mode=0o755, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chown(folder, account.pw_uid, account.pw_gid, follow_symlinks=False)
    except OSError as error:
        raise Home(folder).explain(error) from error
    prefix = ("setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")
    return RunAs("account", prefix, folder, (account.pw_uid, account.pw_gid))


def copied(wheel: Wheel) -> Wheel:
    """Copy a wheel's tree and its sibling of libraries (found relative to it), once a version."""
    package = wheel.tree.parent.name
    target = SYSTEM_FOLDER / f"{package}-{wheel.version}"
    if not target.is_dir():
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=SYSTEM_FOLDER))
        shutil.copytree(wheel.tree, draft / package / wheel.tree.name, symlinks=True)
        if wheel.libraries:
            shutil.copytree(wheel.libraries, draft / wheel.libraries.name)
        draft.chmod(0o755)  # programs, not data: the account must read them
        try:
            draft.rename(target)
        except OSError:  # another starter was faster
            shutil.rmtree(draft)
    tree = target / package / wheel.tree.name
    libraries = target / wheel.libraries.name if wheel.libraries else None
    return Wheel(wheel.version, tree, tree / wheel.programs.relative_to(wheel.tree), libraries)
