"""What runs by the clock. Names say when and what; an entry expires before its next turn."""

from typing import Any

SCHEDULE: dict[str, dict[str, Any]] = {}
