"""A copy of one installation in a folder: the database as a PostgreSQL archive, the lake as its files.

Layout: `database.dump` (pg_dump's custom format), `lake/`, `backup.json` (version, time, path of the lake,
size and SHA-256 of every file: a restore looks at all of them before it changes anything).
The database is dumped first: lake files are never changed, so every file that the dump names is there to be
copied while no import and no upkeep runs (the caller holds the import lock). Secrets are not part of it: a
new home makes its own. Iceberg writes absolute paths into its files: restored to another folder they are
rewritten (finops/lake/moving.py).
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from finops.embedded.binaries import postgres_wheel
from finops.embedded.errors import EmbeddedError
from finops.lake.errors import LakeError
from finops.lake.moving import relocate_catalog, relocate_files


class BackupRefusedError(Exception):
    """A sentence; nothing was changed."""


def backup_write(
    *, folder: Path, database: Mapping[str, Any], lake: Path, version: str, now: datetime
) -> dict[str, Any]:
    """Write a backup into a new or empty folder and return what `backup.json` holds."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BackupRefusedError(f"{folder} is not an empty folder: name a new one for each backup.")
    if folder.resolve().is_relative_to(lake.resolve()):
        raise BackupRefusedError(f"{folder} lies inside the lake: name a folder outside of it.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        _run("pg_dump", database, "--format=custom", "--no-owner", f"--file={folder / 'database.dump'}")
        if lake.exists():
            _copy_lake(lake, folder / "lake")
    except BaseException:
        _empty(folder)  # the same folder may be named again
        raise
    facts: dict[str, Any] = {
        "version": version,
        "at": now.isoformat().replace("+00:00", "Z"),
        "lake": str(lake.resolve()),
    }
    files = _files(folder)
    facts["bytes"] = sum(size for size, _digest in files.values())
    (folder / "backup.json").write_text(
        json.dumps({**facts, "files": files}, indent=1) + "\n"
    )  # last: it marks the backup as whole
    return facts


def _copy_lake(lake: Path, target: Path) -> None:
    """Every file that is still there when its turn comes.

    Imports stage files beside the tables before they wait for the lock, and take them away where they are
    refused. No table names such a file; those that one names go only with the lock.
    """
    for here, _folders, names in os.walk(lake):
        there = target / Path(here).relative_to(lake)
        there.mkdir(parents=True, exist_ok=True)
        for name in names:
            with suppress(FileNotFoundError):
                shutil.copy2(Path(here) / name, there / name)


def _files(folder: Path) -> dict[str, list[Any]]:
    """`{path: [bytes, SHA-256]}` of what a backup holds."""
    found: dict[str, list[Any]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / "backup.json":
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found[path.relative_to(folder).as_posix()] = [path.stat().st_size, digest]
    return found


def _check_files(folder: Path, files: Any) -> None:
    """Raise BackupRefusedError for a file that is missing, changed or not of this backup.

    Backups of before these lists stood in `backup.json` are taken as they are.
    """
    if files is None:
        return
    if not isinstance(files, dict) or "database.dump" not in files:
        raise BackupRefusedError(f"{folder} holds no whole backup (backup.json names no files).")
    here = _files(folder)
    for name in sorted({*files, *here}):
        if name not in here:
            raise BackupRefusedError(f"This backup is not whole: {name} is missing.")
        if name not in files:
            raise BackupRefusedError(f"{name} is not part of this backup.")
        if list(files[name]) != here[name]:
            raise BackupRefusedError(f"This backup is broken: {name} is cut or was changed.")


def _newer(version: Any, ours: str) -> bool:
    """Whether a backup is of a later release than this one, which cannot read it."""
    try:
        theirs = [int(part) for part in str(version).split(".")]
    except ValueError:
        return True
    return theirs > [int(part) for part in ours.split(".")]


def backup_restore(
    *,
    folder: Path,
    database: Mapping[str, Any],
    database_url: str,
    lake: Path,
    empty: bool,
    version: str,
) -> dict[str, Any]:
    """Restore into an empty installation; `empty` says whether its database has no tables yet.

    `version` is this installation's. Returns what `backup.json` holds, with `lake` as the folder it is in
    now. A restore that fails leaves the lake's folder empty.
    """
    try:
        facts: dict[str, Any] = json.loads((folder / "backup.json").read_text())
        old = str(facts["lake"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupRefusedError(
            f"{folder} holds no whole backup (backup.json is missing or cut)."
        ) from error
    if not empty or (lake.exists() and any(lake.iterdir())):
        raise BackupRefusedError("This installation already holds data: restore into an empty home.")
    if _newer(facts.get("version"), version):
        raise BackupRefusedError(
            f"This backup is of version {facts.get('version')}, this installation is {version}: "
            "install that version."
        )
    _check_files(folder, facts.pop("files", None))
    new = str(lake.resolve())
    try:
        if (folder / "lake").is_dir():
            shutil.copytree(folder / "lake", lake, dirs_exist_ok=True)
            if old != new:
                relocate_files(lake, old=old)
        _run(
            *("pg_restore", database, "--no-owner", "--exit-on-error", "--single-transaction"),
            *(f"--dbname={database['NAME']}", str(folder / "database.dump")),
        )
    except BaseException as error:
        _empty(lake)
        if isinstance(error, LakeError):
            raise BackupRefusedError(f"The lake of this backup cannot be read: {error}") from error
        raise
    if old != new:
        relocate_catalog(database_url, old=old, new=new)
    return {**facts, "lake": new}


def _empty(folder: Path) -> None:
    for path in folder.iterdir() if folder.exists() else ():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _run(program: str, database: Mapping[str, Any], *words: str) -> None:
    """Run a PostgreSQL client program on a Django database; the password travels in the environment."""
    env = {
        **os.environ,
        "PGHOST": str(database["OPTIONS"].get("host") or database["HOST"] or ""),
        "PGPORT": str(database["PORT"] or "5432"),
        "PGUSER": str(database["USER"]),
        "PGPASSWORD": str(database["PASSWORD"]),
        "PGDATABASE": str(database["NAME"]),
    }
    done = subprocess.run([_program(program), *words], env=env, capture_output=True, text=True, check=False)
    if "server version mismatch" in done.stderr:
        raise BackupRefusedError(
            f"{program} is older than the server: install PostgreSQL 18's client programs."
        )
    if done.returncode != 0:
        raise RuntimeError(f"{program} failed: {done.stderr.strip()[-500:]}")


def _program(name: str) -> str:
    """Return the client program of the embedded server's wheel, else the system's."""
    try:
        return str(postgres_wheel().program(name))
    except EmbeddedError:
        found = shutil.which(name)
        if found is None:
            raise BackupRefusedError(
                f"{name} was not found: install PostgreSQL 18's client programs."
            ) from None
        return found
