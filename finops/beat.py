"""What runs by the clock. Names say when and what; an entry expires before its next turn."""

from typing import Any

from celery.schedules import crontab

SCHEDULE: dict[str, dict[str, Any]] = {
    # Nothing due costs five small queries. A launch waits for the next turn at most.
    "every-ten-seconds-hand-out-due-launches": {
        "task": "launches.tick",
        "schedule": 10.0,
        "options": {"expires": 9},
    },
    "every-thirty-seconds-compare-launches-with-machines": {
        "task": "launches.reconcile",
        "schedule": 30.0,
        "options": {"expires": 29},
    },
    "every-minute-take-work-back-to-spot": {
        "task": "launches.moves",
        "schedule": 60.0,
        "options": {"expires": 55},
    },
    "every-minute-help-long-queues": {
        "task": "launches.bursts",
        "schedule": 60.0,
        "options": {"expires": 55},
    },
    "every-fifteen-minutes-price-machines-that-ended": {
        "task": "launches.costs",
        "schedule": 900.0,
        "options": {"expires": 890},
    },
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
    # Bills arrive a few times a day; a turn that finds nothing new costs a look at the run and the budgets.
    "every-five-minutes-judge-new-bills": {
        "task": "billing.bills_judge_new",
        "schedule": 300.0,
        "options": {"expires": 290},
    },
    "every-ten-minutes-wake-and-expire-recommendations": {
        "task": "recommendations.inbox_tick",
        "schedule": 600.0,
        "options": {"expires": 590},
    },
    # A look at the newest prices and workloads; advice is asked at most once an hour.
    "every-ten-minutes-look-for-launch-windows": {
        "task": "recommendations.launch_windows",
        "schedule": 600.0,
        "options": {"expires": 590},
    },
    # Nothing to buy and nothing open costs three queries.
    "every-five-minutes-settle-purchases": {
        "task": "recommendations.purchases_tick",
        "schedule": 300.0,
        "options": {"expires": 290},
    },
    # Nothing approved and nothing late costs three queries.
    "every-five-minutes-write-approved-lifecycle-rules": {
        "task": "recommendations.lifecycle_tick",
        "schedule": 300.0,
        "options": {"expires": 290},
    },
    # Listings arrive once a day at most; a turn that finds nothing new costs some small questions.
    "every-half-hour-say-what-to-move": {
        "task": "recommendations.storage_publish",
        "schedule": 1800.0,
        "options": {"expires": 1790},
    },
    # Bills change a few times a day; a turn that finds nothing new costs some small questions.
    "every-half-hour-say-what-is-wasted": {
        "task": "waste.publish",
        "schedule": 1800.0,
        "options": {"expires": 1790},
    },
    "every-minute-carry-out-stop-schedules": {
        "task": "launches.schedules",
        "schedule": 60.0,
        "options": {"expires": 55},
    },
    "every-thirty-seconds-take-work-back": {
        "task": "launches.work_take_back",
        "schedule": 30.0,
        "options": {"expires": 28},
    },
    "every-half-hour-compute-realised-savings": {
        "task": "recommendations.realised",
        "schedule": 1800.0,
        "options": {"expires": 1790},
    },
    # Offers are looked at hourly; a turn that finds nothing new costs four small questions.
    "every-fifteen-minutes-say-what-to-buy-and-sell": {
        "task": "recommendations.commitments_publish",
        "schedule": 900.0,
        "options": {"expires": 890},
    },
    "every-five-minutes-watch-deals": {
        "task": "recommendations.deals_watch",
        "schedule": 300.0,
        "options": {"expires": 290},
    },
    # Until then questions about a new bill read its lines: the same answer, later.
    "every-minute-sum-up-new-bills": {
        "task": "billing.spend_sums_make",
        "schedule": 60.0,
        "options": {"expires": 55},
    },
    # Nothing due costs one small question each; a report is due at most once a week.
    "every-minute-write-due-reports": {
        "task": "reports.reports_make_due",
        "schedule": 60.0,
        "options": {"expires": 55},
    },
    "every-minute-send-waiting-mails": {
        "task": "reports.deliver",
        "schedule": 60.0,
        "options": {"expires": 55},
    },
    "every-two-minutes-raise-and-send-alerts": {
        "task": "reports.alerts_tick",
        "schedule": 120.0,
        "options": {"expires": 110},
    },
    # Before the lake is tidied: what advice no longer cites may go with it.
    "every-day-0247-utc-forget-old-advice": {
        "task": "recommendations.advice_forget",
        "schedule": crontab(hour="2", minute="47"),
        "options": {"expires": 3600},
    },
    "every-day-0317-utc-tidy-the-lake": {
        "task": "ingest.lake_upkeep",
        "schedule": crontab(hour="3", minute="17"),
        "options": {"expires": 3600},
    },
    "every-day-0537-utc-alert-before-commitments-end": {
        "task": "recommendations.commitments_alert",
        "schedule": crontab(hour="5", minute="37"),
        "options": {"expires": 3600},
    },
}
