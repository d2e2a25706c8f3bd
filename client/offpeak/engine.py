"""Where the pricing engine is: modules of the server that a wheel of this client brings along.

Installed, they lie in `offpeak/_engine` (see setup.py); in the repository they are taken from its root. They
need nothing but the standard library, and PyYAML for YAML files.
"""

from __future__ import annotations

import sys
from pathlib import Path

from offpeak.errors import USAGE, EndError

_HERE = Path(__file__).resolve().parent


def use() -> None:
    """Make the engine's modules importable. Raises EndError where they did not come along."""
    for folder in (_HERE / "_engine", _HERE.parents[1]):
        if (folder / "finops" / "engine" / "checks" / "pricing.py").is_file():
            if str(folder) not in sys.path:
                sys.path.append(str(folder))
            return
    raise EndError("this client was installed without the engine: install it from the repository", USAGE)
