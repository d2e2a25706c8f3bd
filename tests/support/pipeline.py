"""What tests of the pipeline client share: where it is, and a small forge that keeps comments."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FORGE_TOKEN = "forge-CANARY"
LIMIT = 65536
Offpeak = Callable[..., "subprocess.CompletedProcess[str]"]


class Forge:
    """What the forge keeps: comments, and every request that came."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.fails = False
        self.url = ""
