"""Django configuration."""

from django.apps import AppConfig


class CostChecksConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.costchecks"
