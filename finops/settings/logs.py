"""Logs: one line an event on standard error, text or JSON, credentials taken out (finops/logging.py)."""

import environ

from finops.logging import configuration

env = environ.Env()

LOG_LEVEL = env.str("LOG_LEVEL", default="INFO").upper()
LOG_FORMAT = env.str("LOG_FORMAT", default="text")
LOGGING_CONFIG = "finops.logging.configure"
LOGGING = configuration(level=LOG_LEVEL, form=LOG_FORMAT)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
