"""Django configuration."""

from django.apps import AppConfig


class WorkloadsConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.workloads"
