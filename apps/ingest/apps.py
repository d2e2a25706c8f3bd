"""Django configuration."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.ingest"
