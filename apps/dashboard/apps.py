"""Django configuration."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.dashboard"
