"""What runs by the clock. Names say when and what; an entry expires before its next turn."""

from typing import Any

from celery.schedules import crontab

SCHEDULE: dict[str, dict[str, Any]] = {
    "every-minute-collect-due-price-feeds": {
        "task": "ingest.feeds_collect_due",
        "schedule": 60.0,
        "options": {"expires": 55},
    },
    "every-five-minutes-fail-imports-whose-worker-is-gone": {
        "task": "ingest.runs_reconcile",
        "schedule": 300.0,
        "options": {"expires": 290},
    },
    "every-day-0317-utc-tidy-the-lake": {
        "task": "ingest.lake_upkeep",
        "schedule": crontab(hour="3", minute="17"),
        "options": {"expires": 3600},
    },
}
