"""The Celery application; tasks live in `apps/*/tasks.py`, the clock in `finops/beat.py`."""

from celery import Celery

from finops.beat import SCHEDULE

app = Celery("finops")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = SCHEDULE
app.autodiscover_tasks()
