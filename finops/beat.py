"""What runs by the clock. Names say when and what; an entry expires before its next turn."""

from typing import Any

SCHEDULE: dict[str, dict[str, Any]] = {
    "every-minute-collect-due-price-feeds": {
        "task": "ingest.feeds_collect_due",
        "schedule": 60.0,
        "options": {"expires": 55},
    },
}
